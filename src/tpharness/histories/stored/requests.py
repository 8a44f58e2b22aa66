"""Requests to a model's API: the least change with which one is taken.

In: the body of a request or its list of messages. Out: the same with the change. Calls and answers are brought together
here, for the APIs whose calls have ids; what else the rules of the API find is for `request_rules`. Whether the request
is taken then is for the rules to say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from tpharness.findings import Finding, Kind, Level
from tpharness.histories.stored import problems as p
from tpharness.histories.stored.arguments import are_half, read_object
from tpharness.histories.stored.request_draft import Draft
from tpharness.histories.stored.request_rules import mend_by_rules
from tpharness.histories.stored.sequence import NO_RESULT, Change, Repairing, StoredMessage, StoredPart
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import find_api
from tpharness.model_apis.rule import Options

__all__ = ["find_half_arguments", "repair_request"]

_Placed: TypeAlias = tuple[str, Any]
"""An entry behind the place that it had."""


_STRUCTURED = {"chat-call-twice", "responses-call-id-twice"}
"""Codes below MUST of calls that may be there twice."""


def repair_request(
    value: Any, name: str, *, options: Options, certain: bool = False, drop_results: bool = False
) -> tuple[Any, list[Change]]:
    """Return the request without what is wrong with it, and the changes; `options` are those of the rules.

    With `certain` it is mended also where only some servers refuse it.
    """
    draft = Draft.of(value, find_api(name).entries)
    if draft is None:
        return value, []
    found = check_payload(name, value, options=options)
    changes: list[Change] = []
    if any(one.level is Level.MUST or (certain and one.code in _STRUCTURED) for one in found):
        changes = _bring_together(draft, name, drop_results)
    changes = [*changes, *mend_by_rules(draft, name, options, certain=certain)]
    return draft.value(), changes


def find_half_arguments(value: Any, name: str) -> list[Finding]:
    """Return half arguments, which an API takes and no history should have."""
    draft = Draft.of(value, find_api(name).entries)
    changes = [] if draft is None else _bring_together(draft, name, drop_results=False)
    return [change.finding() for change in changes if change.kind is p.HALF_ARGUMENTS]


def _bring_together(draft: Draft, name: str, drop_results: bool) -> list[Change]:
    repairs: dict[str, Callable[[Draft, bool], tuple[list[_Placed], list[Change]]]] = {
        "openai-chat": _chat,
        "anthropic": _anthropic,
        "openai-responses": _responses,
        "bedrock": _converse,
    }
    repair = repairs.get(name)
    if repair is None:
        return []
    made, changes = repair(draft, drop_results)
    if any(change.done for change in changes):
        draft.replace_all(made)
    return changes


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _text(content: Any) -> str:
    """Return what a person reads in the content of a message."""
    if isinstance(content, str):
        return content
    texts = [one.get("text") for one in _objects(content) if one.get("type") in ("text", "output_text")]
    return "\n\n".join(text for text in texts if isinstance(text, str))


# ------------------------------------------------------------------------------------------------ chat completions


def _chat(draft: Draft, drop_results: bool) -> tuple[list[_Placed], list[Change]]:
    sequence = []
    for pointer, entry in draft.pairs():
        if entry.get("role") == "assistant":
            content = entry.get("content")
            said = [StoredPart(kind="other", pointer=pointer, raw=entry, text=_text(content))] if content else []
            calls = [
                _chat_call(call, f"{pointer}/tool_calls/{k}")
                for k, call in enumerate(_objects(entry.get("tool_calls")))
            ]
            sequence.append(
                StoredMessage(kind="response", pointer=pointer, raw=entry, parts=[*said, *calls], must_answer=True)
            )
            sequence[-1].was_empty = not (said or calls)
        else:
            kind: Any = {"tool": "answer", "user": "prompt"}.get(str(entry.get("role")), "other")
            about: Any = {"call_id": str(entry.get("tool_call_id")), "content": entry.get("content"), "identity": entry}
            part = StoredPart(kind=kind, pointer=pointer, raw=entry, **about)
            sequence.append(StoredMessage(kind="request", pointer=pointer, raw=entry, parts=[part]))
    repairing = Repairing(sequence, close=_closed_in_chat, drop_results=drop_results)
    made: list[_Placed] = []
    for message in repairing.messages:
        if message.kind == "request":
            made += [(part.pointer, part.raw) for part in message.parts]
            continue
        calls = [part.raw for part in message.parts if part.kind == "call"]
        rest = {name: field for name, field in message.raw.items() if name != "tool_calls" or field == []}
        made.append((message.pointer, {**rest, "tool_calls": calls} if calls else rest))
    return made, repairing.changes


def _chat_call(call: Mapping[str, Any], pointer: str) -> StoredPart:
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    tool = str(function.get("name")) if isinstance(function, Mapping) else ""
    return StoredPart(
        kind="call",
        pointer=pointer,
        raw=call,
        call_id=str(call.get("id")),
        half=_is_half(arguments),
        identity=repr(function),
        tool=tool,
    )


def _closed_in_chat(call: StoredPart) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call.call_id, "content": NO_RESULT}


def _is_half(arguments: Any) -> bool:
    whole = read_object(arguments) if isinstance(arguments, str) else arguments
    return are_half(arguments) or are_half(whole)


# ------------------------------------------------------------------------------------------------ blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class _BlockApi:
    """An API whose messages are lists of blocks: how one is read, what closes a call, whether results come first."""

    read: Callable[[Mapping[str, Any], str, list[Change]], StoredPart]
    close: Callable[[StoredPart], dict[str, Any]]
    results_first: bool = False


def _in_blocks(draft: Draft, drop_results: bool, *, api: _BlockApi) -> tuple[list[_Placed], list[Change]]:
    changes: list[Change] = []
    sequence = []
    for pointer, entry in draft.pairs():
        content = entry.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
        parts = []
        for k, block in enumerate(blocks):
            place = f"{pointer}/content/{k}"
            if not isinstance(block, Mapping):
                parts.append(StoredPart(kind="other", pointer=place, raw=block))
            elif "text" in block and block.get("type", "text") == "text" and not str(block["text"] or "").strip():
                changes.append(Change(kind=p.EMPTY, pointer=place, done="left out", ruling="R24"))
            else:
                parts.append(api.read(block, place, changes))
        kind: Any = "response" if entry.get("role") == "assistant" else "request"
        if kind == "request":
            for part in parts:
                part.kind = "prompt" if part.kind == "other" else part.kind
        sequence.append(
            StoredMessage(kind=kind, pointer=pointer, raw=entry, parts=parts, must_answer=kind == "response")
        )
    repairing = Repairing(sequence, close=api.close, drop_results=drop_results)
    made: list[_Placed] = []
    for message in repairing.messages:
        answers_first = sorted(message.parts, key=lambda part: api.results_first and part.kind != "answer")
        if answers_first != message.parts:
            done = "its results put before what the user says"
            changes.append(
                Change(kind=Kind.of_report("anthropic-result-after-text"), pointer=message.pointer, done=done)
            )
        blocks = [part.raw for part in answers_first]
        if message.made:
            made.append((message.pointer, {"role": "user", "content": blocks}))
        elif isinstance(message.raw.get("content"), str) and len(blocks) == 1:
            made.append((message.pointer, dict(message.raw)))
        else:
            made.append((message.pointer, {**message.raw, "content": blocks}))
    return made, [*changes, *repairing.changes]


def _with_object(called: Mapping[str, Any], pointer: str, changes: list[Change]) -> Mapping[str, Any]:
    """Return what a block says of a call, with the arguments as an object if they came as the text of one."""
    arguments = called.get("input")
    if not isinstance(arguments, str) or (whole := read_object(arguments)) is None:
        return called
    place = f"{pointer}/input"
    changes.append(Change(kind=p.TEXT_ARGUMENTS, pointer=place, done="the text parsed", got=arguments, ruling="R12"))
    return {**called, "input": whole}


def _call(raw: Any, called: Mapping[str, Any], call_id: Any, pointer: str) -> StoredPart:
    identity = (called.get("name"), json.dumps(called.get("input"), sort_keys=True, default=repr))
    named: Any = {"call_id": str(call_id), "tool": str(called.get("name")), "half": are_half(called.get("input"))}
    return StoredPart(kind="call", pointer=pointer, raw=raw, identity=identity, **named)


def _anthropic_block(block: Mapping[str, Any], pointer: str, changes: list[Change]) -> StoredPart:
    if block.get("type") == "tool_use":
        block = _with_object(block, pointer, changes)
        return _call(block, block, block.get("id"), pointer)
    if block.get("type") == "tool_result":
        failed = block.get("is_error") is True
        said: Any = {"call_id": str(block.get("tool_use_id")), "content": block.get("content"), "identity": block}
        return StoredPart(kind="answer", pointer=pointer, raw=block, failed=failed, **said)
    return StoredPart(kind="other", pointer=pointer, raw=block, text=_text([block]))


def _closed_block(call: StoredPart) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call.call_id, "content": NO_RESULT, "is_error": True}


_anthropic = partial(_in_blocks, api=_BlockApi(read=_anthropic_block, close=_closed_block, results_first=True))


def _converse_block(block: Mapping[str, Any], pointer: str, changes: list[Change]) -> StoredPart:
    called, result = block.get("toolUse"), block.get("toolResult")
    if isinstance(called, Mapping):
        called = _with_object(called, f"{pointer}/toolUse", changes)
        return _call({**block, "toolUse": called}, called, called.get("toolUseId"), pointer)
    if isinstance(result, Mapping):
        said: Any = {"call_id": str(result.get("toolUseId")), "content": result.get("content"), "identity": block}
        return StoredPart(kind="answer", pointer=pointer, raw=block, failed=result.get("status") == "error", **said)
    text = block.get("text")
    return StoredPart(kind="other", pointer=pointer, raw=block, text=text if isinstance(text, str) else "")


def _closed_in_converse(call: StoredPart) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": call.call_id, "content": [{"text": NO_RESULT}], "status": "error"}}


_converse = partial(_in_blocks, api=_BlockApi(read=_converse_block, close=_closed_in_converse))


# ------------------------------------------------------------------------------------------------ responses


def _responses(draft: Draft, drop_results: bool) -> tuple[list[_Placed], list[Change]]:
    """Each response is the items up to the next input; reasoning goes with its calls."""
    sequence: list[StoredMessage] = []
    for pointer, entry in draft.pairs():
        part = _item(entry, pointer)
        kind: Any = "request" if part.kind in ("answer", "prompt") else "response"
        if sequence and sequence[-1].kind == kind:
            sequence[-1].parts.append(part)
            sequence[-1].was_empty = False
        else:
            sequence.append(
                StoredMessage(kind=kind, pointer=part.pointer, raw=entry, parts=[part], must_answer=kind == "response")
            )
    repairing = Repairing(sequence, close=_closed_item, drop_results=drop_results)
    made = [(part.pointer, part.raw) for message in repairing.messages for part in message.parts]
    return made, repairing.changes


def _item(item: Mapping[str, Any], pointer: str) -> StoredPart:
    kind, call_id = str(item.get("type")), str(item.get("call_id"))
    if kind in ("function_call", "custom_tool_call"):
        arguments = item.get("arguments")
        identity = (item.get("name"), repr(arguments))
        half = kind == "function_call" and _is_half(arguments)
        named: Any = {"call_id": call_id, "tool": str(item.get("name"))}
        return StoredPart(kind="call", pointer=pointer, raw=item, half=half, identity=identity, **named)
    if kind in ("function_call_output", "custom_tool_call_output"):
        said: Any = {"call_id": call_id, "content": item.get("output"), "identity": (kind, item.get("output"))}
        return StoredPart(kind="answer", pointer=pointer, raw=item, **said)
    says = item.get("role") in ("user", "system", "developer")
    return StoredPart(kind="prompt" if says else "other", pointer=pointer, raw=item, text=_text(item.get("content")))


def _closed_item(call: StoredPart) -> dict[str, Any]:
    return {"type": f"{call.raw['type']}_output", "call_id": call.call_id, "output": NO_RESULT}
