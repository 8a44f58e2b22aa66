"""Pydantic AI behind its Vercel AI and AG-UI adapters: what is on each wire, and the history of the same run.

Every `==` names departures of docs/INTEROP.md as the baselines do.
pip install pydantic-ai-slim==2.68.0 ag-ui-protocol==1.0.0
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import Agent, CancellationToken, ModelRetry, RunContext, Tool, capture_run_messages
from pydantic_ai.messages import ModelMessage, NativeToolCallPart, NativeToolReturnPart
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage

Events = Callable[[Any], Iterable[Any]]


@dataclass
class Answer(StreamedResponse):
    """An answer: `events` takes the library's manager of parts and gives its events; None among them stops the run."""

    events: Events
    token: CancellationToken
    model_name = "scripted"
    provider_name = "test"
    provider_url = None
    timestamp = datetime(2025, 1, 20, tzinfo=UTC)
    reason: Any = "stop"

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
        for event in self.events(self._parts_manager):
            if event is None:
                self.token.cancel()
                await asyncio.sleep(60)
            yield event
        self.finish_reason = self.reason

    async def close_stream(self) -> None:
        """Nothing is open."""


class Scripted(Model):
    """A model that gives these answers, one after the other."""

    model_name = "scripted"
    system = "test"

    def __init__(self, token: CancellationToken, answers: Iterable[Events], reason: str) -> None:
        super().__init__()
        self.token, self.answers, self.reason, self.asked = token, iter(answers), reason, 0

    async def request(self, *_: Any) -> Any:
        """Refuse: an adapter streams."""
        raise NotImplementedError

    @asynccontextmanager
    async def request_stream(self, *request: Any) -> AsyncGenerator[Any]:
        """Stream the next answer."""
        self.asked += 1
        yield Answer(request[2], events=next(self.answers), token=self.token, reason=self.reason)


async def show(departures: str, *answers: Events, **agent: Any) -> Any:
    """Run an agent behind both adapters; print the two streams, and the history, which is the same."""
    print("==", departures)
    for wire in ("vercel", "ag-ui"):
        said, messages, asked = await run(wire, answers, **agent)
        print(f"{wire}:", *said)
    print("history:", *held(messages), f"(the model was asked {asked} time{'s' * (asked != 1)})")
    return messages


async def run(
    wire: str,
    answers: Iterable[Events],
    *,
    prompt: str = "Hi",
    before: Iterable[ModelMessage] = (),
    tool: Tool[Any] | None = None,
    reason: str = "stop",
    stop_behind: bool = False,
) -> Any:
    """Return what is on the wire, the history, and how often the model was asked."""
    token = CancellationToken()
    model = Scripted(token, answers, reason)
    agent: Agent[Any] = Agent(model, tools=[tool] if tool else [], deps_type=CancellationToken)
    if stop_behind:

        @agent.output_validator
        async def stop(output: str) -> str:
            token.cancel()
            await asyncio.sleep(60)
            return output

    said: list[str] = []
    with capture_run_messages() as messages:
        adapter = ADAPTERS[wire](agent, prompt)
        stream = adapter.run_stream(message_history=list(before), cancellation_token=token, deps=token)
        try:
            async for text in adapter.encode_stream(stream):
                if text.startswith("data: {"):
                    said += brief(json.loads(text.removeprefix("data: ")))
        except ValueError as error:  # of the encoder
            said.append(type(error).__name__)
    return said, messages, model.asked


def vercel(agent: Agent[Any], prompt: str) -> Any:
    messages = [UIMessage(id="u", role="user", parts=[TextUIPart(text=prompt)])] if prompt else []
    return VercelAIAdapter(agent=agent, run_input=SubmitMessage(id="c", messages=messages), sdk_version=6)


def ag_ui(agent: Agent[Any], prompt: str) -> Any:
    messages = [{"id": "u", "role": "user", "content": prompt}] if prompt else []
    empty: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
    posted = {"protocolVersion": "1.0", "threadId": "t", "runId": "r", "messages": messages, **empty}
    return AGUIAdapter(agent=agent, run_input=AGUIAdapter.build_run_input(json.dumps(posted).encode()))


ADAPTERS = {"vercel": vercel, "ag-ui": ag_ui}
SHOWN = ("delta", "input", "inputTextDelta", "output", "content", "encryptedValue", "signature")
ENDS = ("finishReason", "outcome", "message")
QUIET = ("start", "start-step", "message-metadata", "RUN_STARTED")


def brief(chunk: dict[str, Any]) -> list[str]:
    """Return a chunk or event as its type and what it says, which is nothing for those that begin every run."""
    chunk.update(chunk.get("providerMetadata", {}).get("pydantic_ai", {}))
    shown = ("toolCallId", *SHOWN) if chunk["type"] == "TOOL_CALL_START" else (*SHOWN, *ENDS)
    said = [json.dumps(chunk[name]) for name in shown if chunk.get(name) is not None]
    return [] if chunk["type"] in QUIET else [" ".join([chunk["type"], *said, "|"])]


