"""The chat model that plays a script, and the tools that it calls: LangChain's own classes, the script's content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolCallChunk, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool

from tpharness.peers.control import ActiveRun
from tpharness.peers.scripted_run import Answer, ToolRun
from tpharness.server_events.parts import pick_fields

__all__ = ["ChatModelError", "ScriptedChatModel", "ScriptedTool", "scripted_tools"]

_FINISHED = {"tool_call": "tool_calls", "content_filter": "content_filter"}
_USAGE = ("input_tokens", "output_tokens")


class ChatModelError(RuntimeError):
    """The model fails, as the script says."""


class ScriptedChatModel(BaseChatModel):
    """Gives the answers of a script, one after the other."""

    live: Any
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def current(self) -> Answer:
        """The answer that was given last."""
        live: ActiveRun = self.live
        return live.scripted.answers[self.asked - 1]

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        """Return the model itself: the script says which tools it calls."""
        del tools, tool_choice, kwargs
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("the agent streams")

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del messages, stop, kwargs
        live: ActiveRun = self.live
        scripted, playback = live.scripted, live.playback
        self.asked += 1
        if self.asked > len(scripted.answers):
            await playback.turn(scripted.count if scripted.failed_at is None else scripted.failed_at)
            raise ChatModelError(scripted.failure)
        answer = self.current
        name = str(answer.end.get("model_name") or answer.request.get("model_name") or "scripted")
        await playback.turn(answer.first)
        if answer.request:
            await playback.finish_event(answer.first)
        for index, event in answer.events:
            await playback.turn(index)
            for message in _message_chunks(event):
                chunk = ChatGenerationChunk(message=message)
                if run_manager is not None:
                    await run_manager.on_llm_new_token(str(message.content), chunk=chunk)
                yield chunk
            await playback.finish_event(index)
        if scripted.failed_at is not None and answer is scripted.answers[-1] and not answer.ended:
            await playback.turn(scripted.failed_at)
            raise ChatModelError(scripted.failure)
        if not answer.ended:
            await playback.turn(scripted.count)
        if answer.ended_at is not None:
            await playback.turn(answer.ended_at)
        yield ChatGenerationChunk(message=_end(answer, name, scripted.result))
        if answer.ended_at is not None:
            playback.finish_event_soon(answer.ended_at)


def _message_chunks(event: Mapping[str, Any]) -> list[AIMessageChunk]:
    """Return what a chat model streams for one event of the script."""
    start = event["event_kind"] == "part_start"
    said = event.get("part") if start else event.get("delta")
    if said is None:
        return []
    kind = said.get("part_kind") or said.get("part_delta_kind")
    if kind in ("text", "thinking"):
        block: dict[str, Any] = {"type": kind, "index": int(event["index"])}
        block[kind] = (said.get("content") if start else said.get("content_delta")) or ""
        signature = said.get("signature") if start else said.get("signature_delta")
        if signature:
            block["signature"] = signature
        if start and said.get("id"):
            block["id"] = said["id"]
        return [AIMessageChunk(content=[block])]
    args = said.get("args") if start else said.get("args_delta")
    chunk = ToolCallChunk(
        name=said.get("tool_name") if start else None,
        args=args if isinstance(args, str) or args is None else json.dumps(args),
        id=said.get("tool_call_id") if start else None,
        index=int(event["index"]),
    )
    # As LangChain's models of APIs that have calls among their texts, it says in the content where each stands.
    place: list[Any] = [{"type": "tool_use", "index": int(event["index"]), "id": said["tool_call_id"]}] if start else []
    return [AIMessageChunk(content=place, tool_call_chunks=[chunk])]


def _end(answer: Answer, name: str, result: Mapping[str, Any]) -> AIMessageChunk:
    """Return the last chunk of an answer, with the facts that a provider reports there."""
    reason = answer.end.get("finish_reason") or result.get("finish_reason")
    facts = {"model_name": name, "model_provider": answer.request.get("provider_name") or "test"}
    if answer.end.get("provider_response_id"):
        facts["id"] = answer.end["provider_response_id"]
    if reason is not None:
        facts["finish_reason"] = _FINISHED.get(str(reason), str(reason))
    counts = pick_fields(answer.end.get("usage") or {}, _USAGE)
    known, said = int(counts.get("input_tokens", 0)), int(counts.get("output_tokens", 0))
    usage = UsageMetadata(input_tokens=known, output_tokens=said, total_tokens=known + said)
    return AIMessageChunk(
        content="",
        response_metadata=facts,
        usage_metadata=usage if counts else None,
        chunk_position="last",
    )


class ScriptedTool(BaseTool):
    """A tool of the script: waits for its turn and does what the script says."""

    name: str
    description: str = "a tool of the script"
    args_schema: Any = {"type": "object", "properties": {}, "additionalProperties": True}  # noqa: RUF012
    response_format: str = "content_and_artifact"  # type: ignore[assignment]
    model: Any
    returned: Callable[[str, str], None]

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("the agent is asynchronous")

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """Carry a call out, given as LangGraph's tool node gives it, and return the message that answers it."""
        del config, kwargs
        return await self.carry_out(str(input["id"]))

    async def carry_out(self, call: str) -> ToolMessage:
        """Wait for the turns of a call, and return the message that answers it."""
        model: ScriptedChatModel = self.model
        live: ActiveRun = model.live
        scripted, playback = live.scripted, live.playback
        run = model.current.tools.get(call, ToolRun())
        if run.started_at is not None:
            await playback.turn(run.started_at)
            await playback.finish_event(run.started_at)
        if run.returned_at is None:
            await playback.turn(scripted.count if scripted.failed_at is None else scripted.failed_at)
            raise ChatModelError(scripted.failure)
        await playback.turn(run.returned_at)
        self.returned(call, playback.now)
        playback.finish_event_soon(run.returned_at)
        content = run.part.get("content")
        return ToolMessage(
            content=content if isinstance(content, str) else json.dumps(content),
            artifact={"value": content},  # a message holds text; what the tool returned is kept beside it
            name=self.name,
            tool_call_id=call,
            status="error" if run.part.get("outcome") == "failed" else "success",
        )


def scripted_tools(
    model: ScriptedChatModel, returned: Callable[[str, str], None], tool: type[ScriptedTool] = ScriptedTool
) -> list[BaseTool]:
    """Return the tools that the script calls; `returned` is called with the id and the time of each result."""
    live: ActiveRun = model.live
    names = {
        str(part["tool_name"])
        for answer in live.scripted.answers
        for part in answer.parts().values()
        if part["part_kind"] == "tool-call"
    }
    return [tool(name=name, model=model, returned=returned) for name in sorted(names)]
