"""The floors: what nobody can do without, and how near the figures are whose targets once asked for less.

`docs/PERFORMANCE.md` says of each what it does and leaves out.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.bodies import READ, reads_of, steps
from benchmarks.core_figures import CHUNKS_OF_A_STEP, MILLION, judge_programs, programs_of_thirty
from benchmarks.figures import FIGURES, Pair, figure
from benchmarks.least_certificate import ask_again
from benchmarks.least_fold import check_least, least_journal
from benchmarks.least_program import check_least_program, least_program
from benchmarks.least_wires import play_asked, record_asked
from benchmarks.stream import decode, fold
from benchmarks.suite_figures import (
    OVER_STDIO,
    THERE,
    certify,
    ended_processes,
    in_processes,
    play_on,
    play_over,
    receive,
    record,
    spread_ids,
)

from tpharness.resources import scenarios_dir
from tpharness.run.play import PlayedCase
from tpharness.run.select import select_scenarios
from tpharness.run.variants import rechunk_deltas, rechunk_event_deltas, rechunk_reads
from tpharness.scenario import load_scenario
from tpharness.targets.contract import Script
from tpharness.targets.reference import ReferenceClient, ReferenceServer, receive_turns, serve_turns
from tpharness.targets.stdio import StdioClient, StdioServer
from tpharness.trace.format import Traced
from tpharness.wires.registry import DEFAULT_WIRE, WIRES, wire_named

__all__: list[str] = []


def _events(size: int) -> list[bytes]:
    return steps(max(1, size // CHUNKS_OF_A_STEP))


@figure(
    "the least that gives this journal, reads of 16 KiB / bare typed decoding",
    unit="chunk",
    sizes=MILLION,
    peers=["msgspec"],
)
def least_in_reads(size: int) -> Pair:
    """What no fold in Python can do without."""
    events = _events(size)
    reads, raw = reads_of(b"".join(events), READ), [event[6:-2] for event in events[:-1]]  # without [DONE]
    return Pair(ours=lambda: least_journal(reads), peer=lambda: decode(raw))


@figure("bytes to journal, reads of 16 KiB / the least that gives it", unit="chunk", at_most=2.2, sizes=MILLION)
def journal_and_least(size: int) -> Pair:
    """Both give the same journal."""
    reads = reads_of(b"".join(_events(size)), READ)
    check_least(reads)
    return Pair(ours=lambda: fold(reads), peer=lambda: least_journal(reads))


@figure("the same, one event a read / bare typed decoding", unit="chunk", peers=["msgspec"])
def least_one_by_one(size: int) -> Pair:
    """Each event is a read, as in a live stream: its end is looked for, and one decoded."""
    events = _events(size)
    raw = [event[6:-2] for event in events[:-1]]
    return Pair(ours=lambda: least_journal(events), peer=lambda: decode(raw))


@figure("bytes to journal, one event a read / the least that gives it", unit="chunk", at_most=2)
def journal_and_least_one_by_one(size: int) -> Pair:
    """The same for a live stream."""
    events = _events(size)
    check_least(events)
    return Pair(ours=lambda: fold(events), peer=lambda: least_journal(events))


@figure(
    "the least of a generated program / encoding and folding it",
    unit="program",
    head=100,
    sizes=(100,),
    peers=["msgspec"],
)
def least_of_a_program(size: int) -> Pair:
    """Threads at each place, compared and read once, on top of what makes them."""
    made, pair = programs_of_thirty(size), FIGURES["fuzz-program"].make(size)
    if not isinstance(pair, Pair):
        raise TypeError("programs are compared with encoding and folding them")
    return Pair(ours=lambda: [least_program(one) for one in made], peer=pair.peer)


@figure(
    "a generated program with every check / the least of it",
    unit="program",
    at_most=2,
    head=100,
    sizes=(100,),
    peers=["msgspec"],
)
def program_and_least(size: int) -> Pair:
    """Rules, histories, growth and all other checks come on top."""
    made = programs_of_thirty(size)
    for one in made:
        check_least_program(one)
    return Pair(ours=lambda: judge_programs(made), peer=lambda: [least_program(one) for one in made])


@figure("one wire and the plays of the other alone / one wire", unit="scenario", head=100, sizes=(100,))
def least_of_two_wires(size: int) -> Pair:
    """What playing alone takes, whatever is judged."""
    return Pair(ours=_with_other_wires(size), peer=lambda: play_on("reference", size))


@figure("both wires / one wire and the plays of the other alone", unit="scenario", at_most=1.5, head=100, sizes=(100,))
def wires_and_least(size: int) -> Pair:
    """Files, streams, sweeps, the comparison of both wires and every check over the second come on top."""
    return Pair(ours=lambda: play_over(WIRES, size), peer=_with_other_wires(size))


def _with_other_wires(size: int) -> Callable[[], None]:
    """Return what plays one run, and the plays of all other wires alone."""
    others = [wire for wire in WIRES if wire != DEFAULT_WIRE]
    asked = [one for wire in others for one in record_asked(lambda wire=wire: play_over([wire], size), wire)]  # type: ignore[misc]

    def play() -> None:
        play_on("reference", size)
        play_asked(asked)

    return play


@figure("one run and all that it asked asked twice more / one run", unit="scenario", head=120, sizes=(30, 120))
def least_of_a_certificate(size: int) -> Pair:
    """What asking alone takes, whatever is judged; of this process only."""
    return Pair(ours=_and_asked_twice(size), peer=lambda: play_on(OVER_STDIO, size, Traced.FAILED))


@figure(
    "`certify`, the harness / one run and all that it asked asked twice more",
    unit="scenario",
    at_most=1.5,
    head=120,
    sizes=(30, 120),
)
def certificate_and_least(size: int) -> Pair:
    """Files, orders, reads and deltas, tasks for each case, and looking up what was judged come on top."""
    return Pair(ours=lambda: certify(size), peer=_and_asked_twice(size))


def _and_asked_twice(size: int) -> Callable[[], None]:
    """Return what plays one run, and asks twice more what it asked."""
    asked = record_asked(lambda: play_on(OVER_STDIO, size, Traced.FAILED), DEFAULT_WIRE, StdioServer, StdioClient)

    def play() -> None:
        play_on(OVER_STDIO, size, Traced.FAILED)
        for _ in range(2):
            ask_again(asked, OVER_STDIO)

    return play


@figure(
    "reading its files and playing its cases alone / folding its streams once", unit="scenario", head=252, sizes=(252,)
)
def plays_in_process(size: int) -> Pair:
    """What the sides of a run do, and the files that say it."""
    recorded = record(size)
    return Pair(ours=lambda: _play_alone(recorded), peer=lambda: receive(recorded))


@figure(
    "the suite in process / reading its files and playing its cases alone",
    unit="scenario",
    at_most=2,
    head=252,
    sizes=(252,),
)
def suite_and_plays(size: int) -> Pair:
    """Sweeps, the look at every change, comparing and judging come on top of what the two sides do."""
    recorded = record(size)
    return Pair(ours=lambda: play_on("reference", size), peer=lambda: _play_alone(recorded))


def _play_alone(recorded: list[tuple[Script, PlayedCase]]) -> None:
    """Load each scenario; serve and receive as often as a run does, in other reads and deltas; give the threads."""
    for one in select_scenarios(spread_ids(len(recorded)), (scenarios_dir(),)):
        load_scenario(one.path, root=one.root)
    for script, seen in recorded:
        single = replace(script, turns=tuple(map(rechunk_event_deltas, script.turns)))
        for served in (script, single, script) if seen.served is not None and not seen.recorded else ():
            server = ReferenceServer(served)
            serve_turns(server, served.turns)
            server.threads()
        by_bytes = ([rechunk_reads(turn, size) for turn in seen.turns] for size in (1, 7))
        deltas = [rechunk_deltas(turn, wire_named(script.wire)) for turn in seen.turns]
        for turns in (seen.turns, *by_bytes, deltas, seen.turns):
            client = ReferenceClient(script)
            receive_turns(client, turns)
            client.threads()


@figure(
    "both sides over HTTP, by the clock / the processor time of all processes, on all processors",
    unit="scenario",
    at_most=1.5,
    head=200,
    sizes=(40, 200),
)
def over_http_floor(size: int) -> list[float]:
    """What has to be computed cannot take less time than that, if no processor ever waits."""
    ratios = []
    for _ in range(3):
        begun, before = time.perf_counter(), time.process_time() + ended_processes()
        play_on(THERE, size)
        used = time.process_time() + ended_processes() - before
        ratios.append((time.perf_counter() - begun) / (used / len(os.sched_getaffinity(0))))
    return ratios


@figure("one process / two that are told nothing", unit="task", head=400, sizes=(400,))
def processes_of_two(size: int) -> list[float]:
    """The most that the second processor of this machine gives."""
    return [in_processes(1, size) / in_processes(2, size) for _ in range(3)]
