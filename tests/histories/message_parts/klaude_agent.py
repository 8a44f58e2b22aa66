"""The real agent of klaude-code, driven through the server events of a scenario, one after another.

In: users' turns, the events of runs, and the place where the user stops. Out: the lines of the session's file. The
model and the tools wait for their turn in the script, and everything else is the program's own: its loop, its retries,
what it does at an interruption, its store. What its loop cannot do raises `NotPlayableError`.

Needs the package; `oracle_klaude_agent` uses it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from klaude_code.agent import task as agent_task
from klaude_code.agent.agent import Agent
from klaude_code.agent.agent_profile import AgentProfile
from klaude_code.llm.client import LLMClientABC, LLMStreamABC
from klaude_code.llm.stream_parts import append_text_part, append_thinking_text_part, build_partial_message
from klaude_code.protocol import events, llm_param, message
from klaude_code.protocol.models import Usage
from klaude_code.session import Session
from klaude_code.session.store_registry import close_default_store
from klaude_code.tool.core.abc import ToolABC, ToolConcurrencyPolicy, ToolMetadata
from klaude_code.tool.core.context import ToolContext
from klaude_code.tool.core.registry import get_registry, register

__all__ = ["AgentDriver", "NotPlayableError", "driver"]

Line = dict[str, Any]

_PARTS = ("text", "thinking", "tool-call")
_STOPS = {
    "stop": "stop",
    "length": "length",
    "tool_call": "tool_use",
    "content_filter": "error",
    "error": "error",
}
_COMPACT: dict[str, Any] = {"separators": (",", ":"), "sort_keys": True, "ensure_ascii": False}
_MEANT_FOR_HISTORIES = ("app-developer", "app-retract", "app-system", "tp-error")
_WITHOUT_EFFECT = ("final_result", "stall", "deferred_tool_requests", "tool_progress", "custom")
_AFTER_A_RESPONSE = ("model_request", "function_tool_call", "function_tool_result", "agent_run_result")


class NotPlayableError(Exception):
    """The program's loop cannot do what the script asks next; the text is the reason."""


class _Stream(LLMStreamABC):  # type: ignore[misc]
    """One answer of the model, which comes as the script says."""

    def __init__(self, model: str | None, provider: str | None) -> None:
        self.items: asyncio.Queue[Any] = asyncio.Queue()
        self.model, self.provider = model, provider
        self.parts: dict[int, dict[str, Any]] = {}
        self.begun = False

    async def __aiter__(self) -> AsyncGenerator[Any]:
        while (item := await self.items.get()) is not None:
            yield item

    def get_partial_message(self) -> message.AssistantMessage | None:
        return build_partial_message(self._parts(), response_id=None)

    def answer(self, event: Mapping[str, Any]) -> message.AssistantMessage:
        """Return the whole answer, as an adapter of the program makes it."""
        if any(not part["ended"] for part in self.parts.values() if part["kind"] != "tool-call"):
            raise NotPlayableError("an answer ends before one of its parts")
        usage, reason = event.get("usage"), event.get("finish_reason")
        if reason is not None and reason not in _STOPS:
            raise NotPlayableError("an answer ends for a reason that no adapter gives")
        counts = {name: n for name, n in (usage or {}).items() if name in Usage.model_fields}
        return message.AssistantMessage(
            parts=self._parts(),
            usage=Usage(model_name=self.model or "", **counts) if usage else None,
            response_id=event.get("provider_response_id"),
            stop_reason=None if reason is None else _STOPS[reason],
        )

    def _parts(self) -> list[message.Part]:
        made: list[message.Part] = []
        for part in self.parts.values():
            match part["kind"]:
                case "text":
                    append_text_part(made, part["text"])
                case "thinking":
                    self._think(made, part)
                case "tool-call":
                    written = {} if part["value"] is None else part["value"]
                    arguments = part["text"] or json.dumps(written, **_COMPACT)
                    call = message.ToolCallPart(
                        call_id=part["call_id"], tool_name=part["tool"], arguments_json=arguments
                    )
                    made.append(call)
        return made

    def _think(self, made: list[message.Part], part: Mapping[str, Any]) -> None:
        append_thinking_text_part(made, part["text"], model_id=self.model or "", reasoning_id=part["id"])
        provider = part["provider"] or self.provider
        if part["signature"]:
            form = None if provider is None else "google" if provider.startswith("google") else provider
            signed = {"id": part["id"], "signature": part["signature"], "model_id": self.model, "format": form}
            made.append(message.ThinkingSignaturePart(**signed))


