"""Migration between versions, one adjacent step at a time (R1), with a report of what was dropped.

Upgrading 2.0.0 → 0.0.3 changes the version alone; 0.0.3 → 0.0.4 also adds `completion_status: "complete"` to agent
turns and renames the five normative events. Downgrading is the inverse and drops interrupted turns. Upgrading and then
downgrading is the identity, but for an event that already had another version's name, which `check_thread` reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.errors import UsageError
from tpharness.protocol.versions import NORMATIVE_EVENTS, Version

__all__ = ["Dropped", "Migration", "convert", "version_of"]

_NEW_NAMES = NORMATIVE_EVENTS
_OLD_NAMES = {new: old for old, new in NORMATIVE_EVENTS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Something that the older version cannot say: where it stood, what it was, why it went."""

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
    """Return the version of a thread. UsageError for one that is unknown."""
    try:
        return Version(thread.get("version"))
    except ValueError:
        known = ", ".join(str(v.value) for v in Version)
        raise UsageError(f"unknown version {thread.get('version')!r}", hint=f"known versions are {known}") from None


def convert(thread: Mapping[str, Any], to: Version) -> Migration:
    """Convert a thread to another version, through every version between. The input is not changed."""
    current = version_of(thread)
    result = dict(thread)
    steps = [current]
    dropped: list[Dropped] = []
    order = list(Version)
    while current is not to:
        following = order[order.index(current) + (1 if to.order > current.order else -1)]
        result = _STEPS[current, following](result, dropped)
        result["version"] = following.value
        current = following
        steps.append(current)
    return Migration(thread=result, steps=tuple(steps), dropped=tuple(dropped))


def _same(thread: dict[str, Any], dropped: list[Dropped]) -> dict[str, Any]:
    """2.0.0 ⇄ 0.0.3: the version alone; what 0.0.3 added stays as unknown fields (R7)."""
    del dropped
    return dict(thread)


def _to_0_0_4(thread: dict[str, Any], dropped: list[Dropped]) -> dict[str, Any]:
    del dropped
    turns = []
    for turn in thread.get("turns") or ():
        new = _renamed(turn, _NEW_NAMES)
        if turn.get("turn_type") == "agent":
            new["completion_status"] = "complete"
        turns.append(new)
    return {**thread, "turns": turns}


def _to_0_0_3(thread: dict[str, Any], dropped: list[Dropped]) -> dict[str, Any]:
    turns = []
    for index, turn in enumerate(thread.get("turns") or ()):
        if turn.get("completion_status") == "interrupted":
            reason = (turn.get("interruption") or {}).get("reason")
            kept = len(turn.get("messages") or ())
            what = f"an interrupted turn of {turn.get('agent_id')} ({reason}) with {kept} messages"
            dropped.append(Dropped(pointer=f"/turns/{index}", what=what, why="0.0.3 knows complete turns only (R18)"))
            continue
        new = _renamed(turn, _OLD_NAMES)
        new.pop("completion_status", None)
        turns.append(new)
    return {**thread, "turns": turns}


def _renamed(turn: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    new = dict(turn)
    if "messages" in new:
        new["messages"] = [
            {**m, "event_type": names.get(m["event_type"], m["event_type"])} if "event_type" in m else m
            for m in new["messages"]
        ]
    return new


_STEPS: Mapping[tuple[Version, Version], Callable[[dict[str, Any], list[Dropped]], dict[str, Any]]] = {
    (Version.V2_0_0, Version.V0_0_3): _same,
    (Version.V0_0_3, Version.V2_0_0): _same,
    (Version.V0_0_3, Version.V0_0_4): _to_0_0_4,
    (Version.V0_0_4, Version.V0_0_3): _to_0_0_3,
}
