"""The pipes of a process: written to and read, and never waited for longer than is asked.

In: a process with pipes for standard input, output and error. Out: pieces of what it writes, as they come. Windows
tells of sockets alone whether they can be read, so there are two ways: `PolledPipes` asks the system, `ThreadedPipes`
has a thread for each pipe.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import subprocess
import threading
import time
from collections.abc import Callable
from typing import IO, Literal, Protocol, TypeAlias

__all__ = ["Piece", "Pipes", "PolledPipes", "ThreadedPipes", "pipes_of"]

_READ = 1 << 16
_WRITE = 1 << 16
_WAITING = 16  # pieces that are read ahead before the process has to wait
_CLOSED_CHECK = 0.1  # seconds between two looks at whether anybody still takes what was read

Piece: TypeAlias = tuple[Literal["in", "out", "err"], bytes]
"""Which pipe, and what came of it; b"" once it has been closed at the other end."""


class Pipes(Protocol):
    """The three pipes of a process."""

    @property
    def unsent(self) -> int:
        """How many bytes of what was to be sent the process has not taken yet."""

    def send(self, data: bytes) -> None:
        """Write this from now on."""

    def receive(self, seconds: float) -> list[Piece]:
        """Wait until something has come, at most so many seconds; nothing for a time in which nothing did."""

    def close(self) -> None:
        """Let go of all of them; again is nothing."""


def pipes_of(process: subprocess.Popen[bytes]) -> Pipes:
    """Return the pipes of a process in the way of this system."""
    return PolledPipes(process) if os.name != "nt" else ThreadedPipes(process)


class PolledPipes:
    """Pipes that the system tells about, read and written by whoever asks."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._files: dict[Literal["in", "out", "err"], IO[bytes]] = {}
        for name, file in (("in", process.stdin), ("out", process.stdout), ("err", process.stderr)):
            if file is not None:
                os.set_blocking(file.fileno(), False)
                self._files[name] = file  # type: ignore[index]  # a tuple of literals is one of strings to mypy
        self._unsent = memoryview(b"")
        self._ended: set[str] = set()

    @property
    def unsent(self) -> int:
        """How many bytes are left to write."""
        return len(self._unsent)

    def send(self, data: bytes) -> None:
        """Write as much as fits whenever something is received."""
        self._unsent = memoryview(data)

    def receive(self, seconds: float) -> list[Piece]:
        """Wait for what can be read, and write meanwhile."""
        pieces: list[Piece] = []
        deadline = time.monotonic() + seconds
        names = {file.fileno(): name for name, file in self._files.items() if name not in self._ended}
        poll = select.poll()  # one call to the system, where a selector of asyncio makes five
        for number, name in names.items():
            if name != "in" or self._unsent:
                poll.register(number, select.POLLOUT if name == "in" else select.POLLIN)
        while not pieces and (ready := poll.poll(max(0.0, deadline - time.monotonic()) * 1000)):
            for number, _ in ready:
                name = names[number]
                with contextlib.suppress(BlockingIOError):
                    if name != "in":
                        self._read(number, name, pieces)
                        continue
                    self._write(number, pieces)
                    if not self._unsent:
                        poll.unregister(number)
        return pieces

    def close(self) -> None:
        """Close them."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._files.clear()

    def _read(self, number: int, name: Literal["out", "err"], pieces: list[Piece]) -> None:
        piece = os.read(number, _READ)
        pieces.append((name, piece))
        if not piece:
            self._ended.add(name)

    def _write(self, number: int, pieces: list[Piece]) -> None:
        try:
            self._unsent = self._unsent[os.write(number, self._unsent[:_WRITE]) :]
        except BrokenPipeError:
            self._ended.add("in")
            pieces.append(("in", b""))


class ThreadedPipes:
    """Pipes with a thread for each, which waits for it. The threads end when the process has."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._came: queue.Queue[Piece] = queue.Queue(_WAITING)
        self._to_send: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent = 0
        self._closed = threading.Event()
        if process.stdin is not None:
            self._begin(lambda stdin=process.stdin: self._write_all(stdin))  # type: ignore[misc]
        if process.stdout is not None:
            self._begin(lambda stdout=process.stdout: self._read_all("out", stdout))  # type: ignore[misc]
        if process.stderr is not None:
            self._begin(lambda stderr=process.stderr: self._read_all("err", stderr))  # type: ignore[misc]

    @property
    def unsent(self) -> int:
        """How many bytes the thread has not begun to write."""
        return self._unsent

    def send(self, data: bytes) -> None:
        """Give it to the thread that writes."""
        self._unsent = len(data)
        self._to_send.put(data)

    def receive(self, seconds: float) -> list[Piece]:
        """Return the next piece."""
        try:
            return [self._came.get(timeout=seconds)]
        except queue.Empty:
            return []

    def close(self) -> None:
        """Have each thread close its pipe: at once the one that writes, the others when the process has ended."""
        self._closed.set()
        self._to_send.put(None)

    def _begin(self, target: Callable[[], None]) -> None:
        threading.Thread(target=target, daemon=True, name="tpharness pipe").start()

    def _read_all(self, name: Literal["out", "err"], file: IO[bytes]) -> None:
        with contextlib.suppress(OSError), file:
            while piece := os.read(file.fileno(), _READ):
                self._tell((name, piece))
        self._tell((name, b""))

    def _write_all(self, file: IO[bytes]) -> None:
        with contextlib.suppress(OSError), file:
            while (data := self._to_send.get()) is not None:
                rest = memoryview(data)
                while rest and not self._closed.is_set():
                    piece = rest[:_WRITE]
                    self._unsent = len(rest) - len(piece)  # before it is written: the answer may be there at once
                    written = os.write(file.fileno(), piece)
                    rest = rest[written:]
                    if written < len(piece):
                        self._unsent = len(rest)
        self._tell(("in", b""))

    def _tell(self, piece: Piece) -> None:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                self._came.put(piece, timeout=_CLOSED_CHECK)
                return
