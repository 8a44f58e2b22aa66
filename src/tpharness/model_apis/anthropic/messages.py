"""Messages of Anthropic's Messages API as the rules look at them: entries, roles, blocks, calls.

In: a payload of any form. Out: its messages with their pointers, and findings about values of unknown types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.findings import Finding, Kind
from tpharness.model_apis.chat_messages import open_messages
from tpharness.model_apis.rule import ApiRule, malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string

__all__ = [
    "anthropic_rule",
    "assistant_turns",
    "blocks",
    "call_ids",
    "content_pointer",
    "is_thinking",
    "open_payload",
    "role",
    "server_calls",
    "server_results",
    "thinks",
    "turns_after_results",
]

_ROLES = ("user", "assistant", "system")
_THINKING = ("thinking", "redacted_thinking")
_NEEDED = {
    "text": ("text",),
    "thinking": ("thinking",),
    "tool_use": ("id", "name"),
    "tool_result": ("tool_use_id",),
}


def anthropic_rule(number: int, kind: Kind, *errors: str, **facts: Any) -> ApiRule:
    """Return rule A`number`; `facts` are its other fields."""
    return ApiRule(id=f"A{number}", provider="anthropic", kind=kind, errors=errors, **facts)


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, the system prompt first with the role `system`, and findings about values of unknown types.

    The payload is the list of messages, or an object with `messages` and `system`.
    """
    found, wrong = open_messages(payload, roles=_ROLES, check=_check_content)
    system = payload.get("system") if isinstance(payload, Mapping) else None
    if system is not None:
        prompt = PayloadEntry("/system", {"role": "system", "content": system})
        wrong += _check_content(prompt)
        found = [prompt, *found]
    return found, wrong


def content_pointer(entry: PayloadEntry) -> str:
    """Return the pointer to the content; the system prompt is its own content."""
    return entry.pointer if entry.pointer == "/system" else f"{entry.pointer}/content"


def _check_content(entry: PayloadEntry) -> Iterator[Finding]:
    content, pointer = entry.value.get("content"), content_pointer(entry)
    if not isinstance(content, str | list):
        yield malformed_finding(pointer, "text or list of blocks", content)
    for index, block in enumerate(as_list(content)):
        kind = string(block, "type")
        if kind is None:
            yield malformed_finding(f"{pointer}/{index}", "block with a type", block)
            continue
        for name in _NEEDED.get(kind, ()):
            if not isinstance(block.get(name), str):
                yield malformed_finding(f"{pointer}/{index}/{name}", "text", block.get(name))


def role(entry: PayloadEntry) -> str | None:
    """Return the role of a message, or None if it has none."""
    return string(entry.value, "role")


def blocks(entry: PayloadEntry, *kinds: str) -> Iterator[PayloadEntry]:
    """Yield the blocks of these types in a message."""
    for block in objects(entry.value.get("content"), f"{entry.pointer}/content"):
        if string(block.value, "type") in kinds:
            yield block


def call_ids(entry: PayloadEntry) -> list[str]:
    """Return the ids of the calls in a message of the model."""
    if role(entry) != "assistant":
        return []
    return [found for block in blocks(entry, "tool_use") if (found := string(block.value, "id")) is not None]


def thinks(entry: PayloadEntry) -> bool:
    """Whether a message of the model has thinking."""
    return role(entry) == "assistant" and any(blocks(entry, *_THINKING))


def assistant_turns(messages: Sequence[PayloadEntry]) -> Iterator[list[PayloadEntry]]:
    """Yield the turns of the model: consecutive assistant messages are one turn to the API (A7)."""
    turn: list[PayloadEntry] = []
    for entry in messages:
        if role(entry) == "assistant":
            turn.append(entry)
        elif turn:
            yield turn
            turn = []
    if turn:
        yield turn


def turns_after_results(messages: Sequence[PayloadEntry]) -> Iterator[tuple[list[PayloadEntry], list[PayloadEntry]]]:
    """Yield each turn of the model with the turn that goes on from it once the client's tools have returned.

    That is the next turn, if what stands between them is results of the client's calls; a turn whose results come last
    goes on in the answer, which is not there yet: then the second is the first.
    """
    turns = list(assistant_turns(messages))
    index = {id(entry): number for number, entry in enumerate(messages)}
    for number, turn in enumerate(turns):
        following = turns[number + 1] if number + 1 < len(turns) else []
        begins = index[id(turn[-1])] + 1
        ends = index[id(following[0])] if following else len(messages)
        between = messages[begins:ends]
        goes_on = bool(between) and all(any(blocks(entry, "tool_result")) for entry in between)
        yield turn, (following or turn) if goes_on else []


def is_thinking(block: Any) -> bool:
    """Whether a block is thinking, readable or not."""
    return string(block, "type") in _THINKING


def server_calls(turn: Sequence[PayloadEntry]) -> dict[str, PayloadEntry]:
    """Return by its id each call of a tool that the API runs itself, in messages of the model."""
    found: dict[str, PayloadEntry] = {}
    for entry in turn:
        for block in blocks(entry, "server_tool_use"):
            if (call := string(block.value, "id")) is not None:
                found.setdefault(call, block)
    return found


def server_results(turn: Sequence[PayloadEntry]) -> dict[str, PayloadEntry]:
    """Return by the id of its call each result of a tool that the API runs itself, in messages of the model."""
    found: dict[str, PayloadEntry] = {}
    for entry in turn:
        for block in objects(entry.value.get("content"), f"{entry.pointer}/content"):
            kind, call = string(block.value, "type") or "", string(block.value, "tool_use_id")
            if call is not None and kind.endswith("_tool_result") and kind != "mcp_tool_result":
                found.setdefault(call, block)
    return found
