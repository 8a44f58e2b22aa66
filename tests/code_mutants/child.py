"""A fork that does some work and ends, with limits that a busy machine does not reach.

In: the work. Out: what came of it, or how it ended.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Never

__all__ = ["Child"]

_MEMORY = 4 << 30
_NOT_JUDGED = (-signal.SIGALRM, -signal.SIGKILL)
"""How a child ends that has waited instead of computing, or whose memory somebody else needed."""
_RUNNING: set[int] = set()
"""The children of this process that were not collected."""


@dataclass(slots=True)
class Child:
    """A fork that does some work and ends. It says what it is about to do, and at the end what came of it."""

    work: Callable[[Callable[[str], None]], Any]
    limit: float
    limits_memory: bool = False
    pipe: int = -1
    result: Any = None
    said: str = ""
    over: bool = False
    status: int = 0
    seconds: float = 0.0
    _pid: int = 0
    _read: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self.seconds = time.perf_counter()
        self.pipe, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._run(write)
        _RUNNING.add(self._pid)
        os.close(write)

    @staticmethod
    def end_all() -> None:
        """End all that run, which would go on for minutes after us."""
        while _RUNNING:
            pid = _RUNNING.pop()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _run(self, write: int) -> Never:
        try:
            os.close(self.pipe)
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            seconds = int(self.limit) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))  # SIGXCPU, before SIGKILL
            if self.limits_memory:
                resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            signal.alarm(10 * seconds)
            with os.fdopen(write, "wb", buffering=0) as out:

                def say(said: str) -> None:
                    out.write(json.dumps({"said": said}).encode() + b"\n")

                try:
                    result = self.work(say)
                except Exception as error:
                    say(f"{type(error).__name__}: {error}")
                    raise
                out.write(b"=" + pickle.dumps(result).hex().encode() + b"\n")
        finally:
            os._exit(0)

    def without_result(self) -> tuple[str, str, bool]:
        """Return the fate of a mutant whose child ended without a word: killed by what it said last, or not judged."""
        if self.status in _NOT_JUDGED:
            return "", f"not judged: ended by signal {-self.status}", True
        return self.said, f"ended by signal or exit {self.status}", True

    def read(self) -> None:
        """Take in what the child has written; at its end, collect it."""
        data = os.read(self.pipe, 1 << 20)
        self._read += data
        *lines, rest = self._read.split(b"\n")
        self._read = bytearray(rest)
        for line in lines:
            if line.startswith(b"="):
                self.result = pickle.loads(bytes.fromhex(line[1:].decode()))  # noqa: S301  # our own child's
            else:
                self.said = json.loads(line)["said"]
        if not data:
            os.close(self.pipe)
            self.status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            _RUNNING.discard(self._pid)
            self.seconds = time.perf_counter() - self.seconds
            self.over = True
