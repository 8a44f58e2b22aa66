"""The way into the histories: what `tpharness.rooms` asks of them."""

from __future__ import annotations

from tpharness.histories.registry import OTHER_HISTORIES, histories_named
from tpharness.histories.registry import names as _names
from tpharness.histories.suite import run_history

__all__ = ["named", "names", "run_history"]


def named(name: str) -> list[str]:
    """Return the full names of the histories that a name means, those without a variant with all of theirs."""
    return [history.name for history in histories_named(name, OTHER_HISTORIES)]


def names() -> list[str]:
    """Return every name that can be given."""
    return _names(OTHER_HISTORIES)
