"""Messages in the shape of the Gemini API, fields spelt as in its Python SDK, bytes as base64."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.gemini.row import GEMINI
from tpharness.model_apis.history_parts import (
    ToolResult,
    call_arguments,
    content_items,
    kind_of,
    own_signature,
    parts_of,
    read_tool_result,
    retry_text,
)
from tpharness.model_apis.shape import string, value_of

__all__ = ["additions", "write_payload"]

_SKIP = base64.b64encode(b"skip_thought_signature_validator").decode()  # documented, for calls without a signature (G4)


def write_payload(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `contents` and, if there is a system prompt, `system_instruction`."""
    contents, prompts = _contents_and_prompts(messages)
    system = {"system_instruction": {"role": "user", "parts": prompts}} if prompts else {}
    return {**system, "contents": [*_beginning(contents), *contents]}


def additions(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield what `write_payload` adds: the empty text of a user at the beginning, signatures that no model gave."""
    contents, _ = _contents_and_prompts(messages)
    before = _beginning(contents)
    if before:
        yield "/contents/0", "an empty text of the user", "gemini: the user says something first"
    for index, entry in enumerate(contents, len(before)):
        for number, part in enumerate(entry["parts"]):
            if "function_call" in part and part.get("thought_signature") == _SKIP:
                what = f"skip_thought_signature_validator for the call {part['function_call']['id']}"
                why = "gemini: the first call of an answer has a signature, and the thread has none"
                yield f"/contents/{index}/parts/{number}/thought_signature", what, why


def _beginning(contents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    needed = not contents or contents[0]["role"] == "model"
    return [{"role": "user", "parts": [{"text": ""}]}] if needed else []


def _contents_and_prompts(messages: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    contents: list[dict[str, Any]] = []
    prompts: list[dict[str, Any]] = []
    for message in messages:
        if message.get("kind") == "response":
            parts = _model_parts(message)
            contents += [{"role": "model", "parts": parts}] if parts else []
            continue
        prompts += [{"text": string(p, "content") or ""} for p in parts_of(message) if kind_of(p) == "system-prompt"]
        contents += _contents(_user_parts(message))
    return contents, prompts


def _contents(parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Start a new content after responses: the API would read other parts in the same content as the model's."""
    out: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    for part in parts:
        if not out or ("function_response" in before and "function_response" not in part):
            out.append({"role": "user", "parts": []})
        out[-1]["parts"].append(part)
        before = part
    return out


def _model_parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a response; a signature of thinking belongs to the next part."""
    out: list[dict[str, Any]] = []
    waiting, first_call = "", True
    for part in parts_of(message):
        signature, waiting = waiting, ""
        content = string(part, "content") or ""
        made: dict[str, Any] | None = None
        match kind_of(part):
            case "text":
                made = {"text": content}
            case "thinking":
                waiting = own_signature(part, GEMINI.issuers)
                made = {"text": content, "thought": True} if content else None
            case "tool-call":
                called = {"name": string(part, "tool_name"), "id": string(part, "tool_call_id")}
                made = {"function_call": {**called, "args": call_arguments(part)}}
                signature = signature or (_SKIP if first_call else "")
                first_call = False
            case "file" if value_of(part.get("content"), "data") is not None:
                made = _file(part["content"])
        if made is not None:
            out.append({**made, **({"thought_signature": signature} if signature else {})})
    return out


def _user_parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a request in their order; files that tools returned come after the last response."""
    out: list[dict[str, Any]] = []
    files: list[dict[str, Any]] = []
    last = 0
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            out.append({"function_response": _response(result)})
            files += [_file(item) for item in result.files]
            last = len(out)
        elif kind_of(part) == "user-prompt":
            out += [{"text": p} if isinstance(p, str) else _file(p) for p in content_items(part.get("content"))]
        elif kind_of(part) == "retry-prompt":
            out.append({"text": retry_text(part)})
    return [*out[:last], *files, *out[last:]]


def _response(result: ToolResult) -> dict[str, Any]:
    """Return an object, the only JSON value that the API accepts; an error has its own key."""
    called = {"name": result.name, "id": result.call_id}
    if result.failed:
        return {**called, "response": {"error": result.text()}}
    data = {} if result.data is None else result.data
    response = dict(data) if isinstance(data, Mapping) else {"return_value": data}
    if result.files:
        response = {"output": [response, *(f"See file {string(item, 'identifier') or ''}." for item in result.files)]}
    return {**called, "response": response}


def _file(item: Mapping[str, Any]) -> dict[str, Any]:
    media_type = string(item, "media_type")
    typed = {} if media_type is None else {"mime_type": media_type}
    if string(item, "kind") == "binary":
        return {"inline_data": {"data": item["data"], **typed}}
    return {"file_data": {"file_uri": value_of(item, "url"), **typed}}
