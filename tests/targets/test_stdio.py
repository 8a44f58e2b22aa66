"""Targets in other processes: asked line by line, and each way in which a process can be wrong told as what it is."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import re
import shlex
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import load_builtin
from tests.targets.running import open_descriptors

from tpharness.errors import TargetError, UsageError
from tpharness.output import json_bytes
from tpharness.protocol.versions import Version
from tpharness.run import RunOptions, play_one
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import load_text
from tpharness.targets import Reference, Script
from tpharness.targets.computing import processor_seconds, queued_seconds
from tpharness.targets.forms import CONTRACT
from tpharness.targets.remote import Patience, Remote, StreamLimits, UnreachableError
from tpharness.targets.spec import resolve_client, resolve_server
from tpharness.targets.stdio import StdioClient, StdioServer
from tpharness.verdict import Outcome as Verdict
from tpharness.verdict.grouping import group_failures

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="process groups are POSIX"),
    pytest.mark.usefixtures("little_to_collect"),
]

QUICK = Patience(answer=0.3)
ROOMY = Patience(answer=10.0)

HEAD = """
import json, os, sys, time
told = {"contract": "1.0", "name": "tiny", "roles": ["server", "client"]}
def say(**answer):
    sys.stdout.write(json.dumps(answer) + "\\n")
    sys.stdout.flush()
def threads(case):
    names = case["versions"]
    return {v: {"version": v, "thread_id": case["thread_id"], "turns": []} for v in names}
NOW = "2025-01-20T10:00:00Z"
def asked():
    for line in sys.stdin:
        yield json.loads(line)
"""

GOOD = """
for q in asked():
    if q["op"] == "start":
        say(id=q["id"], capabilities=told)
    elif q["op"] == "serve":
        streams = [[] for turn in q["case"]["turns"] if "events" in turn]
        say(id=q["id"], served={"threads": threads(q["case"]), "streams": streams})
    elif q["op"] == "receive":
        say(id=q["id"], received={"threads": threads(q["case"])})
    elif q["op"] == "adopt":
        say(id=q["id"], received={"threads": q["threads"]})
    else:
        say(id=q["id"], stopped=True)
        break
"""


def spec(code: str) -> str:
    """Return the target that runs a piece of Python."""
    return "stdio:" + shlex.join([sys.executable, "-I", "-S", "-c", HEAD + textwrap.dedent(code)])


def at_serve(code: str) -> str:
    """Return a target that starts as it should and then does this with the request `q` to serve."""
    body = textwrap.indent(textwrap.dedent(code).strip(), "        ")
    return f"""
for q in asked():
    if q["op"] == "start":
        say(id=q["id"], capabilities=told)
    else:
{body}
"""


@pytest.fixture
def script() -> Script:
    """Return a case with one run."""
    return make_script(base_case(load_builtin("basics/tool-call-and-answer")))


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No child process and no descriptor outlives a test; what was there before it is another's."""
    before, others = open_descriptors(), children()
    yield
    gc.collect()
    assert children() <= others
    assert open_descriptors() <= before


