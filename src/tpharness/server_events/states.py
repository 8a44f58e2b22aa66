"""The states of a run of the server."""

from __future__ import annotations

from enum import Enum, auto

__all__ = ["RunState"]


class RunState(Enum):
    """Where a run stands between two events."""

    __hash__ = object.__hash__  # see EventKind

    BETWEEN = auto()  # no response is streaming
    RESPONDING = auto()  # parts are streaming
    EXECUTING = auto()  # the response has finished because its first tool started (R40)
    ENDED = auto()
