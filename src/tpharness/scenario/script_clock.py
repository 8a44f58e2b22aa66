"""The virtual clock of a scenario: each event takes one tick, unless the scenario gives its time."""

from __future__ import annotations

from datetime import datetime

from tpharness.server_events.events import shift

__all__ = ["ScriptClock"]


class ScriptClock:
    """Counts virtual time from an ISO time and never goes back. `tick` is in seconds."""

    def __init__(self, start: str, tick: float) -> None:
        self.now = start
        self._tick = tick
        self._ready = False

    def next(self) -> str:
        """Return the time of the next event, one tick after the last one."""
        if not self._ready:
            self.now = shift(self.now, self._tick)
        self._ready = False
        return self.now

    def one_tick_after(self, at: str) -> str:
        """Return the time one tick after `at`, without moving the clock."""
        return shift(at, self._tick)

    def advance(self, seconds: float) -> None:
        """Move the clock by some seconds."""
        self.now = shift(self.now, seconds)

    def advance_to(self, at: str) -> None:
        """Move the clock to a time, unless that lies in the past."""
        if _parse_time(at) > _parse_time(self.now):
            self.now, self._ready = at, False

    def set_next(self, at: str) -> bool:
        """Make `at` the time of the next event. Return False if it lies in the past."""
        if _parse_time(at) < _parse_time(self.now):
            return False
        self.now, self._ready = at, True
        return True


def _parse_time(at: str) -> datetime:
    return datetime.fromisoformat(at)
