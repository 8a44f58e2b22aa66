"""The figures of whole runs: the suite in process and over HTTP, workers, selecting scenarios, one very long stream."""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.figures import Pair, figure
from benchmarks.held_streams import held_ratio
from benchmarks.http_suite import Unstepped
from benchmarks.stream_memory import grown

from tpharness.certificate import plan_playing
from tpharness.explore import mutation
from tpharness.explore.campaigns.cases import case_source
from tpharness.explore.campaigns.fold import passes
from tpharness.explore.generate.programs import program
from tpharness.explore.mutation import Defect, Harmless, load_changes, load_scenarios, play_change, record_unharmed
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.run.engine import play_suite
from tpharness.run.judged_before import JudgedBefore
from tpharness.run.plan import base_case, make_script
from tpharness.run.play import PlayedCase, Players, play
from tpharness.run.select import select_scenarios
from tpharness.run.workers import Workers, map_in_order
from tpharness.scenario import load_scenario
from tpharness.targets import Reference
from tpharness.targets.contract import Script
from tpharness.targets.reference import ReferenceClient, receive_turns
from tpharness.trace.format import Traced
from tpharness.verdict import ResultReady, RunFinished, RunStarted
from tpharness.wires.registry import WIRES
from tpharness.wires.vsp.encode import DONE, encode_sse

__all__ = [
    "OVER_STDIO",
    "THERE",
    "certify",
    "ended_processes",
    "in_processes",
    "play_on",
    "play_over",
    "receive",
    "record",
    "spread_ids",
]

HERE = f"python:{Unstepped.__module__}:{Unstepped.__name__}"
THERE = "peer:serve"
OVER_STDIO = f"stdio:{sys.executable} {Path(__file__).parents[1] / 'examples' / 'plain_python.py'} --stdio"
TWO_MILLION = 2_000_000
_PROGRAMS = 6
_SCENARIOS_OF_MUTATE = 232


