"""Fields that a document says never to write: numbers for what has an order, states, versions, what streams, prompts.

They are unknown fields, so they are preserved and do not make a thread invalid (R7); system prompts do (R8). Names are
looked up in the objects of the protocol only, never in the data of tools, applications and extensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding, Kind, Place
from tpharness.protocol import problems as p
from tpharness.protocol.jcs import escape
from tpharness.protocol.rules.index import Index, message_pointer, part_pointer
from tpharness.protocol.rules.parts import DEFINED_KINDS
from tpharness.protocol.versions import ERROR_EVENT, neutral_event_name

__all__ = ["find_unwritten_fields"]

_NUMBERS = (
    *("seq", "seq_no", "sequence", "sequence_no", "sequence_number", "index", "position", "ordinal"),
    *("turn_number", "turn_index", "message_number", "message_index", "part_number", "part_index"),
)
_STATES = (
    *("pending", "is_pending", "pending_approval", "awaiting_approval", "requires_approval", "needs_approval"),
    *("approval_required", "approval_status", "deferred", "state"),
)
_STREAMS = (
    *("partial", "partial_messages", "incomplete_parts", "current_text_buffer", "current_tool_calls", "pending_turn"),
    *("stream_id", "stream_status", "last_event_at", "last_event_received", "has_end_event", "accumulated_content"),
    "interruption_reason",
)
_NAMES: Mapping[str, Kind] = {
    **dict.fromkeys(_NUMBERS, p.NUMBERED),
    **dict.fromkeys(_STATES, p.STATED_PENDING),
    **dict.fromkeys(_STREAMS, p.STREAMING),
}
_CALLS = ("tool-call", "builtin-tool-call")
_TO_DO = frozenset(
    (
        *("retry", "retryable", "retry_after", "retry_count", "max_retries", "should_retry", "recoverable", "severity"),
        *("resume", "resumable", "resume_from", "action", "next_action", "handler", "handled_by", "strategy"),
        *("execution_mode", "priority", "timeout_ms"),
    )
)
"""What says how a client or an orchestrator handles an interruption, which is not a fact about it."""
_PROMPTS = frozenset(("instructions", "system_prompt", "system_prompts"))
_ALL = _PROMPTS.union(_NAMES)


def find_unwritten_fields(index: Index) -> Iterator[Finding]:
    """R7, R8: find fields that the documents name as what a thread does not have."""
    if not _ALL.isdisjoint(index.thread):
        yield from _named(index.thread, "")
    for key, agent in index.thread["agents"].items():
        if not _ALL.isdisjoint(agent):
            yield from _named(agent, f"/agents/{escape(key)}")
    for t, turn in enumerate(index.thread["turns"]):
        if not (_ALL.isdisjoint(turn) and turn.get("interruption") is None and turn.get("version") is None):
            yield from _of_turn(turn, f"/turns/{t}")
    for t, m, message in index.messages:
        if not _ALL.isdisjoint(message):
            yield from _named(message, message_pointer(t, m))
        if message.get("version") is not None:
            yield p.VERSION_WITHIN.at(Place(pointer=f"{message_pointer(t, m)}/version"), got=message["version"])
        if message["message_type"] == "system" and neutral_event_name(message["event_type"]) == ERROR_EVENT:
            data = message.get("event_data")
            if isinstance(data, Mapping) and data.get("partial") is True:
                yield p.STREAMING.at(Place(pointer=f"{message_pointer(t, m)}/event_data/partial"), got=True)
    for t, m, k, _, part in index.parts:
        if not _ALL.isdisjoint(part) and part["part_kind"] in DEFINED_KINDS:
            yield from _named(part, part_pointer(t, m, k))
        if part["part_kind"] in _CALLS and part.get("status") is not None:
            yield p.STATED_PENDING.at(Place(pointer=f"{part_pointer(t, m, k)}/status"), got=part["status"])


def _of_turn(turn: Mapping[str, Any], pointer: str) -> Iterator[Finding]:
    if not _ALL.isdisjoint(turn):
        yield from _named(turn, pointer)
    if turn.get("version") is not None:
        yield p.VERSION_WITHIN.at(Place(pointer=f"{pointer}/version"), got=turn["version"])
    interruption = turn.get("interruption")
    if isinstance(interruption, Mapping):
        for name in sorted(_TO_DO.intersection(interruption)):
            yield p.SAYS_WHAT_TO_DO.at(Place(pointer=f"{pointer}/interruption/{name}"), got=interruption[name])


def _named(holder: Mapping[str, Any], pointer: str) -> Iterator[Finding]:
    for name in sorted(_ALL.intersection(holder)):
        value, place = holder[name], Place(pointer=f"{pointer}/{name}")
        if name in _PROMPTS:
            if value:
                yield p.SYSTEM_PROMPT.at(place, f"the thread contains a system prompt, as `{name}`", got=value)
        elif value is not None and (name != "partial" or value is True):
            yield _NAMES[name].at(place, got=value)
