"""What a stream of AG-UI says beside its thread: how its run has ended, which approvals it asks for, and ended texts.

In: the bytes of one stream. Out: `Said`. It reads events as plain JSON and shares no code with the client's fold. Of
carriers it reads whether an end is only one of a cut (G3): a stream with facts marks it, and in one without facts an
end does not say that a text is whole, nor has an interrupt the id of its call (R64). A message has no id of its own
before its parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpharness.wires.ag_ui.carriers import FACTS, KEY, read_facts
from tpharness.wires.contract import Said
from tpharness.wires.sse.parser import SseParser

__all__ = ["read_said"]

_BEGINS = {"TEXT_MESSAGE_START": "text", "REASONING_MESSAGE_START": "thinking"}
_ENDS = ("TEXT_MESSAGE_END", "REASONING_MESSAGE_END")
_OTHERS = ("user", "system", "developer")


def read_said(data: bytes) -> Said:
    """Return what the last end of a run in the stream says, and which texts have ended if it has facts."""
    said = Said(end="")
    facts = any(f'"{name}"'.encode() in data for name in (KEY, FACTS))
    texts = _Texts() if facts else None
    calls: dict[str, str] = {}  # by the id on the wire that of the model, where a run has used it before
    for frame in SseParser().feed(data):
        if b"RUN_" in frame.data:
            said = _of_end(_load(frame.data), calls if facts else None) or said
        elif facts and b'"TOOL_CALL_START"' in frame.data:
            calls |= _renamed(_load(frame.data))
        elif texts is not None and b"_MESSAGE_" in frame.data:
            texts.feed(_load(frame.data))
    return said if texts is None or texts.in_shorthand else replace(said, texts=tuple(texts.ended))


class _Texts:
    """The texts and thoughts of the agent in the order in which they began, with what has ended them."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, Mapping[str, Any] | None]] = []
        self.in_shorthand = False
        self._open: dict[str, int] = {}

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; of a text in shorthand nobody sees what has ended it."""
        kind, id_ = str(event.get("type")), str(event.get("messageId"))
        self.in_shorthand |= kind in ("TEXT_MESSAGE_CHUNK", "REASONING_MESSAGE_CHUNK")
        if kind in _BEGINS and event.get("role") not in _OTHERS and "subagentRunId" not in event:
            self._open[id_] = len(self.ended)
            self.ended.append((_BEGINS[kind], None))
        elif kind in _ENDS and (place := self._open.pop(id_, None)) is not None and not _is_cut(event):
            self.ended[place] = self.ended[place][0], event


def _load(data: bytes) -> dict[str, Any]:
    """Return an event as plain JSON, an empty one for what is not a JSON object."""
    try:
        event = json.loads(data)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _is_cut(event: Mapping[str, Any]) -> bool:
    return read_facts(event.get("metadata")).get("cut", False) is True


def _of_end(event: Mapping[str, Any], calls: Mapping[str, str] | None) -> Said | None:
    kind = event.get("type")
    if kind == "RUN_ERROR":
        return Said(end="failed")
    if kind != "RUN_FINISHED":
        return None
    outcome = event.get("outcome")
    named = outcome.get("type") if isinstance(outcome, dict) else None
    return Said(end="stopped" if named == "cancelled" else "finished", asks=tuple(_asked(outcome, calls)))


def _renamed(event: Mapping[str, Any]) -> dict[str, str]:
    name = read_facts(event.get("metadata")).get("tool_call_id")
    return {} if name is None else {str(event.get("toolCallId")): name}


def _asked(outcome: Any, calls: Mapping[str, str] | None) -> list[str]:
    """Return the calls that are asked for. None for `calls` says that an interrupt need not have the id of its call."""
    entries = outcome.get("interrupts") if isinstance(outcome, dict) and outcome.get("type") == "interrupt" else None
    asked = [entry for entry in entries if isinstance(entry, Mapping)] if isinstance(entries, list) else []
    named = [(str(entry["toolCallId"]), str(entry.get("id"))) for entry in asked if "toolCallId" in entry]
    if calls is None:
        return [call for call, _ in named]
    own = [(calls.get(call, call), id_) for call, id_ in named]
    return [call if id_ == call else f"{call} as {id_}" for call, id_ in own]
