"""A difference from the right thread → the one change that removes it, in words. Pure.

In: a difference of two threads, and which side is right. Out: a sentence with the values of this case, in the order in
which somebody acts on it; the rulings that decide are beside it in the finding. "" where no one change is known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tpharness.findings import shorten, shorten_both
from tpharness.protocol.diff import ThreadDifference, held_words

__all__ = ["FIELD_REASONS", "SENT_REASONS", "TIME_REASONS", "change_for", "stream_change_for"]

_MOVED = re.compile(r"stands at another place: (?P<here>\d+) on the (?P<one>.+) side, (?P<there>\d+) on the")

TIME_REASONS = {
    "response": "a response's timestamp is its start",
    "request": "the timestamp of a request of returns is that of its last return",
    "system": "an event's timestamp is when it happened",
}
_TEXTS = ("content", "args")
FIELD_REASONS = {
    "completion_status": "a turn is `interrupted` if its run was cut or failed, and `complete` otherwise",
    "reason": "an interruption has the reason that the server knows: its abort, error or limit",
    "interrupted_at": "a turn is interrupted when its run was cut",
    "completed_at": "a complete turn has the time of its end, and an interrupted one has none",
    "args": "arguments are the parsed JSON value, and text where they are not JSON",
    "status": "a return has the status that its tool reported",
    "total_usage": "the total counts every response of the turn, also one that is not kept",
    "usage": "a response has the usage that the model reported for it",
    "finish_reason": "a word that is none of the schema's becomes `error`",
    "provider_name": "it is that of the part's event, else of the carrier, else of the agent, else `unknown`",
    "agent_id": "a turn belongs to the agent that was named when it began",
    "content_ref": "a reference stands in place of the content",
    "content": "the content is what the events or chunks said, whole and in their order",
}


SENT_REASONS = {
    "completion_status": "a run that was cut or failed ends its stream with an abort or an error, others with a finish",
    "reason": "the end of the stream says why",
    "args": "the input of a call is the JSON value itself, and a text where the model wrote no JSON",
    "status": "the output of a tool that failed or was denied is sent as that",
    "content": "everything that the server stores is sent, whole and once",
    "finish_reason": "it goes with the end of the response, or in a carrier",
}
"""What a stream has to say of a field; of times, models and usage it is the carrier that says it (R39)."""


def stream_change_for(difference: ThreadDifference, *, server: str, client: str) -> str:
    """Return what a server's stream has to say, where its thread is right and a client that is right holds another."""
    values, field = difference.values, _field_of(difference)
    if server in values and client not in values:
        what = _named(values[server], field)
        why = (
            SENT_REASONS.get(field, "a carrier says it, where the wire has no field for it")
            if field
            else _sent(values[server])
        )
        return f"send {what}, which is in the server's thread: {why}"
    if client in values and server not in values:
        what = _named(values[client], field)
        if not field and _is_complete(values[client]):
            return f"end the stream as the run did: it says that the run completed, so that a client has {what}"
        return f"do not send {what}, which is not in the server's thread"
    if server in values and client in values:
        sent, held = _both(values[server], values[client], field)
        why = SENT_REASONS.get(field, "a carrier says it, where the wire has no field for it")
        return f"have the stream say `{field}` {sent}, not {held}: {why}"
    return ""


def _named(value: Any, field: str) -> str:
    """Return what only one side has, in words: a field with its value, or a turn, message or part."""
    return f"`{field}` {shorten(value, 80)}" if field else _held(value)


def _both(one: Any, other: Any, field: str) -> tuple[str, str]:
    """Return two values of a field, shortened alike, texts of somebody in quotation marks."""
    shown = shorten_both(one, other, 60)
    quoted = [
        f'"{text}"' if field in _TEXTS and isinstance(value, str) else text
        for text, value in zip(shown, (one, other), strict=True)
    ]
    return quoted[0], quoted[1]


def _held(item: Any) -> str:
    """Return what a turn, message or part holds, in words; a turn without messages is one."""
    empty = isinstance(item, Mapping) and "turn_type" in item and not (item.get("messages") or item.get("parts"))
    return f"the {item.get('completion_status', 'complete')} turn without messages" if empty else held_words(item)


def _sent(item: Any) -> str:
    match _sort_of(item):
        case "agent turn" | "response":
            return "each part with its start and its end, the outputs of its tools, and the end of the response"
        case "request" | "tool-return" | "retry-prompt":
            return "an output, or an error, for each call that has returned"
        case "system":
            return "an event is sent when it happens"
        case _:
            return "its start, all of its deltas, and its end before that of its response"