class _Client(LLMClientABC):  # type: ignore[misc]
    """The model: each call opens a stream."""

    def __init__(self) -> None:
        super().__init__(llm_param.LLMConfigParameter(protocol="openai", provider_name="test", model_id="test-model"))
        self.stream: _Stream | None = None

    @classmethod
    def create(cls, config: llm_param.LLMConfigParameter) -> LLMClientABC:
        raise NotImplementedError

    async def call(self, param: llm_param.LLMCallParameter) -> LLMStreamABC:
        del param
        self.stream = _Stream(self.model_name, "test")
        return self.stream


def _make_tool(name: str, policy: ToolConcurrencyPolicy) -> None:
    """Register a tool that waits for its result in the script."""

    @register(name)
    class _Tool(ToolABC):  # type: ignore[misc]
        @classmethod
        def metadata(cls) -> ToolMetadata:
            return ToolMetadata(concurrency_policy=policy)

        @classmethod
        def schema(cls) -> llm_param.ToolSchema:
            return llm_param.ToolSchema(name=name, type="function", description="", parameters={"type": "object"})

        @classmethod
        async def call(cls, arguments: str, context: ToolContext) -> message.ToolResultMessage:
            del context
            result = asyncio.get_running_loop().create_future()
            _BEGUN.append((name, arguments, result))
            return await result


_BEGUN: list[tuple[str, str, asyncio.Future[message.ToolResultMessage]]] = []
"""Tools of this step that have begun, with their arguments: a tool of the program is not told the id of its call."""


