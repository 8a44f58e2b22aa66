"""Messages in the shape of Bedrock's Converse API: one block is one kind, roles alternate, contents are base64."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.bedrock.row import BEDROCK
from tpharness.model_apis.history_parts import (
    NO_WORDS,
    REDACTED,
    call_arguments,
    content_items,
    kind_of,
    own_signature,
    parts_of,
    read_tool_result,
    retry_text,
    unsupported_content,
)
from tpharness.model_apis.shape import string

__all__ = ["additions", "write_payload"]

_IMAGES = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/plain": "txt",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}


def write_payload(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return `messages` and, if there is a system prompt, `system`; neighbours of one role are one message (B7)."""
    out: list[dict[str, Any]] = []
    prompts: list[str] = []
    documents = _Documents()
    for message in messages:
        answers = message.get("kind") == "response"
        blocks = list(_said(message) if answers else _asked(message, documents))
        if not answers:
            prompts += [string(p, "content") or "" for p in parts_of(message) if kind_of(p) == "system-prompt"]
        role = "assistant" if answers else "user"
        if blocks and out and out[-1]["role"] == role:
            out[-1]["content"] += blocks
        elif blocks:
            out.append({"role": role, "content": blocks})
    system = [{"text": prompt} for prompt in prompts if prompt]
    return {**({"system": system} if system else {}), "messages": out}


def additions(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield the words that `write_payload` gives to failed tools that said nothing."""
    for index, entry in enumerate(write_payload(messages)["messages"]):
        for number, block in enumerate(entry["content"]):
            if "toolResult" in block and block["toolResult"]["content"] == [{"text": NO_WORDS}]:
                what = f"the text {NO_WORDS!r} for the call {block['toolResult']['toolUseId']}"
                why = "bedrock: a result that is an error has a content"
                yield f"/messages/{index}/content/{number}/toolResult/content/0", what, why


def _said(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in parts_of(message):
        content = string(part, "content") or ""
        match kind_of(part):
            case "text" if content:
                yield {"text": content}
            case "thinking":
                signature = own_signature(part, BEDROCK.issuers)
                if signature and string(part, "thinking_id", "id") in REDACTED:
                    yield {"reasoningContent": {"redactedContent": signature}}
                elif signature:
                    yield {"reasoningContent": {"reasoningText": {"text": content, "signature": signature}}}
                elif content:
                    yield {"text": f"<think>\n{content}\n</think>"}
            case "tool-call":
                called = {"toolUseId": string(part, "tool_call_id"), "name": string(part, "tool_name")}
                yield {"toolUse": {**called, "input": call_arguments(part)}}


def _asked(message: Mapping[str, Any], documents: _Documents) -> Iterator[dict[str, Any]]:
    """Yield the results first; Bedrock looks for them at the beginning of their message."""
    for part in parts_of(message):
        result = read_tool_result(part)
        if result is not None:
            content = [documents.block(item) for item in result.items if item != ""]  # B4: no text is empty
            if result.failed:
                content = content or [{"text": NO_WORDS}]  # B9
            status = "error" if result.failed else "success"
            yield {"toolResult": {"toolUseId": result.call_id, "content": content, "status": status}}
        elif kind_of(part) == "user-prompt":
            yield from (documents.block(item) for item in content_items(part.get("content")) if item)
        elif kind_of(part) == "retry-prompt":
            yield {"text": retry_text(part)}


class _Documents:
    """Writes items of content; a document has a name, which is not to be that of another one."""

    def __init__(self) -> None:
        self._count = 0

    def block(self, item: str | Mapping[str, Any]) -> dict[str, Any]:
        """Return an item of content as a block. UsageError for what the API does not take, such as an address."""
        if isinstance(item, str):
            return {"text": item}
        media_type = string(item, "media_type") or ""
        source = {"bytes": string(item, "data") or ""}
        if string(item, "kind") == "binary" and media_type in _IMAGES:
            return {"image": {"format": _IMAGES[media_type], "source": source}}
        if string(item, "kind") == "binary" and media_type in _DOCUMENTS:
            self._count += 1
            named = {"name": f"Document {self._count}", "format": _DOCUMENTS[media_type]}
            return {"document": {**named, "source": source}}
        raise unsupported_content(item, "bedrock")
