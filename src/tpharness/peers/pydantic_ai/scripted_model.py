"""The model that plays a script: a `Model` of Pydantic AI whose answers are those of the script.

It is used as any other: it gets the history, streams through the library's own parts manager, and knows what a test
double cannot say otherwise: usage, finish reasons, names, several texts in one answer.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic_ai import BinaryContent, RunContext
from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tpharness.peers.control import ActiveRun
from tpharness.peers.pydantic_ai.library import tool_call_events
from tpharness.peers.scripted_run import Answer

__all__ = ["PART_KINDS", "ModelError", "ScriptedModel"]

PART_KINDS = frozenset({"text", "thinking", "tool-call", "builtin-tool-call", "builtin-tool-return", "file"})
_USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class ModelError(RuntimeError):
    """The model fails, as the script says."""


class ScriptedModel(Model):
    """Gives the answers of a script, one after the other."""

    def __init__(self, live: ActiveRun) -> None:
        super().__init__(profile=ModelProfile(supports_json_schema_output=True))
        self.live = live
        self.asked = 0
        self._reported: Mapping[str, Any] = {}

    @property
    def current(self) -> Answer:
        """The answer that was given last."""
        return self.live.scripted.answers[self.asked - 1]

    @property
    def model_name(self) -> str:
        """The name in the script, else `scripted`."""
        return str(self._reported.get("model_name") or "scripted")

    @property
    def system(self) -> str:
        """The provider in the script, else `test`."""
        return str(self._reported.get("provider_name") or "test")

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Refuse: a UI adapter streams."""
        raise NotImplementedError("a UI adapter streams")

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Stream the next answer."""
        del messages, model_settings, run_context
        live = self.live
        scripted, playback = live.scripted, live.playback
        self.asked += 1
        if self.asked > len(scripted.answers):
            await playback.turn(scripted.count if scripted.failed_at is None else scripted.failed_at)
            raise ModelError(scripted.failure)
        answer = self.current
        self._reported = answer.request or self._reported
        await playback.turn(answer.first)
        if answer.request:
            await playback.finish_event(answer.first)
        response = _ScriptedAnswer(
            model_request_parameters=model_request_parameters,
            live=live,
            answer=answer,
            _model_name=str(answer.end.get("model_name") or self.model_name),
            _provider_name=str(answer.end.get("provider_name") or self.system),
            _at=datetime.fromisoformat(playback.times[answer.events[0][0]] if answer.events else playback.now),
        )
        yield response


@dataclass
class _ScriptedAnswer(StreamedResponse):
    """One answer as it streams."""

    live: ActiveRun
    answer: Answer
    _model_name: str
    _provider_name: str
    _at: datetime
    _indices: dict[Any, Any] = field(default_factory=dict)

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        answer, playback = self.answer, self.live.playback
        for index, event in answer.events:
            await playback.turn(index)
            for native in self._stream_event(event):
                yield native
            await playback.finish_event(index)
        scripted = self.live.scripted
        if scripted.failed_at is not None and answer is scripted.answers[-1] and not answer.ended:
            await playback.turn(scripted.failed_at)
            raise ModelError(scripted.failure)
        if not answer.ended:
            await playback.turn(scripted.count)
        end = answer.end
        if answer.ended_at is not None:
            await playback.turn(answer.ended_at)
        counts = end.get("usage") or {}
        self._usage = RequestUsage()
        for name in _USAGE:
            setattr(self._usage, name, int(counts.get(name) or 0))
        self.provider_response_id = end.get("provider_response_id")
        self.finish_reason = end.get("finish_reason") or self.live.scripted.result.get("finish_reason")
        if answer.ended_at is not None:
            playback.finish_event_soon(answer.ended_at)

    def _stream_event(self, event: Mapping[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        """Yield the library's events for one event of the script."""
        index = event.get("index")
        if event["event_kind"] == "part_start":
            yield from self._stream_start(index, event["part"])
        elif event["event_kind"] == "part_delta":
            yield from self._stream_delta(index, event["delta"])

    def _stream_start(self, index: Any, part: Mapping[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        parts, kind = self._parts_manager, part["part_kind"]
        if kind == "text":
            content = part.get("content") or ""
            yield from parts.handle_text_delta(vendor_part_id=index, content=content, id=part.get("id"))
        elif kind == "thinking":
            yield from parts.handle_thinking_delta(
                vendor_part_id=index,
                content=part.get("content") or "",
                id=part.get("id"),
                signature=part.get("signature"),
                provider_name=part.get("provider_name") or self._provider_name,
            )
        elif kind == "tool-call":
            yield from tool_call_events(
                parts,
                vendor_part_id=index,
                tool_name=part["tool_name"],
                args=part.get("args"),
                tool_call_id=part["tool_call_id"],
            )
        else:
            yield parts.handle_part(vendor_part_id=index, part=_whole(part, self._provider_name))

    def _stream_delta(self, index: Any, delta: Mapping[str, Any]) -> Iterator[ModelResponseStreamEvent]:
        parts, kind = self._parts_manager, delta.get("part_delta_kind")
        if kind == "text":
            yield from parts.handle_text_delta(vendor_part_id=index, content=delta.get("content_delta") or "")
        elif kind == "thinking":
            yield from parts.handle_thinking_delta(
                vendor_part_id=index, content=delta.get("content_delta"), signature=delta.get("signature_delta")
            )
        else:
            yield from tool_call_events(parts, vendor_part_id=index, args=delta.get("args_delta"))

    async def close_stream(self) -> None:
        """Nothing is open."""

    @property
    def model_name(self) -> str:
        """The model that answers."""
        return self._model_name

    @property
    def provider_name(self) -> str | None:
        """Its provider."""
        return self._provider_name

    @property
    def provider_url(self) -> str | None:
        """No address: nothing is called."""
        return None

    @property
    def timestamp(self) -> datetime:
        """When the answer began."""
        return self._at


def _whole(part: Mapping[str, Any], provider: str) -> Any:
    """Return a part that comes whole."""
    kind = part["part_kind"]
    if kind == "file":
        content = part["content"]
        return FilePart(content=BinaryContent(base64.b64decode(content["data"]), media_type=content["media_type"]))
    common = {"tool_name": part["tool_name"], "tool_call_id": part["tool_call_id"]}
    common["provider_name"] = part.get("provider_name") or provider
    if kind == "builtin-tool-call":
        return NativeToolCallPart(args=part.get("args"), **common)
    return NativeToolReturnPart(content=part.get("content"), **common)
