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

__all__ = [
    "FIELD_REASONS",
    "NAME_REASONS",
    "SENT_REASONS",
    "TIME_REASONS",
    "change_for",
    "rule_for",
    "stream_change_for",
]

_MOVED = re.compile(r"stands at another place: (?P<here>\d+) on the (?P<one>.+) side, (?P<there>\d+) on the")

TIME_REASONS = {
    "response": "a response's timestamp is its start",
    "request": "the timestamp of a request of returns is that of its last return",
    "system": "an event's timestamp is when it happened",
}
_IS_TEXT = " (a string)"
_TEXTS = ("content", "args")
FIELD_REASONS = {
    "completion_status": "a turn is `interrupted` if its run was cut or failed, and `complete` otherwise",
    "reason": (
        "an interruption has the reason that the server knows, its abort, error or limit, and a word of `abort` that "
        "clients do not know is user_cancelled (R27)"
    ),
    "interrupted_at": "a turn is interrupted when its run was cut: the first interruption stands (R26)",
    "completed_at": "a complete turn has the time of its end, and an interrupted one has none",
    "args": (
        "arguments are the parsed JSON value, and text where they are not JSON: the deltas of a call are joined, or "
        "merged if they are objects, and of equal keys the last counts (R12)"
    ),
    "status": "a return has the status that its tool reported",
    "total_usage": "the total counts every response of the turn, also one that is not kept",
    "usage": "a response has the usage that the model reported for it",
    "finish_reason": "it is the word of the response's model call, and `error` where the schema does not have it (R16)",
    "provider_name": (
        "it is that of the part's event, else of the carrier, else of the agent, else `unknown`; of the parts only "
        "thoughts and what the provider executes have one (R15, R42)"
    ),
    "started_at": "a turn starts with its run, or when its agent was named, and not with its first response",
    "agent_id": "a turn belongs to the agent that was named when it began",
    "content_ref": "a reference stands in place of the content",
    "content": "the content is what the events or chunks said, whole and in their order",
}
_TOTAL = "a total counts every response of the turn once, also one that is not kept; the result repeats them (R17)"
NAME_REASONS = {
    "input_tokens": _TOTAL,
    "output_tokens": _TOTAL,
    "tool_call_id": "an id is stored and compared whole, character by character",
    "tool_name": "the name of a tool is stored as it came",
    "event_type": "the name of an event is stored as it came, and the protocol's own have that of the version (R34)",
    "source_agent": "it is the agent that this event names, and no other event (R39)",
    "target_agents": "they are the agents that this event names, and no other event (R39)",
    "model_name": "it is the model of this response, and of no other agent or response (R45)",
    "identifier": "it is the file's own, else six digits of the SHA-1 of its decoded bytes, else its address (R49)",
    "signature": "it is what the provider gave at the start, in the deltas and at the end of the part; pieces add up",
    "id": "it is the one that the provider gave for this part",
    "thinking_id": "it is the one that the provider gave for this part",
}
"""What is kept as somebody else wrote it, and what is added up."""
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
        _quoted(text) if field in _TEXTS and isinstance(value, str) else text
        for text, value in zip(shown, (one, other), strict=True)
    ]
    return quoted[0], quoted[1]


def _quoted(text: str) -> str:
    """Return a text in quotation marks, with the type that may stand behind it outside of them."""
    said = text.removesuffix(_IS_TEXT)
    return f'"{said}"{_IS_TEXT if said != text else ""}'


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
    if "are in a different order" in difference.symptom and "(request" in difference.symptom:
        return f"put the returns of the {wrong}'s thread in the order of their calls (R11)"
    if "are in a different order" in difference.symptom:
        return f"put the parts of the {wrong}'s thread in the order in which they started"
    field = _field_of(difference)
    if right in values and wrong not in values:
        what, why = _words(values[right], field, _why_kept)
        why = f": {FIELD_REASONS['args']}" if "/args/" in difference.pointer else why
        return f"keep {what} in the {wrong}'s thread{why}"
    if wrong in values and right not in values:
        what, why = _words(values[wrong], field, _why_dropped)
        return f"leave {what} out of the {wrong}'s thread{why}"
    if right in values and wrong in values:
        return _set(difference, field, wrong=values[wrong], right=values[right])
    return ""


def rule_for(difference: ThreadDifference, names: tuple[str, str]) -> str:
    """Return what decides which of two sides is right, and what each has, where nobody has said which one is."""
    values, field = difference.values, _field_of(difference)
    if len(values) == 1:
        ((holder, value),) = values.items()
        other = names[1] if holder == names[0] else names[0]
        what, why = _words(value, field, _why_kept)
        if field == "content" and value is None and "tool-return" in difference.symptom:
            return f"keep `content` null in the {other}'s thread: null is what the tool returned (R22)"
        if field:
            return f"one of both is wrong about {what}, which the {holder} alone has{why}"
        condition = _CONDITIONS.get(_sort_of(value)) or _why_kept(value)
        return f"keep {what} in the {other}'s thread if {condition}, and leave it out of the {holder}'s if not"
    if set(names) <= values.keys():
        mine, theirs = _both(values[names[0]], values[names[1]], field)
        why = _why_of(difference, field) or f"one of both is wrong about {f'`{field}`' if field else 'this value'}"
        return f"{why}; the {names[0]} has {mine}, the {names[1]} {theirs}: correct the one that breaks this"
    return ""


