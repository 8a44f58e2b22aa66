"""Parts as server events state them → the fields that a journal's parts have.

In: parts that have the shape of their kind (`shapes`). Out: their fields, without those that are null and those that
are not part of a thread; a part of a kind that tpharness does not know keeps all of its own (R7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.facts import binary_identifier, parse_tool_args, plain_prompt
from tpharness.journal import OpenPart

__all__ = ["call_arguments", "extend_part", "find_prompts", "part_fields", "pick_fields"]

_PART_FIELDS = {
    "text": ("content", "id"),
    "thinking": ("content", "signature", "provider_name", "id"),
    "tool-call": ("tool_name", "tool_call_id", "args"),
    "builtin-tool-call": ("tool_name", "tool_call_id", "args", "provider_name"),
    "builtin-tool-return": ("tool_name", "tool_call_id", "content", "provider_name"),
    "file": ("content", "id"),
}


def pick_fields(part: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of these names that are not null."""
    return {name: part[name] for name in names if part.get(name) is not None}


def part_fields(kind: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a part of a response; the arguments of a call that is streaming stay as they are."""
    is_file = kind == "file" or (kind == "custom:reasoning-file" and isinstance(part.get("content"), Mapping))
    names = _PART_FIELDS["file"] if is_file else _PART_FIELDS.get(kind)  # the chunk of a file has no place for more
    if names is None:
        return {k: v for k, v in part.items() if k != "part_kind" and v is not None}
    fields = pick_fields(part, names)
    if kind == "thinking" and "id" in fields:
        fields["thinking_id"] = fields.pop("id")
    if is_file:
        fields["content"] = _file_content(fields["content"])
    if kind == "builtin-tool-return":
        fields.setdefault("content", None)  # null is what the provider's tool returned, as of any tool (R22)
    return fields


def call_arguments(part: Mapping[str, Any]) -> Any:
    """Return the arguments of a call that is complete, parsed (R12)."""
    held = part.get("args")
    return {} if held is None or held == "" else parse_tool_args(held)


def extend_part(part: OpenPart, delta: Mapping[str, Any]) -> None:
    """Add a delta, which is of the part's own kind, to an open part."""
    if delta["part_delta_kind"] == "tool_call":
        piece = delta.get("args_delta")
        if isinstance(piece, str):
            part.pieces.append(piece)
        elif piece is not None:
            part.fields["args"] = {**part.fields.get("args", {}), **piece}
        if delta.get("tool_name_delta"):
            part.fields["tool_name"] += delta["tool_name_delta"]
        return
    if delta.get("content_delta") is not None:
        part.pieces.append(delta["content_delta"])
    if delta["part_delta_kind"] == "thinking":
        if delta.get("signature_delta") is not None:
            part.fields["signature"] = part.fields.get("signature", "") + delta["signature_delta"]
        if delta.get("provider_name") is not None:
            part.fields["provider_name"] = delta["provider_name"]


def find_prompts(request: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the user prompts of a request, without those that have no content at all (R52)."""
    parts = request.get("parts") or ()
    said = [part for part in parts if part["part_kind"] == "user-prompt" and part["content"] != []]
    return [{**part, "content": plain_prompt(part["content"])} for part in said]


def _file_content(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file part; without an identifier of its own it has that of its bytes, or its address."""
    fields = pick_fields(content, ("kind", "data", "url", "media_type", "identifier", "vendor_metadata"))
    if "data" in fields:
        fields.setdefault("identifier", binary_identifier(fields["data"]))
    elif "url" in fields:
        fields.setdefault("identifier", fields["url"])
    return fields
