"""Pydantic AI as the application around it sees it: agents, their adapter, and the history that they leave behind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, get_args

from pydantic_ai import (
    Agent,
    ModelMessagesTypeAdapter,
    ModelRetry,
    RunContext,
    Tool,
    ToolReturn,
    UserContent,
    capture_run_messages,
)
from pydantic_ai.messages import FinishReason, ModelMessage
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import FileUIPart, SubmitMessage, TextUIPart, UIMessage

from tpharness.facts import interruption_reason
from tpharness.journal import JournalWriter
from tpharness.peers.control import ActiveRun
from tpharness.peers.pydantic_ai import clock, library
from tpharness.peers.pydantic_ai.scripted_model import PART_KINDS, ScriptedModel
from tpharness.peers.scripted_run import Answer, ScriptedRun, ToolRun
from tpharness.reference_app.requests import RunRequest
from tpharness.server_events.messages import write_messages
from tpharness.targets.contract import Capabilities
from tpharness.targets.remote import CannotPlayError

__all__ = ["PydanticAiConversation", "PydanticAiFramework", "prompt_items"]

_SDK: Literal[6] = 6
_FINISH_REASONS = get_args(FinishReason)
_RETRIES = 1000  # a script may go wrong as often as it likes


class PydanticAiFramework:
    """The framework: what it can do, and its conversations."""

    wire = "vsp"

    def __init__(self) -> None:
        clock.install()

    @property
    def capabilities(self) -> Capabilities:
        """Everything except what its stream cannot carry: carriers, ids to resume by."""
        return Capabilities(
            name="Pydantic AI",
            implementation_version=library.RELEASE,
            carriers=False,
            marks=True,
            cancel=library.make_token() is not None,
            disconnect=("stop",),
        )

    @property
    def part_kinds(self) -> frozenset[str]:
        """What a model can answer with."""
        return PART_KINDS

    def converse(self, thread_id: str) -> PydanticAiConversation:
        """Begin a conversation."""
        return PydanticAiConversation(thread_id)

    def refuse(self, scripted: ScriptedRun, request: RunRequest) -> None:
        """Refuse what the adapter or the agent cannot represent, or this release of them lacks."""
        ends_itself = scripted.result_at is not None or scripted.failed_at is not None
        library.require(token=request.script.abort and not ends_itself)
        for answer in scripted.answers:
            reason = answer.end.get("finish_reason")
            if reason is not None and reason not in _FINISH_REASONS:
                raise CannotPlayError(f"a model that ends with the finish reason {reason}")
            for part in answer.parts().values():
                _refuse_part(part)
            for run in answer.tools.values():
                _refuse_return(run)
        reason = scripted.result.get("finish_reason")
        if reason not in (None, "error", *_FINISH_REASONS):
            raise CannotPlayError(f"a run that ends with the finish reason {reason}")
        for turn in request.user:
            for part in turn["parts"]:
                _prompt(part)


class PydanticAiConversation:
    """One conversation: the history that the agent has left behind so far."""

    def __init__(self, thread_id: str) -> None:
        self._id = thread_id
        self._history: list[ModelMessage] = []
        self._messages: list[ModelMessage] = []
        self._token = library.make_token()

    def cancel(self, reason: str) -> None:
        """Cancel through the token that the run was given, which takes no reason."""
        del reason
        if self._token is not None:
            self._token.cancel()

    async def run(self, live: ActiveRun) -> None:
        """Run the agent through its adapter, and send what that encodes."""
        self._token = library.make_token()
        self._messages = []
        clock.CLOCK.set(lambda: live.playback.now)
        model = ScriptedModel(live)
        agent = Agent(model, tools=_tools(model), retries=_RETRIES)

        @agent.output_validator
        async def last(output: str) -> str:
            await live.playback.ready()
            if model.asked >= len(live.scripted.answers):  # else the library has found an output without asking
                at = live.scripted.result_at
                await live.playback.turn(live.scripted.count if at is None else at)
            return output

        adapter = self._adapter(agent, live)
        stop = {} if self._token is None else {"cancellation_token": self._token}
        with capture_run_messages() as captured:
            native = adapter.run_stream_native(message_history=self._history, **stop)
            events = self._transform(adapter, _watch(native, live), live)
            try:
                async for text in written_until_cancelled(adapter.encode_stream(events)):
                    live.body.write(text.encode())
            finally:
                self._messages = list(captured)
        live.playback.end()

    def record(self, writer: JournalWriter, live: ActiveRun) -> str | None:
        """Write the messages that the last run has added (`fromAgentRun`), and keep them for the next one."""
        script = live.request.script
        new = self._messages[len(self._history) :]
        self._history = self._messages or self._history
        writer.begin_turn(script.agent_id, script.started_at)
        messages = ModelMessagesTypeAdapter.dump_python(new, mode="json")
        write_messages(writer, messages, script.started_at, before=lambda at: live.record_notices(writer, until=at))
        return interruption_reason(messages[-1].get("finish_reason"), error_seen=False) if messages else None

    def _transform(self, adapter: Any, native: AsyncIterator[Any], live: ActiveRun) -> AsyncIterator[Any]:
        """Return the chunks of an adapter for the agent's events."""
        del live
        chunks: AsyncIterator[Any] = adapter.transform_stream(native)
        return chunks

    def _adapter(self, agent: Agent[Any, str], live: ActiveRun) -> Any:
        """Return what answers a post with the stream of an agent."""
        parts = [_prompt(part) for part in live.prompts]
        messages = [UIMessage(id=f"user-{len(self._history)}", role="user", parts=[p for ps in parts for p in ps])]
        posted = SubmitMessage(id=self._id, trigger="submit-message", messages=messages if parts else [])
        options = library.adapter_options(
            VercelAIAdapter,
            sdk_version=_SDK,
            manage_message_history="server",
            server_message_id=live.request.script.message_id,
        )
        return VercelAIAdapter(agent=agent, run_input=posted, **options)


