"""What a LangGraph agent streams → chunks of a UI message stream, as an application writes them.

In: the pairs of `stream_mode=["messages", "updates"]`. Out: chunks. A step is one answer of the model and what its
tools return; a text or a call ends when the next one begins, or with its message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

__all__ = ["UiStream", "frame", "result_of"]

_NAMES = {"text": "text", "thinking": "reasoning"}
_FINISH = {"tool_calls": "tool-calls", "content_filter": "content-filter"}


def frame(chunk: Mapping[str, Any]) -> bytes:
    """Write one chunk as an event of the stream."""
    return b"data: " + json.dumps(chunk, ensure_ascii=True, separators=(",", ":")).encode() + b"\n\n"


def result_of(message: ToolMessage) -> Any:
    """Return what a tool returned: what it says itself, or the text that the message holds."""
    artifact = message.artifact
    return artifact["value"] if isinstance(artifact, Mapping) and "value" in artifact else message.content


@dataclass(slots=True)
class UiStream:
    """The state of one stream."""

    finish_reason: str | None = None
    _in_step: bool = False
    _over: bool = False
    _open: tuple[str, str] | None = None
    _block: int | None = None
    _blocks: int = 0
    _signature: str | None = None
    _calls: dict[int, str] = field(default_factory=dict)

    def feed(self, mode: str, payload: Any) -> Iterator[dict[str, Any]]:
        """Return the chunks for one item of the agent's stream."""
        if mode == "messages":
            message, _ = payload
            if isinstance(message, AIMessageChunk):
                yield from self._delta(message)
            elif isinstance(message, ToolMessage):
                yield from self._output(message)
        elif isinstance(payload, Mapping):
            for update in payload.values():
                for message in (update or {}).get("messages") or () if isinstance(update, Mapping) else ():
                    if isinstance(message, AIMessage):
                        yield from self._complete_calls(message)

    def end(self) -> Iterator[dict[str, Any]]:
        """Return what ends a run that ended regularly."""
        yield from self._end_step()
        reason = {} if self.finish_reason is None else {"finishReason": self.finish_reason}
        yield {"type": "finish", **reason}

    # ------------------------------------------------------------------------------------------------ inside

    def _delta(self, message: AIMessageChunk) -> Iterator[dict[str, Any]]:
        if self._over:
            self._over = False
            yield from self._end_step()
        if not self._in_step:
            self._in_step = True
            yield {"type": "start-step"}
        for block in message.content if isinstance(message.content, list) else ():
            if isinstance(block, dict) and block["type"] in _NAMES:
                yield from self._part(block, int(block["index"]))
        for chunk in message.tool_call_chunks:
            yield from self._end_part()
            index = int(chunk.get("index") or 0)
            if chunk.get("id"):
                self._calls[index] = str(chunk["id"])
                yield {"type": "tool-input-start", "toolCallId": chunk["id"], "toolName": chunk["name"]}
            if chunk.get("args"):
                yield {
                    "type": "tool-input-delta",
                    "toolCallId": self._calls[index],
                    "inputTextDelta": chunk["args"],
                }

    def _part(self, block: Mapping[str, Any], index: int) -> Iterator[dict[str, Any]]:
        """Open the part of a block, if it is not, and add to it."""
        kind = str(block["type"])
        if self._open is None or self._block != index:
            yield from self._end_part()
            self._blocks += 1
            self._open, self._block = (_NAMES[kind], f"part-{self._blocks}"), index
            yield {"type": f"{self._open[0]}-start", "id": self._open[1]}
        self._signature = (self._signature or "") + (block.get("signature") or "")
        if block.get(kind):
            yield {"type": f"{self._open[0]}-delta", "id": self._open[1], "delta": block[kind]}

    def _complete_calls(self, message: AIMessage) -> Iterator[dict[str, Any]]:
        """An answer is in the state: its calls are complete."""
        yield from self._end_part()
        for call in message.tool_calls:
            yield {
                "type": "tool-input-available",
                "toolCallId": call["id"],
                "toolName": call["name"],
                "input": call["args"],
            }
        self._calls = {}
        reason = message.response_metadata.get("finish_reason")
        self.finish_reason = None if reason is None else _FINISH.get(str(reason), str(reason))
        if not message.tool_calls:
            yield from self._end_step()

    def _output(self, message: ToolMessage) -> Iterator[dict[str, Any]]:
        self._over = True
        if message.status == "error":
            yield {"type": "tool-output-error", "toolCallId": message.tool_call_id, "errorText": message.text}
        else:
            yield {"type": "tool-output-available", "toolCallId": message.tool_call_id, "output": result_of(message)}

    def _end_part(self) -> Iterator[dict[str, Any]]:
        if self._open is not None:
            signed = {"providerMetadata": {"test": {"signature": self._signature}}} if self._signature else {}
            yield {"type": f"{self._open[0]}-end", "id": self._open[1], **signed}
            self._open = self._signature = None

    def _end_step(self) -> Iterator[dict[str, Any]]:
        yield from self._end_part()
        if self._in_step:
            self._in_step = False
            yield {"type": "finish-step"}
