"""The rooms beside the core, by name: what the core offers to them, and how it reaches them.

In: the name of a room. Out: its one way in, a module that is imported when it is first asked for. The core imports no
room; a room that was taken out of the tree leaves the core working, and what it would add is said to be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

from tpharness.findings import Kind

__all__ = ["ROOMS", "HistoriesRoom", "Room", "histories_room", "rooms"]

ROOMS: Mapping[str, str] = {
    "explore": "tpharness.explore.room",
    "histories": "tpharness.histories.room",
}
"""Each room and the module that is its way in."""


class Room(Protocol):
    """What every room says of itself."""

    KINDS: Sequence[Kind]
    """The kinds of findings that only this room makes."""


class HistoriesRoom(Room, Protocol):
    """What `run --dialect` asks of the histories."""

    named: Callable[[str], list[str]]
    """The full names of the histories that a name means; none for a name that no history has."""
    names: Callable[[], list[str]]
    """Every name that can be given."""
    run_history: Callable[[Any], Iterator[Any]]
    """Play scenarios through one history, as `run_suite` plays them on targets."""


def rooms() -> list[Room]:
    """Return the rooms that are there."""
    return [cast("Room", found) for name in ROOMS if (found := _room(name)) is not None]


def histories_room() -> HistoriesRoom | None:
    """Return the room of the histories, None where it was taken out."""
    return cast("HistoriesRoom | None", _room("histories"))


@cache
def _room(name: str) -> Any:
    home = ROOMS[name]
    if find_spec(home.rpartition(".")[0]) is None:
        return None
    return import_module(home)
