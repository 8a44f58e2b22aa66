"""How long one case may be judged, and Ctrl-C while it is.

Judging computes and does not wait, so no timeout of the event loop ends it, nor does the cancellation that asyncio
makes of the first Ctrl-C. It asks here now and then whether its time is over; a signal raises the cancellation at once.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

__all__ = ["JudgedTooLongError", "JudgingTime", "allow_judging", "ctrl_c_ends_judging", "heed_judging_time", "judging"]


class JudgedTooLongError(Exception):
    """The time is over in which a case may be judged. `seconds` is how long that was."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"judging took more than {seconds:g} s")
        self.seconds = seconds


@dataclass(slots=True)
class JudgingTime:
    """The processor time that one case may be judged; `clocked` is how long it was judged by the clock."""

    seconds: float
    used: float = 0.0
    since: float | None = None  # when the block began that runs, None between two
    begun: float = 0.0  # the same by the clock
    clocked: float = 0.0


_BUDGET: ContextVar[JudgingTime | None] = ContextVar("budget", default=None)
_pressed = threading.Event()  # Ctrl-C, within `ctrl_c_ends_judging`


@contextmanager
def allow_judging(seconds: float) -> Iterator[JudgingTime]:
    """Allow the case that is played in this block so much processor time for all that is `judging`."""
    token = _BUDGET.set(budget := JudgingTime(seconds))
    try:
        yield budget
    finally:
        _BUDGET.reset(token)


@contextmanager
def judging() -> Iterator[None]:
    """Judge in this block, which must not wait for anything. Ctrl-C ends it at once within `ctrl_c_ends_judging`.

    One that came just before does, too: asyncio cancels a case only where it next waits. No garbage is collected: to
    look through what is held of a long stream takes a second, and Python heeds no signal before it has.
    """
    budget = _BUDGET.get()
    if budget is None or budget.since is not None:
        yield
        return
    if _pressed.is_set() and threading.current_thread() is threading.main_thread():
        raise sys.modules["asyncio"].CancelledError
    collected = gc.isenabled()
    gc.disable()
    budget.since, budget.begun = time.thread_time(), time.monotonic()
    try:
        yield
    finally:
        budget.used += time.thread_time() - budget.since
        budget.clocked += time.monotonic() - budget.begun
        budget.since = None
        if collected:
            gc.enable()


def heed_judging_time() -> None:
    """Raise JudgedTooLongError if the time of the case that is being judged is over."""
    budget = _BUDGET.get()
    if budget is None or budget.since is None:
        return
    if budget.used + time.monotonic() - budget.begun <= budget.seconds:
        return  # no more processor time than that; a case asks a thousand times, and the clock costs a tenth
    if budget.used + time.thread_time() - budget.since > budget.seconds:
        raise JudgedTooLongError(budget.seconds)


@contextmanager
def ctrl_c_ends_judging() -> Iterator[Callable[[], None]]:
    """Have Ctrl-C end at once what is judged, after what an `asyncio.Runner` runs here has called what this gives.

    Asyncio only cancels the task that the runner runs. One handler serves all that is judged: Python takes a third of a
    millisecond to set one and back. Of another Ctrl-C while judging ends asyncio hears nothing: it would stop halfway.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield _end_judging_by_ctrl_c
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
            _pressed.clear()


def _end_judging_by_ctrl_c() -> None:
    cancels: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not _is_of_asyncio(cancels):
        return

    def end(number: int, frame: FrameType | None) -> None:
        judged = (budget := _BUDGET.get()) is not None and budget.since is not None
        if not (_pressed.is_set() and judged):
            cancels(number, frame)
        _pressed.set()
        if judged:
            raise sys.modules["asyncio"].CancelledError

    signal.signal(signal.SIGINT, end)


def _is_of_asyncio(handler: Any) -> bool:
    """Whether a signal handler is that of `asyncio.Runner`, which cancels the task that the runner runs."""
    asyncio = sys.modules.get("asyncio")  # not imported here: a command that compares documents does without it
    owner = getattr(handler.func, "__self__", None) if isinstance(handler, partial) else None
    return asyncio is not None and isinstance(owner, asyncio.Runner)