def _why_of(difference: ThreadDifference, field: str) -> str:
    """Return the rule about a field, "" where there is none."""
    if "/args/" in difference.pointer:
        return FIELD_REASONS["args"]
    if field == "provider_name" and "/parts/" not in difference.pointer:
        return NAME_REASONS["model_name"].replace("model", "provider")
    if field == "content" and "tool-return" in difference.symptom:
        return f"{FIELD_REASONS['content']}; a preliminary output is not a result (R14)"
    if field != "timestamp":
        return FIELD_REASONS.get(field) or NAME_REASONS.get(field, "")
    kind = next((kind for kind in TIME_REASONS if f"({kind})" in difference.symptom), "")
    return TIME_REASONS.get(kind, "")


def _field_of(difference: ThreadDifference) -> str:
    """Return the name of the field that is meant; "" where it is a whole turn, message or part."""
    name = difference.pointer.rpartition("/")[2]
    return "" if name.isdecimal() else name


def _words(value: Any, field: str, why_item: Callable[[Any], str]) -> tuple[str, str]:
    """Return what only one side has, in words, and behind a colon why it is there or not, as far as that is known."""
    why = (FIELD_REASONS.get(field) or NAME_REASONS.get(field, "")) if field else why_item(value)
    return _named(value, field), f": {why}" if why else ""


def _set(difference: ThreadDifference, field: str, *, wrong: Any, right: Any) -> str:
    if field == "content" and isinstance(wrong, str) and isinstance(right, str) and right and wrong.startswith(right):
        more = shorten(wrong[len(right) :], 60)
        return f'end it behind {len(right)} characters: "{more}" is not of this part, since a start begins another one'
    wanted, held = _both(right, wrong, field)
    if field in NAME_REASONS:
        return f"write `{field}` as the other side has it: {wanted}, not {held}: {NAME_REASONS[field]}"
    why = _why_of(difference, field) or f"write `{field}` as the other side has it"
    return f"{why}: {wanted}, not {held}"


def _why_kept(item: Any) -> str:
    """Return why a turn, message or part that a side lacks has to be there."""
    match _sort_of(item):
        case "user turn":
            return "what the user said is a turn of its own, once"
        case "agent turn" if _is_complete(item):
            return "its run came to its end: a cut after it, or a filter or error of others, changes nothing (R27)"
        case "agent turn":
            return "something in it had finished before the run ended"
        case "response":
            called = any(part.get("part_kind") == "tool-call" for part in _parts(item))
            return f"it had finished streaming{', and each of its calls has a return' if called else ''}"
        case "request":
            if any(part.get("part_kind") == "user-prompt" for part in _parts(item)):
                return "it asks something that the user's turn before it does not"
            return "these are the returns of the response before it"
        case "system" if str(item.get("event_type")).removeprefix("data-").startswith("source."):
            return "a source stays with its response, also with one that finished without a part (R25)"
        case "system":
            return "an event that happened in a turn stays, whatever became of the response around it"
        case "tool-return" | "retry-prompt":
            return "every return of a call is kept with it"
        case "":
            return ""
        case _:
            return "its end was seen before its response had finished"


_CONDITIONS = {
    "user turn": "the user said it",
    "system": "such an event happened in the turn",
    "tool-return": "the tool returned it",
    "retry-prompt": "the call was sent back",
}
"""When something belongs into a thread, where the reason for keeping it is not a condition."""


def _why_dropped(item: Any) -> str:
    """Return why a turn, message or part that only a wrong side has must not be there."""
    match _sort_of(item):
        case "user turn":
            return "what the user said is a turn of its own, once"
        case "agent turn":
            if _is_complete(item):
                return "its run was cut, or a filter ended it: it is interrupted, and stored if something had finished"
            open_calls = _open_calls(item)
            if open_calls:
                return f"{open_calls} had no return when the run was cut, so that the response and its returns go (R21)"
            return "nothing in it had finished when the run was cut"
        case "response":
            called = any(part.get("part_kind") == "tool-call" for part in _parts(item))
            return f"it had not finished streaming{', or a call of it has no return' if called else ''}"
        case "request":
            if any(part.get("part_kind") == "user-prompt" for part in _parts(item)):
                return "the user's turn before it has the same words, and each fact is stored once"
            return "no return stands without the response that called"
        case "system" if str(item.get("event_type")).removeprefix("data-").startswith("source."):
            return "a source goes with its response, which was taken back or did not finish (R25)"
        case "system":
            return "no such event happened in the turn"
        case "tool-return" | "retry-prompt" | "builtin-tool-return":
            return "its call has another return already, or none was given"
        case "":
            return ""
        case _:
            return "its end was not seen before its response ended"


def _open_calls(turn: Mapping[str, Any]) -> str:
    """Return the calls of an interrupted turn that have no return, in words; "" if there are none."""
    calls: list[str] = []
    answered: set[str] = set()
    for message in turn.get("messages") or ():
        for part in _parts(message):
            name = str(part.get("tool_call_id"))
            if part.get("part_kind") == "tool-call":
                calls.append(name)
            elif part.get("part_kind") in ("tool-return", "retry-prompt"):
                answered.add(name)
    left = [call for call in calls if call not in answered]
    return f"{'call' if len(left) == 1 else 'calls'} {', '.join(left)}" if left else ""


def _sort_of(item: Any) -> str:
    if not isinstance(item, Mapping):
        return ""
    if "turn_type" in item:
        return f"{item['turn_type']} turn"
    return str(item.get("message_type") or item.get("part_kind") or "")


def _parts(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    parts = item.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, list) else []