class AgentDriver:
    """Plays one conversation. Its methods return when the program waits for what comes next."""

    def __init__(self, work_dir: Path, tools: Mapping[str, ToolConcurrencyPolicy | None]) -> None:
        """Make a session; `tools` says how a tool of the script runs, None for one of the program's own."""
        for name, policy in tools.items():
            if policy is not None:
                _make_tool(name, policy)
        _BEGUN.clear()
        self._client = _Client()
        schemas = [get_registry()[name].schema() for name in tools]
        profile = AgentProfile(llm_client=self._client, system_prompt=None, tools=schemas, attachments=[])
        self._session = Session.create(work_dir=work_dir)
        self._agent = Agent(session=self._session, profile=profile)
        self._task: asyncio.Task[None] | None = None
        self._text = ""
        self.output = ""
        """What the program's own tools have put out; `told` is set when there is more."""
        self.told = asyncio.Event()

    # ------------------------------------------------------------------------------------------- the script

    def user(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Store what the user submitted, as the program's own operation does before its task."""
        texts = [part.get("content") for part in parts]
        if not all(isinstance(text, str) for text in texts) or len(texts) != 1:
            raise NotPlayableError("the user says something else than one text")
        self._text = str(texts[0])
        self._session.append_history([message.UserMessage(parts=[message.TextPart(text=self._text)])])

    async def begin(self, model: str) -> None:
        """Start a task with a model."""
        await self._idle_task()
        self._client.get_llm_config().model_id = model
        self._task = asyncio.create_task(self._run(message.UserInputPayload(text=self._text)))
        await settle()

    async def feed(self, event: Mapping[str, Any]) -> None:
        """Play one event of the server."""
        kind = event["event_kind"]
        try:
            json.dumps(event, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise NotPlayableError("half of a character") from None
        step = getattr(self, f"_{kind}", None)
        if step is None and kind not in _WITHOUT_EFFECT:
            raise NotPlayableError(f"an event of the kind {kind}")
        if kind in _AFTER_A_RESPONSE:
            await self._end_response()
        if step is not None:
            step(event)
        await settle()

    async def interrupt(self) -> None:
        """Stop as the program's own operation does: first the agent is told, then its task is cancelled."""
        list(self._agent.on_interrupt())
        await self._idle_task()

    async def stored(self) -> list[Line]:
        """Return the lines of the session's file."""
        await self._session.wait_for_flush()
        path = self._session.paths(self._session.work_dir).events_file(self._session.id)
        return (
            [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line] if path.exists() else []
        )

    # ------------------------------------------------------------------------------------------- its events

    def _model_request(self, event: Mapping[str, Any]) -> None:
        if set(event) - {"event_kind", "model_name", "provider_name", "at", "label"}:
            raise NotPlayableError("a prompt in a run")
        stream = self._open_stream()
        if stream.begun:
            raise NotPlayableError("the model is asked while it answers")
        stream.model = event.get("model_name", stream.model)
        stream.provider = event.get("provider_name", stream.provider)

    def _part_start(self, event: Mapping[str, Any]) -> None:
        stream, part = self._open_stream(), event["part"]
        if part["part_kind"] not in _PARTS or event["index"] in stream.parts:
            raise NotPlayableError(f"a part of the kind {part['part_kind']}")
        stream.begun = True
        thinks = part["part_kind"] == "thinking"
        begun = part.get("args") if part["part_kind"] == "tool-call" else part.get("content")
        stream.parts[event["index"]] = {
            "kind": part["part_kind"],
            "text": begun if isinstance(begun, str) else "",
            "value": None if isinstance(begun, str) or begun is None else begun,
            "call_id": part.get("tool_call_id"),
            "tool": part.get("tool_name"),
            "signature": part.get("signature") if thinks else None,
            "id": part.get("id"),
            "provider": part.get("provider_name"),
            "ended": False,
        }
        if part["part_kind"] == "tool-call":
            stream.items.put_nowait(message.ToolCallStartDelta(call_id=part["tool_call_id"], name=part["tool_name"]))
        elif begun:
            self._say(stream, thinks, begun)

    def _part_delta(self, event: Mapping[str, Any]) -> None:
        stream, delta = self._open_stream(), event["delta"]
        part = stream.parts.get(event["index"])
        if part is None:
            raise NotPlayableError("a delta of a part that has not begun")
        words = delta.get("args_delta") or delta.get("content_delta") or ""
        if not isinstance(words, str) or delta.get("tool_name_delta"):
            raise NotPlayableError("a delta that is not a text")
        part["text"] += words
        part["signature"] = (part["signature"] or "") + (delta.get("signature_delta") or "")
        part["provider"] = delta.get("provider_name") or part["provider"]
        if part["kind"] != "tool-call" and words:
            self._say(stream, part["kind"] == "thinking", words)

    def _part_end(self, event: Mapping[str, Any]) -> None:
        stream, whole = self._open_stream(), event["part"]
        part = stream.parts.get(event["index"])
        if part is None:
            raise NotPlayableError("an end of a part that has not begun")
        if part["ended"]:
            raise NotPlayableError("a part that ends twice")
        part["ended"] = True
        part["signature"] = whole.get("signature") or part["signature"]
        part["provider"] = whole.get("provider_name") or part["provider"]

    def _model_response_end(self, event: Mapping[str, Any]) -> None:
        stream = self._open_stream()
        stream.items.put_nowait(stream.answer(event))
        self._end(stream)
        _BEGUN.clear()

    def _error(self, event: Mapping[str, Any]) -> None:
        stream = self._open_stream()
        stream.items.put_nowait(message.StreamErrorItem(error=event["error_text"]))
        self._end(stream)

    def _function_tool_call(self, event: Mapping[str, Any]) -> None:
        part = event["part"]
        call = next((call for call in self._calls() if call.call_id == part["tool_call_id"]), None)
        args = part.get("args")
        told = args if isinstance(args, str) else json.dumps({} if args is None else args)
        if call is not None and told and _value(told) != _value(call.arguments_json):
            raise NotPlayableError("a call whose arguments come when it starts")

    def _function_tool_result(self, event: Mapping[str, Any]) -> None:
        part = event["part"]
        waiting = self._begun(part["tool_call_id"])
        if waiting is None or waiting.done():
            raise NotPlayableError("a result of a call that does not run")
        content, outcome = part.get("content"), part.get("outcome", part.get("status", "success"))
        items = content if isinstance(content, list) else [content]
        if part.get("content_ref") is not None or any(isinstance(item, Mapping) and "kind" in item for item in items):
            raise NotPlayableError("a result with a file")
        if outcome == "interrupted":
            raise NotPlayableError("a result of a tool that did not end")
        if not isinstance(content, str):
            content = "" if content is None else json.dumps(content, **_COMPACT)
        good = part["part_kind"] == "tool-return" and outcome == "success"
        waiting.set_result(message.ToolResultMessage(output_text=content, status="success" if good else "error"))

    def _system_event(self, event: Mapping[str, Any]) -> None:
        if event["event_type"].removeprefix("data-") in _MEANT_FOR_HISTORIES:
            raise NotPlayableError(f"an event {event['event_type']}")

    def _agent_run_result(self, _event: Mapping[str, Any]) -> None:
        if self._task is not None and not self._task.done():
            raise NotPlayableError("the program goes on where the run ends")

    # ------------------------------------------------------------------------------------------- inside

    async def _run(self, said: message.UserInputPayload) -> None:
        async for event in self._agent.run_task(said):
            if isinstance(event, events.ToolOutputDeltaEvent):
                self.output += event.content
                self.told.set()

    async def _idle_task(self) -> None:
        task, self._task = self._task, None
        with suppress(asyncio.CancelledError):
            if task is not None:
                task.cancel()
                await task
        await settle()

    def _open_stream(self) -> _Stream:
        if self._client.stream is None:
            raise NotPlayableError("the model speaks when the program does not ask it")
        return self._client.stream

    async def _end_response(self) -> None:
        """End an answer whose end the script does not tell, as the recorder does where something else comes."""
        if self._client.stream is not None and self._client.stream.begun:
            self._model_response_end({})
            await settle()

    def _end(self, stream: _Stream) -> None:
        stream.items.put_nowait(None)
        self._client.stream = None

    def _say(self, stream: _Stream, thinks: bool, words: str) -> None:
        delta = message.ThinkingTextDelta if thinks else message.AssistantTextDelta
        stream.items.put_nowait(delta(content=words))

    def _calls(self) -> list[message.ToolCallPart]:
        """Return the calls of the last answer."""
        answers = [e for e in self._session.conversation_history if isinstance(e, message.AssistantMessage)]
        return [part for part in answers[-1].parts if isinstance(part, message.ToolCallPart)] if answers else []

    def _begun(self, call_id: str) -> asyncio.Future[message.ToolResultMessage] | None:
        """Return what the tool of a call waits for; of two calls that are the same, the first one began first."""
        calls = self._calls()
        call = next((call for call in calls if call.call_id == call_id), None)
        if call is None:
            return None
        same = [c.call_id for c in calls if (c.tool_name, c.arguments_json) == (call.tool_name, call.arguments_json)]
        begun = [
            result for name, arguments, result in _BEGUN if (name, arguments) == (call.tool_name, call.arguments_json)
        ]
        place = same.index(call_id)
        return begun[place] if place < len(begun) else None


@asynccontextmanager
async def driver(work_dir: Path, tools: Mapping[str, ToolConcurrencyPolicy | None]) -> AsyncIterator[AgentDriver]:
    """Give a driver whose session is closed at the end. Retries do not wait."""
    agent_task.INITIAL_RETRY_DELAY_S = 0.0
    playing = AgentDriver(work_dir, tools)
    try:
        yield playing
    finally:
        await playing.interrupt()
        await close_default_store()


def _value(arguments: str) -> Any:
    """Return arguments as a value, or their text if they are none."""
    with suppress(ValueError):
        return json.loads(arguments)
    return arguments


async def settle() -> None:
    """Return when nothing in the loop can go on by itself."""
    loop = asyncio.get_running_loop()
    quiet = 0
    while quiet < 3:
        await asyncio.sleep(0)
        quiet = 0 if loop._ready else quiet + 1  # type: ignore[attr-defined]
