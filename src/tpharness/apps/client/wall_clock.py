"""The time of day for what an application sends: it goes on evenly, whatever is done to the clock of the machine.

Which of two streams came first decides how a chat is judged, so a clock that is set back or forward meanwhile must not
change it. The clock of the machine is read once, and what has passed since then is measured.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import cache

__all__ = ["steady_now"]


def steady_now() -> str:
    """Return the time of day as ISO 8601, never before the time that was returned last."""
    begun, at = _first_reading()
    return (begun + timedelta(seconds=time.monotonic() - at)).isoformat()


@cache
def _first_reading() -> tuple[datetime, float]:
    return datetime.now(UTC), time.monotonic()