def children() -> set[int]:
    """Return the processes that this one has started and not waited for."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            _, _, rest = stat.read_text("utf-8", "replace").rpartition(")")
            if int(rest.split()[1]) == os.getpid():
                found.add(int(stat.parent.name))
    return found


def serve(target: StdioServer, script: Script) -> TargetError | None:
    """Have a case served and everything closed; return what was raised."""

    async def play() -> TargetError | None:
        try:
            async with asyncio.timeout(20):
                await target.serve(script)
        except TargetError as error:
            return error
        finally:
            await target.close()
        return None

    return asyncio.run(play())


def test_a_process_serves_and_receives(script: Script) -> None:
    """Both roles are asked line by line, and the answers are outcomes."""
    server, client = StdioServer(spec(GOOD), patience=ROOMY), StdioClient(spec(GOOD), patience=ROOMY)

    async def play() -> None:
        try:
            served = await server.serve(script)
            assert set(served.threads) == set(Version)
            assert served.streams == ((),)
            assert server.capabilities.name == "tiny"
            received = await client.receive(script, ())
            assert received.threads[Version.V0_0_4]["thread_id"] == script.header.thread_id
            assert await client.adopt(served.threads) == served.threads
        finally:
            await server.close()
            await client.close()
            await client.close()

    asyncio.run(play())
    assert isinstance(server, Remote)


def test_the_language_of_targets_knows_stdio() -> None:
    """`stdio:COMMAND` names a server and a client."""
    assert isinstance(resolve_server("stdio:some program"), StdioServer)
    assert isinstance(resolve_client("stdio:some program"), StdioClient)


@pytest.mark.parametrize(("wrong", "says"), [("stdio:", "does not name a command"), ("stdio:a 'b", "cannot be split")])
def test_a_command_that_is_none_is_the_callers_mistake(wrong: str, says: str) -> None:
    """Nothing is started."""
    with pytest.raises(UsageError, match=says):
        resolve_server(wrong)


NEVER_STARTS = {
    "exits at once": (
        "sys.stderr.write('no licence\\n'); sys.exit(3)",
        "exited with code 3.*standard error: no licence",
    ),
    "prints a token": (
        "sys.stderr.write('Authorization: Bearer abc\\nDB_PASSWORD=abc1\\n'); sys.exit(3)",
        r"standard error: Authorization: Bearer \(left out\) \| DB_PASSWORD=\(left out\)$",
    ),
    "writes a token": ("print('api_key=abc', flush=True); time.sleep(60)", r"is not JSON: .*api_key=\(left out\)$"),
    "answers with a token": (
        "q = next(asked()); say(id=q['id'], error={'message': 'password=abc is wrong'}); time.sleep(60)",
        r"answers start with an error: password=\(left out\) is wrong",
    ),
    "is killed": ("os.kill(os.getpid(), 11)", "ended by signal SIGSEGV"),
    "hangs": ("time.sleep(60)", r"does not answer within 0\.3 s"),
    "writes a banner": ("print('Tiny 1.0 ready', flush=True); time.sleep(60)", "is not JSON: .*Tiny 1.0 ready"),
    "closes its output": ("os.close(1); time.sleep(60)", "closed its standard input or output and still runs"),
    "speaks another contract": (
        "q = next(asked()); say(id=q['id'], capabilities={**told, 'contract': '2.0'}); time.sleep(60)",
        "has version 2.0 of the contract, tpharness has 1.2",
    ),
    "has no name": (
        "q = next(asked()); told.pop('name'); say(id=q['id'], capabilities=told); time.sleep(60)",
        '"name" is a required property',
    ),
    "is a client alone": (
        "q = next(asked()); say(id=q['id'], capabilities={**told, 'roles': ['client']}); time.sleep(60)",
        "does not declare the role server, only client",
    ),
    "refuses to start": (
        "q = next(asked()); say(id=q['id'], error={'message': 'out of order'}); time.sleep(60)",
        "answers start with an error: out of order",
    ),
}


def test_a_command_that_builds_first_is_told_to_build_before(script: Script) -> None:
    """`go run` and `cargo run` compile for longer than the patience, whatever the program flushes."""
    error = serve(StdioServer(spec("time.sleep(60)"), patience=QUICK), script)
    assert error is not None
    assert "go run, cargo run, npx" in error.hint


@pytest.mark.parametrize("name", NEVER_STARTS)
def test_a_process_that_does_not_start_is_told_as_what_it_is(name: str, script: Script) -> None:
    """Nothing hangs and nothing is left."""
    code, says = NEVER_STARTS[name]
    patience = QUICK if name == "hangs" else ROOMY
    error = serve(StdioServer(spec(code), patience=patience), script)
    assert re.search(says, str(error), re.DOTALL), error


def test_a_program_that_is_not_there_is_unreachable(script: Script) -> None:
    """The runner asks no more after several of these."""
    error = serve(StdioServer("stdio:/nowhere/at/all --now"), script)
    assert isinstance(error, UnreachableError)
    assert "cannot be started: No such file or directory" in str(error)
    assert "'/nowhere/at/all'" in error.hint


GOES_WRONG = {
    "exits": ("sys.stderr.write('a\\nout of memory\\n'); os._exit(9)", "exited with code 9; .*a | out of memory"),
    "raises": (
        "(lambda: q['no such field'])()",
        r"code 1; .* standard error: File \"[^|]+\", line \d+, in <lambda>( \| [^|^]+)? \| KeyError: 'no such",
    ),
    "exits in a line": (
        "sys.stdout.write('{\"id\": 2, '); sys.stdout.flush(); os._exit(0)",
        "code 0 in the middle of a line",
    ),
    "hangs in a line": (
        "sys.stdout.write('{\"id\"'); sys.stdout.flush(); time.sleep(60)",
        "5 bytes and no end of line within",
    ),
    "hangs": ("time.sleep(60)", r"does not answer within 0\.3 s"),
    "writes garbage": ("sys.stdout.buffer.write(b'\\xff\\xfe\\n'); sys.stdout.flush()", "is not JSON"),
    "writes no number": ("sys.stdout.write('{\"id\": NaN}\\n'); sys.stdout.flush()", "NaN is not JSON"),
    "answers no object": ("sys.stdout.write('[1, null]\\n'); sys.stdout.flush()", r"is not a JSON object: \[1, null\]"),
    "answers another id": ("say(id=q['id'] + 7, served={})", "has the id 9, the request has the id 2"),
    "answers out of order": ("say(id=q['id'] - 1, capabilities=told)", "has the id 1, the request has the id 2"),
    "answers no id": ("say(served={})", "has the id null, the request has the id 2"),
    "answers something else": ("say(id=q['id'], received={})", "has neither 'served' nor 'error', only id, received"),
    "answers twice": ("print('{}\\n{}', flush=True)", "answers one request with more than one line"),
    "writes before its answer": (
        "print('Starting up\\n{}', flush=True)",
        "answers one request with more than one line; it wrote Starting up$",
    ),
    "writes after its answer": ("print('{}\\nDone', flush=True)", "with more than one line; it wrote Done$"),
    "answers with an error": (
        "sys.stderr.write('line 4\\n'); sys.stderr.flush(); time.sleep(0.05); say(id=q['id'], error={'message': 'no'})",
        "answers serve with an error: no",
    ),
    "has no threads": ("say(id=q['id'], served={})", '/served: "threads" is a required property'),
    "has a thread of another shape": (
        "t = threads(q['case']); t['0.0.4']['turns'] = {}; say(id=q['id'], served={'threads': t})",
        r'/served/threads/0\.0\.4/turns: .* is not of type "array"',
    ),
    "lacks a version": (
        "t = threads(q['case']); del t['0.0.3']; say(id=q['id'], served={'threads': t, 'streams': [[]]})",
        "does not have a thread of version 0.0.3",
    ),
    "has another thread": (
        "t = threads(q['case']); t['2.0.0']['thread_id'] = 'x'; say(id=q['id'], served={'threads': t})",
        "version 2.0.0 has the thread_id x",
    ),
    "has too many streams": (
        "say(id=q['id'], served={'threads': threads(q['case']), 'streams': [[], []]})",
        "has 2 streams, the case has 1 run$",
    ),
    "counts events from 1": (
        "say(id=q['id'], served={'threads': threads(q['case']), 'streams': [[{'data': '', 'at': NOW, 'event': 99}]]})",
        "a packet of run 1 names event 99, the run has [0-9]+ events?$",
    ),
}


@pytest.mark.parametrize("name", GOES_WRONG)
def test_a_process_that_goes_wrong_is_told_as_what_it_is(name: str, script: Script) -> None:
    """The case is an error that says what the process did."""
    code, says = GOES_WRONG[name]
    patience = QUICK if name.startswith("hangs") else ROOMY
    server = StdioServer(spec(at_serve(code)), patience=ROOMY)

    async def play() -> TargetError | None:
        await server.open()
        server._patience = patience  # a slow start of Python is not what is tested
        try:
            await server.serve(script)
        except TargetError as error:
            return error
        finally:
            await server.close()
        return None

    error = asyncio.run(play())
    assert re.search(says, str(error), re.DOTALL), error
    assert str(error).startswith("stdio:")


def test_a_line_without_end_is_cut_off(script: Script) -> None:
    """No more is taken in than the limit says."""
    code = "while True: os.write(1, b'x' * 65536)"
    error = serve(StdioServer(spec(at_serve(code)), patience=ROOMY, limits=StreamLimits(body=1 << 20)), script)
    assert "a line of more than 1048576 bytes" in str(error)


def test_a_process_that_does_not_read_is_given_up(script: Script) -> None:
    """A request that does not fit into the pipe blocks nobody for ever."""
    big = {"big": {"agent_id": "big", "agent_name": "x" * (1 << 20), "created_at": script.header.created_at}}
    agents = {**script.header.agents, **big}
    loud = type(script.header)(thread_id=script.header.thread_id, created_at=script.header.created_at, agents=agents)
    code = "q = json.loads(sys.stdin.readline()); say(id=q['id'], capabilities=told); time.sleep(60)"
    server = StdioServer(spec(code), patience=ROOMY)

    async def play() -> None:
        await server.open()
        server._patience = QUICK
        with pytest.raises(TargetError, match="has not read its request within"):
            await server.serve(Script(header=loud, turns=script.turns, versions=script.versions))
        await server.close()

    asyncio.run(play())


def test_a_flood_on_standard_error_blocks_nobody(script: Script) -> None:
    """It is read all the time, and its last lines are kept for errors."""
    code = """
        for i in range(40000):
            sys.stderr.write(f"line {i} of a very chatty program\\n")
        sys.stderr.flush()
        os._exit(1)
    """
    error = serve(StdioServer(spec(at_serve(code)), patience=ROOMY), script)
    assert "line 39999 of" in str(error)
    assert "line 39980 of" in str(error)
    assert "line 39979 of" not in str(error)


def test_after_a_failure_the_next_case_gets_another_process(script: Script) -> None:
    """One broken case costs one case."""
    code = """
        if sys.argv[-1] == "-" or os.path.exists(q["case"]["thread_id"]):
            os._exit(1)
        say(id=q["id"], served={"threads": threads(q["case"]), "streams": [[]]})
    """
    server = StdioServer(spec(at_serve(code)), patience=ROOMY)
    bad = type(script.header)(thread_id="/", created_at=script.header.created_at, agents=script.header.agents)

    async def play() -> None:
        try:
            for _ in range(2):
                with pytest.raises(TargetError, match="exited with code 1"):
                    await server.serve(Script(header=bad, turns=script.turns, versions=script.versions))
                assert (await server.serve(script)).threads
        finally:
            await server.close()

    asyncio.run(play())


def test_cases_at_the_same_time_get_a_process_each(script: Script, tmp_path: Path) -> None:
    """Three cases run side by side; each waits for the two others."""
    code = f"""
        here = {str(tmp_path)!r}
        open(os.path.join(here, str(os.getpid())), "w").close()
        while len(os.listdir(here)) < 3:
            time.sleep(0.005)
        say(id=q["id"], served={{"threads": threads(q["case"]), "streams": [[]]}})
    """
    server = StdioServer(spec(at_serve(code)), patience=ROOMY)

    async def play() -> None:
        try:
            await asyncio.gather(*(server.serve(script) for _ in range(3)))
        finally:
            await server.close()

    asyncio.run(play())
    assert len(list(tmp_path.iterdir())) == 3


def test_processes_outlive_a_loop(script: Script) -> None:
    """What asks in a loop of its own for each case does not start a process for each case."""
    code = at_serve('say(id=q["id"], served={"threads": threads(q["case"]), "streams": [[]]})')
    server = StdioServer(spec(code), patience=ROOMY)
    asyncio.run(server.open())
    pids = {process._process.pid for process in server._idle}
    for _ in range(2):
        asyncio.run(server.serve(script))
        assert {process._process.pid for process in server._idle} == pids
    asyncio.run(server.close())


def test_who_stops_waiting_ends_the_process(script: Script) -> None:
    """A cancelled case leaves neither a process nor a thread behind."""
    server = StdioServer(spec(at_serve("time.sleep(60)")), patience=ROOMY)

    async def play() -> None:
        await server.open()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await server.serve(script)
        assert not server._idle
        await server.close()

    asyncio.run(play())


def test_what_a_process_has_started_ends_with_it(script: Script, tmp_path: Path) -> None:
    """The whole group is killed, a child that holds the pipes open included."""
    note = tmp_path / "pid"
    code = f"""
        import subprocess
        child = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
        open({str(note)!r}, "w").write(str(child.pid))
        os._exit(0)
    """
    server = StdioServer(spec(at_serve(code)), patience=ROOMY)
    assert serve(server, script) is not None
    child = int(note.read_text())
    # A killed process runs until it is scheduled once more; then it is gone, or a zombie until its parent reaps it.
    deadline = time.monotonic() + 5.0
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def test_a_server_without_streams_is_held_to_its_threads(script: Script) -> None:
    """What its client would get is said by the reference."""
    code = at_serve('say(id=q["id"], served={"threads": threads(q["case"])})')
    server = StdioServer(spec(code), patience=ROOMY)

    async def play() -> None:
        try:
            served = await server.serve(script)
            assert served.streams == (await Reference().serve(script)).streams
        finally:
            await server.close()

    asyncio.run(play())


def test_half_a_character_goes_through(script: Script) -> None:
    """What JSON libraries refuse to write or to read is for the checks to judge (R38)."""
    code = """
        t = threads(q["case"])
        for thread in t.values():
            thread["turns"] = [{"text": q["case"]["agents"]["half"]["agent_name"]}]
        say(id=q["id"], served={"threads": t, "streams": [[]]})
    """
    half = {"half": {"agent_id": "half", "agent_name": "\ud83d", "created_at": script.header.created_at}}
    header = type(script.header)(thread_id="t", created_at=script.header.created_at, agents=half)
    server = StdioServer(spec(at_serve(code)), patience=ROOMY)

    async def play() -> None:
        try:
            served = await server.serve(Script(header=header, turns=script.turns, versions=script.versions))
            assert served.threads[Version.V0_0_4]["turns"] == [{"text": "\ud83d"}]
        finally:
            await server.close()

    asyncio.run(play())


def test_the_engine_plays_a_process() -> None:
    """A server that keeps nothing fails its case, one that breaks is an error."""
    scenario = load_builtin("parts/texts-not-merged")
    failed = play_one(scenario, RunOptions(server=spec(GOOD)))
    assert {r.outcome for r in failed} == {Verdict.FAILED}
    errored = play_one(scenario, RunOptions(server=spec(at_serve("os._exit(5)"))))
    assert {r.outcome for r in errored} == {Verdict.ERRORED}
    assert "exited with code 5" in errored[0].reason


def test_lines_that_are_not_answers_are_one_cause() -> None:
    """Whatever they say, and whether they come before the answer, behind it, or instead of it."""
    noise = """
        line, answer = f"request {q['id']}\\n", json.dumps({"id": q["id"]}) + "\\n"
        sys.stdout.write([line, line + answer, answer + line][q["id"] % 3])
        sys.stdout.flush()
    """
    results = play_one(load_builtin("cycles/three-steps"), RunOptions(server=spec(at_serve(noise))))
    assert len({result.reason for result in results}) > 2
    (group,) = group_failures(results)
    assert str(group.cause).endswith(": the process writes to standard output what is not an answer")


NO_BYTES = """
description: The run is cut after an event that causes no bytes.
clauses: [cycle.empty-turn-left-out]
turns:
  - user: Hi
  - server: [{event_kind: model_request}]
    interrupt: {reason: timeout, after: {event: 0}, wire: cut, client: {after: {event: 0}, reason: timeout}}
