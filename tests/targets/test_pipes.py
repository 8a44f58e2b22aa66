"""Both ways to read and write the pipes of a process do the same."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest
from tests.targets.running import open_descriptors

from tpharness.targets.pipes import Piece, Pipes, PolledPipes, ThreadedPipes
from tpharness.targets.process import LineProcess

WAYS = [PolledPipes, ThreadedPipes]
LONG = 10.0
ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stderr.write(f"{len(line)} bytes\\n")
    sys.stderr.flush()
    sys.stdout.buffer.write(line[::-1].strip() + b"\\n")
    sys.stdout.buffer.flush()
"""
FLOOD = "import os\nwhile True:\n    os.write(1, b'x' * 65536)"
DEAF = "import os, sys\nos.close(0)\nsys.stdout.write('deaf')\nsys.stdout.flush()\nwhile True: pass"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Return the processes that a test starts, which are ended."""
    all_of_them: list[subprocess.Popen[bytes]] = []
    before = threading.active_count(), open_descriptors()
    yield all_of_them
    for process in all_of_them:
        process.kill()
        process.wait()
    for thread in threading.enumerate():
        if thread.name == "tpharness pipe":
            thread.join(LONG)
    assert (threading.active_count(), open_descriptors()) == before, "a thread or a pipe is left"


def start(code: str, started: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start a program."""
    pipe = subprocess.PIPE
    started.append(
        subprocess.Popen([sys.executable, "-IS", "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    )
    return started[-1]


def receive_until(pipes: Pipes, wanted: Piece) -> dict[str, bytes]:
    """Return what came of each pipe up to a piece whose end is the wanted one."""
    came = {"in": b"", "out": b"", "err": b""}
    while pieces := pipes.receive(LONG):
        for name, piece in pieces:
            came[name] += piece
            if name == wanted[0] and (piece.endswith(wanted[1]) if wanted[1] else not piece):
                return came
    raise AssertionError(f"silent for {LONG} s after {came}")


@pytest.mark.parametrize("way", WAYS)
def test_a_long_line_goes_there_and_back(way: type[Pipes], started: list[subprocess.Popen[bytes]]) -> None:
    """Longer than what a pipe holds in either direction; standard error comes apart."""
    pipes = way(start(ECHO, started))  # type: ignore[call-arg]  # a Protocol says nothing of how it is made
    line = b"abc" * 100_000 + b"\n"
    pipes.send(line)
    assert pipes.unsent > 0
    came = receive_until(pipes, ("out", b"\n"))
    assert came["out"] == line.strip()[::-1] + b"\n"
    assert pipes.unsent == 0
    assert (came["err"] or receive_until(pipes, ("err", b"\n"))["err"]) == b"300001 bytes\n"
    pipes.close()


@pytest.mark.parametrize("way", WAYS)
def test_an_end_is_told_once(way: type[Pipes], started: list[subprocess.Popen[bytes]]) -> None:
    """After the last piece; then nothing comes any more."""
    pipes = way(start("print('last')", started))  # type: ignore[call-arg]
    assert receive_until(pipes, ("out", b""))["out"] == b"last\n"
    assert started[0].wait(LONG) == 0
    rest = [piece for _ in range(3) for piece in pipes.receive(0.05)]
    assert [piece for piece in rest if piece[0] == "out"] == []
    pipes.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_flood_waits_until_it_is_taken(way: type[Pipes], started: list[subprocess.Popen[bytes]]) -> None:
    """What nobody asks for is not kept in memory; closing lets go of it."""
    pipes = way(start(FLOOD, started))  # type: ignore[call-arg]
    for _ in range(40):
        assert pipes.receive(LONG)[0][0] == "out"
    pipes.close()
    pipes.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_closed_input_is_told(way: type[Pipes], started: list[subprocess.Popen[bytes]]) -> None:
    """By a process that goes on."""
    pipes = way(start(DEAF, started))  # type: ignore[call-arg]
    assert receive_until(pipes, ("out", b"deaf"))["out"] == b"deaf"
    pipes.send(b"x" * 200_000)
    receive_until(pipes, ("in", b""))
    pipes.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_process_is_asked_and_ended(way: type[Pipes], monkeypatch: pytest.MonkeyPatch) -> None:
    """By lines, with its standard error."""
    monkeypatch.setattr("tpharness.targets.process.pipes_of", way)
    process = LineProcess([sys.executable, "-IS", "-c", ECHO], name="it", limit=1000)
    assert [process.ask(line, LONG) for line in (b"one", b"two")] == [b"eno", b"owt"]
    assert process.running
    process.kill()
    assert not process.running


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_never_comes_before_its_request_was_sent(
    way: type[Pipes], started: list[subprocess.Popen[bytes]]
) -> None:
    """However quick it is: while a thread that wrote the request is not on its turn again, nothing is left to send."""
    pipes = way(start(ECHO, started))  # type: ignore[call-arg]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for number in range(300):
            pipes.send(b"%d\n" % number)
            receive_until(pipes, ("out", b"\n"))
            assert pipes.unsent == 0
    finally:
        sys.setswitchinterval(before)
    pipes.close()
