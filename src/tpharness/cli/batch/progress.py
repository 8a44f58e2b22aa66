"""How far a long command is: one line on a terminal, written again and again, and removed in the end.

An alarm writes it between two steps of the work, so that one document that takes minutes has it as well. Nothing is
written where standard error is not a terminal.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tpharness.printable import make_printable

__all__ = ["At", "Progress"]

_EVERY = 0.3
_LONG = 1.0
"""Seconds after which it is worth saying which document takes them."""
_NAME = 32
"""Characters of its name, of which the last say most."""
_CLEAR = b"\r\x1b[K"


@dataclass(slots=True)
class At:
    """The document that is worked on, and how much of its file was read, if the file has several."""

    share: float = 0.0
    _name: str = ""
    _size: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def begin(self, name: str, size: int) -> None:
        """Begin with a document of so many bytes."""
        self._name, self._size, self._begun = name, size, time.monotonic()

    def __str__(self) -> str:
        of_file = f"{self.share:.0%} of the file" if self.share else ""
        passed = time.monotonic() - self._begun
        name = self._name if len(self._name) <= _NAME else f"...{self._name[3 - _NAME :]}"
        slow = f"{name} ({self._size / 1e6:,.1f} MB) takes {passed:.0f} s" if name and passed > _LONG else ""
        return "; ".join(part for part in (of_file, slow) if part)


class Progress:
    """The line, which `text` says as it is now."""

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._shown = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show it while the context lasts. Only the main thread of a process on Unix has alarms."""
        alarms = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
        if not (alarms and sys.stderr.isatty()):
            yield
            return
        before = signal.signal(signal.SIGALRM, self._show)
        signal.setitimer(signal.ITIMER_REAL, _EVERY, _EVERY)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            self.clear()

    def clear(self) -> None:
        """Remove it, before something else is printed."""
        if self._shown:
            self._shown = False
            os.write(sys.stderr.fileno(), _CLEAR)

    def _show(self, *_: Any) -> None:
        if text := self._text():
            width = shutil.get_terminal_size().columns - 1  # what goes on in another line would not be removed
            self._shown = True
            # not by way of sys.stderr, which the alarm may have found in the middle of writing
            os.write(sys.stderr.fileno(), _CLEAR + make_printable(text)[:width].encode("ascii", "replace"))
