"""SIGTERM and SIGHUP end a command in the way in which Ctrl-C does, and a second signal ends it at once.

In: signals. Out: a KeyboardInterrupt in the command, as after Ctrl-C, so that targets are closed and what was done is
written; `STOP` knows which signal it was. A signal that was ignored when the command began, such as SIGHUP under
`nohup`, stays ignored. Systems without a signal do without it.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["STOP", "StopSignals"]

_REPEAT_SECONDS = 1.0
"""Signals that follow the first one so soon are the same request.

`timeout` sends SIGTERM to the command and to its group, a terminal that closes and systemd send SIGHUP besides.
"""

_STUCK_SECONDS = 1.0
"""How long an event loop may take to react before what runs on it is interrupted where it stands."""


class StopSignals:
    """The signals that ask a command to end. `received` is the first one, None until it comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = 0.0
        self._held = False
        self._waiting = False
        self._stuck = False
        self.received: signal.Signals | None = None

    @contextmanager
    def caught(self) -> Iterator[None]:
        """While entered, end the command on any of the signals as on Ctrl-C."""
        self.received, self._held, self._waiting, self._stuck = None, False, False, False
        if threading.current_thread() is not threading.main_thread():  # which alone gets signals
            yield
            return
        before: dict[int, object] = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
        hidden = _accept_handler_of_ignored_interrupt()
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                if handler is not None:  # one that was not set from Python cannot be set again
                    signal.signal(number, handler)  # type: ignore[arg-type]  # what getsignal has returned
            if hidden:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    @contextmanager
    def held(self) -> Iterator[None]:
        """While entered, put a first signal off, so that what is being written is finished."""
        if self.received is not None or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, self._on_signal)
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if not self._waiting:
                signal.signal(signal.SIGINT, before)
        if self._waiting:
            raise KeyboardInterrupt

    def note(self) -> signal.Signals:
        """Return the signal that a KeyboardInterrupt stands for: SIGINT, which Python raises it for, if no other."""
        if self.received is None:
            self._receive(signal.SIGINT)
        return self.received or signal.SIGINT

    def _receive(self, number: int) -> None:
        self.received, self._at = signal.Signals(number), self._clock()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stuck:
            self._stuck = False
            raise KeyboardInterrupt
        if self.received is not None:
            if self._clock() - self._at >= _REPEAT_SECONDS:
                os._exit(128 + number)
            return
        interrupt = signal.getsignal(signal.SIGINT)
        self._receive(number)
        if self._held:
            self._waiting = True
        elif callable(interrupt) and interrupt != self._on_signal:
            self._watch_loop()
            interrupt(signal.SIGINT, frame)  # asyncio cancels its main task, Python raises KeyboardInterrupt
        else:
            raise KeyboardInterrupt

    def _watch_loop(self) -> None:
        """Interrupt what runs on the event loop if the loop does not come to cancelling its main task."""
        asyncio = sys.modules.get("asyncio")  # to import it takes longer than to list the commands
        if asyncio is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # there is none
            return
        alive = threading.Event()
        loop.call_soon_threadsafe(alive.set)
        threading.Thread(target=self._interrupt_unless, args=(alive,), daemon=True).start()

    def _interrupt_unless(self, alive: threading.Event) -> None:
        if not alive.wait(_STUCK_SECONDS):
            self._stuck = True
            _thread.interrupt_main()


def _accept_handler_of_ignored_interrupt() -> bool:
    """Block SIGINT instead of ignoring it, if a shell has started this as a job in the background; return whether.

    asyncio ends its tasks in order only where it may handle SIGINT, and SIGTERM is handled in its place.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN or not hasattr(signal, "pthread_sigmask"):
        return False
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return True


STOP = StopSignals()
"""The signals of this command line."""
