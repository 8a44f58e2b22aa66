"""Entries of a journal as messages of a ThreadProtocol document.

In: entries in order of arrival. Out: messages in order of time (R25), returns gathered into one request per response,
in the order of its calls (R11). The same for every version but for the names of events, which are passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from tpharness.facts import utc_text
from tpharness.journal import Entry, Event, Prompt, Response, Return
from tpharness.protocol.canonical import canonical_reference

if TYPE_CHECKING:
    from tpharness.protocol.types import Message, RequestMessageJson, ResponseMessageJson, SystemMessageJson

__all__ = ["EventNamer", "messages", "time_key"]

EventNamer = Callable[[str], str]
_EARLIER = -1  # the group of returns to calls that earlier turns left open (R30)


def messages(
    entries: Iterable[Entry], calls: Mapping[int, tuple[int, int]], event_name: EventNamer, *, content_refs: bool
) -> list[Message]:
    """Render entries in order of time; `calls` as in `Segment.calls`, event names through `event_name`.

    `content_refs`: a return may refer to its content; where it may not, the reference is its content (R6).
    """
    placed: list[tuple[str, int, Message]] = []
    groups: dict[int, list[tuple[int, Return]]] = {}
    last_seen: dict[int, int] = {}
    for arrival, entry in enumerate(entries):
        match entry:
            case Response():
                if entry.parts:  # a response without a complete part is not shown, even in a complete turn
                    placed.append((time_key(entry.at), arrival, _response(entry)))
            case Return():
                group, order = calls.get(entry.call_key, (_EARLIER, entry.call_key))
                groups.setdefault(group, []).append((order, entry))
                last_seen[group] = arrival
            case Event():
                placed.append((time_key(entry.at), arrival, _event(entry, event_name)))
            case Prompt():
                placed.append((time_key(entry.at), arrival, _request(entry.agent_id, entry.at, entry.parts)))
    for group, members in groups.items():
        at = max((r.at for _, r in members), key=time_key)
        ordered = [r for _, r in sorted(members, key=lambda member: member[0])]
        parts = [{"part_kind": r.kind, **r.fields} for r in ordered]
        name = "content_ref" if content_refs else "content"
        parts = [
            {**part, name: canonical_reference(part["content_ref"])} if "content_ref" in part else part
            for part in parts
        ]
        placed.append((time_key(at), last_seen[group], _request(ordered[0].agent_id, at, parts)))
    placed.sort(key=lambda item: item[:2])
    return [message for _, _, message in placed]


def time_key(at: str) -> str:
    """Return a string that orders ISO 8601 times, whatever their offsets and fractions; equal times are equal."""
    if not at.endswith("Z"):
        try:
            return utc_text(at)
        except ValueError:
            return at
    key = at[:-1]
    return key.rstrip("0").rstrip(".") if "." in key else key


def _response(entry: Response) -> ResponseMessageJson:
    parts: Any = [{"part_kind": p.kind, **p.fields} for p in entry.parts]  # the journal has the fields of each kind
    facts = cast("ResponseMessageJson", entry.facts)
    message: ResponseMessageJson = {
        "message_type": "response",
        "timestamp": entry.at,
        "agent_id": entry.agent_id,
        "parts": parts,
        **facts,
    }
    return message


def _request(agent_id: str, at: str, parts: Iterable[Mapping[str, Any]]) -> RequestMessageJson:
    copies: Any = [dict(part) for part in parts]
    return {"message_type": "request", "timestamp": at, "agent_id": agent_id, "parts": copies}


def _event(entry: Event, event_name: EventNamer) -> SystemMessageJson:
    message: SystemMessageJson = {
        "message_type": "system",
        "timestamp": entry.at,
        "event_type": event_name(entry.name),
        "event_data": entry.data,
    }
    if entry.source_agent is not None:
        message["source_agent"] = entry.source_agent
    if entry.target_agents is not None:
        message["target_agents"] = list(entry.target_agents)
    return message
