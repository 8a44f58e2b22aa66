"""The shorthand of chunks → the events that it stands for (rules 23 to 29).

In: chunks, and the events between them. Out: starts, contents and ends as a producer would have sent them, or what is
wrong with a chunk. A lane is the root agent's or one subagent's; it holds one item in shorthand at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import UNSET

from tpharness.findings import Kind
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.objects import given
from tpharness.wires.ag_ui.states import CLOSES, FAMILIES, Closes, Family

__all__ = ["CHUNKS", "ChunkLanes", "Refused", "owner_name"]

CHUNKS: dict[type[r.BaseEvent], Family] = {family.chunk: family for family in FAMILIES.values() if family.chunk}
"""The events in shorthand, with what they open."""


_NEEDED_OF_CALL = {"tool_call_id": "toolCallId", "tool_call_name": "toolCallName"}
_NEEDED_OF_MESSAGE = {"message_id": "messageId"}


class Refused(NamedTuple):
    """Why a chunk cannot be read."""

    kind: Kind
    message: str


class _Open(NamedTuple):
    family: Family
    id: str
    owner: str | None
    opener: dict[str, Any]


class ChunkLanes:
    """The items that are open in shorthand, one a lane."""

    def __init__(self) -> None:
        self.open: dict[str | None, _Open] = {}

    def expand(self, chunk: Any) -> list[r.Item] | Refused:
        """Return the events that a chunk stands for, the end of the item before it among them."""
        family = CHUNKS[type(chunk)]
        id_ = given(getattr(chunk, chunk.id_field))
        found = self._continued(family, chunk, id_)
        if isinstance(found, Refused):
            return found
        if found is not None:
            conflict = _conflict(chunk, found)
            return conflict or _contents(family, chunk, found.id)
        missing = _missing(family, chunk)
        if missing:
            return Refused(v.FIRST_CHUNK, f"the first {chunk_name(family)} of a {family.word} does not have {missing}")
        owner = given(chunk.subagent_run_id)
        events = self._end(owner)
        opener = {name: getattr(chunk, name) for name in family.opener_fields}
        self.open[owner] = _Open(family, id_, owner, opener)
        fixed = {"role": "reasoning"} if family.start is r.ReasoningMessageStart else {}
        fields: dict[str, Any] = {**_named(chunk, id_), **opener, **fixed}
        start = family.start(**fields, metadata=chunk.metadata)
        more = _contents(family, chunk, id_) if chunk.delta is not UNSET else []
        return [*events, start, *more]

    def ended_by(self, event: r.BaseEvent, lane: str | None) -> list[r.Item]:
        """Return the ends that an event in a lane brings with it."""
        match CLOSES[type(event)]:
            case Closes.NOTHING:
                return []
            case Closes.ITS_LANE:
                return self._end(lane)
            case Closes.LANE_OF_SUBAGENT:
                return self._end(getattr(event, "subagent_run_id", None))
        return [end for owner in list(self.open) for end in self._end(owner)]

    def forget(self, event: Any) -> None:
        """Forget what a chunk has opened: its start did not have a place."""
        self.open.pop(given(event.subagent_run_id), None)

    def _end(self, owner: str | None) -> list[r.Item]:
        found = self.open.pop(owner, None)
        if found is None:
            return []
        fields: dict[str, Any] = {found.family.end.id_field: found.id}
        return [found.family.end(**fields)]

    def _continued(self, family: Family, chunk: Any, id_: str | None) -> _Open | Refused | None:
        """Return what a chunk continues, None if it opens something."""
        tag = given(chunk.subagent_run_id)
        mine = [one for one in self.open.values() if one.family is family]
        if id_ is not None:
            for one in mine:
                if one.id == id_:
                    if tag is not None and tag != one.owner:
                        said = (
                            f"the chunk for {id_!r} is attributed to {tag!r}, its item to {one.owner or 'the agent'!r}"
                        )
                        return Refused(v.OWNER_DIFFERS, said)
                    return one
            return None
        if tag is not None:
            return next((one for one in mine if one.owner == tag), None)
        root = next((one for one in mine if one.owner is None), None)
        if root is None and len(mine) > 1:
            owners = ", ".join(owner_name(one.owner) for one in mine)
            return Refused(v.CHUNK_AMBIGUOUS, f"the chunk could continue the {family.word} of any of {owners}")
        return root or (mine[0] if mine else None)


def owner_name(owner: str | None) -> str:
    """Return who owns something, as findings name them."""
    return "the agent itself" if owner is None else repr(owner)


def chunk_name(family: Family) -> str:
    """Return the type of a family's chunk."""
    return str(family.chunk.__struct_config__.tag) if family.chunk else ""


def _conflict(chunk: Any, found: _Open) -> Refused | None:
    for name, established in found.opener.items():
        said = getattr(chunk, name)
        meant = "assistant" if name == "role" and established is UNSET else given(established)
        if said is not UNSET and said != meant:
            word = "".join(part.title() if index else part for index, part in enumerate(name.split("_")))
            return Refused(v.CHUNK_CONFLICT, f"{word} is {said!r}, and was {meant!r} when {found.id!r} was opened")
    return None


def _missing(family: Family, chunk: Any) -> str:
    needed = _NEEDED_OF_CALL if family.start is r.ToolCallStart else _NEEDED_OF_MESSAGE
    return " and ".join(wire for name, wire in needed.items() if getattr(chunk, name) is UNSET)


def _named(chunk: Any, id_: str | None) -> dict[str, Any]:
    return {chunk.id_field: id_, "subagent_run_id": chunk.subagent_run_id}


def _contents(family: Family, chunk: Any, id_: str) -> list[r.Item]:
    if family.add is None or (chunk.delta is UNSET and chunk.metadata is UNSET):
        return []
    fields = {**_named(chunk, id_), "delta": chunk.delta if chunk.delta is not UNSET else ""}
    return [family.add(**fields, metadata=chunk.metadata)]
