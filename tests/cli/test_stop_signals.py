"""Signals that end a command: what was played is reported, nothing is left running, and nothing passes that did not."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest
from tests.targets.servers import ContractServer, RawServer, in_thread

from tpharness.cli.stop_signals import StopSignals
from tpharness.explore.mutation import Row, load_changes
from tpharness.resources import conformance_dir
from tpharness.run.session import Session

TOP = Path(__file__).parents[2]
SECONDS = 60  # within which what is waited for has to come
STOPS = "python:stop_targets:Stops"
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
SCENARIO = """
description: The user asks and the agent answers.
clauses: [turn.only-complete]
thread_id: {name}
turns:
  - user: Hi
  - steps: [{{response: [{{text: Hello}}]}}]
"""
TARGETS = """
import asyncio, os, signal, sys, time
from tpharness.targets import Reference

class Waits(Reference):
    async def serve(self, script):
        if script.header.thread_id == "b":
            print("in the case", file=sys.stderr, flush=True)
            await asyncio.Event().wait()
        return await super().serve(script)

class Stops(Reference):
    async def serve(self, script):
        if script.header.thread_id == "b":
            signal.raise_signal(int(os.environ["STOPS_WITH"]))
            await asyncio.Event().wait()
        return await super().serve(script)

class StopsInTheThird(Reference):
    asked = 0

    async def serve(self, script):
        StopsInTheThird.asked += 1
        if StopsInTheThird.asked == 3:
            signal.raise_signal(int(os.environ["STOPS_WITH"]))
            await asyncio.Event().wait()
        return await super().serve(script)

class Computes(Reference):
    async def serve(self, script):
        if script.header.thread_id == "b":
            print("in the case", file=sys.stderr, flush=True)
            while True:
                time.sleep(0.01)
        return await super().serve(script)
"""
"""Servers that never end a case: one says so and waits, two send this process a signal and wait, one keeps the loop."""
PROGRAM = """
import json, os, pathlib, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "start":
        capabilities = {"contract": "1.0", "name": "mine", "roles": ["server"], "versions": ["0.0.4"]}
        print(json.dumps({"id": request["id"], "capabilities": capabilities}), flush=True)
    else:
        pathlib.Path("pids.part").write_text(f"{os.getpid()} {child.pid}")
        os.rename("pids.part", "pids")
        child.wait()
