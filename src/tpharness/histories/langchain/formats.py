"""Messages → the input of a model API, as LangChain's integrations format them.

langchain-openai 1.7 for both OpenAI APIs, langchain-anthropic 1.7, langchain-google-genai 4.4 for Gemini. The first two
repair nothing: they send a call without a result, and a result without its call. Gemini's collects the results of a
message's calls from the whole history and drops the rest.

A message that the integration has read from OpenAI's API has its calls twice: as `tool_calls`, and in the API's own
form under `additional_kwargs`. Where the first are deleted, the second are sent.

Contents are texts here, because the design does not write messages of blocks.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpharness.facts import parse_tool_args
from tpharness.histories.langchain.state import Message
from tpharness.histories.projections import Provider

__all__ = ["FORMATS"]

_ANTHROPIC_ID = re.compile(r"^[a-zA-Z0-9_-]+$")


def _openai_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> dict[str, Any]:
    data = message["data"]
    if message["type"] == "tool":
        return {"role": "tool", "content": data["content"], "tool_call_id": data["tool_call_id"]}
    role = "user" if message["type"] == "human" else "assistant"
    sent: dict[str, Any] = {"role": role, "content": data["content"]}
    if data.get("name") is not None:
        sent["name"] = data["name"]
    calls = _chat_calls(data) if role == "assistant" else []
    if calls:
        sent["tool_calls"] = calls
        sent["content"] = data["content"] or None
    return sent


def _chat_calls(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of an AIMessage; arguments that are not an object are sent as their text."""
    written = [(call, json.dumps(call["args"], ensure_ascii=False)) for call in data.get("tool_calls") or ()]
    written += [(call, call["args"]) for call in data.get("invalid_tool_calls") or ()]
    return [
        {"type": "function", "id": call["id"], "function": {"name": call["name"], "arguments": arguments}}
        for call, arguments in written
    ]


