"""Migration between versions, one step of the lineage at a time (R1), with a report of what was dropped.

What a step changes follows from the features of the two versions: agent turns get or lose their `completion_status`,
interrupted turns are dropped if the new version cannot show them, normative events are renamed. Fields that the older
version does not define stay as unknown fields (R7). Upgrading and then downgrading gives the same thread, except for an
event that already had another version's name, which `check_thread` reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tpharness.errors import UsageError
from tpharness.protocol.versions import Version, version_names

__all__ = ["Dropped", "Migration", "convert", "version_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Something that the older version cannot represent: its place, what it was, why it was dropped."""

    pointer: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """The converted thread, the versions it went through, and what was dropped on the way."""

    thread: dict[str, Any]
    steps: tuple[Version, ...]
    dropped: tuple[Dropped, ...] = ()


def version_of(thread: Mapping[str, Any]) -> Version:
    """Return the version of a thread. UsageError for an unknown version."""
    try:
        return Version(thread.get("version"))
    except ValueError:
        hint = f"known versions are {version_names()}"
        raise UsageError(f"unknown version {thread.get('version')!r}", hint=hint) from None


def convert(thread: Mapping[str, Any], to: Version) -> Migration:
    """Convert a thread to another version, through every version between. The input is not changed."""
    path = version_of(thread).path_to(to)
    result = dict(thread)
    dropped: list[Dropped] = []
    for current, following in pairwise(path):
        result = {**_step(result, current, following, dropped), "version": following.value}
    return Migration(thread=result, steps=path, dropped=tuple(dropped))


def _step(thread: dict[str, Any], one: Version, other: Version, dropped: list[Dropped]) -> dict[str, Any]:
    """Convert between two adjacent versions, whichever of them is the newer."""
    had, has = one.features, other.features
    names = {
        name: has.normative_events[neutral]
        for neutral, name in had.normative_events.items()
        if has.normative_events[neutral] != name
    }
    if not names and had.interrupted_turns == has.interrupted_turns:
        return thread
    turns = []
    for index, turn in enumerate(thread.get("turns") or ()):
        if had.interrupted_turns and not has.interrupted_turns and turn.get("completion_status") == "interrupted":
            dropped.append(Dropped(pointer=f"/turns/{index}", what=_what(turn), why=_why(other)))
            continue
        new = _rename_events(turn, names)
        if has.interrupted_turns and not had.interrupted_turns and turn.get("turn_type") == "agent":
            new["completion_status"] = "complete"
        elif had.interrupted_turns and not has.interrupted_turns:
            new.pop("completion_status", None)
        turns.append(new)
    return {**thread, "turns": turns}


def _what(turn: Mapping[str, Any]) -> str:
    reason = (turn.get("interruption") or {}).get("reason")
    kept = len(turn.get("messages") or ())
    return f"an interrupted turn of {turn.get('agent_id')} ({reason}) with {kept} messages"


def _why(version: Version) -> str:
    return f"{version.value} has complete turns only (R18)"


def _rename_events(turn: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    new = dict(turn)
    if "messages" in new:
        new["messages"] = [
            {**m, "event_type": names.get(m["event_type"], m["event_type"])} if "event_type" in m else m
            for m in new["messages"]
        ]
    return new
