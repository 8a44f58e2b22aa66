"""The virtual clock of a scenario: each thing that happens takes one tick, unless the scenario says when it happens."""

from __future__ import annotations

from datetime import datetime

from tpharness.server_events.events import shift

__all__ = ["Ticker"]


class Ticker:
    """Counts virtual time from an ISO start; it never goes back."""

    def __init__(self, start: str, tick: float) -> None:
        self.now = start
        self._tick = tick
        self._ready = False

    def next(self) -> str:
        """Return the time of the next thing that happens."""
        if not self._ready:
            self.now = shift(self.now, self._tick)
        self._ready = False
        return self.now

    def after(self, at: str) -> str:
        """Return one tick after a time, without moving the clock."""
        return shift(at, self._tick)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now = shift(self.now, seconds)

    def catch_up(self, at: str) -> None:
        """Move to a time, if it lies ahead."""
        if _moment(at) > _moment(self.now):
            self.now, self._ready = at, False

    def goto(self, at: str) -> bool:
        """Make `at` the time of the next thing; False when it lies in the past."""
        if _moment(at) < _moment(self.now):
            return False
        self.now, self._ready = at, True
        return True


def _moment(at: str) -> datetime:
    return datetime.fromisoformat(at)
