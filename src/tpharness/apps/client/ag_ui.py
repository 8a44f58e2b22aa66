"""AG-UI (agent-user interaction protocol): its events as chunks of the UI message stream, and messages the other way.

Read from the event types of AG-UI's Python and TypeScript packages. Events of state, steps and custom kinds have no
counterpart that a history could lose, and are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.apps.client.profile import text_of

__all__ = ["AgUiTranslator", "ag_ui_messages"]

Chunk = dict[str, Any]


class AgUiTranslator:
    """Chunks of one run's events."""

    def __init__(self) -> None:
        self._arguments: dict[str, dict[str, str]] = {}
        self._texts: set[str] = set()

    def feed(self, data: bytes) -> Iterator[Chunk | str]:
        """Yield the chunks that one event comes to; what is not JSON is passed on, so that it is found wrong."""
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            yield data.decode("utf-8", "replace")
            return
        kind = event.get("type") if isinstance(event, dict) else None
        match kind:
            case "RUN_STARTED":
                yield {"type": "start"}
            case "RUN_FINISHED":
                yield {"type": "finish"}
                yield "[DONE]"
            case "RUN_ERROR":
                yield {"type": "error", "errorText": str(event.get("message", ""))}
            case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_END" | "TEXT_MESSAGE_CHUNK":
                yield from self._text(str(kind), event)
            case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_END" | "TOOL_CALL_RESULT":
                yield from self._call(str(kind), event)
            case _:
                return

    def _text(self, kind: str, event: Mapping[str, Any]) -> Iterator[Chunk]:
        name = str(event.get("messageId"))
        if kind == "TEXT_MESSAGE_START" or (kind == "TEXT_MESSAGE_CHUNK" and name not in self._texts):
            self._texts.add(name)
            yield {"type": "text-start", "id": name}
        if kind in ("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK") and event.get("delta"):
            yield {"type": "text-delta", "id": name, "delta": str(event["delta"])}
        if kind == "TEXT_MESSAGE_END":
            self._texts.discard(name)
            yield {"type": "text-end", "id": name}

    def _call(self, kind: str, event: Mapping[str, Any]) -> Iterator[Chunk]:
        call_id = str(event.get("toolCallId"))
        if kind == "TOOL_CALL_START":
            self._arguments[call_id] = {"name": str(event.get("toolCallName")), "text": ""}
            yield {"type": "tool-input-start", "toolCallId": call_id, "toolName": str(event.get("toolCallName"))}
        elif kind == "TOOL_CALL_ARGS":
            delta = str(event.get("delta", ""))
            if call_id in self._arguments:
                self._arguments[call_id]["text"] += delta
            yield {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": delta}
        elif kind == "TOOL_CALL_END":
            call = self._arguments.get(call_id, {"name": "unknown", "text": ""})
            chunk: Chunk = {"toolCallId": call_id, "toolName": call["name"]}
            try:
                yield {"type": "tool-input-available", **chunk, "input": json.loads(call["text"] or "{}")}
            except ValueError as error:
                yield {"type": "tool-input-error", **chunk, "input": call["text"], "errorText": str(error)}
        else:
            yield {"type": "tool-output-available", "toolCallId": call_id, "output": event.get("content")}


def ag_ui_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return UI messages as AG-UI's: one of the assistant with its calls, one of the tool for each result."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] != "assistant":
            found.append({"id": message["id"], "role": message["role"], "content": text_of(message)})
        else:
            found += _assistant(message)
    return found


def _assistant(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message for each step: texts and calls, then the results."""
    number = 0
    said: dict[str, Any] = {}
    results: list[dict[str, Any]] = []

    def taken() -> Iterator[dict[str, Any]]:
        if said:
            yield {"id": f"{message['id']}-{number}", "role": "assistant", **said}
        yield from results

    for part in message.get("parts", ()):
        kind = str(part.get("type"))
        if kind == "text":
            if results:
                yield from taken()
                number, said, results = number + 1, {}, []
            said["content"] = said.get("content", "") + part.get("text", "")
        elif kind.startswith("tool-") or kind == "dynamic-tool":
            name = part.get("toolName") or kind.removeprefix("tool-")
            arguments = part.get("rawInput") or json.dumps(part.get("input", {}))
            call = {"id": part["toolCallId"], "type": "function", "function": {"name": name, "arguments": arguments}}
            said.setdefault("toolCalls", []).append(call)
            if "output" in part:
                output = part["output"]
                content = output if isinstance(output, str) else json.dumps(output)
                results.append(
                    {"id": f"{part['toolCallId']}-result", "role": "tool", "content": content}
                    | {"toolCallId": part["toolCallId"]}
                )
    yield from taken()
