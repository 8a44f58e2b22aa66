"""What a stream of the AI SDK says that stays in no thread: failures, denials, progress, transient events, the finish.

In: the bytes of one stream or of several. Out: what is owed. It reads chunks as plain JSON and shares no code with the
client's fold.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.wires.owed import Owed
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp.carrier import CARRIER

__all__ = ["read_owed"]

_OTHER = "other"  # a reason of the model that the wire has no word for


def read_owed(data: bytes) -> tuple[Owed, ...]:
    """Return what streams say, in order; an approval that no request names has the id of its call (R64)."""
    found: list[Owed] = []
    approvals: dict[str, str] = {}
    for chunk in _chunks(data):
        kind = str(chunk.get("type"))
        if kind == "tool-approval-request":
            approvals[str(chunk.get("approvalId"))] = str(chunk.get("toolCallId"))
        elif (one := _owed(kind, chunk, approvals)) is not None:
            found.append(one)
    return tuple(found)


def _chunks(data: bytes) -> Iterator[dict[str, Any]]:
    for event in SseParser().feed_data(data):
        try:
            chunk = json.loads(event, parse_float=_number)
        except ValueError:
            continue
        if isinstance(chunk, dict):
            yield chunk


def _number(written: str) -> float | int:
    """Read 1.0 as 1: the two are one value."""
    value = float(written)
    return int(value) if value.is_integer() else value


def _owed(kind: str, chunk: Mapping[str, Any], approvals: Mapping[str, str]) -> Owed | None:
    """Return what a chunk says that stays in no thread, without what a server names as it likes."""
    call = str(chunk.get("toolCallId"))
    match kind:
        case "tool-approval-response" if chunk.get("approved") is False:  # its reason is what the call is answered with
            asked = str(chunk.get("approvalId"))
            call = approvals.get(asked, asked)
            return _one("approval", call, chunk, toolCallId=call, reason=chunk.get("reason"))
        case "tool-output-error" | "tool-input-error":
            return _one("answer", call, chunk, toolCallId=call, errorText=_text(chunk.get("errorText")))
        case "tool-output-denied":
            return _one("answer", call, chunk, toolCallId=call)
        case "tool-output-available" if chunk.get("preliminary") is True:
            return _one("progress", call, chunk, toolCallId=call, preliminary=True, output=chunk.get("output"))
        case "tool-output-available":
            executed = chunk.get("providerExecuted") is True
            return _one("provider" if executed else "", call, chunk, toolCallId=call, executed=executed)
        case "finish":
            reason = chunk.get("finishReason")
            return _one("" if reason in (None, _OTHER) else "finish", "", chunk, reason=reason)
        case _ if kind.startswith("data-") and kind != CARRIER:
            return _one("transient" if chunk.get("transient") is True else "", "", chunk, data=chunk.get("data"))
    return None


def _one(sort: str, about: str, chunk: Mapping[str, Any], **fields: Any) -> Owed:
    said = json.dumps({"type": chunk["type"], **fields}, sort_keys=True)
    return Owed(sort=sort, about=about, said=said, event=chunk)


def _text(text: Any) -> Any:
    """Return what a failure says: a value that is written as JSON may be written in several ways."""
    try:
        value = json.loads(text, parse_float=_number) if isinstance(text, str) and text[:1] in ("{", "[") else text
    except ValueError:
        return text
    return value
