"""The tape of one case: what was asked of the targets, what they answered, and when, while the case is played.

A target that is reached over a network or in a process notes what happens on the tape of the case that it plays; a
case that nobody records has none, and nothing is noted. Times are seconds of a monotonic clock since the case began.
Notes refer to the documents and bytes that are there anyway, so that a case that passes costs nearly nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Tape", "TapeNote", "current_tape", "note_stderr", "recording"]

_MOST_NOTES = 4000
"""Notes of a case; what follows is only counted. A case whose target sends byte by byte would else fill the memory."""

_MOST_BYTES = 4_000_000
"""Bytes of streams that the notes of a case keep, which is what a trace has room for."""

_current: ContextVar[Tape | None] = ContextVar("tape", default=None)
_open: dict[int, Tape] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class TapeNote:
    """Something that happened `t` seconds after the case began.

    `kind` is `asked` or `answered` (a request and its answer), `read` (bytes of a stream that arrived), `sent` (bytes
    of a stream that a client was given) or `stderr`. `what` names the request or the program, `run` the stream by the
    number of its run, `size` is that of its bytes. A `body` is a JSON value, or bytes that were read or sent.
    Headers are as they were: who writes them leaves secrets out (`secrets.shown_headers`).
    """

    t: float
    kind: str
    what: str
    status: int | None = None
    headers: Mapping[str, str] | None = None
    body: Any = None
    run: int = 0
    size: int = 0


@dataclass(slots=True)
class Tape:
    """What is noted of one case. `played` is what its first playing gave; `forgotten` counts notes beyond the limit.

    `kept` counts the bytes of streams in the notes.
    """

    notes: list[TapeNote] = field(default_factory=list)
    played: Any = None
    forgotten: int = 0
    runs: int = 0
    begun: float = field(default_factory=time.monotonic)
    closed: bool = False
    kept: int = 0

    def note_bytes(self, kind: str, what: str, *, run: int, data: bytes) -> None:
        """Note that bytes of a stream were `read` or `sent`, with as many of them as there is room for."""
        body = data[: max(0, _MOST_BYTES - self.kept)]
        self.kept += len(body)
        self.note(kind, what, run=run, size=len(data), body=body)

    def note(self, kind: str, what: str, **more: Any) -> None:
        """Note that something happens now. After `close` only what a program writes to standard error is noted."""
        if self.closed and kind != "stderr":
            return
        if len(self.notes) >= _MOST_NOTES:
            self.forgotten += 1
            return
        self.notes.append(TapeNote(t=time.monotonic() - self.begun, kind=kind, what=what, **more))

    def next_run(self) -> int:
        """Return the number of the next stream that is asked for, which is that of its run."""
        self.runs += 1
        return self.runs - 1

    def forget_runs(self, first: int) -> None:
        """Forget what arrived of the runs from that number on: they are played again."""
        self.notes = [note for note in self.notes if note.kind != "read" or note.run < first]
        self.runs = first

    def close(self, played: Any) -> None:
        """Keep what the first playing gave. What is played after it, such as other splits, is not noted."""
        if not self.closed:
            self.played = played
            self.closed = True


def current_tape() -> Tape | None:
    """Return the tape of the case that is being played here, None if it is not recorded."""
    return _current.get()


@contextmanager
def recording() -> Iterator[Tape]:
    """Record what is played inside."""
    tape = Tape()
    token = _current.set(tape)
    _open[id(tape)] = tape
    try:
        yield tape
    finally:
        _current.reset(token)
        del _open[id(tape)]


def note_stderr(what: str, line: str) -> None:
    """Note a line that a program has written, on the tape of its case, or on all open ones if it serves several."""
    tape = _current.get()
    for one in [tape] if tape is not None else list(_open.values()):
        one.note("stderr", what, body=line)
