"""Input items of OpenAI's Responses API as the rules look at them: types, calls, outputs.

In: a payload of any form. Out: its items with their pointers, and findings about values of unknown types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.model_apis.rule import malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, entries, string

__all__ = ["CALLS", "REASONING", "REFERENCE", "is_call", "is_output", "is_tool_output", "item_type", "open_payload"]

_ROLES = ("user", "assistant", "system", "developer")
REASONING, REFERENCE = "reasoning", "item_reference"
CALLS = {
    "function_call": "function call",
    "custom_tool_call": "custom tool call",
    "local_shell_call": "local shell call",
}
"""Calls of tools that the client runs: each type, and its name in errors. The type of an output ends with `_output`."""

_OUTPUTS = tuple(f"{kind}_output" for kind in CALLS)
_NEEDED = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id",),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id",),
    "local_shell_call": ("call_id",),
    REFERENCE: ("id",),
}


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the input items, and findings about values of unknown types.

    The payload is the list of items, or an object with `input`. A text as input is a message of the user.
    """
    whole = isinstance(payload, Mapping)
    items = payload.get("input") if whole else payload
    if whole and isinstance(items, str) and items:
        items = [{"role": "user", "content": items}]
    prefix = "/input" if whole else ""
    found = entries(items, prefix)
    return found, list(_check_items(items, found, prefix))


def item_type(item: Mapping[str, Any]) -> str | None:
    """Return the type of an item; messages and references may leave it out."""
    named = string(item, "type")
    if named is None and "role" in item:
        return "message"
    if named is None and set(item) == {"id"}:
        return REFERENCE
    return named


def _check_items(payload: Any, items: list[PayloadEntry], prefix: str) -> Iterator[Finding]:
    if not isinstance(payload, list) or not payload:
        yield malformed_finding(prefix, "list of input items", payload)
    for entry, item in zip(items, as_list(payload), strict=True):
        kind = item_type(entry.value)
        if kind is None:
            yield malformed_finding(entry.pointer, "item with a type or a role", item)
        elif kind == "message":
            yield from _check_message(entry)
        for name in _NEEDED.get(kind or "", ()):
            if not isinstance(entry.value.get(name), str):
                yield malformed_finding(f"{entry.pointer}/{name}", "text", entry.value.get(name))
        if kind in _OUTPUTS[:2] and not isinstance(entry.value.get("output"), str | list):
            yield malformed_finding(f"{entry.pointer}/output", "text or list of content", entry.value.get("output"))


def _check_message(entry: PayloadEntry) -> Iterator[Finding]:
    role, content = entry.value.get("role"), entry.value.get("content")
    if role not in _ROLES:
        yield malformed_finding(f"{entry.pointer}/role", f"role of {', '.join(_ROLES)}", role)
    if not isinstance(content, str | list):
        yield malformed_finding(f"{entry.pointer}/content", "text or list of content", content)
    for index, part in enumerate(as_list(content)):
        if string(part, "type") is None:
            yield malformed_finding(f"{entry.pointer}/content/{index}", "content with a type", part)


def is_output(item: Mapping[str, Any]) -> bool:
    """Whether the model made this item: it is neither an input message nor a tool result."""
    kind = item_type(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind is not None and not kind.endswith("_output")


def is_call(item: Mapping[str, Any]) -> bool:
    """Whether the client has to run a tool for this item."""
    return item_type(item) in CALLS


def is_tool_output(item: Mapping[str, Any]) -> bool:
    """Whether this item is the output of a tool that the client ran."""
    return item_type(item) in _OUTPUTS
