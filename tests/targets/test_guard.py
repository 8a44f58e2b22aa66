"""Nothing that a target has started is left behind, however the harness ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.targets.running import is_running

from tpharness.targets import guard
from tpharness.targets.children import Guarded

TARGET = """
import os, socket, subprocess, sys
own = subprocess.Popen(["sleep", "1000"])
apart = subprocess.Popen(["sleep", "1000"], start_new_session=True)
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open("pids.part", "w").write(f"{os.getpid()} {own.pid} {apart.pid}")
os.rename("pids.part", "pids")
while True:
    listening.accept()[0].close()
"""
FORK_BOMB = """
import mmap, os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
forks = mmap.mmap(-1, 1)
while True:
    if forks[0] == 30:  # as under a limit of processes, where fork fails from now on
        os.write(1, b"full")
        time.sleep(1000)
    forks[0] += 1
    if os.fork() == 0 and forks[0] % 3 == 0:
        os.setsid()
"""
HARNESS = {
    "a program behind standard input and output": """
import sys
from tpharness.targets.process import LineProcess
process = LineProcess([sys.executable, "target.py", "0"], name="it", limit=1000)
print("ready", flush=True)
sys.stdin.readline()
process.kill()
sys.stdin.readline()
""",
    "a server": """
import asyncio, sys
from tpharness.targets.server_process import ServerProcess
async def main():
    async with ServerProcess([sys.executable, "target.py", "{port}"]):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
asyncio.run(main())
sys.stdin.readline()
""",
}


def wait_for(what: str, holds: object) -> None:
    """Fail when something does not come to hold within twenty seconds."""
    deadline = time.monotonic() + 20
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot list what has left the process group")
@pytest.mark.parametrize("end", ["let-go", "SIGKILL", "SIGTERM"])
@pytest.mark.parametrize("kind", HARNESS)
def test_nothing_is_left_of_a_target(kind: str, end: str, tmp_path: Path) -> None:
    """Neither the program, nor its child, nor a child that leads a session of its own."""
    (tmp_path / "target.py").write_text(TARGET, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(guard.__file__).parents[2])}
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS[kind]],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    with harness:
        assert harness.stdin is not None
        assert harness.stdout is not None
        try:
            assert harness.stdout.readline() == b"ready\n"
            wait_for("the target does not start", (tmp_path / "pids").exists)
            started = [int(word) for word in (tmp_path / "pids").read_text("utf-8").split()]
            assert all(map(is_running, started))
            if end == "let-go":
                harness.stdin.write(b"\n")
                harness.stdin.flush()
            else:
                os.kill(harness.pid, signal.Signals[end])
            wait_for("a process is left", lambda: not any(map(is_running, started)))
        finally:
            harness.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot list what has left the process group")
def test_a_program_that_forks_until_it_is_refused_is_ended_whole(tmp_path: Path) -> None:
    """Each process forks more, every third leads a session of its own, and none minds SIGTERM: none is left."""
    lifeline, ours = os.pipe()
    with subprocess.Popen(
        Guarded().command([sys.executable, "-c", FORK_BOMB], lifeline),
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        pass_fds=(lifeline,),
        start_new_session=True,
    ) as process:
        os.close(lifeline)
        assert process.stdout is not None
        assert os.read(process.stdout.fileno(), 4) == b"full"
        os.close(ours)
        output = process.stdout.fileno()
        while True:  # until the last process has closed it
            assert select.select([output], [], [], 20)[0], "a process is left, and holds the output"
            if not os.read(output, 4096):
                break
        assert process.wait() == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    ("command", "status", "says"),
    [
        (["sh", "-c", "exit 7"], 7, b""),
        (["sh", "-c", "kill -TERM $$"], -signal.SIGTERM, b""),
        (["sh", "-c", "kill -KILL $$"], -signal.SIGKILL, b""),
        (["./no-such-program"], 127, b"./no-such-program cannot be started: No such file or directory\n"),
        (["."], 127, b". cannot be started: Permission denied\n"),
    ],
)
def test_a_guard_ends_as_its_command_does(command: list[str], status: int, says: bytes, tmp_path: Path) -> None:
    """Whoever started the guard reads the status or the signal of the command, and why it could not be started."""
    with subprocess.Popen(
        Guarded().command(command, 0),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert process.stderr.read() == says
        assert process.wait() == status
