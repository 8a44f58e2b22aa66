"""The history of a model call → the AI SDK's `UIMessage[]`, for its `convertToModelMessages`.

In: messages as `model_history` gives them. Out: JSON values: a message for each request of a user, and one for all
responses up to the next, each response a step. Every call there has its return.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.model_apis.history_parts import (
    call_arguments,
    content_items,
    data_uri,
    kind_of,
    parts_of,
    read_tool_result,
    retry_text,
)
from tpharness.wires.vsp.server_parts import MEDIA_RANGES

__all__ = ["file_part", "provider_metadata", "signature_of", "ui_messages"]

_SIGNATURES = {"anthropic": "signature", "openai": "reasoningEncryptedContent", "google": "thoughtSignature"}
_IDS = {"openai": "itemId"}


def ui_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the messages, and the parts that are not in them: the JSON pointer into `messages`, and the kind."""
    writer = _Writer()
    for index, message in enumerate(messages):
        if message["kind"] == "response":
            writer.response(message, f"/{index}")
        else:
            writer.request(message, f"/{index}")
    said = [m for m in writer.messages if any(part["type"] != "step-start" for part in m["parts"])]
    return said, writer.left_out


class _Writer:
    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.left_out: list[tuple[str, str]] = []
        self._calls: dict[str, dict[str, Any]] = {}

    def response(self, message: Mapping[str, Any], pointer: str) -> None:
        parts = self._add("assistant")
        parts.append({"type": "step-start"})
        for index, part in enumerate(parts_of(message)):
            written = self._part(part)
            if written is not None:
                parts.append(written)
            elif kind_of(part) != "builtin-tool-return":
                self.left_out.append((f"{pointer}/parts/{index}", str(kind_of(part))))

    def _part(self, part: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a part of an answer; a return of a provider's tool is added to its call."""
        match kind_of(part):
            case "text":
                return {"type": "text", "text": part["content"], "state": "done"}
            case "thinking":
                return {"type": "reasoning", "text": part["content"], "state": "done", **provider_metadata(part)}
            case "tool-call" | "builtin-tool-call" as kind:
                name, call = part["tool_name"], part["tool_call_id"]
                made: dict[str, Any] = {"type": f"tool-{name}", "toolCallId": call, "state": "input-available"}
                made["input"] = call_arguments(part)
                if kind == "builtin-tool-call":
                    made["providerExecuted"] = True
                self._calls[call] = made
                return made
            case "builtin-tool-return":
                self._calls.get(part["tool_call_id"], {}).update(_output(part.get("content")))
            case "file":
                return file_part(part["content"])
        return None

    def request(self, message: Mapping[str, Any], pointer: str) -> None:
        for index, part in enumerate(parts_of(message)):
            result = read_tool_result(part)
            if result is not None:
                failed = {"state": "output-error", "errorText": result.text()}
                output = failed if result.failed or result.retried else _output(part.get("content"))
                self._calls.get(result.call_id, {}).update(output)
                continue
            match kind_of(part):
                case "system-prompt":
                    self._add("system").append({"type": "text", "text": part["content"]})
                case "user-prompt":
                    self._add("user").extend(self._content(part["content"], f"{pointer}/parts/{index}"))
                case "retry-prompt" | "retry-feedback":
                    self._add("user").append({"type": "text", "text": retry_text(part)})
                case kind:
                    self.left_out.append((f"{pointer}/parts/{index}", str(kind)))

    def _content(self, content: Any, pointer: str) -> Iterator[dict[str, Any]]:
        for item in content_items(content):
            if isinstance(item, str):
                yield {"type": "text", "text": item}
            else:
                yield file_part(item)
        if isinstance(content, list):
            count = len(content) - sum(1 for _ in content_items(content))
            if count:
                self.left_out.append((pointer, f"{count} of {len(content)} contents"))

    def _add(self, role: str) -> list[Any]:
        """Return the parts of the message that goes on: an answer with the steps before, else a new message."""
        if not self.messages or role != "assistant" or self.messages[-1]["role"] != role:
            self.messages.append({"id": f"msg-{len(self.messages) + 1}", "role": role, "parts": []})
        parts: list[Any] = self.messages[-1]["parts"]
        return parts


def file_part(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a file that is at hand, or at an address."""
    if item["kind"] == "binary":
        return {"type": "file", "mediaType": item["media_type"], "url": data_uri(item)}
    media_type = item.get("media_type") or MEDIA_RANGES.get(item["kind"], "application/octet-stream")
    return {"type": "file", "mediaType": media_type, "url": item["url"]}


def _output(content: Any) -> dict[str, Any]:
    return {"state": "output-available", "output": content}


def provider_metadata(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a thought where the AI SDK's provider of the same name looks for it."""
    provider = part.get("provider_name")
    if not isinstance(provider, str):
        return {}
    signature, ident = _SIGNATURES.get(provider, "signature"), _IDS.get(provider, "id")
    named = {signature: part.get("signature"), ident: part.get("id")}
    facts = {name: value for name, value in named.items() if value is not None}
    return {"providerMetadata": {provider: facts}} if facts else {}


def signature_of(metadata: Any) -> dict[str, Any]:
    """Return the provider's name, signature and id of a thought, as `provider_metadata` has written them."""
    for provider, facts in (metadata or {}).items():
        signature, ident = _SIGNATURES.get(provider, "signature"), _IDS.get(provider, "id")
        return {"provider_name": provider, "signature": facts.get(signature), "id": facts.get(ident)}
    return {}
