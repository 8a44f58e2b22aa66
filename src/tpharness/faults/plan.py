"""What is done to the bytes of one direction of one connection: a plan, and its interpreter. Pure.

In: the bytes as they come from upstream, and their end. Out: actions for whoever holds the sockets, in order. A plan is
a list of steps; what is left when its steps are done passes unharmed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from tpharness.faults.compress import Compressor, Cutter

__all__ = [
    "Action",
    "Blackhole",
    "Buffer",
    "CutBody",
    "Fin",
    "Gzip",
    "Notify",
    "Pass",
    "Permute",
    "Rechunk",
    "RelayPlan",
    "Reset",
    "Send",
    "Transmission",
    "Wait",
]


@dataclass(frozen=True, slots=True)
class Pass:
    """Let the next `count` bytes pass as they come."""

    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Let nothing pass for this many seconds. Also the action."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Notify:
    """Notify the test that this place has been reached. Also the action."""

    name: str


@dataclass(frozen=True, slots=True)
class Rechunk:
    """Let the rest pass in writes of these sizes, cyclically, with a pause of this many seconds between them."""

    sizes: tuple[int, ...]
    pause: float = 0.0


@dataclass(frozen=True, slots=True)
class Permute:
    """Hold back as many bytes as `order` has, then let them pass in that order."""

    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Hold the rest back until it is complete, as a buffering proxy does."""


@dataclass(frozen=True, slots=True)
class Gzip:
    """Compress the body, as some proxies do unasked."""


@dataclass(frozen=True, slots=True)
class CutBody:
    """Let the head and this many bytes of the body pass; with `chunked` the framing of the body ends well there.

    Without, the body has no framing of its own, so that only the end of the connection ends it.
    """

    count: int
    chunked: bool


@dataclass(frozen=True, slots=True)
class Fin:
    """Close the connection in order. Also the action."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Close the connection with RST. Also the action."""


@dataclass(frozen=True, slots=True)
class Blackhole:
    """Drop everything in both directions without closing the connection. Also the action."""


@dataclass(frozen=True, slots=True)
class Send:
    """Write these bytes, as one write. An action only."""

    data: bytes


Step = Pass | Wait | Notify | Rechunk | Permute | Buffer | Gzip | CutBody | Fin | Reset | Blackhole
Action = Send | Wait | Notify | Fin | Reset | Blackhole


@dataclass(frozen=True, slots=True)
class RelayPlan:
    """Steps, in order. No steps: everything passes."""

    steps: tuple[Step, ...] = ()


_HEAD = 1 << 16  # bytes of a request in which its head ends
_ACCEPTS = re.compile(rb"^accept-encoding:[^\r\n]*gzip", re.IGNORECASE | re.MULTILINE)


class Transmission:
    """Carries out one plan on one direction of one connection."""

    def __init__(self, plan: RelayPlan) -> None:
        self._steps = list(plan.steps)
        self._left = 0  # bytes that the step Pass still lets through
        self._kept = bytearray()  # what waits to be cut into pieces, or for the end
        self._sizes: Iterator[int] | None = None
        self._size = 0
        self._request = b""
        self._compressor: Compressor | None = None
        self._cutter: Cutter | None = None
        self.over = False

    def see_request(self, data: bytes) -> None:
        """Take note of what the client sends: proxies compress only for a client that accepts it."""
        if len(self._request) < _HEAD:
            self._request += data

    def begin(self) -> Iterator[Action]:
        """Yield what comes before the first byte."""
        yield from self._advance()

    def feed(self, data: bytes) -> Iterator[Action]:
        """Take in bytes; yield what to do."""
        while data and not self.over:
            step = self._steps[0] if self._steps else None
            match step:
                case Pass():
                    now, data = data[: self._left], data[self._left :]
                    self._left -= len(now)
                    yield Send(now)
                    if not self._left:
                        self._steps.pop(0)
                        yield from self._advance()
                case Permute(order):
                    now, data = data[: len(order) - len(self._kept)], data[len(order) - len(self._kept) :]
                    self._kept += now
                    if len(self._kept) == len(order):
                        yield Send(bytes(self._kept[place] for place in order))
                        self._kept.clear()
                        self._steps.pop(0)
                        yield from self._advance()
                case Rechunk(pause=pause):
                    self._kept += data
                    data = b""
                    yield from self._pieces(pause)
                case Buffer():
                    self._kept += data
                    data = b""
                case Gzip() if self._compressor is not None and _ACCEPTS.search(self._request):
                    if out := self._compressor.feed(data):
                        yield Send(out)
                    data = b""
                case CutBody() if self._cutter is not None:
                    if out := self._cutter.feed(data):
                        yield Send(out)
                    data = b""
                    if self._cutter.over:
                        self._steps.pop(0)
                        yield from self._advance()
                case _:
                    yield Send(data)
                    data = b""

    def end(self) -> Iterator[Action]:
        """Take in the end of the bytes; yield what to do. The last action closes the connection."""
        if self.over:
            return
        if self._compressor is not None and (out := self._compressor.end()):
            yield Send(out)
        if self._kept:
            yield Send(bytes(self._kept))
        self.over = True
        yield Fin()

    def _advance(self) -> Iterator[Action]:
        """Do the steps that need no bytes; stop at the first that needs some."""
        while self._steps and not self.over:
            match self._steps[0]:
                case Pass(count) if count > 0:
                    self._left = count
                    return
                case Rechunk(sizes=sizes):
                    self._sizes = cycle(sizes)
                    self._size = next(self._sizes)
                    return
                case Buffer():
                    return
                case Permute(order) if order:
                    return
                case Gzip():
                    self._compressor = Compressor()
                    return
                case CutBody(count, chunked):
                    self._cutter = Cutter(count, chunked=chunked)
                    return
                case Wait() | Notify() as action:
                    yield action
                case Fin() | Reset() | Blackhole() as action:
                    self.over = True
                    yield action
            self._steps.pop(0)

    def _pieces(self, pause: float) -> Iterator[Action]:
        while self._sizes is not None and len(self._kept) >= self._size:
            yield Send(bytes(self._kept[: self._size]))
            del self._kept[: self._size]
            self._size = next(self._sizes)
            if pause:
                yield Wait(pause)