async def written_until_cancelled(stream: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield what a server writes: nothing once its task is cancelled, since the client has left.

    Older releases end the stream even then; an ASGI server is cancelled at its next `send` and never writes that end.
    """
    task = asyncio.current_task()
    async with aclosing(stream):  # type: ignore[type-var]  # an async generator of the library
        async for text in stream:
            if task is not None and task.cancelling():
                raise asyncio.CancelledError
            yield text


async def _watch(native: AsyncIterator[Any], live: ActiveRun) -> AsyncIterator[Any]:
    """Pass the agent's events on; while the next one is waited for, everything before it has been sent."""
    iterator = aiter(native)
    try:
        while True:
            live.waiting = True
            try:
                event = await anext(iterator)
            except StopAsyncIteration:
                return
            except (library.RunCancelled, asyncio.CancelledError):
                raise
            except Exception as error:
                live.failure = str(error)
                raise
            finally:
                live.waiting = False
            yield event
    finally:
        await iterator.aclose()  # type: ignore[attr-defined]  # an async generator of the library


def _tools(model: ScriptedModel) -> list[Tool[Any]]:
    """Return the tools that the script calls; each waits for its turn and does what the script says."""
    names = {
        str(part["tool_name"])
        for answer in model.live.scripted.answers
        for part in answer.parts().values()
        if part["part_kind"] == "tool-call"
    }

    async def tool(ctx: RunContext[Any], **_: Any) -> Any:
        answer: Answer = model.current
        scripted, playback = model.live.scripted, model.live.playback
        run = answer.tools.get(str(ctx.tool_call_id), ToolRun())
        if run.started_at is not None:
            await playback.turn(run.started_at)
            await playback.finish_event(run.started_at)
        if run.returned_at is None:
            await playback.turn(scripted.count if scripted.failed_at is None else scripted.failed_at)
            raise RuntimeError(scripted.failure)
        await playback.turn(run.returned_at)
        playback.finish_event_soon(run.returned_at)
        return _return_value(run.part)

    schema = {"type": "object", "additionalProperties": True}
    return [Tool.from_schema(tool, name, "a tool of the script", schema, takes_ctx=True) for name in sorted(names)]


def _return_value(part: Mapping[str, Any]) -> Any:
    content = part.get("content")
    outcome = part.get("outcome") or "success"
    if outcome == "failed":
        raise library.tool_failed(str(content))
    if outcome == "retried" or part["part_kind"] == "retry-prompt":
        raise ModelRetry(str(content))
    if part.get("metadata") is not None:
        return ToolReturn(return_value=content, metadata=part["metadata"])
    return content


# ------------------------------------------------------------------------------------------------ what is refused


def _refuse_part(part: Mapping[str, Any]) -> None:
    if part["part_kind"] == "builtin-tool-return" and not part.get("tool_name"):
        raise CannotPlayError("an output of the provider that does not name its tool")
    if part["part_kind"] == "file" and part["content"].get("data") is None:
        raise CannotPlayError("a file of the model that is given by its address")
    if part["part_kind"] != "tool-call":
        return
    args = part.get("args")
    try:
        value = json.loads(args) if isinstance(args, str) and args else args or {}
    except ValueError:
        return  # cut in the middle, or not JSON: the library handles it
    if not isinstance(value, dict):
        raise CannotPlayError("arguments of a call that are not an object")


def _refuse_return(run: ToolRun) -> None:
    part = run.part
    if run.returned_at is None:
        return
    outcome = part.get("outcome") or "success"
    if outcome in ("denied", "interrupted"):
        raise CannotPlayError(f"a tool that returns with outcome {outcome} by itself")
    if part.get("content_ref") is not None or part.get("status") is not None:
        raise CannotPlayError("a return whose content lies elsewhere (content_ref)")
    library.require(tool_failed=outcome == "failed")
    if outcome != "success" and not isinstance(part.get("content"), str):
        raise CannotPlayError("a failure that is not text")


def prompt_items(part: Mapping[str, Any]) -> list[UserContent | Any]:
    """Return what a part of a user turn consists of: texts, and files as objects."""
    if part["part_kind"] == "system-prompt":
        return []
    if part["part_kind"] != "user-prompt":
        raise CannotPlayError(f"a user turn with a part of kind {part['part_kind']}")
    content = part.get("content")
    return content if isinstance(content, list) else [content]


def _prompt(part: Mapping[str, Any]) -> list[TextUIPart | FileUIPart]:
    """Return a part of a user turn as the client's message has it."""
    return [_item(item) for item in prompt_items(part)]


def _item(item: Any) -> TextUIPart | FileUIPart:
    if isinstance(item, str):
        return TextUIPart(text=item)
    if isinstance(item, Mapping):
        media = str(item.get("media_type") or "application/octet-stream")
        if item.get("kind") == "binary":
            return FileUIPart(media_type=media, url=f"data:{media};base64,{item.get('data')}")
        if item.get("url"):
            return FileUIPart(media_type=media, url=str(item["url"]))
    raise CannotPlayError("a user prompt that a UI message cannot have")