"""
"""A server over stdio that writes down its processes when it is in a case, and never answers."""
REPORT = jsonschema_rs.Draft202012Validator(
    json.loads((conformance_dir() / "schemas" / "report.schema.json").read_text("utf-8"))
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three scenarios, of which the second never ends on the targets beside them."""
    (tmp_path / "own" / "t").mkdir(parents=True)
    for name in "abc":
        (tmp_path / "own" / "t" / f"{name}.yaml").write_text(SCENARIO.format(name=name), "utf-8")
    (tmp_path / "stop_targets.py").write_text(TARGETS, "utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    return tmp_path


@pytest.fixture
def here(in_a_terminal: None, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Play in this process what is played in the folder, with the targets that are there; return the folder."""
    del in_a_terminal
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    yield folder
    sys.modules.pop("stop_targets", None)


def stopped(call: Any, number: signal.Signals, *arguments: str) -> tuple[int, list[str], list[str]]:
    """Run the command line on a server that sends this process a signal; return its exit code and its lines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOPS_WITH", str(int(number)))
        called = call(*arguments)
    return called.code, called.out.splitlines(), called.err.splitlines()


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command line as the leader of a group; whatever happens, it does not outlive the block."""
    environment = {**os.environ, "PYTHONPATH": f"{TOP / 'src'}{os.pathsep}{folder}"}
    process = subprocess.Popen(  # ourselves
        [sys.executable, "-m", "tpharness", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[bytes], words: bytes) -> None:
    """Read standard error until it has the words."""
    assert process.stderr is not None
    read_until(process.stderr.fileno(), words)


def read_until(source: int, words: bytes) -> None:
    """Read what is printed until it has the words."""
    seen, deadline = b"", time.monotonic() + SECONDS
    while words not in seen:
        ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
        piece = os.read(source, 4096) if ready else b""
        assert piece, f"{words!r} did not come: {seen!r}"
        seen += piece


def ended(process: subprocess.Popen[bytes]) -> tuple[int, list[str], list[str]]:
    """Return the exit code and the lines of standard output and standard error."""
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out.decode().splitlines(), err.decode().splitlines()


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_run_that_a_signal_ends_reports_what_was_played(call: Any, here: Path, number: signal.Signals) -> None:
    """One of three scenarios was played: every report has it, and none says that the run passed."""
    reports = ["--report", "console", "--report", "json:run.json", "--report", "junit:run.xml"]
    code, out, err = stopped(call, number, "run", "--scenarios", "own", "--server", STOPS, *reports)
    assert code == 128 + number
    assert out[-1] == f"INCOMPLETE 1 of 3 scenarios, 1 case (1 passed), interrupted by {number.name}"
    assert err[-1] == f"tpharness: interrupted by {number.name}"
    document = json.loads((here / "run.json").read_text("utf-8"))
    REPORT.validate(document)
    assert document["passed"] is False
    assert document["incomplete"] == {"played": 1, "scenarios": 3, "signal": number.name}
    assert document["counts"] == {"passed": 1}
    assert [result["id"] for result in document["results"]] == ["t/a"]
    run = ET.parse(here / "run.xml").find("testcase[@name='run']/failure")  # noqa: S314  # our own
    assert run is not None
    assert run.text == f"interrupted by {number.name}; 1 of 3 scenarios were played"


def test_a_target_that_keeps_the_event_loop_for_itself_is_interrupted_where_it_stands(folder: Path) -> None:
    """Its loop never gets to cancel anything; the report is written all the same."""
    arguments = ["run", "--scenarios", "own", "--server", "python:stop_targets:Computes", "--report", "json:run.json"]
    with started(folder, *arguments) as process:
        wait_for(process, b"in the case")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 128 + signal.SIGTERM
    assert json.loads((folder / "run.json").read_text("utf-8"))["incomplete"]["played"] == 1


def test_a_terminal_that_closes_does_not_cost_the_report(folder: Path) -> None:
    """Everything that is printed from then on fails, nobody is there to read it, and the children end all the same."""
    begins = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
    arguments = ["run", "--scenarios", "own", "--server", f"stdio:{sys.executable} program.py"]
    reports = ["--report", "console", "--report", "json:run.json"]
    ours, theirs = os.openpty()
    process = subprocess.Popen(  # ourselves, on a terminal of our own
        [sys.executable, "-c", begins, str(theirs), "-m", "tpharness", *arguments, *reports],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{TOP / 'src'}{os.pathsep}{folder}"},
        pass_fds=(theirs,),
        start_new_session=True,
    )
    try:
        os.close(theirs)
        left = pids(folder / "pids")
        os.close(ours)
        assert process.wait(SECONDS) == 128 + signal.SIGHUP
    finally:
        process.kill()
        process.wait()
    wait_until_gone(left)
    document = json.loads((folder / "run.json").read_text("utf-8"))
    assert document["incomplete"] == {"played": 0, "scenarios": 3, "signal": "SIGHUP"}


@pytest.mark.skipif(sys.platform != "linux", reason="whether a thread waits is read from /proc")
def test_a_signal_that_comes_just_before_the_loop_waits_is_heeded() -> None:
    """It does not wake the loop then, as here, where another thread takes it; only the next thing that happens does."""
    main, waited = threading.get_native_id(), []

    def send() -> None:
        while Path(f"/proc/self/task/{main}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "S":
            time.sleep(0.01)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    async def wait_for_ever() -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        threading.Thread(target=send).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            async with asyncio.timeout(SECONDS):
                await asyncio.Event().wait()
        finally:
            waited.append(loop.time() - begun)

    stop = StopSignals()
    try:
        with stop.caught(), Session() as session, pytest.raises(KeyboardInterrupt):
            session.run(wait_for_ever())
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    assert stop.received is signal.SIGTERM
    assert waited[0] < SECONDS / 2


@pytest.mark.parametrize(
    ("number", "arguments"),
    [(signal.SIGINT, ()), (signal.SIGTERM, ("--jobs", "2"))],
    ids=["one-process", "workers"],
)
def test_the_whole_group_is_signalled_as_timeout_and_a_terminal_do(
    folder: Path, number: signal.Signals, arguments: tuple[str, ...]
) -> None:
    """Workers get the signal, too; it is the parent process that reports."""
    sides = ["--server", "python:stop_targets:Waits", "--report", "json:run.json", *arguments]
    with started(folder, "run", "--scenarios", "own", *sides) as process:
        wait_for(process, b"in the case")
        process.send_signal(number)
        os.killpg(process.pid, number)
        code, _, err = ended(process)
    assert (code, err[-1]) == (128 + number, f"tpharness: interrupted by {number.name}")
    assert json.loads((folder / "run.json").read_text("utf-8"))["passed"] is False


def test_the_children_of_a_target_end_with_the_run(folder: Path) -> None:
    """Also one that leads a session of its own."""
    with started(folder, "run", "--scenarios", "own", "--server", f"stdio:{sys.executable} program.py") as process:
        left = pids(folder / "pids")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 128 + signal.SIGTERM
    wait_until_gone(left)


def test_the_first_ctrl_c_ends_judging_with_a_report(call: Any, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a target over HTTP, where asyncio would only cancel a task that judging never lets run."""
    played = []

    def judge_for_ever() -> None:
        signal.raise_signal(signal.SIGINT)
        played.append("went on")

    monkeypatch.setattr("tpharness.run.judge.heed_judging_time", judge_for_ever)
    with in_thread(RawServer(ContractServer())) as server:
        arguments = ("--scenarios", "own", "--server", server.url, "--report", "console", "--report", "json:run.json")
        called = call("run", *arguments)
    assert (called.code, called.err.splitlines()) == (130, ["tpharness: interrupted by SIGINT"])
    assert called.out.splitlines()[-1] == "INCOMPLETE 0 of 3 scenarios, 0 cases (nothing played), interrupted by SIGINT"
    assert json.loads((here / "run.json").read_text("utf-8"))["incomplete"]["signal"] == "SIGINT"
    assert played == []


def pids(file: Path) -> list[int]:
    """Return the processes that the program has written down, when it has."""
    deadline = time.monotonic() + SECONDS
    while not file.exists():
        assert time.monotonic() < deadline, "the program was not asked"
        time.sleep(0.02)
    return [int(word) for word in file.read_text("utf-8").split()]


def wait_until_gone(left: list[int]) -> None:
    """Fail when one of the processes is left."""
    deadline = time.monotonic() + SECONDS
    for pid in left:
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline, "a process was left behind"
            time.sleep(0.02)


def test_the_pairs_that_were_not_played_are_in_the_report_of_all(call: Any, here: Path) -> None:
    """A matrix that lacks a pair would look like a smaller one that was asked for."""
    servers = ("reference", STOPS, "python:stop_targets:Computes")
    sides = [word for server in servers for word in ("--server", server)]
    reports = ["--report", "console", "--report", "json:m.json"]
    code, out, _ = stopped(call, signal.SIGTERM, "run", "--scenarios", "own", *sides, *reports)
    assert code == 128 + signal.SIGTERM
    assert out[-1] == "INCOMPLETE 1 of 3 pairs, interrupted by SIGTERM"
    document = json.loads((here / "m.json").read_text("utf-8"))
    assert document["passed"] is False
    assert [one["passed"] for one in document["reports"]] == [True, False, False]
    assert [one.get("incomplete") for one in document["reports"]] == [
        None,
        {"played": 1, "scenarios": 3, "signal": "SIGTERM"},
        {"played": 0, "signal": "SIGTERM"},
    ]
    for one in document["reports"]:
        REPORT.validate(one)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
def test_a_sweep_that_a_signal_ends_tells_what_was_tried(call: Any, form: tuple[str, ...]) -> None:
    """The scenarios before the one in which it was."""
    sides = ["--server", STOPS, "--budget", "100"]
    code, out, err = stopped(call, signal.SIGTERM, "sweep", "--scenarios", "own", *sides, *form)
    assert (code, err[-1]) == (128 + signal.SIGTERM, "tpharness: interrupted by SIGTERM")
    if not form:
        assert re.fullmatch(
            r"INCOMPLETE 1 of 3 scenarios, tried (\d+) of \1 places in these, interrupted by SIGTERM", out[-1]
        )
        return
    document = json.loads("\n".join(out))
    assert document["passed"] is False
    assert document["incomplete"] == {"played": 1, "scenarios": 3, "signal": "SIGTERM"}
    assert [one["id"] for one in document["scenarios"]] == ["t/a"]


def test_a_campaign_that_a_signal_ends_goes_on_where_it_was(call: Any, here: Path) -> None:
    """What was judged is in its folder; the verdict is none."""
    options = ["--db", "kept", "--kind", "programs", "--cases", "9", "--server", "python:stop_targets:StopsInTheThird"]
    code, out, err = stopped(call, signal.SIGTERM, "fuzz", *options)
    assert (code, err[-1]) == (128 + signal.SIGTERM, "tpharness: interrupted by SIGTERM")
    played = json.loads((here / "kept" / "campaign.json").read_text("utf-8"))["cases"]
    assert out[-2].startswith(f"INCOMPLETE {played} of 9 cases in ")
    assert out[-2].endswith(", interrupted by SIGTERM")
    assert out[-1].startswith("continue with: tpharness fuzz --db kept")


def test_defects_that_were_not_played_do_not_count_as_found(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor as surviving; the table beside the module is left alone."""

    def one_and_a_signal(module: str, names: list[str], *_: object, **__: object) -> Iterator[Row]:
        yield Row(change=load_changes(module).named(names[0]), kills=(), played=1, seconds=0.0)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("tpharness.cli.mutate.play_module", one_and_a_signal)
    called = call("mutate", "tests.seeded_defects", "basics/cancelled-in-arguments")
    assert called.code == 128 + signal.SIGTERM
    assert called.out.splitlines()[-1].startswith("INCOMPLETE 1 of ")
    assert called.out.splitlines()[-1].endswith(" defects, interrupted by SIGTERM")


def test_a_signal_before_the_first_defect_leaves_a_document(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the scenarios are played with nothing seeded, no defect was."""
    monkeypatch.setattr("tpharness.explore.mutation.play.unharmed", lambda _: signal.raise_signal(signal.SIGTERM))
    called = call("mutate", "tests.seeded_defects", "basics", "--defect", "client-counts-any-return", "--json")
    assert called.code == 128 + signal.SIGTERM
    document = json.loads(called.out)
    assert document["passed"] is False
    assert document["incomplete"] == {"played": 0, "defects": 1, "signal": "SIGTERM"}


def test_an_incomplete_shard_makes_the_whole_incomplete(call: Any, here: Path) -> None:
    """Every case that was played passed, and the verdict is not that all pass."""
    whole = ["run", "--scenarios", "own", "--server", STOPS]
    assert call(*whole, "--shard", "1/2", "--report", "json:one.json").code == 0
    stopped(call, signal.SIGHUP, *whole, "--shard", "2/2", "--report", "json:two.json")
    merged = here / "whole.json"
    called = call("merge", str(here / "two.json"), str(here / "one.json"), "-o", str(merged))
    assert called.code == 1
    assert called.out.splitlines()[-1].startswith("INCOMPLETE 2 of 2 shards, 2 of 3 scenarios, 2 cases (2 passed)")
    document = json.loads(merged.read_text("utf-8"))
    REPORT.validate(document)
    assert document["passed"] is False
    assert document["incomplete"] == {"played": 2, "scenarios": 3, "signal": "SIGHUP"}
    assert document["error"] == "interrupted by SIGHUP"


def test_an_incomplete_shard_makes_the_whole_sweep_incomplete(call: Any, here: Path) -> None:
    """A scenario that a shard leaves out is an error only if the shard says that it came to its end."""
    whole = ["sweep", "--scenarios", "own", "--server", STOPS, "--budget", "100", "--json"]
    (here / "one.json").write_text(call(*whole, "--shard", "1/2").out, "utf-8")
    _, out, _ = stopped(call, signal.SIGHUP, *whole, "--shard", "2/2")
    (here / "two.json").write_text("\n".join(out), "utf-8")
    called = call("merge", str(here / "one.json"), str(here / "two.json"))
    assert called.code == 1
    assert called.out.splitlines()[-1].startswith("INCOMPLETE 2 of 2 shards, 2 of 3 scenarios, tried ")


def test_serve_ends_in_order_on_each_signal(folder: Path) -> None:
    """It is asked to end, and does: that is not a failure."""
    for number in SIGNALS:
        with started(folder, "serve", "--port", "0") as process:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"listening on ")
            process.send_signal(number)
            assert ended(process) == (0, [], [])


def test_a_report_that_cannot_be_written_does_not_cost_the_others(call: Any, folder: Path) -> None:
    """The exit code says that something is missing. The name is too long only for the file that takes its place."""
    too_long = folder / f"{'x' * 245}.json"
    reports = ["--report", f"json:{too_long}", "--report", f"junit:{folder / 'run.xml'}"]
    called = call("run", "--scenarios", str(folder / "own"), *reports)
    assert called.code == 2
    assert f"cannot write {too_long}" in called.err
    assert (folder / "run.xml").exists()


def test_a_link_into_a_folder_that_is_not_there_is_told_before_the_run(call: Any, folder: Path) -> None:
    """With the folder that is missing, which is not that of the link."""
    link = folder / "link.json"
    link.symlink_to(folder / "none" / "run.json")
    called = call("run", "--scenarios", str(folder / "own"), "--report", f"json:{link}")
    assert called.code == 2
    assert f"the folder {folder / 'none'} does not exist" in called.err


def test_a_run_that_an_error_ends_is_reported_too(call: Any, folder: Path) -> None:
    """A target that is not there at the start; not wrong usage, which is no run."""
    report = folder / "run.json"
    called = call("run", "--server", "http://127.0.0.1:1", "--report", f"json:{report}")
    assert called.code == 2
    document = json.loads(report.read_text("utf-8"))
    REPORT.validate(document)
    assert document["incomplete"] == {"played": 0}
    assert "http://127.0.0.1:1" in document["error"]
    report.unlink()
    assert call("run", "no/such-scenario", "--report", f"json:{report}").code == 2
    assert not report.exists()


class ExitedError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return a clock that stands still, in a process that cannot be ended."""

    def exit_at_once(code: int) -> None:
        raise ExitedError(code)

    monkeypatch.setattr("os._exit", exit_at_once)
    return [0.0]


@pytest.mark.usefixtures("in_a_terminal")
def test_a_second_signal_ends_at_once_and_a_repeated_one_does_not(now: list[float]) -> None:
    """`timeout` and systemd send two for one request; a person who sends another does not want to wait."""
    stop = StopSignals(lambda: now[0])
    with stop.caught():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        for again in SIGNALS:
            signal.raise_signal(again)
        now[0] = 1.0
        for again in SIGNALS:
            with pytest.raises(ExitedError, match=str(128 + again)):
                signal.raise_signal(again)
        assert stop.note() is signal.SIGTERM


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_signal_waits_for_what_is_being_written(number: signal.Signals) -> None:
    """Half a report is none."""
    stop, done = StopSignals(), []

    def write() -> None:
        with stop.held():
            signal.raise_signal(number)
            done.append("written")

    with stop.caught():
        with pytest.raises(KeyboardInterrupt):
            write()
        assert stop.note() is number
    assert done == ["written"]


def test_an_ignored_signal_stays_ignored() -> None:
    """SIGHUP under `nohup`, SIGINT of a job in the background; the others still end the command in order."""
    kept = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGINT)}
    stop, order = StopSignals(), []

    async def main() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("closed")

    try:
        with stop.caught():
            signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGINT)
            assert stop.received is None
            with pytest.raises(KeyboardInterrupt):
                asyncio.run(main())
        assert order == ["closed"]
        assert {signal.getsignal(number) for number in kept} == {signal.SIG_IGN}
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def test_a_system_without_a_signal_does_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no SIGHUP."""
    monkeypatch.delattr(signal, "SIGHUP")
    before = signal.getsignal(signal.SIGTERM)
    with StopSignals().caught():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_thread_beside_the_main_one_gets_no_signals() -> None:
    """The command line may be called from one; it is only that nothing is caught there."""
    entered = []

    def call() -> None:
        stop = StopSignals()
        with stop.caught(), stop.held():
            entered.append(stop.note())

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert entered == [signal.SIGINT]
