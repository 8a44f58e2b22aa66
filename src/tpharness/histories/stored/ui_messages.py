"""The AI SDK's stored `UIMessage[]`: what is wrong with them, and the messages without it.

In: any JSON value. Out: changes and findings. Each step of an answer is a response of the model, its outputs the
answers: they stand in one part, so an answer has a place of its own only where a call is there twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from tpharness.findings import Finding, Place, json_type
from tpharness.histories.exchange.ai_sdk_4 import are_version_4, as_stored, newer_messages
from tpharness.histories.exchange.from_ui_messages import state_of_call
from tpharness.histories.stored import problems as p
from tpharness.histories.stored.arguments import are_half, read_object
from tpharness.histories.stored.sequence import NO_RESULT, Change, Repairing, StoredMessage, StoredPart

__all__ = ["find_malformed", "repair_ui_messages"]

_ROLES = ("user", "assistant", "system")
_TEXT_STATES = ("streaming", "done")
_OPEN = ("input-streaming", "input-available", "approval-requested", "approval-responded")
_FINAL = ("output-available", "output-error", "output-denied")
_FAILED = ("output-error", "output-denied")
_KNOWN = ("step-start", "text", "reasoning", "file", "source-url", "source-document", "reasoning-file", "custom")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "text": ("text",),
    "reasoning": ("text",),
    "file": ("mediaType", "url"),
    "source-url": ("sourceId", "url"),
    "source-document": ("sourceId", "mediaType", "title"),
}


def find_malformed(value: Any) -> Iterator[Finding]:
    """Find what is not shaped as UI messages are. Where there is something, nothing else can be said."""
    if are_version_4(value, certain=False):
        newer, places = newer_messages(value)
        for finding in _malformed(newer):
            yield finding.with_place(pointer=as_stored(finding.place.pointer or "", places))
    else:
        yield from _malformed(value)


def _malformed(value: Any) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield p.MALFORMED.at(Place(pointer=""), got=json_type(value), expected="a list of messages")
        return
    for index, message in enumerate(value):
        place = f"/{index}"
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            what, advice = "a message has no known role", "write the role; tools and data have none of their own"
            role = message.get("role") if isinstance(message, Mapping) else None
            yield p.MALFORMED.at(Place(pointer=place), what, got=role, expected=", ".join(_ROLES), advice=advice)
        elif not isinstance(message.get("parts"), list):
            yield p.MALFORMED.at(Place(pointer=f"{place}/parts"), expected="a list of parts")
        else:
            for number, part in enumerate(message["parts"]):
                yield from _malformed_part(part, f"{place}/parts/{number}")


def _malformed_part(part: Any, place: str) -> Iterator[Finding]:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        yield p.MALFORMED.at(Place(pointer=place), "a part has no type", expected="an object with a text type")
        return
    kind = part["type"]
    required = _TEXTS.get(kind, ())
    if _is_call(part):
        required = ("toolCallId", "toolName") if kind == "dynamic-tool" else ("toolCallId",)
        if part.get("state") == "output-available" and "output" not in part:
            what = "a call in the state output-available has no output"
            advice = "write what the tool returned, null if nothing; if nobody knows, output-error with an errorText"
            yield p.MALFORMED.at(Place(pointer=place), what, expected="output", advice=advice)
        if part.get("state") == "output-error" and not isinstance(part.get("errorText"), str):
            what, advice = "a call in the state output-error has no errorText", "write what went wrong, as a text"
            yield p.MALFORMED.at(Place(pointer=place), what, expected="errorText", advice=advice)
        if kind == "tool-":
            yield p.MALFORMED.at(Place(pointer=f"{place}/type"), got=kind, expected="tool- and the name of the tool")
    elif kind not in _KNOWN and not kind.startswith("data-"):
        yield p.UNKNOWN_PART.at(Place(pointer=place), got=kind)
    for name in required:
        if not isinstance(part.get(name), str) or (part[name] == "" and name != "text"):
            advice = f"write the {name} that the program gave this part, or leave the part out"
            yield p.MALFORMED.at(Place(pointer=f"{place}/{name}"), got=part.get(name), expected="a text", advice=advice)


def _is_call(part: Mapping[str, Any]) -> bool:
    kind: str = part["type"]
    return kind == "dynamic-tool" or kind.startswith("tool-")


def repair_ui_messages(value: list[Any], *, drop_results: bool = False) -> tuple[list[Any], list[Change]]:
    """Return well-shaped messages without what is wrong, and the changes; those of version 4 in the newer form."""
    if not are_version_4(value, certain=False):
        return _repaired(value, drop_results)
    newer, places = newer_messages(value)
    made, changes = _repaired(newer, drop_results)
    older = Change(kind=p.OLDER, pointer="", done="written as messages of the AI SDK 5")
    return made, [older, *(replace(change, pointer=as_stored(change.pointer, places)) for change in changes)]


def _repaired(value: list[Any], drop_results: bool) -> tuple[list[Any], list[Change]]:
    changes: list[Change] = []
    messages = _with_ids(_without_doubled(value, changes), changes)
    mended = {
        index: [_mended(part, f"/{index}/parts/{number}", changes) for number, part in enumerate(message["parts"])]
        for index, message in messages
    }
    last = messages[-1][0] if messages else -1
    sequence = [
        one for index, message in messages for one in _sequence(message, mended[index], index, is_last=index == last)
    ]
    repairing = Repairing(sequence, close=_closed, unique_ids=True, drop_results=drop_results)
    seen: set[str] = {change.pointer for change in changes}
    for change in repairing.changes:  # a call and its answer are one part
        if change.pointer not in seen:
            changes.append(change)
            seen.add(change.pointer)
    kept = {part.pointer: part for message in repairing.messages for part in message.parts if part.kind != "answer"}
    answers = {part.call_id: part for message in repairing.messages for part in message.parts if part.kind == "answer"}
    made = []
    for index, message in messages:
        if message["role"] != "assistant":
            made.append(message)
            continue
        parts = _written(mended[index], index, kept, answers)
        if parts:
            made.append({**message, "parts": parts})
    return made, changes


def _without_doubled(value: list[Any], changes: list[Change]) -> list[tuple[int, Any]]:
    seen: dict[str, Any] = {}
    kept = []
    for index, message in enumerate(value):
        name = message.get("id")
        if isinstance(name, str) and name in seen:
            same = seen[name] == message
            done = "left out" if same else ""
            changes.append(Change(kind=p.MESSAGE_TWICE, pointer=f"/{index}", done=done, got=name, ruling="R14"))
            if same:
                continue
        if isinstance(name, str) and name:
            seen.setdefault(name, message)
        kept.append((index, message))
    return kept


def _with_ids(messages: list[tuple[int, Any]], changes: list[Change]) -> list[tuple[int, Any]]:
    """Give an id to a message without one: without it the AI SDK refuses the chat."""
    taken = {message.get("id") for _, message in messages if isinstance(message.get("id"), str)}
    made = []
    for index, message in messages:
        if isinstance(message.get("id"), str):
            made.append((index, message))
        else:
            name = next(name for name in (f"message-{n}" for n in count(index)) if name not in taken)
            taken.add(name)
            got = message.get("id")
            changes.append(Change(kind=p.NO_ID, pointer=f"/{index}", done=f"its id is {name} now", got=got))
            made.append((index, {**message, "id": name}))
    return made


def _mended(part: Mapping[str, Any], pointer: str, changes: list[Change]) -> Mapping[str, Any]:
    """Return a part with a state that is known, and with arguments that are an object."""
    state = part.get("state")
    if part["type"] in ("text", "reasoning") and "state" in part and state not in _TEXT_STATES:
        done = "the state left out: the part is whole"
        changes.append(Change(kind=p.UNKNOWN_STATE, pointer=pointer, done=done, got=state))
        return {name: field for name, field in part.items() if name != "state"}
    if not _is_call(part):
        return part
    if state not in (*_OPEN, *_FINAL):
        found = state_of_call(part)
        changes.append(Change(kind=p.UNKNOWN_STATE, pointer=pointer, done=f"it is {found}", got=state))
        part = {**part, "state": found}
    arguments = part.get("input")
    if isinstance(arguments, str) and part.get("state") not in ("input-streaming", "output-error"):
        whole = read_object(arguments)
        if whole is not None:
            done = "the text parsed"
            place = f"{pointer}/input"
            changes.append(Change(kind=p.TEXT_ARGUMENTS, pointer=place, done=done, got=arguments, ruling="R12"))
            part = {**part, "input": whole}
    return part


def _sequence(
    message: Mapping[str, Any], parts: list[Mapping[str, Any]], index: int, *, is_last: bool
) -> Iterator[StoredMessage]:
    """Yield a message of the user as it is, and the steps of an answer, each with its outputs."""
    pointer = f"/{index}"
    if message["role"] != "assistant":
        kind: Any = "prompt" if message["role"] == "user" else "other"
        parts_ = [StoredPart(kind=kind, pointer=pointer, raw=message)]
        yield StoredMessage(kind="request", pointer=pointer, raw=message, parts=parts_)
        return
    steps: list[list[tuple[int, Mapping[str, Any]]]] = [[]]
    for number, part in enumerate(parts):
        if part["type"] == "step-start":
            steps.append([])
        else:
            steps[-1].append((number, part))
    filled = [step for step in steps if step]
    if not filled:
        yield StoredMessage(kind="response", pointer=pointer, raw=message, parts=[])
    for step in filled:
        read = [_read(part, f"{pointer}/parts/{number}") for number, part in step]
        cut = not is_last and any(part.get("state") == "streaming" for _, part in step)
        yield StoredMessage(kind="response", pointer=read[0].pointer, raw=message, parts=read, cut=cut)
        answers = [_answer(part) for part in read if part.kind == "call" and part.raw.get("state") in _FINAL]
        if answers:
            yield StoredMessage(kind="request", pointer=read[0].pointer, raw=message, parts=answers)


def _read(part: Mapping[str, Any], pointer: str) -> StoredPart:
    unfinished = part.get("state") in ("streaming", "input-streaming")
    if not _is_call(part) or part.get("providerExecuted"):
        text = str(part.get("text") or "") if part["type"] == "text" else ""
        return StoredPart(kind="other", pointer=pointer, raw=part, unfinished=unfinished, text=text)
    state, arguments = part.get("state"), part.get("input")
    missing = arguments is None and state == "output-available"
    half = missing or (are_half(arguments) and state != "input-streaming" and not part.get("rawInput"))
    name = part.get("toolName") or part["type"].removeprefix("tool-")
    return StoredPart(
        kind="call",
        pointer=pointer,
        raw=part,
        call_id=part["toolCallId"],
        half=half,
        unfinished=unfinished,
        identity=(part["type"], name, repr(arguments)),
        answer=(state, part.get("output"), part.get("errorText")) if state in _FINAL else None,
        tool=name,
    )


def _answer(call: StoredPart) -> StoredPart:
    state = call.raw.get("state")
    said: Any = {
        "tool": call.tool,
        "content": call.raw.get("output", call.raw.get("errorText")),
        "identity": call.answer,
    }
    failed = state in _FAILED
    return StoredPart(kind="answer", pointer=call.pointer, raw=call.raw, call_id=call.call_id, failed=failed, **said)


def _closed(call: StoredPart) -> dict[str, Any]:
    """Return the part of a call with an answer; of a decision about it only what its new state can have stays."""
    decided = call.raw.get("approval")
    approved = decided.get("approved") if isinstance(decided, Mapping) else None
    part = {name: field for name, field in call.raw.items() if name != "approval"}
    if approved is False:
        return {**part, "state": "output-denied", "approval": decided}
    kept = {"approval": decided} if approved is True else {}
    return {**part, "state": "output-error", "errorText": NO_RESULT, **kept}


def _written(
    parts: list[Mapping[str, Any]], index: int, kept: Mapping[str, StoredPart], answers: Mapping[str, StoredPart]
) -> list[Mapping[str, Any]]:
    """Return the parts that are kept, a call with its answer; the start of a step only with something of the step."""
    made: list[Mapping[str, Any]] = []
    for number, part in enumerate(parts):
        if part["type"] == "step-start":
            if made and made[-1]["type"] == "step-start":
                made.pop()
            made.append(part)
            continue
        one = kept.get(f"/{index}/parts/{number}")
        if one is not None:
            answered = answers.get(one.call_id) if one.kind == "call" else None
            made.append(answered.raw if answered is not None else part)
    while made and made[-1]["type"] == "step-start" and parts[-1]["type"] != "step-start":
        made.pop()
    return made if any(part["type"] != "step-start" for part in made) else []