"""
SERVES = """
for q in asked():
    if q["op"] == "start":
        say(id=q["id"], capabilities={**told, "roles": ["server"]})
    elif q["op"] == "serve":
        user, run = q["case"]["turns"]
        case = q["case"]
        head = {"created_at": case["created_at"], "updated_at": case["created_at"], "agents": case["agents"]}
        held = {v: {**t, **head, "turns": [user]} for v, t in threads(case).items()}
        packets = [{"data": "data: " + json.dumps(chunk) + chr(10) * 2, "at": run["started_at"]} for chunk in CHUNKS]
        say(id=q["id"], served={"threads": held, "streams": [packets]})
    else:
        say(id=q["id"], stopped=True)
        break
"""


@pytest.mark.parametrize(
    ("chunks", "outcome"),
    [
        ([{"type": "start"}], Verdict.PASSED),
        ([{"type": "start"}, {"type": "data-sys-tp", "data": {}, "transient": True}], Verdict.PASSED),
        ([{"type": "start"}, {"type": "start-step"}], Verdict.NOT_APPLICABLE),
    ],
    ids=["start", "carrier", "step"],
)
def test_an_event_may_cause_no_bytes(chunks: list[dict[str, Any]], outcome: Verdict) -> None:
    """Packets without `event` are those that open a stream, unless they say what only an event can cause."""
    target = spec(SERVES.replace("CHUNKS", repr(chunks)))
    (result,) = play_one(load_text(NO_BYTES, id="mine/no-bytes"), RunOptions(server=target))
    assert (result.outcome, result.findings) == (outcome, ()), result.reason


@pytest.mark.parametrize(("step", "advice"), [(0.3, "--request"), (0.0, "flush standard output")])
def test_a_late_answer_says_how_large_the_request_was_and_how_long_was_computed(
    step: float, advice: str, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that computes gets other advice than one that may have forgotten to flush its answer."""
    clock = itertools.count(5.0, step) if step else itertools.repeat(5.0)
    monkeypatch.setattr("tpharness.targets.process.processor_seconds", lambda _pid: next(clock))
    error = serve(StdioServer(spec("time.sleep(60)"), patience=QUICK), script)
    asked = json_bytes({"op": "start", "id": 1, "contract": CONTRACT}) + b"\n"
    assert f"does not answer within 0.3 s; the first request, `start`, has {len(asked)} bytes" in str(error)
    assert f"the process has computed for {step:.1f} s of this time" in str(error)
    assert error is not None
    assert advice in error.hint


