"""Messages → the input of a model API, as LangChain's integrations format them.

langchain-openai 1.7 for both OpenAI APIs, langchain-anthropic 1.7, langchain-google-genai 4.4 for Gemini. The first two
repair nothing: they send a call without a result, and a result without its call. Gemini's collects the results of a
message's calls from the whole history and drops the rest.

A message that the integration has read from OpenAI's API has its calls twice: as `tool_calls`, and in the API's own
form under `additional_kwargs`. Where the first are deleted, the second are sent. One that was read from Anthropic's API
has them in the blocks of its content too, and those are sent to that API, too.

A system message at the beginning is left out for Anthropic and Gemini, whose requests have a field of its own for it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tpharness.errors import UsageError
from tpharness.facts import parse_tool_args
from tpharness.histories.langchain.state import Message, calls_of_the_api
from tpharness.histories.projections import ApiName

__all__ = ["FORMATS", "Content", "Formats"]

Content: TypeAlias = str | list[dict[str, Any]]
Formats: TypeAlias = Mapping[ApiName, Callable[[Sequence[Message]], list[dict[str, Any]]]]
"""For each API, what makes its messages, items or contents of a list of messages."""

_CHAT_ROLES = {"human": "user", "ai": "assistant", "system": "system"}
_ANTHROPIC_ID = re.compile(r"^[a-zA-Z0-9_-]+$")


def _openai_chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [_chat_message(message) for message in messages]


def _chat_message(message: Message) -> dict[str, Any]:
    data = message["data"]
    content = _texts(data["content"])
    if message["type"] == "tool":
        return {"role": "tool", "content": content, "tool_call_id": data["tool_call_id"]}
    sent: dict[str, Any] = {"role": _CHAT_ROLES[message["type"]], "content": content}
    if data.get("name") is not None:
        sent["name"] = data["name"]
    calls = _chat_calls(data) if message["type"] == "ai" else []
    if calls:
        sent["tool_calls"] = calls
        sent["content"] = content or None
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
        content = sent["content"]
        if message["type"] == "tool":
            output = {"type": "function_call_output", "output": _input_text(content), "call_id": sent["tool_call_id"]}
            items.append(output)
        elif message["type"] != "ai":
            if content != []:
                items.append({"type": "message", "role": sent["role"], "content": _input_text(content)})
        else:
            for text in [] if content is None else _blocks(content):
                written = {"type": "output_text", "text": text["text"], "annotations": []}
                items.append({"type": "message", "role": "assistant", "content": [written]})
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


def _input_text(content: Content) -> Content:
    if isinstance(content, str):
        return content
    return [{"type": "input_text", "text": block["text"]} for block in content]


def _anthropic(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Merge adjacent user and tool messages; leave out empty assistant messages except the last."""
    merged = _merge(_without_leading_system(messages))
    last = len(merged) - 1
    sent: list[dict[str, Any]] = []
    for index, (role, content, data) in enumerate(merged):
        if role == "user":
            sent.append({"role": role, "content": _without_blank(content)})
        elif index == last:
            sent.append({"role": role, "content": _right_strip(_assistant_content(data))})
        elif formatted := _assistant_content(data):
            sent.append({"role": role, "content": formatted})
    return sent


def _without_leading_system(messages: Sequence[Message]) -> Sequence[Message]:
    """Leave out the system messages at the beginning; `UsageError` for one further on, which depends on the model."""
    begin = next((i for i, message in enumerate(messages) if message["type"] != "system"), len(messages))
    late = [i for i, message in enumerate(messages) if message["type"] == "system" and i >= begin]
    if late:
        raise UsageError(
            f"langchain: message {late[0]} is a system message, and only the first messages can be",
            hint="put system messages before all others",
        )
    return messages[begin:]


def _merge(messages: Sequence[Message]) -> list[tuple[str, Content, Mapping[str, Any]]]:
    """Return role, content and data of each message, adjacent user and tool messages as one list of blocks."""
    merged: list[tuple[str, Content, Mapping[str, Any]]] = []
    for message in messages:
        data = message["data"]
        if message["type"] == "ai":
            merged.append(("assistant", data["content"], data))
            continue
        content = _texts(data["content"]) if message["type"] == "human" else [_tool_result(data)]
        if merged and merged[-1][0] == "user":
            content = _blocks(merged[-1][1]) + _blocks(content)
            merged.pop()
        merged.append(("user", content, data))
    return merged


def _tool_result(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "content": _without_blank(_texts(data["content"])),
        "tool_use_id": _anthropic_id(data["tool_call_id"]),
        "is_error": data.get("status") == "error",
    }


def _blocks(content: Content) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(content: Content) -> Content:
    """Return a content with its text blocks alone, each with nothing but its text."""
    if isinstance(content, str):
        return content
    return [{"type": "text", "text": block["text"]} for block in content if block["type"] == "text"]


def _without_blank(content: Content) -> Content:
    return content if isinstance(content, str) else _drop_blank(content)


