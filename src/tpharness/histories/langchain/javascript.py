"""LangChain.js: messages → the input of a model API, and what its storage brings back.

@langchain/openai 1.6 for both OpenAI APIs, @langchain/anthropic 1.5, @langchain/google-genai 2.3 for Gemini. They
repair nothing. Unlike those of Python (`formats`) they send empty texts, leave out calls with invalid arguments and
(Anthropic) whether a result is an error, and send each result to Gemini where it stands, as `result` or `error`.

A message of OpenAI's API has its calls a second time under `additional_kwargs`. Both OpenAI APIs are sent those when
`tool_calls` is empty or deleted.

`mapChatMessagesToStoredMessages` writes the fields that a message was made of, with the values that they have now. A
field that was deleted has the value that it was made with. So deleted calls are written, and are there when it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.errors import UsageError
from tpharness.facts import parse_tool_args
from tpharness.histories.langchain.formats import Formats
from tpharness.histories.langchain.state import Message, calls_of_the_api
from tpharness.protocol.rfc8785 import es_number

__all__ = ["FORMATS_JS", "stored_messages"]

_HALF = re.compile("[\ud800-\udfff]")
_NOT_JSON = object()


def stored_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as they are read again: with the calls that were deleted from them."""
    return [_stored(message) for message in messages]


def _stored(message: Message) -> Message:
    data = message["data"]
    if message["type"] != "ai" or data["tool_calls"]:
        return message
    calls = calls_of_the_api(message, _read)
    deleted = [{**call, "type": "tool_call"} for call in calls if call["args"] is not _NOT_JSON]
    return {**message, "data": {**data, "tool_calls": deleted}}


def _read(text: str) -> Any:
    """Read arguments as JSON.parse does, a text in JSON too; `_NOT_JSON` for a text that is not JSON."""
    value = parse_tool_args(text)
    return _NOT_JSON if value is text else value


def _openai_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> dict[str, Any]:
    data = message["data"]
    role = {"human": "user", "ai": "assistant"}.get(message["type"], message["type"])
    sent: dict[str, Any] = {"role": role, "content": data["content"]}
    if message["type"] == "tool":
        sent["tool_call_id"] = data["tool_call_id"]
    if calls := _openai_calls(message):
        sent["tool_calls"] = calls
    return sent


def _openai_calls(message: Message) -> list[dict[str, Any]]:
    """Return the calls in the API's form: from `tool_calls`, or else as the API had written them."""
    data = message["data"]
    if message["type"] != "ai":
        return []
    if not data["tool_calls"]:
        return list(data["additional_kwargs"].get("tool_calls") or ())
    return [
        {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": _json(call["args"])}}
        for call in data["tool_calls"]
    ]


def _json(value: Any) -> str:
    """Write a value as JSON.stringify does: keys that are array indices first, numbers by ECMAScript."""
    if isinstance(value, Mapping):
        pairs = sorted(value.items(), key=lambda pair: (0, int(pair[0])) if _is_index(pair[0]) else (1, 0))
        return "{" + ",".join(f"{_json(name)}:{_json(held)}" for name, held in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    if isinstance(value, float):
        return es_number(value)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", json.dumps(value, ensure_ascii=False))


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name and int(name) < 2**32 - 1


def _openai_responses(messages: Sequence[Message]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in messages:
        sent = _chat_message(message)
        if message["type"] == "tool":
            output = {"type": "function_call_output", "call_id": sent["tool_call_id"], "output": sent["content"]}
            items.append(output)
            continue
        items.append({"type": "message", "role": sent["role"], "content": sent["content"]})
        items += [
            {"type": "function_call", "call_id": call["id"], **call["function"]} for call in sent.get("tool_calls", ())
        ]
    return items


def _anthropic(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Results that follow each other are one message; nothing else is merged."""
    sent: list[dict[str, Any]] = []
    before = ""
    for message in messages:
        data = message["data"]
        if message["type"] == "tool":
            result = {"type": "tool_result", "content": data["content"], "tool_use_id": data["tool_call_id"]}
            if before == "tool":
                sent[-1]["content"].append(result)
            else:
                sent.append({"role": "user", "content": [result]})
        else:
            role = "user" if message["type"] == "human" else "assistant"
            sent.append({"role": role, "content": _anthropic_content(message)})
        before = message["type"]
    return sent


def _anthropic_content(message: Message) -> str | list[dict[str, Any]]:
    text: str = message["data"]["content"]
    calls = message["data"]["tool_calls"] if message["type"] == "ai" else []
    if not calls:
        return text
    uses = [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]} for call in calls]
    return [*([{"type": "text", "text": text}] if text else []), *uses]


def _gemini(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Each message is a content; `UsageError` for a result without its call, where the package raises an error."""
    names: dict[str, str] = {}
    contents: list[dict[str, Any]] = []
    for message in messages:
        data = message["data"]
        if message["type"] == "tool":
            contents.append({"role": "user", "parts": [_gemini_result(data, names)]})
            continue
        parts: list[dict[str, Any]] = [{"text": data["content"]}] if data["content"] else []
        for call in data["tool_calls"] if message["type"] == "ai" else ():
            names.setdefault(call["id"], call["name"])
            parts.append({"functionCall": {"name": call["name"], "args": call["args"]}})
        contents.append({"role": "user" if message["type"] == "human" else "model", "parts": parts})
    return contents


def _gemini_result(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    call_id = data["tool_call_id"]
    if call_id not in names:
        raise UsageError(
            f"langchain: LangChain.js does not send Gemini the result of {call_id!r}, whose call is not before it",
            hint="its error says that Google requires a tool name for each tool call response",
        )
    content = data["content"]
    response = {"error": {"details": content}} if data["status"] == "error" else {"result": content}
    return {"functionResponse": {"name": names[call_id], "response": response}}


FORMATS_JS: Formats = {
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""The integrations of JavaScript, for messages whose contents are texts."""