def test_the_time_in_which_a_process_gets_no_processor_does_not_count(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other programs kept it from answering within its patience: it is waited for, and answers."""
    pipe = tmp_path / "go-on"
    os.mkfifo(pipe)
    asked = 0

    def queued(_pid: int) -> float:
        nonlocal asked
        asked += 1
        if asked == 2:  # its patience is over: now it answers
            pipe.write_bytes(b"go on")
        return 0.0 if asked == 1 else 60.0

    monkeypatch.setattr("tpharness.targets.process.queued_seconds", queued)
    target = StdioServer(spec(f"open({str(pipe)!r}).read()\n{textwrap.dedent(GOOD)}"), patience=QUICK)
    assert serve(target, script) is None
    assert asked >= 2


def test_a_process_that_never_gets_a_processor_is_given_up(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, the wait ends, and the error says what did not count."""
    moments = itertools.chain([0.0], itertools.repeat(60.0))
    monkeypatch.setattr("tpharness.targets.process.queued_seconds", lambda _pid: next(moments))
    error = serve(StdioServer(spec("time.sleep(60)"), patience=QUICK), script)
    assert "within 0.3 s" in str(error)
    assert "the 60 s in which this machine gave it no processor do not count" in str(error)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="only Linux says how long a process has waited")
def test_who_waits_for_a_processor_is_counted_by_the_system() -> None:
    """Two processes on one processor wait for each other about as long as they compute."""
    compute = (
        "import os, time\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nprint(flush=True)\nwhile 1: pass"
    )
    both = [subprocess.Popen([sys.executable, "-I", "-S", "-c", compute], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        for process in both:
            assert process.stdout is not None
            process.stdout.readline()
        since = time.monotonic()
        while queued_seconds(both[0].pid) < 0.05:
            assert time.monotonic() - since < 20, "it computes without a pause beside another one"
        assert queued_seconds(2**22 + 1) == 0
    finally:
        for process in both:
            process.kill()
            process.communicate()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says how long a process has computed")
def test_the_time_of_a_process_is_that_of_the_system() -> None:
    """It grows with what this process computes itself, by the system's own count."""
    before, since = processor_seconds(os.getpid()), time.process_time()
    while time.process_time() - since < 0.1:
        sum(range(1000))
    after = processor_seconds(os.getpid())
    assert before is not None
    assert after is not None
    assert 0.05 <= after - before <= 0.5
    assert processor_seconds(2**22 + 1) is None
