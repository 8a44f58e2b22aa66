"""Messages of the Converse API as the rules look at them: entries, roles, blocks, ids.

In: a payload of any form. Out: its messages with their pointers, and findings about values of unknown types. Types are
those of botocore's model of the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.chat_messages import open_messages
from tpharness.model_apis.rule import malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of

__all__ = ["TOOLS", "blocks", "call_ids", "open_payload", "result_ids", "role"]

TOOLS = "/toolConfig"
"""The pointer of the entry that says whether a whole request defines tools."""

_ROLES = ("user", "assistant", "system")
_KINDS = (
    *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent", "cachePoint"),
    *("reasoningContent", "citationsContent", "searchResult", "toolAddition", "toolRemoval"),
)
_NEEDED: Mapping[str, tuple[tuple[str, type, str], ...]] = {
    "toolUse": (("toolUseId", str, "text"), ("name", str, "text")),
    "toolResult": (("toolUseId", str, "text"), ("content", list, "list of contents")),
}


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, and findings about values of unknown types.

    The payload is the list of messages, or an object with `messages`. Of a whole request, which has more than these,
    the system prompt and the model, the last entry is its `toolConfig`.
    """
    found, wrong = open_messages(payload, roles=_ROLES, check=_check_content)
    if isinstance(payload, Mapping) and payload.keys() - {"messages", "system", "model", "modelId"}:
        found.append(PayloadEntry(TOOLS, {"toolConfig": payload.get("toolConfig")}))
    return found, wrong


def _check_content(entry: PayloadEntry) -> Iterator[Finding]:
    content, pointer = entry.value.get("content"), f"{entry.pointer}/content"
    if not isinstance(content, list):
        yield malformed_finding(pointer, "list of blocks", content)
    for index, block in enumerate(as_list(content)):
        yield from _check_block(block, f"{pointer}/{index}")


def _check_block(block: Any, pointer: str) -> Iterator[Finding]:
    kinds = [name for name in _KINDS if value_of(block, name) is not None]
    if len(kinds) != 1:
        yield malformed_finding(pointer, f"block with one of {', '.join(_KINDS)}", block)
        return
    (kind,) = kinds
    value = block[kind]
    if kind == "text":
        if not isinstance(value, str):
            yield malformed_finding(f"{pointer}/text", "text", value)
        return
    if not isinstance(value, Mapping):
        yield malformed_finding(f"{pointer}/{kind}", "object", value)
        return
    thought = value.get("reasoningText") if kind == "reasoningContent" else None
    if isinstance(thought, Mapping) and not isinstance(thought.get("text"), str):
        yield malformed_finding(f"{pointer}/reasoningContent/reasoningText/text", "text", thought.get("text"))
    for name, of, words in _NEEDED.get(kind, ()):
        if not isinstance(value.get(name), of):
            yield malformed_finding(f"{pointer}/{kind}/{name}", words, value.get(name))


def role(entry: PayloadEntry) -> str | None:
    """Return the role of a message, None if it has none."""
    return string(entry.value, "role")


def blocks(entry: PayloadEntry, kind: str) -> Iterator[PayloadEntry]:
    """Yield what the blocks of this kind in a message hold; the pointer of each is that of its block."""
    for block in objects(entry.value.get("content"), f"{entry.pointer}/content"):
        held = value_of(block.value, kind)
        if isinstance(held, Mapping):
            yield PayloadEntry(block.pointer, held)


def _ids(found: Iterable[PayloadEntry]) -> list[str]:
    return [one for block in found if (one := string(block.value, "toolUseId")) is not None]


def call_ids(entry: PayloadEntry) -> list[str]:
    """Return the ids of the calls in a message of the model that the client has to answer: Bedrock runs the others."""
    if role(entry) != "assistant":
        return []
    return _ids(call for call in blocks(entry, "toolUse") if string(call.value, "type") != "server_tool_use")


def result_ids(entry: PayloadEntry) -> list[str]:
    """Return the ids of the results in a message of the user."""
    return _ids(blocks(entry, "toolResult")) if role(entry) == "user" else []
