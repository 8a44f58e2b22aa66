"""Pydantic AI's stored messages: what is wrong with them, and the messages without it.

In: any JSON value. Out: changes and findings. A response that says itself that it was interrupted may have calls that
are not answered, since Pydantic AI completes them with the next request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tpharness.facts import event_timestamp
from tpharness.findings import Finding, Place, json_type
from tpharness.histories.stored import problems as p
from tpharness.histories.stored.arguments import are_half, without_time
from tpharness.histories.stored.sequence import NO_RESULT, Change, Repairing, StoredMessage, StoredPart

__all__ = ["find_malformed", "find_out_of_order", "repair_messages"]

_ANSWERS = ("tool-return", "retry-prompt")
_STATES: Mapping[str, tuple[str, ...]] = {
    "request": ("complete", "interrupted"),
    "response": ("complete", "suspended", "interrupted", "incomplete"),
}
_OUTCOMES = ("success", "failed", "denied", "interrupted", "retried")
_OF_RUN = ("run_id", "conversation_id")
_OF_REQUESTS = ("system-prompt", "user-prompt", "tool-return", "retry-prompt", "retry-feedback")
_OF_RESPONSES = ("text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file")
_OF_LIBRARY = (
    *("capability-load-delta", "compaction", "instruction", "instruction-baseline", "instruction-delta"),
    *("instruction-digest", "model-settings-delta", "speech", "tool-availability-delta"),
)
"""What only the library knows; a thread has it whole, as a part of the kind `custom:pydantic_ai`."""
_KNOWN = frozenset((*_OF_REQUESTS, *_OF_RESPONSES, *_OF_LIBRARY))


def find_malformed(value: Any) -> Iterator[Finding]:
    """Find what is not shaped as the messages are. Where there is something, nothing else can be said."""
    if not isinstance(value, list):
        yield p.MALFORMED.at(Place(pointer=""), got=json_type(value), expected="a list of messages")
        return
    for index, message in enumerate(value):
        place = f"/{index}"
        if not isinstance(message, Mapping) or message.get("kind") not in ("request", "response"):
            yield p.MALFORMED.at(Place(pointer=place), "a message has no known kind", expected="request or response")
        elif not isinstance(message.get("parts"), list):
            yield p.MALFORMED.at(Place(pointer=f"{place}/parts"), expected="a list of parts")
        else:
            state = message.get("state")
            if state is not None and state not in _STATES[message["kind"]]:
                yield p.UNKNOWN_STATE.at(Place(pointer=f"{place}/state"), got=state)
            yield from _other_time(message, place)
            for number, part in enumerate(message["parts"]):
                yield from _malformed_part(part, f"{place}/parts/{number}")


def _malformed_part(part: Any, place: str) -> Iterator[Finding]:
    if not isinstance(part, Mapping) or not isinstance(part.get("part_kind"), str):
        yield p.MALFORMED.at(Place(pointer=place), "a part has no part_kind", expected="an object with a part_kind")
        return
    kind = part["part_kind"]
    yield from _other_time(part, place)
    if kind not in _KNOWN:
        yield p.UNKNOWN_PART.at(Place(pointer=place), got=kind)
    if kind == "tool-return" and "content" not in part:
        yield p.MALFORMED.at(Place(pointer=place), "a return has no content", expected="content")
    if kind == "user-prompt" and not isinstance(part.get("content"), str | list):
        yield p.MALFORMED.at(Place(pointer=f"{place}/content"), got=part.get("content"), expected="a text or a list")
    required: tuple[str, ...] = ("tool_name", "tool_call_id") if kind in ("tool-call", "tool-return") else ()
    required = (*required, "content") if kind in ("text", "thinking") else required
    for name in required:
        if not isinstance(part.get(name), str) or (part[name] == "" and name != "content"):
            yield p.MALFORMED.at(Place(pointer=f"{place}/{name}"), got=part.get(name), expected="a text")
    if part.get("outcome") is not None and part["outcome"] not in _OUTCOMES:
        advice = f"write one of {', '.join(sorted(_OUTCOMES))}; an import takes it as a failure"
        yield p.UNKNOWN_STATE.at(Place(pointer=f"{place}/outcome"), got=part["outcome"], advice=advice)


def _other_time(holder: Mapping[str, Any], place: str) -> Iterator[Finding]:
    stated = holder.get("timestamp")
    if stated is not None and not _is_time(stated):
        advice = "write it as 2025-01-20T10:00:15Z; an import has no time of this place"
        yield p.MALFORMED.at(
            Place(pointer=f"{place}/timestamp"), got=stated, expected="a time in ISO 8601", advice=advice
        )


def _is_time(stated: Any) -> bool:
    """Whether Pydantic AI takes it as a time; it takes seconds, too."""
    if not isinstance(stated, str):
        return isinstance(stated, int | float) and not isinstance(stated, bool)
    try:
        datetime.fromisoformat(stated)
    except ValueError:
        return False
    return True


def find_out_of_order(value: list[Any]) -> Iterator[Finding]:
    """Find messages that are older than one before them."""
    latest = ""
    for index, message in enumerate(value):
        stated = event_timestamp(message) or ""
        if stated and stated < latest:
            yield p.OUT_OF_ORDER.at(Place(pointer=f"/{index}/timestamp"), got=stated, expected=f"{latest} or later")
        latest = max(latest, stated)


def repair_messages(value: list[Any], *, drop_results: bool = False) -> tuple[list[Any], list[Change]]:
    """Return well-shaped messages without what is wrong, and the changes."""
    sequence = [_read(message, f"/{index}") for index, message in enumerate(value)]
    repairing = Repairing(sequence, close=_closed, drop_results=drop_results)
    made: list[dict[str, Any]] = []
    for message in repairing.messages:
        made.append(_written(message, made[-1] if made else {}))
    return made, repairing.changes


def _closed(call: StoredPart) -> dict[str, Any]:
    named: Any = {"tool_name": call.tool, "tool_call_id": call.call_id}
    return {"part_kind": "tool-return", **named, "content": NO_RESULT, "outcome": "failed"}


def _read(message: Mapping[str, Any], pointer: str) -> StoredMessage:
    parts = [_read_part(part, f"{pointer}/parts/{number}") for number, part in enumerate(message["parts"])]
    timed = any(holder.get("timestamp") is not None for holder in (message, *message["parts"]))
    return StoredMessage(
        kind=message["kind"],
        pointer=pointer,
        raw=message,
        parts=parts,
        time=message["timestamp"] if isinstance(message.get("timestamp"), str) else "",
        identity=message if timed else None,
        excused=message.get("state", "complete") != "complete",
    )


def _read_part(part: Mapping[str, Any], pointer: str) -> StoredPart:
    kind = part["part_kind"]
    if kind == "tool-call":
        arguments = part.get("args")
        identity = (part["tool_name"], repr(arguments))
        half = are_half(arguments)
        named: Any = {"call_id": part["tool_call_id"], "tool": part["tool_name"]}
        return StoredPart(kind="call", pointer=pointer, raw=part, half=half, identity=identity, **named)
    if kind in _ANSWERS and part.get("tool_name") is not None:
        failed = kind == "retry-prompt" or part.get("outcome", "success") != "success"
        said: Any = {"tool": str(part["tool_name"]), "content": part.get("content"), "identity": without_time(part)}
        call_id = str(part.get("tool_call_id"))
        return StoredPart(kind="answer", pointer=pointer, raw=part, call_id=call_id, failed=failed, **said)
    text = part["content"] if kind == "text" else ""
    return StoredPart(kind="prompt" if kind == "user-prompt" else "other", pointer=pointer, raw=part, text=text)


def _written(message: StoredMessage, before: Mapping[str, Any]) -> dict[str, Any]:
    parts = [{"timestamp": part.came_at, **part.raw} if part.came_at else part.raw for part in message.parts]
    if not message.made:
        return {**message.raw, "parts": parts}
    time = {"timestamp": message.time} if message.time else {}
    facts = {name: before[name] for name in _OF_RUN if before.get(name) is not None}
    return {"kind": "request", **time, **facts, "parts": parts}
