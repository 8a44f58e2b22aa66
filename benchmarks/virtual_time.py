"""Event loops whose clock is moved: what happens in them is the same on a busy machine and on a quiet one.

When nothing is ready, the clock goes to the next timer. When there is no timer either, everything waits for something
that never comes, and `HangError` says so.

`VirtualLoop` goes there at once: a week takes as long as what happens in it. Sockets and other threads are not waited
for: what runs here has none. `IdleLoop` is for servers and clients that talk to each other over sockets on one loop:
its clock stands still while one of them has something to do, however long that takes. It waits for child processes.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["HangError", "IdleLoop", "Ready", "VirtualLoop", "run_idly", "run_virtually", "virtual_loop"]

_FASTER = 10  # times that idle time passes: the system still delivers what is on its way between two sockets
_HANGS = 1.0  # seconds in which nothing comes, where there is no timer

T = TypeVar("T")
Ready = list[tuple[selectors.SelectorKey, int]]


class HangError(Exception):
    """Every task waits, and no timer is set."""


class _Selector(selectors.DefaultSelector):
    """Lets time pass in place of waiting."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Ready:
        """Return what is ready; if that is nothing, the time is `timeout` seconds later."""
        return super().select(0) or self.loop.idle(super().select, timeout)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at second 0."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self._now = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """Return the seconds since the beginning."""
        return self._now

    def jump(self, seconds: float) -> None:
        """Let time pass with nothing done in it, as on a machine that was suspended."""
        self._now += seconds

    def idle(self, select: Callable[[float | None], Ready], timeout: float | None) -> Ready:
        """Let time pass where nothing is ready; return what is ready then. `select` waits in real time."""
        del select
        if timeout is None:
            raise HangError("every task waits, and no timer is set")
        self.jump(timeout)
        return []


class IdleLoop(VirtualLoop):
    """Waits in real time for sockets, a tenth of what its clock says, and for child processes as long as they take."""

    def __init__(self) -> None:
        self._children: list[asyncio.SubprocessTransport] = []
        super().__init__()

    async def subprocess_shell(self, *args: Any, **options: Any) -> tuple[Any, Any]:
        """Start a child process through a shell."""
        return self._with_child(await super().subprocess_shell(*args, **options))

    async def subprocess_exec(self, *args: Any, **options: Any) -> tuple[Any, Any]:
        """Start a child process."""
        return self._with_child(await super().subprocess_exec(*args, **options))

    def _with_child(self, started: tuple[Any, Any]) -> tuple[Any, Any]:
        self._children.append(started[0])
        return started

    def idle(self, select: Callable[[float | None], Ready], timeout: float | None) -> Ready:
        """Let time pass where nothing is ready; return what is ready then."""
        self._children = [child for child in self._children if child.get_returncode() is None]
        if self._children:
            begun = time.monotonic()
            ready = select(timeout)
            passed = time.monotonic() - begun
            self.jump(passed if timeout is None else min(passed, timeout))
            return ready
        ready = select(_HANGS if timeout is None else timeout / _FASTER)
        if not ready and timeout is None:
            raise HangError("every task waits, nothing comes, and no timer is set")
        if not ready and timeout is not None:
            self.jump(timeout)
        return ready


def virtual_loop() -> VirtualLoop:
    """Return the loop that runs. TypeError if its time is real."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        raise TypeError("this runs in virtual time only")
    return loop


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time, and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)


def run_idly(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a loop whose clock goes only while nothing is to do, and return its result."""
    with asyncio.Runner(loop_factory=IdleLoop) as runner:
        return runner.run(main)
