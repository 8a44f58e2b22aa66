"""The vocabulary of server-side model events.

Events are JSON objects as Pydantic AI serialises its agent-stream events (`event_kind`, then fields), plus the few
boundaries and facts that it lacks. This module names them, says which fields each needs, and reads their time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from tpharness.findings import Finding, Kind, Level, Place

__all__ = ["KINDS", "REQUIRED_FIELDS", "EventKind", "event_kind", "event_time", "shift"]


class EventKind(Enum):
    """Every event kind that the recorder knows."""

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
    # What Pydantic AI's stream does not say:
    MODEL_REQUEST = "model_request"
    MODEL_RESPONSE_END = "model_response_end"
    TOOL_PROGRESS = "tool_progress"
    SYSTEM_EVENT = "system_event"
    ERROR = "error"
    STALL = "stall"
    RESPONSE_RESET = "response_reset"
    AGENT_START = "agent_start"


REQUIRED_FIELDS: Mapping[EventKind, tuple[str, ...]] = {
    EventKind.PART_START: ("index", "part"),
    EventKind.PART_DELTA: ("index", "delta"),
    EventKind.PART_END: ("index", "part"),
    EventKind.FUNCTION_TOOL_CALL: ("part",),
    EventKind.FUNCTION_TOOL_RESULT: ("part",),
    EventKind.OUTPUT_TOOL_CALL: ("part",),
    EventKind.OUTPUT_TOOL_RESULT: ("part",),
    EventKind.TOOL_PROGRESS: ("tool_call_id", "content"),
    EventKind.SYSTEM_EVENT: ("event_type",),
    EventKind.ERROR: ("error_text",),
    EventKind.STALL: ("seconds",),
    EventKind.AGENT_START: ("agent_id",),
}

MALFORMED = Kind(
    code="server-event-malformed",
    level=Level.MUST,
    title="a server event is not an object with a known event_kind and its fields",
    remedy="write the event as Pydantic AI serialises it; `tpharness explain` of a scenario lists the kinds",
)
UNKNOWN = Kind(
    code="server-event-unknown",
    level=Level.MAY,
    title="the server reported an event of a kind that tpharness does not know; it is left aside",
    remedy="nothing to do if the event carries no part, return or fact of the conversation",
    rulings=("R7",),
)
KINDS = (MALFORMED, UNKNOWN)


def event_kind(event: Any, place: Place) -> EventKind | Finding:
    """Return the kind of an event, or the finding that says why it has none."""
    if not isinstance(event, Mapping) or not isinstance(event.get("event_kind"), str):
        return MALFORMED.at(place, got=event, expected="an object with a string event_kind")
    try:
        kind = EventKind(event["event_kind"])
    except ValueError:
        return UNKNOWN.at(place, got=event["event_kind"])
    missing = [name for name in REQUIRED_FIELDS.get(kind, ()) if name not in event]
    if missing:
        return MALFORMED.at(place, f"{kind.value} lacks {', '.join(missing)}", got=event)
    if not all(isinstance(event[name], Mapping) for name in ("part", "delta") if name in event):
        return MALFORMED.at(place, f"{kind.value}: part and delta must be objects", got=event)
    return kind


def event_time(event: Mapping[str, Any], started_at: str) -> str | None:
    """Return when the event happened: its `at`, or the run's start plus its `_t_ms`; None when it says neither."""
    at = event.get("at")
    if isinstance(at, str):
        return at
    elapsed = event.get("_t_ms")
    return shift(started_at, elapsed / 1000) if isinstance(elapsed, int | float) else None


def shift(at: str, seconds: float) -> str:
    """Return an ISO 8601 UTC time moved by `seconds`, with as few fraction digits as it needs, to the microsecond."""
    moment = datetime.fromisoformat(at) + timedelta(seconds=round(seconds, 6))
    text = moment.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"
