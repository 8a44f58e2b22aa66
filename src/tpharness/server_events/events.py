"""The vocabulary of server-side model events.

Events are JSON objects as Pydantic AI serialises its agent-stream events (`event_kind`, then fields), plus the few
boundaries and facts that it lacks. This module names them, judges one event by its shape (`shapes`), and reads its
time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from msgspec import convert

from tpharness.facts import event_timestamp, is_time, later_time
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.versions import NORMATIVE_PREFIX
from tpharness.server_events.native import REFUSED, native_type
from tpharness.server_events.returns import custom_data, custom_name, event_name
from tpharness.server_events.shapes import EVENT

__all__ = ["EventKind", "approvals_of", "event_kind", "event_time", "shift"]


class EventKind(Enum):
    """Every event kind that the recorder knows."""

    __hash__ = object.__hash__  # a member is one object; Enum's own hash is a call in Python for every look-up

    PART_START = "part_start"
    PART_DELTA = "part_delta"
    PART_END = "part_end"
    FINAL_RESULT = "final_result"
    FUNCTION_TOOL_CALL = "function_tool_call"
    FUNCTION_TOOL_RESULT = "function_tool_result"
    OUTPUT_TOOL_CALL = "output_tool_call"
    OUTPUT_TOOL_RESULT = "output_tool_result"
    DEFERRED_TOOL_REQUESTS = "deferred_tool_requests"
    DEFERRED_TOOL_RESULTS = "deferred_tool_results"
    ENQUEUED_MESSAGES = "enqueued_messages"
    CUSTOM = "custom"
    AGENT_RUN_RESULT = "agent_run_result"
    # Not in Pydantic AI's stream:
    MODEL_REQUEST = "model_request"
    MODEL_RESPONSE_END = "model_response_end"
    TOOL_PROGRESS = "tool_progress"
    SYSTEM_EVENT = "system_event"
    ERROR = "error"
    STALL = "stall"
    RESPONSE_RESET = "response_reset"
    AGENT_START = "agent_start"


_NOWHERE = Place()
_KINDS = {kind.value: kind for kind in EventKind}
_NATIVE = {
    kind.value: (kind, native)
    for kind in (EventKind.PART_START, EventKind.PART_DELTA, EventKind.PART_END)
    if (native := native_type(EVENT.records[kind.value], apart=("event_kind", "at", "_t_ms"))) is not None
}
"""The kinds that make up nearly all of a run, with the type that their fields have."""
_UNKNOWN = (None, None)

MALFORMED = Kind("server-event-malformed")
UNKNOWN = Kind("server-event-unknown")


def event_kind(event: Any, place: Place = _NOWHERE) -> EventKind | Finding:
    """Return the kind of an event if its fields fit, else the finding that says what is wrong (R36).

    The finding names the first field that is missing or has a wrong value. `place` is optional, because making one for
    every event would cost as much as the check itself.
    """
    if type(event) is dict and (known := _fitting_kind(event)) is not None:
        return known
    mismatches = EVENT.mismatches(event)
    if mismatches:
        mismatch = mismatches[0]
        kind = event.get("event_kind") if isinstance(event, Mapping) else None
        if not isinstance(kind, str):
            return MALFORMED.at(place, got=event, expected=EVENT.description)
        got = event if mismatch.missing is not None else mismatch.got
        return MALFORMED.at(place, f"{kind}: {mismatch.message()}", got=got, expected=mismatch.expected)
    known = _KINDS.get(event["event_kind"])
    return UNKNOWN.at(place, got=event["event_kind"]) if known is None else known


def _fitting_kind(event: dict[str, Any]) -> EventKind | None:
    """Return the kind of an event that surely fits, None for one that the table has to judge."""
    said = event.get("event_kind")
    kind, native = _NATIVE.get(said, _UNKNOWN) if type(said) is str else _UNKNOWN
    if kind is None or "_t_ms" in event:
        return None
    at = event.get("at")
    if at is not None and not (type(at) is str and is_time(at)):
        return None
    try:
        convert(event, native)
    except REFUSED:
        return None
    return kind


def event_time(event: Mapping[str, Any], started_at: str, now: str) -> str:
    """Return when an event that has its shape happened: its `at`, or the run's start plus its `_t_ms`.

    Without these it is the time that the event itself states, if it does and that is later than `now`: the `timestamp`
    of a normative event's data, of a tool's result, or of the event. Else `now`, the time of the event before it; also
    if the time lies beyond the calendar.
    """
    at: str | None = event.get("at")
    if at is not None:
        return at
    elapsed = event.get("_t_ms")
    if elapsed is None:
        stated = None if event["event_kind"] in _NATIVE and "timestamp" not in event else _stated_time(event)
        return now if stated is None else later_time(now, stated)
    try:
        return shift(started_at, elapsed / 1000)
    except OverflowError:
        return now


def approvals_of(event: Mapping[str, Any]) -> list[str]:
    """Return the ids of the calls that an event says to wait for an approval (R64); what is malformed names none."""
    if event.get("event_kind") != "deferred_tool_requests" or not isinstance(event.get("requests"), Mapping):
        return []
    named = event["requests"].get("approvals")
    calls = [one for one in named if isinstance(one, Mapping)] if isinstance(named, list) else []
    return [one["tool_call_id"] for one in calls if isinstance(one.get("tool_call_id"), str)]


def _stated_time(event: Mapping[str, Any]) -> str | None:
    match event["event_kind"]:
        case "system_event":
            normative = event_name(event["event_type"]).startswith(NORMATIVE_PREFIX)
            return event_timestamp(event.get("event_data")) if normative else None
        case "custom":  # its fields are the application's
            normative = event_name(custom_name(event)).startswith(NORMATIVE_PREFIX)
            return event_timestamp(custom_data(event)) if normative else None
        case "function_tool_result" | "output_tool_result":
            return event_timestamp(event["part"]) or event_timestamp(event)
        case _:
            return event_timestamp(event)


def shift(at: str, seconds: float) -> str:
    """Return an ISO 8601 time moved by `seconds`, in UTC, to the microsecond, without trailing zeros."""
    moment = datetime.fromisoformat(at) + timedelta(seconds=round(seconds, 6))
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    text = moment.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"
