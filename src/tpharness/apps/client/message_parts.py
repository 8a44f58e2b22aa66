"""The parts of UI messages: what is a call, what a call has in each state, and how a message gets into its chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.wires.vsp.partial_json import NOTHING

__all__ = ["is_tool_part", "merged", "open_inputs", "set_state", "write_message"]

Json = dict[str, Any]


def is_tool_part(part: Mapping[str, Any]) -> bool:
    """Whether a part of a UI message is a tool call."""
    kind = str(part.get("type"))
    return kind.startswith("tool-") or kind == "dynamic-tool"


def write_message(messages: list[Json], message: Json) -> None:
    """Write a message into the messages of a chat: in place of the last one with its id, else behind them.

    As the state of `useChat` does it: a message that is new stands there itself, and shows what is changed in it; later
    it is a copy of what it was when it was written.
    """
    for index in reversed(range(len(messages))):
        if messages[index]["id"] == message["id"]:
            messages[index] = {**message, "parts": [dict(part) for part in message["parts"]]}
            return
    messages.append(message)


def open_inputs(parts: list[Json]) -> dict[str, Json]:
    """Return the calls whose arguments were still coming, so that more of them can come."""
    calls = [part for part in parts if is_tool_part(part) and part.get("state") == "input-streaming"]
    return {
        part["toolCallId"]: {
            "text": part.get("rawInput", ""),
            "start": {
                **part,
                "toolName": part.get("toolName") or part["type"].removeprefix("tool-"),
                "dynamic": part["type"] == "dynamic-tool",
            },
        }
        for part in calls
    }


def set_state(part: Json, chunk: Mapping[str, Any], state: str, *, details: bool = True) -> None:
    """Replace what belongs to the state of a call; what belongs to the call itself stays once it is known.

    Without `details` only the metadata that come with the whole input are kept, and no title, as in `ai` 5.
    """
    part["state"] = state
    encoding = ("inputEncoding",) if details else ()
    for name in ("input", "output", "errorText", "rawInput", "preliminary", *encoding):
        if name in chunk and chunk[name] is not NOTHING:
            part[name] = chunk[name]
        else:
            part.pop(name, None)
    for name in ("title", "toolMetadata", "providerExecuted") if details else ("providerExecuted",):
        if chunk.get(name) is not None:
            part[name] = chunk[name]
    if chunk.get("providerMetadata") is None:
        return
    if not details:
        if state == "input-available":
            part["callProviderMetadata"] = chunk["providerMetadata"]
    elif state.startswith("output"):
        part["resultProviderMetadata"] = chunk["providerMetadata"]
    else:
        part["callProviderMetadata"] = chunk["providerMetadata"]


def merged(held: Any, new: Any) -> Any:
    """Merge metadata: objects recursively, anything else is replaced."""
    if not (isinstance(held, Mapping) and isinstance(new, Mapping)):
        return new
    return {**held, **{key: merged(held.get(key), value) for key, value in new.items()}}
