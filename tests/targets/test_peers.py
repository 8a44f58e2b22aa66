"""Targets that are started for a run: what they are made of, and every way in which they do not start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.targets.running import bounded

from tpharness.errors import InputError, TargetError, UsageError
from tpharness.run import RunOptions, run_suite
from tpharness.targets.peers import known_peers
from tpharness.targets.remote import UnreachableError
from tpharness.targets.server_process import ServerProcess, free_port
from tpharness.targets.spec import resolve_server
from tpharness.verdict import Outcome, ResultReady

LISTENS = """
import socket, sys, time
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("ready", file=sys.stderr, flush=True)
while True:
    listening.accept()[0].close()
"""


def script(code: str) -> list[str]:
    """Return a command that runs Python with the port as its argument."""
    return [sys.executable, "-c", textwrap.dedent(code), "{port}"]


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie, which only its parent can take away."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return not Path("/proc/self").is_dir() and alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_is_killed_and_started_again_on_the_same_port() -> None:
    """And nothing of it is left in the end."""

    async def work() -> None:
        pids: list[int | None] = []
        async with ServerProcess(script(LISTENS)) as process:
            pids.append(process.pid)
            await process.kill()
            pids.append(process.pid)
            await process.start()
            pids.append(process.pid)
            await process.start()
            pids.append(process.pid)
        first, none, second, same = pids
        assert none is None
        assert same == second, "what runs is not started again"
        assert first is not None
        assert second is not None
        assert first != second
        assert not alive(first)
        assert not alive(second)

    bounded(work())


@pytest.mark.parametrize(
    ("code", "says", "advice", "ready"),
    [
        (
            "raise SystemExit('no such database')",
            "exited with code 1 before it listened .*no such database",
            "start its command yourself, with a free port for {port}: what it prints says why it exits",
            30,
        ),
        (
            "raise SystemExit(\"it needs uvicorn\\n  pip install 'tpharness[serve]'\")",
            "exited with code 1 .*it needs uvicorn",
            "pip install 'tpharness[serve]'",
            30,
        ),
        (
            "import sys; sys.stderr.write('x-api-key: abc, MY_TOKEN travellers\\n'); sys.exit(3)",
            r"x-api-key: \(left out\), MY_TOKEN \(left out\)",
            "yourself",
            30,
        ),
        ("import time; time.sleep(60)", "does not listen on port .* within 0.5 s", "{port} in the command stands", 0.5),
        ("import os, sys; sys.stderr.write('x' * 1000000); os._exit(3)", "exited with code 3 .*xxx", "yourself", 30),
    ],
    ids=["exits", "lacks an extra", "prints a token", "does not listen", "floods standard error"],
)
def test_a_process_that_does_not_listen_is_told_as_what_it_is(
    monkeypatch: pytest.MonkeyPatch, code: str, says: str, advice: str, ready: float
) -> None:
    """With the end of its standard error, in bounds and without secrets, and with what to do about it."""
    monkeypatch.setenv("MY_TOKEN", "travellers")

    async def work() -> None:
        async with ServerProcess(script(code), ready=ready):
            pass

    with pytest.raises(UnreachableError, match=says) as raised:
        bounded(work())
    assert len(str(raised.value)) < 3000
    assert advice in raised.value.hint


def test_a_program_that_is_not_there_is_told() -> None:
    """With what to look at."""
    with pytest.raises(UnreachableError, match="cannot be started: No such file") as raised:
        bounded(ServerProcess(["no-such-program", "{port}"]).start())
    assert "'no-such-program'" in raised.value.hint


def test_what_a_process_has_started_ends_with_it(tmp_path: Path) -> None:
    """The whole group does, also when it does not mind SIGTERM."""
    told = tmp_path / "pid"
    code = f"""
    import signal, subprocess, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open({str(told)!r}, "w").write(str(child.pid))
    """ + textwrap.indent(LISTENS, "    ")

    async def work() -> None:
        process = ServerProcess(script(code))
        await process.start()
        await process.kill()

    bounded(work())
    child = int(told.read_text("ascii"))
    for _ in range(200):  # it was killed before; when the kernel has done it is the kernel's affair
        if not runs(child):
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child outlives its parent")


def test_the_reference_server_is_a_peer() -> None:
    """Started for the run, with everything over real sockets."""
    ids = (
        "basics/parallel-returns-in-call-order",
        "interruptions/mid-text",
        "interruptions/next-turn-after-interruption",
    )
    events = list(run_suite(RunOptions(ids=ids, server="peer:serve", client="peer:serve")))
    results = [event.result for event in events if isinstance(event, ResultReady)]
    assert {result.outcome for result in results} == {Outcome.PASSED}


def test_a_module_of_the_current_folder_is_not_taken_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Peers of ours run our code and that of their libraries alone."""
    (tmp_path / "yaml.py").write_text("raise SystemExit('this is not the library')", "utf-8")
    monkeypatch.chdir(tmp_path)
    events = list(run_suite(RunOptions(ids=("basics/parallel-returns-in-call-order",), server="peer:serve")))
    assert next(e.result.outcome for e in events if isinstance(e, ResultReady)) is Outcome.PASSED