def _is_complete(item: Any) -> bool:
    """Whether it is a turn of an agent that ran to its end."""
    return _sort_of(item) == "agent turn" and item.get("completion_status", "complete") == "complete"


def change_for(difference: ThreadDifference, *, wrong: str, right: str) -> str:
    """Return what to change in the thread of the side that is `wrong`, so that it holds what the `right` one does."""
    values = difference.values
    moved = _MOVED.search(difference.text)
    if moved is not None:
        here, there = (moved["here"], moved["there"]) if moved["one"] == wrong else (moved["there"], moved["here"])
        return f"move it from place {here} to place {there} in the {wrong}'s thread: messages stand in order of time"
    if "are in a different order" in difference.symptom:
        return f"put the parts of the {wrong}'s thread in the order in which they started"
    field = _field_of(difference)
    if right in values and wrong not in values:
        what, why = _words(values[right], field, _why_kept)
        return f"keep {what} in the {wrong}'s thread{why}"
    if wrong in values and right not in values:
        what, why = _words(values[wrong], field, _why_dropped)
        return f"leave {what} out of the {wrong}'s thread{why}"
    if right in values and wrong in values:
        return _set(difference, field, wrong=values[wrong], right=values[right])
    return ""


def _field_of(difference: ThreadDifference) -> str:
    """Return the name of the field that is meant; "" where it is a whole turn, message or part."""
    name = difference.pointer.rpartition("/")[2]
    return "" if name.isdecimal() else name


def _words(value: Any, field: str, why_item: Callable[[Any], str]) -> tuple[str, str]:
    """Return what only one side has, in words, and behind a colon why it is there or not, as far as that is known."""
    why = FIELD_REASONS.get(field, "") if field else why_item(value)
    return _named(value, field), f": {why}" if why else ""


def _set(difference: ThreadDifference, field: str, *, wrong: Any, right: Any) -> str:
    wanted, held = _both(right, wrong, field)
    if field == "timestamp":
        kind = next((kind for kind in TIME_REASONS if f"({kind})" in difference.symptom), "")
        why = TIME_REASONS.get(kind, "")
    else:
        why = FIELD_REASONS.get(field, "")
    return f"{why or f'write `{field}` as the other side has it'}: {wanted}, not {held}"


def _why_kept(item: Any) -> str:
    """Return why a turn, message or part that a side lacks has to be there."""
    match _sort_of(item):
        case "user turn":
            return "what the user said is a turn of its own, once"
        case "agent turn":
            return "something in it had finished before the run ended"
        case "response":
            called = any(part.get("part_kind") == "tool-call" for part in _parts(item))
            return f"it had finished streaming{', and each of its calls has a return' if called else ''}"
        case "request":
            if any(part.get("part_kind") == "user-prompt" for part in _parts(item)):
                return "it asks something that the user's turn before it does not"
            return "these are the returns of the response before it"
        case "system":
            return "an event that happened in a turn stays, whatever became of the response around it"
        case "tool-return" | "retry-prompt":
            return "every return of a call is kept with it"
        case "":
            return ""
        case _:
            return "its end was seen before its response had finished"


def _why_dropped(item: Any) -> str:
    """Return why a turn, message or part that only a wrong side has must not be there."""
    match _sort_of(item):
        case "user turn":
            return "what the user said is a turn of its own, once"
        case "agent turn":
            if _is_complete(item):
                return "its run was cut, so that it is `interrupted`, and is stored if something in it had finished"
            return "nothing in it had finished when the run was cut"
        case "response":
            called = any(part.get("part_kind") == "tool-call" for part in _parts(item))
            return f"it had not finished streaming{', or a call of it has no return' if called else ''}"
        case "request":
            if any(part.get("part_kind") == "user-prompt" for part in _parts(item)):
                return "the user's turn before it has the same words, and each fact is stored once"
            return "no return stands without the response that called"
        case "system":
            return "no such event happened in the turn"
        case "tool-return" | "retry-prompt":
            return "its call has another return already, or none was given"
        case "":
            return ""
        case _:
            return "its end was not seen before its response ended"


def _sort_of(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    if "turn_type" in item:
        return f"{item['turn_type']} turn"
    return str(item.get("message_type") or item.get("part_kind") or "")


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = item.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
