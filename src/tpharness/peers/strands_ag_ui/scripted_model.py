"""The model that plays a script, and the tools that it calls: Strands' own classes, the script's content."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from strands.models import Model
from strands.types.tools import AgentTool

from tpharness.peers.control import ActiveRun
from tpharness.peers.scripted_run import Answer, ToolRun

__all__ = ["StrandsModel", "StrandsModelError", "StrandsTool"]

_STOPS = {"length": "max_tokens", "content_filter": "content_filtered", "tool_call": "tool_use"}
_COUNTS = {"input_tokens": "inputTokens", "output_tokens": "outputTokens"}


class StrandsModelError(RuntimeError):
    """The model fails, as the script says."""


class StrandsModel(Model):  # type: ignore[misc]  # an environment of its own has the package
    """Gives the answers of a script, one after the other; `stop` is set when the run is stopped."""

    def __init__(self, live: ActiveRun, stop: asyncio.Event) -> None:
        self.live = live
        self._stop = stop
        self.asked = 0

    @property
    def current(self) -> Answer:
        """The answer that was given last."""
        return self.live.scripted.answers[self.asked - 1]

    def update_config(self, **config: Any) -> None:
        """Have none."""

    def get_config(self) -> Any:
        """Return the name in the script, else `scripted`."""
        answer = self.current
        return {"model_id": str(answer.end.get("model_name") or answer.request.get("model_name") or "scripted")}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: nobody asks for it."""
        raise NotImplementedError("the agent streams")

    async def reached(self, index: int) -> bool:
        """Wait for the turn of an event; return whether it came before the run was stopped.

        A provider's request and a tool end in this way, too, as soon as they see that the agent was cancelled.
        """
        waits = [asyncio.ensure_future(self.live.playback.turn(index)), asyncio.ensure_future(self._stop.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        return not self._stop.is_set()

    async def fail(self) -> None:
        """Fail at the place of the script's error; return if the run is stopped before."""
        scripted = self.live.scripted
        if await self.reached(scripted.count if scripted.failed_at is None else scripted.failed_at):
            raise StrandsModelError(scripted.failure)

    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Stream the next answer."""
        del args, kwargs
        scripted, playback = self.live.scripted, self.live.playback
        self.asked += 1
        if self.asked > len(scripted.answers):
            await self.fail()
            return
        answer = self.current
        if not await self.reached(answer.first):
            return
        if answer.request:
            await playback.finish_event(answer.first)
        yield {"messageStart": {"role": "assistant"}}
        for index, event in answer.events:
            if not await self.reached(index):
                return
            for chunk in _chunks(event):
                yield chunk
            await playback.finish_event(index)
        if not answer.ended:
            await self.fail()
            return
        if answer.ended_at is not None and not await self.reached(answer.ended_at):
            return
        reason = str(answer.end.get("finish_reason") or self.live.scripted.result.get("finish_reason"))
        yield {"messageStop": {"stopReason": "tool_use" if answer.calls else _STOPS.get(reason, "end_turn")}}
        counts = answer.end.get("usage") or {}
        usage = {name: int(counts[ours]) for ours, name in _COUNTS.items() if counts.get(ours) is not None}
        if usage:
            yield {"metadata": {"usage": {**usage, "totalTokens": sum(usage.values())}}}
        if answer.ended_at is not None:
            playback.finish_event_soon(answer.ended_at)


def _chunks(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what a model of Strands streams for one event of the script."""
    kind = event["event_kind"]
    if kind == "part_end":
        yield {"contentBlockStop": {}}
        return
    start = kind == "part_start"
    said = event["part"] if start else event["delta"]
    what = said.get("part_kind") or said.get("part_delta_kind")
    if start:
        named = {"name": said["tool_name"], "toolUseId": said["tool_call_id"]} if what == "tool-call" else None
        yield {"contentBlockStart": {"start": {"toolUse": named} if named else {}}}
    text = (said.get("content") if start else said.get("content_delta")) or ""
    signature = said.get("signature") if start else said.get("signature_delta")
    args = said.get("args") if start else said.get("args_delta")
    if text:
        yield {
            "contentBlockDelta": {"delta": {"text": text} if what == "text" else {"reasoningContent": {"text": text}}}
        }
    if signature:
        yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": signature}}}}
    if args:
        pieces = args if isinstance(args, str) else json.dumps(args)
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": pieces}}}}


class StrandsTool(AgentTool):  # type: ignore[misc]
    """A tool of the script: waits for its turn and does what the script says; `returned` notes the time of a result."""

    tool_type = "python"
    tool_name = ""
    tool_spec: Any = None

    def __init__(self, name: str, model: StrandsModel, returned: Callable[[str, str], None]) -> None:
        super().__init__()
        self.tool_name, self._model, self._returned = name, model, returned
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        self.tool_spec = {"name": name, "description": "a tool of the script", "inputSchema": {"json": schema}}

    async def stream(self, tool_use: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Carry a call out, and yield its result."""
        del args, kwargs
        model, call = self._model, str(tool_use["toolUseId"])
        playback, run = model.live.playback, model.current.tools.get(call, ToolRun())
        done = True
        if run.started_at is not None:
            done = await model.reached(run.started_at)
            if done:
                await playback.finish_event(run.started_at)
        if done and run.returned_at is None:
            await model.fail()
            done = False
        if not (done and run.returned_at is not None and await model.reached(run.returned_at)):
            self._returned(call, playback.now)
            yield {"toolUseId": call, "status": "error", "content": [{"text": "The tool was stopped."}]}
            return
        self._returned(call, playback.now)
        playback.finish_event_soon(run.returned_at)
        content = run.part.get("content")
        status = "error" if run.part.get("outcome") == "failed" else "success"
        block = {"text": content} if isinstance(content, str) else {"json": content}
        yield {"toolUseId": call, "status": status, "content": [block]}
