"""Somebody sets the clock of the machine while an application is judged: nothing depends on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.apps.playing import THREAD, play
from tests.apps.thread_app import ThreadApp

from tpharness.apps.client import wall_clock
from tpharness.apps.client.wall_clock import steady_now
from tpharness.verdict import CheckState, Outcome


class JumpingClock:
    """A clock that is set back by an hour each time somebody has looked at it, and once forward by a year."""

    def __init__(self) -> None:
        self.looked = 0

    def now(self, zone: Any) -> datetime:
        """Return the time of day."""
        self.looked += 1
        return datetime(2026, 1, 1, tzinfo=zone) + timedelta(days=365 * (self.looked > 1), hours=-self.looked)


@pytest.fixture(autouse=True)
def jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the module a clock that jumps, and let it forget what it has read."""
    monkeypatch.setattr(wall_clock, "datetime", JumpingClock())
    wall_clock._first_reading.cache_clear()


def test_time_goes_on_though_the_clock_is_set() -> None:
    """Later is never earlier, and a jump of a year is not seen."""
    times = [datetime.fromisoformat(steady_now()) for _ in range(50)]
    assert times == sorted(times)
    assert times[-1] - times[0] < timedelta(hours=1)
    assert times[0].tzinfo == UTC


def test_one_stream_after_another_is_not_taken_for_two_at_once() -> None:
    """The second message is sent when the first answer is over, whatever the clock says: the thread is compared."""
    result = play(ThreadApp(), "user-leaves/in-text", thread=THREAD, on_disconnect="stop")[-1]
    assert result.outcome is Outcome.PASSED
    assert result.checks["thread-agrees"] is CheckState.PASSED