@cache
def spread_ids(size: int) -> tuple[str, ...]:
    """Return so many scenarios that are spread over all themes."""
    known = [one.id for one in select_scenarios((), (scenarios_dir(),))]
    return tuple(known[number * len(known) // size] for number in range(size))


def play_on(target: str, size: int, trace: Traced = Traced.NONE) -> None:
    """Play scenarios with both sides on a target. SystemExit if they do not pass."""
    *_, finished = run_suite(RunOptions(ids=spread_ids(size), server=target, client=target, trace=trace))
    if not isinstance(finished, RunFinished) or not finished.passed:
        raise SystemExit(f"{target} does not pass: {finished}")


def record(size: int) -> list[tuple[Script, PlayedCase]]:
    """Play scenarios once, without variants and cuts; return what their clients were given."""
    both = Players(server=Reference(), client=Reference())
    scripts: list[Script] = []
    played: list[PlayedCase] = []
    for one in select_scenarios(spread_ids(size), (scenarios_dir(),)):
        case = base_case(load_scenario(one.path, root=one.root))
        scripts.append(make_script(case))
        asyncio.run(play(case, both, thorough=False, observe=played.append))
    return list(zip(scripts, played, strict=True))


@figure("the suite in process / folding its streams once", unit="scenario", head=252, sizes=(252,))
def in_process(size: int) -> Pair:
    """Everything that a run does, from the files to the verdicts, against bytes to the threads of every version."""
    recorded = record(size)
    return Pair(ours=lambda: play_on("reference", size), peer=lambda: receive(recorded))


def receive(recorded: list[tuple[Script, PlayedCase]]) -> None:
    """Take each stream once, and give the threads."""
    for script, seen in recorded:
        client = ReferenceClient(script)
        receive_turns(client, seen.turns)
        client.threads()


@figure("`mutate` / the same by playing everything", unit="seeded change", at_most=0.1, head=17, sizes=(17,))
def mutate(size: int) -> list[float]:
    """Settle verdicts; one change in seventeen is harmless, as of all. On the whole suite, since half settles few."""
    settle = getattr(mutation, "settle_change", play_change)  # a checkout that --before names may not have it
    changes, scenarios = _seeded(size), load_scenarios()
    recording = record_unharmed(scenarios)
    ratios = []
    for _ in range(3):
        begun = time.process_time()
        for one in changes:
            settle(one, scenarios, recording=recording)
        settled = time.process_time()
        for one in changes:
            play_change(one, scenarios)
        ratios.append((settled - begun) / (time.process_time() - settled))
    return ratios


@figure("`mutate --all-kills` / the same by playing everything", unit="seeded change", head=10, sizes=(10,))
def mutate_all_kills(size: int) -> Pair:
    """Find every scenario that fails a change, on half of the suite; the recording is there."""
    changes, scenarios = _seeded(size), load_scenarios(spread_ids(_SCENARIOS_OF_MUTATE))
    recording = record_unharmed(scenarios)
    return Pair(
        ours=lambda: [play_change(one, scenarios, recording=recording) for one in changes],
        peer=lambda: [play_change(one, scenarios) for one in changes],
    )


def _seeded(size: int) -> list[Defect | Harmless]:
    """Return changes at equal distances."""
    changes = load_changes("tests.seeded_defects").all()
    return [changes[(2 * number + 1) * len(changes) // (2 * size)] for number in range(size)]


@figure("both sides over HTTP, the harness / in process", unit="scenario", at_most=2, head=200, sizes=(40, 200))
def over_http(size: int) -> Pair:
    """Take the processor time of this process only, without that of the target; in process case by case as well."""
    return Pair(ours=lambda: play_on(THERE, size), peer=lambda: play_on(HERE, size))


@figure("both sides over HTTP / in process, by the clock", unit="scenario", head=200, sizes=(40, 200))
def over_http_clock(size: int) -> Pair:
    """Wait for both processes of the target and for their start; of two cores this process has one."""
    return Pair(ours=lambda: play_on(THERE, size), peer=lambda: play_on(HERE, size), clock=time.perf_counter)


@figure("both sides over HTTP, the target / in process", unit="scenario", head=200, sizes=(40, 200))
def over_http_target(size: int) -> list[float]:
    """Take the processor time of the target's process, its start included, which the harness waits for."""
    ratios = []
    for _ in range(3):
        begun, before = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
        play_on(HERE, size)
        here = time.process_time() - begun
        play_on(THERE, size)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ratios.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / here)
    return ratios


@figure("`certify`, the harness / one `run` on the same target", unit="scenario", head=120, sizes=(30, 120))
def certify_in_three_orders(size: int) -> Pair:
    """Play three orders over stdio and judge once what is the same in all; take the time of this process only.

    Both keep the traces of what fails, as the two commands do where nobody says otherwise.
    """
    return Pair(ours=lambda: certify(size), peer=lambda: play_on(OVER_STDIO, size, Traced.FAILED))


def certify(size: int) -> None:
    """Play what `certify` plays on the example in Python."""
    known = JudgedBefore()
    for order in plan_playing(server=OVER_STDIO, client=OVER_STDIO):
        deque(play_suite(replace(order, ids=spread_ids(size), trace=Traced.FAILED), known), maxlen=0)


@figure("both wires / one wire", unit="scenario", head=100, sizes=(40, 100))
def both_wires(size: int) -> Pair:
    """Play what `run --wire all` plays, a run for each wire, against the run over the AI SDK's stream."""
    return Pair(ours=lambda: play_over(WIRES, size), peer=lambda: play_on("reference", size))


def play_over(wires: Iterable[str], size: int) -> None:
    """Play scenarios on the reference, a run for each wire. SystemExit if they do not pass."""
    for wire in wires:
        *_, finished = run_suite(RunOptions(ids=spread_ids(size), wire=wire))
        if not isinstance(finished, RunFinished) or not finished.passed:
            raise SystemExit(f"the reference does not pass over {wire}: {finished}")


@figure(
    "memory of a stream that `serve` holds / that a bare Starlette endpoint holds",
    unit="stream",
    at_most=1.3,
    head=10_000,
    sizes=(1_000, 10_000),
    peers=["starlette", "uvicorn"],
)
def memory_of_a_held_stream(size: int) -> list[float]:
    """Each server is a process of its own, and this one opens the streams."""
    return [held_ratio(size)]


@figure("importing the runner / the first result of `run --jobs 2`", unit="worker", at_least=2, head=2, sizes=(2,))
def start_of_workers(size: int) -> Pair:
    """Start a Python that imports it; by a clock, since most of the time passes in other processes."""
    source = "import tpharness.run.dispatch"
    return Pair(
        ours=lambda: _first_result(RunOptions(ids=spread_ids(40), jobs=size)),
        peer=lambda: subprocess.run([sys.executable, "-c", source], check=True),
        clock=time.perf_counter,
    )


_STREAM = encode_sse({"type": "start", "messageId": "m"}) + encode_sse({"type": "finish"}) + DONE


@figure(
    "`import tpharness; fold(…)` in a new process / importing msgspec, orjson and click",
    unit="process",
    at_most=2,
    head=1,
    sizes=(1,),
    peers=["msgspec", "orjson", "click"],
)
def first_fold(_size: int) -> Pair:
    """Start a Python for each; what is compared is the processor time of processes that have ended."""
    source = f"import tpharness; tpharness.fold('Hello', {_STREAM!r})"
    return Pair(
        ours=lambda: subprocess.run([sys.executable, "-c", source], check=True),
        peer=lambda: subprocess.run([sys.executable, "-c", "import msgspec, orjson, click"], check=True),
        clock=ended_processes,
    )


def ended_processes() -> float:
    """Return the processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _first_result(options: RunOptions) -> None:
    """Play until the first result, with a thread from when the run begins on, as whoever shows its progress has one."""
    ended = threading.Event()
    with closing(run_suite(options)) as events:
        for event in events:
            if isinstance(event, RunStarted):
                threading.Thread(target=ended.wait, daemon=True).start()
            elif isinstance(event, ResultReady):
                break
    ended.set()


@figure("one Dask worker / two", unit="task", head=400, sizes=(400,))
def cluster_of_two(size: int) -> list[float]:
    """Take the time from the first result to the last; by a clock, on a machine that does nothing else."""
    return [_on_cluster("local:1", size) / _on_cluster("local:2", size) for _ in range(3)]


def _on_cluster(address: str, size: int) -> float:
    """Play so many small items; return the seconds from the first result on."""
    results = map_in_order(_play_generated, range(size), Workers(cluster=address))
    next(results)
    begun = time.perf_counter()
    deque(results, maxlen=0)
    return time.perf_counter() - begun


@figure("two Dask workers / two processes that are told nothing", unit="task", at_most=1.1, head=400, sizes=(400,))
def cluster_and_processes(size: int) -> list[float]:
    """Compare with the most that two processors give: each process has its half from the start and returns nothing."""
    return [_on_cluster("local:2", size) / in_processes(2, size) for _ in range(3)]


def in_processes(count: int, size: int) -> float:
    """Play so many small items in forked processes; return the seconds."""
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=_play_share, args=(range(one, size, count),)) for one in range(count)]
    begun = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return time.perf_counter() - begun


def _play_share(items: range) -> None:
    for item in items:
        _play_generated(item)


def _play_generated(item: int) -> None:
    """Play some generated programs, as many as take about as long as a scenario."""
    reference = Reference()
    for number in range(_PROGRAMS * item, _PROGRAMS * (item + 1)):
        passes(program(case_source(0, number)), reference, reference, idempotence=number % 8 == 0)


@figure("selecting scenarios one by one / all of them", unit="scenario", at_most=2, head=400, sizes=(100, 400))
def selecting(size: int) -> Pair:
    """Name each scenario, as an order of `certify` does, of which there are several hundred."""
    roots = (scenarios_dir(),)
    return Pair(ours=lambda: select_scenarios(spread_ids(size), roots), peer=lambda: select_scenarios((), roots))


@figure(
    "memory of two million events, folded by the client / their bytes",
    unit="event",
    at_most=1,
    head=TWO_MILLION,
    sizes=(TWO_MILLION // 10, TWO_MILLION),
)
def memory_of_a_long_fold(size: int) -> list[float]:
    """The stream is read and not held, as by a client that is never cut; what stays is the journal."""
    return [grown("fold", size, "steps")]


@figure(
    "memory of two million events, held and cut after every one / their bytes",
    unit="event",
    at_most=3,
    head=TWO_MILLION,
    sizes=(TWO_MILLION // 10, TWO_MILLION),
)
def memory_of_a_long_sweep(size: int) -> list[float]:
    """Three minutes of one processor; the memory is greatest where the last place is judged whole."""
    return [grown("sweep", size, "steps")]
