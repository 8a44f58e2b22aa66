"""The clock of Pydantic AI, made virtual: everything in a run happens at the time of its event.

The library has one place that asks for the time, `pydantic_ai._utils.now_utc`, and no way to hand in another. Its
module's `datetime` is replaced, so every part, message and return gets the time that the script says.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from typing import Any, Self

from pydantic_ai import _utils

__all__ = ["CLOCK", "install"]

CLOCK: ContextVar[Callable[[], str] | None] = ContextVar("CLOCK", default=None)
"""Returns the time of the event whose turn it is, in the run that this context belongs to."""


class _Datetime(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        current_time = CLOCK.get()
        if current_time is None:
            return super().now(tz)
        now: Any = datetime.fromisoformat(current_time()).astimezone(tz or UTC)
        return now  # type: ignore[no-any-return]  # a plain datetime, as its users compare and serialise it


def install() -> None:
    """Let the library's clock be the script's, in contexts that have one."""
    _utils.datetime = _Datetime  # type: ignore[attr-defined]  # the one place that asks for the time
