"""The way into the histories: what `tpharness.rooms.HistoriesRoom` asks for."""

from __future__ import annotations

from tpharness.histories import registry
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.suite import run_history

__all__ = ["all_names", "find_names", "run_history", "thread_of_messages"]


def find_names(name: str) -> list[str]:
    """Return the full names of the histories that a name means; an empty list for an unknown name."""
    return [history.name for history in registry.find_histories(name, registry.OTHER_HISTORIES)]


def all_names() -> list[str]:
    """Return every name that a user can give."""
    return registry.all_names(registry.OTHER_HISTORIES)