def _drop_blank(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out text blocks of white space."""
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def _assistant_content(data: Mapping[str, Any]) -> Content:
    """Return the content, with the calls after it that are not among its blocks."""
    calls = data.get("tool_calls") or []
    content: Content = data["content"]
    if not isinstance(content, str):
        content = [sent for block in _drop_blank(content) for sent in _assistant_block(block, calls)]
    if not (calls or data.get("invalid_tool_calls")):
        return content
    sent = list(_blocks(content)) if content else []
    known = {block["id"] for block in sent if block["type"] == "tool_use"}
    sent += [use for use in map(_tool_use, calls) if use["id"] not in known]
    known |= {_anthropic_id(call["id"]) for call in calls}
    for call in data.get("invalid_tool_calls") or ():
        if call["id"] and call["name"] and _anthropic_id(call["id"]) not in known:
            sent.append(_tool_use({**call, "args": _arguments_object(call["args"])}))
            known.add(_anthropic_id(call["id"]))
    return sent


def _assistant_block(block: Mapping[str, Any], calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is sent of a block; a call is taken from the message's calls, if it is there."""
    if block["type"] != "tool_use":
        return [{name: block[name] for name in ("type", "text", "thinking", "signature") if name in block}]
    same = [call for call in calls if call["id"] == block["id"]]
    return [_tool_use(call) for call in same or [{**block, "args": block.get("input") or {}}]]


def _tool_use(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "name": call["name"], "input": call["args"], "id": _anthropic_id(call["id"])}


def _right_strip(content: Content) -> Content:
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
    """Put each message's results after it; results without a call, invalid calls and system messages are not sent."""
    results = [message for message in messages if message["type"] == "tool"]
    contents: list[dict[str, Any]] = []
    for message in messages:
        data = message["data"]
        if message["type"] in ("tool", "system"):
            continue
        calls = data.get("tool_calls") or [] if message["type"] == "ai" else []
        role = "user" if message["type"] == "human" else "model"
        parts = [{"functionCall": {"name": call["name"], "args": call["args"]}} for call in calls]
        contents.append({"role": role, "parts": [*_gemini_parts(message, calls=bool(calls)), *parts]})
        if calls and (answers := _gemini_answers(calls, results)):
            contents.append({"role": "user", "parts": answers})
    return contents


def _gemini_parts(message: Message, *, calls: bool) -> list[dict[str, Any]]:
    """Return texts and thoughts. Beside calls there is no empty text; without any part there is one.

    Thoughts of other providers are left out, as far as the message says whose they are.
    """
    data, said = message["data"], message["type"] == "ai"
    if isinstance(data["content"], str):
        return [] if calls and not data["content"] else [{"text": data["content"]}]
    foreign = (data.get("response_metadata") or {}).get("model_provider") is not None
    parts: list[dict[str, Any]] = []
    for block in data["content"]:
        if block["type"] == "text" and not (said and (calls or foreign) and not block["text"]):
            parts.append({"text": block["text"]})
        elif block["type"] == "thinking" and not foreign:
            signature = {"thoughtSignature": block["signature"]} if block.get("signature") else {}
            parts.append({"text": block["thinking"], "thought": True, **signature})
    return parts or ([{"text": ""}] if said and not calls else [])


def _gemini_answers(calls: Sequence[Mapping[str, Any]], results: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the results of the calls in the order of the results, the first one of each call."""
    waiting = {call["id"]: call["name"] for call in calls}
    answers: list[dict[str, Any]] = []
    for message in results:
        data = message["data"]
        if data["tool_call_id"] in waiting:
            name = waiting.pop(data["tool_call_id"])
            response = _gemini_response(data["content"])
            answers.append({"functionResponse": {"name": data.get("name") or name, "response": response}})
    return answers


def _gemini_response(content: Content) -> dict[str, Any]:
    try:
        value = json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        value = content
    return value if isinstance(value, dict) else {"output": value}


def _with_calls_of_the_api(message: Message) -> Message:
    """Return a message with the calls that the API's own form of it still has, where it has no others."""
    data = message["data"]
    if message["type"] != "ai" or data.get("tool_calls") or data.get("invalid_tool_calls"):
        return message
    calls = calls_of_the_api(message, _parsed)
    valid = [call for call in calls if isinstance(call["args"], dict)]
    return {
        **message,
        "data": {**data, "tool_calls": valid, "invalid_tool_calls": [call for call in calls if call not in valid]},
    }


def _parsed(text: str) -> Any:
    """Return arguments as Python's parser does: any empty value, such as null, is an empty object; the rest is text."""
    args = parse_tool_args(text)
    if not args and not isinstance(args, str):
        return {}
    return args if isinstance(args, dict) else text


def _reading(write: Callable[[Sequence[Message]], list[dict[str, Any]]]) -> Callable[[Any], list[dict[str, Any]]]:
    return lambda messages: write([_with_calls_of_the_api(message) for message in messages])


FORMATS: Formats = {
    "openai-chat": _reading(_openai_chat),
    "openai-responses": _reading(_openai_responses),
    "anthropic": _reading(_anthropic),
    "gemini": _reading(_gemini),
}
"""The integrations of Python."""