def held(messages: list[ModelMessage]) -> Iterable[str]:
    """Yield the parts of a history, and how its answers ended."""
    for message in messages:
        for part in message.parts:
            said = {name: getattr(part, name, None) for name in ("content", "args", "signature")}
            yield " ".join([part.part_kind, *(json.dumps(v) for v in said.values() if v), "|"])
        if message.kind == "response":
            yield f"{message.state}, {message.finish_reason} |"


def text(parts: Any, number: int, *pieces: str) -> Iterable[Any]:
    for piece in pieces:
        yield from parts.handle_text_delta(vendor_part_id=number, content=piece)


def thought(parts: Any, *signatures: str) -> Iterable[Any]:
    yield from parts.handle_thinking_delta(vendor_part_id=0, content="Hm.", provider_name="test")
    for signature in signatures:
        yield from parts.handle_thinking_delta(vendor_part_id=0, signature=signature)
    yield from text(parts, 1, "Hello")


def native(parts: Any, number: int, args: str) -> Any:
    call = NativeToolCallPart("web_search", args=args, tool_call_id=f"n{number}", provider_name="test")
    return parts.handle_part(vendor_part_id=number, part=call)


def more(parts: Any, number: int, args: str) -> Any:
    return parts.handle_tool_call_delta(vendor_part_id=number, args=args)


def call(parts: Any, tool_call_id: str, *pieces: str, tool: str = "look") -> Iterable[Any]:
    name = {"tool_name": tool, "tool_call_id": tool_call_id}
    for piece in pieces:
        yield parts.handle_tool_call_delta(vendor_part_id=tool_call_id, args=piece, **name)
        name = {}


def native_result(parts: Any, number: int) -> Any:
    result = NativeToolReturnPart("web_search", content="found", tool_call_id=f"n{number}", provider_name="test")
    return parts.handle_part(vendor_part_id=f"r{number}", part=result)


def stopped(events: Events) -> Events:
    """Press stop behind these events."""
    return lambda parts: [*events(parts), None]


def two_calls(parts: Any) -> Iterable[Any]:
    yield native(parts, 0, '{"query": "Os')
    yield native(parts, 1, '{"query": "Rome"}')
    yield more(parts, 0, 'lo"}')
    yield from [native_result(parts, 0), native_result(parts, 1), *text(parts, 2, "Found")]


async def look(_: RunContext[CancellationToken]) -> Any:
    """Return a value that is not a text."""
    return {"at": None}


async def fail(_: RunContext[CancellationToken]) -> Any:
    """Fail in the way in which a tool says so to the model."""
    raise ModelRetry("not now")


async def wait(run: RunContext[CancellationToken]) -> Any:
    """Be stopped."""
    run.deps.cancel()
    await asyncio.sleep(60)


async def main() -> None:
    """Show each."""

    def done(parts: Any) -> Iterable[Any]:
        return text(parts, 0, "Done")

    def calls(parts: Any) -> Iterable[Any]:
        return call(parts, "c", "{}")

    look_up, fails, waits = (Tool(function, name="look") for function in (look, fail, wait))
    cut = await show("text-ended-when-stopped, abort-without-reason, reasons-unsaid", stopped(done))
    await show("reasons-unsaid", done, reason="content_filter")
    await show("continues-instead-of-asking", done, prompt="", before=cut)
    await show("finish-step-late, responses-unbounded", done, stop_behind=True)
    await show("texts-merged", lambda parts: [*text(parts, 0, "One."), *text(parts, 1, "Two.")])
    await show("signature-replaced, signature-in-its-own-store", lambda parts: thought(parts, "sig-1", "sig-2"))
    await show("return-without-its-call", lambda parts: [native_result(parts, 0), *text(parts, 1, "Found")])
    await show("half-characters", lambda parts: text(parts, 0, "Hello ", "\ud83d", " there"))
    await show("half-arguments-closed", stopped(lambda parts: call(parts, "c", '{"city": ', '"Os')), tool=look_up)
    await show("half-arguments-at-a-stop", stopped(lambda parts: [native(parts, 0, '{"query": "Os')]))
    await show("provider-calls", lambda p: [native(p, 0, "{}"), native_result(p, 0), *text(p, 1, "Found")])
    await show("one-part-at-a-time", two_calls)
    await show("results-as-texts", calls, done, tool=look_up)
    await show("failures-as-results", calls, done, tool=fails)
    await show("interrupted-tool-as-success", calls, tool=waits)
    await show("call-id-reopened", calls, calls, done, tool=look_up)


asyncio.run(main())