FORGETS = """
import sys
sys.path.insert(0, {examples!r})
import plain_python
plain_python.CAPABILITIES["durable"] = True
plain_python.serve_http("127.0.0.1", int(sys.argv[1]))
"""


def test_a_server_may_be_killed_and_comes_back_with_what_was_canonical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that declares durable and has everything in memory fails; one that was not started here is not killed."""
    (tmp_path / "forgets.py").write_text(FORGETS.format(examples=str(Path(__file__).parents[2] / "examples")), "utf-8")
    (tmp_path / "tpharness.toml").write_text(
        f"[peers.forgets]\ncommand = [{sys.executable!r}, 'forgets.py', '{{port}}']", "utf-8"
    )
    monkeypatch.chdir(tmp_path)
    outcomes = {}
    for name in ("serve", "forgets"):
        options = RunOptions(ids=("cycles/three-steps@fault-kill",), server=f"peer:{name}")
        (result,) = [event.result for event in run_suite(options) if isinstance(event, ResultReady)]
        outcomes[name] = (result.outcome, [finding.code for finding in result.findings])
    assert outcomes == {"serve": (Outcome.PASSED, []), "forgets": (Outcome.FAILED, ["durable-not-kept"])}


def test_a_file_names_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found from the folders below, and the command runs where it lies."""
    (tmp_path / "tpharness.toml").write_text(
        f"""
        [peers.mine]
        command = [{sys.executable!r}, "-m", "tpharness", "serve", "--port", "{{port}}"]
        env = {{PYTHONDONTWRITEBYTECODE = "1"}}
        start_seconds = 30
        """,
        "utf-8",
    )
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    peer = known_peers()["mine"]
    assert (peer.cwd, peer.start_seconds, peer.env) == (tmp_path, 30, {"PYTHONDONTWRITEBYTECODE": "1"})
    events = list(run_suite(RunOptions(ids=("basics/parallel-returns-in-call-order",), server="peer:mine")))
    assert next(e.result.outcome for e in events if isinstance(e, ResultReady)) is Outcome.PASSED


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[peers", "cannot be read"),
        ("peers = 1", "peers is not a table"),
        ("[peers.x]", "command is not a list of strings"),
        ("[peers.x]\ncommand = 'node {port}'", "command is not a list of strings"),
        ("[peers.x]\ncommand = ['node']", "does not have {port}"),
        ("[peers.x]\ncommnad = ['{port}']", "has an unknown key 'commnad'"),
        ("[peers.x]\ncommand = ['{port}']\nbase = 'tp'", "base is 'tp', which is not a path"),
        ("[peers.x]\ncommand = ['{port}']\nenv = {A = 1}", "env is not a table of strings"),
        ("[peers.x]\ncommand = ['{port}']\nstart_seconds = true", "start_seconds is true, expected a number above 0"),
    ],
)
def test_a_file_that_says_what_no_peer_can_be(text: str, says: str, tmp_path: Path) -> None:
    """Names the file, the table and the key."""
    (tmp_path / "tpharness.toml").write_text(text, "utf-8")
    with pytest.raises((InputError, UsageError)) as raised:
        known_peers(tmp_path)
    assert says in str(raised.value)
    assert "tpharness.toml" in str(raised.value)


def test_a_peer_that_nobody_knows() -> None:
    """With the nearest name."""
    with pytest.raises(UsageError, match="there is no peer 'serv'") as raised:
        resolve_server("peer:serv")
    assert raised.value.hint == "did you mean peer:serve?"


def test_a_peer_that_does_not_start_costs_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is played."""
    (tmp_path / "tpharness.toml").write_text("[peers.x]\ncommand = ['false', '{port}']", "utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TargetError, match="peer:x: exited with code 1"):
        list(run_suite(RunOptions(ids=("basics",), server="peer:x")))


def test_free_ports_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nobody gets one of them who asks for any port: a server would be judged that somebody else has started."""
    assert all(1024 < free_port() < 32_768 for _ in range(100))
    free = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        asked = iter([taken.getsockname()[1], free])
        monkeypatch.setattr("tpharness.targets.server_process.secrets.choice", lambda _: next(asked))
        assert free_port() == free


HARNESS = """
import asyncio, sys, time
from tpharness.targets.peers import PeerServer
async def main():
    server = PeerServer(sys.argv[1])
    await server.open()
    print(server._process.pid, flush=True)
    time.sleep(60)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_peer_ends_with_a_harness_that_is_killed() -> None:
    """SIGKILL leaves no time to end anything: the peer sees its standard input end."""
    with subprocess.Popen([sys.executable, "-c", HARNESS, "peer:serve"], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        pid = int(harness.stdout.readline())
        assert runs(pid)
        harness.kill()
        harness.wait()
        deadline = time.monotonic() + 10
        while runs(pid):
            assert time.monotonic() < deadline, "the peer outlives its harness"
            time.sleep(0.01)
