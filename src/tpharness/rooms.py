"""The rooms beside the core that the core reaches by name: what it asks of them, and how it finds them.

In: the name of a room. Out: its one way in, a module that is imported when it is first asked for. The core imports no
room; a room that was taken out of the tree leaves the core working, and what it would add is said to be missing. The
kinds of findings of every room are in `conformance/findings.yaml` with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

__all__ = ["HistoriesRoom", "histories_room"]


class HistoriesRoom(Protocol):
    """What `run --dialect` asks of the histories."""

    named: Callable[[str], list[str]]
    """The full names of the histories that a name means; none for a name that no history has."""
    names: Callable[[], list[str]]
    """Every name that can be given."""
    run_history: Callable[[Any], Iterator[Any]]
    """Play scenarios through one history, as `run_suite` plays them on targets."""


@cache
def histories_room() -> HistoriesRoom | None:
    """Return the room of the histories, None where it was taken out."""
    if find_spec("tpharness.histories") is None:
        return None
    return cast("HistoriesRoom", import_module("tpharness.histories.room"))
