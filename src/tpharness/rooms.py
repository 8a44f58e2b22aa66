"""The rooms beside the core: which there are, and how the core reaches the one that it asks something of.

Out: the module that is the way into a room, imported when it is first needed. The core does not import a room, so that
it works when a room is removed from the tree; it then reports what is missing. The kinds of findings of every room are
in `conformance/findings.yaml` with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

__all__ = ["ROOMS", "ExploreRoom", "HistoriesRoom", "explore_room", "histories_room"]

ROOMS = ("apps", "explore", "histories")
"""The packages beside the core that can be removed."""


class HistoriesRoom(Protocol):
    """What `run --dialect` asks of the histories."""

    find_names: Callable[[str], list[str]]
    """The full names of the histories that a name means; an empty list for an unknown name."""
    all_names: Callable[[], list[str]]
    """Every name that a user can give."""
    run_history: Callable[[Any], Iterator[Any]]
    """Play scenarios through one history, as `run_suite` plays them on targets."""
    thread_of_messages: Callable[..., Any]
    """Make a thread of Pydantic AI's messages."""


class ExploreRoom(Protocol):
    """What `sweep --orders` asks of the explorer."""

    OrderOptions: Callable[..., Any]
    """Which orders are played, and where their failures go."""
    play_orders: Callable[..., Iterator[Any]]
    """Play scenarios in other legal orders of their events; yield one report for each."""


@cache
def histories_room() -> HistoriesRoom | None:
    """Return the room of the histories, or None if it was removed."""
    if find_spec("tpharness.histories") is None:
        return None
    return cast("HistoriesRoom", import_module("tpharness.histories.room"))


@cache
def explore_room() -> ExploreRoom | None:
    """Return the room of the explorer, or None if it was removed."""
    if find_spec("tpharness.explore") is None:
        return None
    return cast("ExploreRoom", import_module("tpharness.explore.room"))