def _openai_responses(messages: Sequence[Message]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in messages:
        sent = _chat_message(message)
        if message["type"] == "tool":
            output = {"type": "function_call_output", "output": sent["content"], "call_id": sent["tool_call_id"]}
            items.append(output)
        elif message["type"] == "human":
            items.append({"type": "message", "role": "user", "content": sent["content"]})
        else:
            if sent["content"] is not None:
                text = {"type": "output_text", "text": sent["content"], "annotations": []}
                items.append({"type": "message", "role": "assistant", "content": [text]})
            # A call whose id was sent before is not sent again.
            known = {item["call_id"] for item in items if item["type"] == "function_call"}
            items += [
                {
                    "type": "function_call",
                    "name": call["function"]["name"],
                    "arguments": call["function"]["arguments"],
                    "call_id": call["id"],
                }
                for call in sent.get("tool_calls", ())
                if call["id"] not in known
            ]
    return items


def _anthropic(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Merge adjacent user and tool messages; leave out empty assistant messages except the last."""
    merged = _merge(messages)
    last = len(merged) - 1
    sent: list[dict[str, Any]] = []
    for index, (role, content, data) in enumerate(merged):
        if role == "user":
            sent.append({"role": role, "content": content if isinstance(content, str) else _drop_blank(content)})
        elif index == last:
            sent.append({"role": role, "content": _right_strip(_assistant_content(data))})
        elif formatted := _assistant_content(data):
            sent.append({"role": role, "content": formatted})
    return sent


def _merge(messages: Sequence[Message]) -> list[tuple[str, str | list[dict[str, Any]], Mapping[str, Any]]]:
    """Return role, content and data of each message, adjacent user and tool messages as one list of blocks."""
    merged: list[tuple[str, str | list[dict[str, Any]], Mapping[str, Any]]] = []
    for message in messages:
        data = message["data"]
        if message["type"] == "ai":
            merged.append(("assistant", data["content"], data))
            continue
        content = data["content"] if message["type"] == "human" else [_tool_result(data)]
        if merged and merged[-1][0] == "user":
            content = _blocks(merged[-1][1]) + _blocks(content)
            merged.pop()
        merged.append(("user", content, data))
    return merged


def _tool_result(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "content": data["content"],
        "tool_use_id": _anthropic_id(data["tool_call_id"]),
        "is_error": data.get("status") == "error",
    }


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _drop_blank(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out text blocks of white space."""
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def _assistant_content(data: Mapping[str, Any]) -> str | list[dict[str, Any]]:
    text: str = data["content"]
    calls = [(call, call["args"]) for call in data.get("tool_calls") or ()]
    known = {_anthropic_id(call["id"]) for call, _ in calls}
    for call in data.get("invalid_tool_calls") or ():
        if call["id"] and call["name"] and _anthropic_id(call["id"]) not in known:
            calls.append((call, _arguments_object(call["args"])))
            known.add(_anthropic_id(call["id"]))
    if not (data.get("tool_calls") or data.get("invalid_tool_calls")):
        return text
    uses = [
        {"type": "tool_use", "name": call["name"], "input": args, "id": _anthropic_id(call["id"])}
        for call, args in calls
    ]
    return [*(_blocks(text) if text else ()), *uses]


def _right_strip(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return the content without white space at its end, if it ends with a text."""
    if isinstance(content, str):
        return content.rstrip()
    if content and content[-1]["type"] == "text":
        return [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    return content


def _arguments_object(text: str | None) -> dict[str, Any]:
    """Return the arguments of an invalid call; an empty object if they are not an object."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _anthropic_id(call_id: str) -> str:
    """Return an id that Anthropic accepts; an id with other characters is replaced by its hash."""
    if not call_id or _ANTHROPIC_ID.match(call_id):
        return call_id
    return f"toolu_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def _gemini(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Put each message's results after it; results without a call and invalid calls are not sent."""
    results = [message["data"] for message in messages if message["type"] == "tool"]
    contents: list[dict[str, Any]] = []
    for message in messages:
        data = message["data"]
        if message["type"] == "tool":
            continue
        calls = data.get("tool_calls") or [] if message["type"] == "ai" else []
        role = "user" if message["type"] == "human" else "model"
        parts: list[dict[str, Any]] = [{"text": data["content"]}] if data["content"] or not calls else []
        parts += [{"functionCall": {"name": call["name"], "args": call["args"]}} for call in calls]
        contents.append({"role": role, "parts": parts})
        if calls and (answers := _gemini_answers(calls, results)):
            contents.append({"role": "user", "parts": answers})
    return contents


def _gemini_answers(calls: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of the calls in the order of the results, the first one of each call."""
    waiting = {call["id"]: call["name"] for call in calls}
    answers: list[dict[str, Any]] = []
    for data in results:
        if data["tool_call_id"] in waiting:
            name = waiting.pop(data["tool_call_id"])
            response = _gemini_response(data["content"])
            answers.append({"functionResponse": {"name": data.get("name") or name, "response": response}})
    return answers


def _gemini_response(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = content
    return value if isinstance(value, dict) else {"output": value}


def _with_calls_of_the_api(message: Message) -> Message:
    """Return a message with the calls that the API's own form of it still has, where it has no others."""
    data = message["data"]
    raw = (data.get("additional_kwargs") or {}).get("tool_calls")
    if message["type"] != "ai" or not raw or data.get("tool_calls") or data.get("invalid_tool_calls"):
        return message
    calls: dict[str, list[dict[str, Any]]] = {"tool_calls": [], "invalid_tool_calls": []}
    for call in raw:
        function = call["function"]
        args = parse_tool_args(function["arguments"])
        valid = isinstance(args, dict)
        made = {"name": function["name"], "args": args if valid else function["arguments"], "id": call["id"]}
        calls["tool_calls" if valid else "invalid_tool_calls"].append(made)
    return {**message, "data": {**data, **calls}}


def _reading(write: Callable[[Sequence[Message]], list[dict[str, Any]]]) -> Callable[[Any], list[dict[str, Any]]]:
    return lambda messages: write([_with_calls_of_the_api(message) for message in messages])


FORMATS: Mapping[Provider, Callable[[Sequence[Message]], list[dict[str, Any]]]] = {
    "openai-chat": _reading(_openai_chat),
    "openai-responses": _reading(_openai_responses),
    "anthropic": _reading(_anthropic),
    "gemini": _reading(_gemini),
}
"""Each provider's messages, items or contents for a list of messages."""
