"""Rules of events: their names, and what normative events say and do not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.rules.index import Index, message_pointer
from tpharness.protocol.versions import (
    ERROR_EVENT,
    HANDOFF_EVENT,
    MERGE_EVENT,
    NORMATIVE_PREFIX,
    SPAWN_EVENT,
    is_normative_name,
    neutral_event_name,
)

__all__ = ["find_bad_event_data", "find_bad_event_names", "find_odd_event_names", "find_reused_names"]

_ORCHESTRATION = frozenset(
    (
        *("execution_mode", "priority", "timeout_ms"),
        *("routing_strategy", "selected_agent", "previous_agent", "confidence_score"),
    )
)
"""What the amendments show as how and why, which an event of the application says instead."""
_SAYS = {
    HANDOFF_EVENT: ("to", "the agent that takes over"),
    MERGE_EVENT: ("merged_thread_id", "the thread that was merged"),
    ERROR_EVENT: ("error", "what went wrong"),
}


def find_bad_event_names(index: Index) -> Iterator[Finding]:
    """R1, R7: find normative events under the name of another version, and names that only the protocol may give."""
    features = index.version.features
    names = features.normative_events
    for t, m, message in index.events:
        name, pointer = message["event_type"], message_pointer(t, m)
        own = names.get(neutral_event_name(name), name)
        if own != name:
            yield p.EVENT_VERSION.at(Place(pointer=f"{pointer}/event_type"), got=name, expected=own)
        elif features.event_tiers and name.startswith(NORMATIVE_PREFIX) and name not in names:
            expected = f"one of {', '.join(names)}"
            yield p.RESERVED_NAME.at(Place(pointer=f"{pointer}/event_type"), got=name, expected=expected)


def find_bad_event_data(index: Index) -> Iterator[Finding]:
    """R58: find normative events that do not say what happened, or that say how and why."""
    for t, m, message in index.events:
        if not message["event_type"].startswith(NORMATIVE_PREFIX):
            continue
        name, pointer = message["event_type"], message_pointer(t, m)
        place = Place(pointer=f"{pointer}/event_data")
        data = message.get("event_data")
        fields: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        if name == SPAWN_EVENT and not _is_text(fields.get("spawned_thread_id")):
            yield p.SPAWN_OF_NOTHING.at(place, got=data, expected="spawned_thread_id, the id of the new thread")
        elif name in _SAYS and not _says_its_fact(name, fields, message):
            yield p.SAYS_TOO_LITTLE.at(place, got=data, expected=": ".join(_SAYS[name]))
        for field in sorted(_ORCHESTRATION.intersection(fields)):
            yield p.ORCHESTRATION.at(Place(pointer=f"{pointer}/event_data/{field}"), got=fields[field])


def find_reused_names(index: Index) -> Iterator[Finding]:
    """R58: find the errors of a version before the tiers that do not say what went wrong: the name has another use."""
    name = index.version.features.normative_events[ERROR_EVENT]
    for t, m, message in index.events:
        data = message.get("event_data")
        fields: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        if message["event_type"] == name and not isinstance(fields.get("error"), str):
            place = Place(pointer=f"{message_pointer(t, m)}/event_data")
            yield p.REUSED_NAME.at(place, got=data, expected=": ".join(_SAYS[ERROR_EVENT]))


def find_odd_event_names(index: Index) -> Iterator[Finding]:
    """R7: observe event types outside of every namespace."""
    for t, m, message in index.events:
        name, pointer = message["event_type"], message_pointer(t, m)
        if not is_normative_name(name) and not name.startswith(("data-", "meta:", "source.")):
            yield p.NAMESPACE.at(Place(pointer=f"{pointer}/event_type"), got=name)


def _says_its_fact(name: str, fields: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    if name == HANDOFF_EVENT and message.get("target_agents"):
        return True
    return _is_text(fields.get(_SAYS[name][0]))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""
