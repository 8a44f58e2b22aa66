"""The real Agent Framework beside the histories `agent-framework/…`: what its session holds after each stop.

Not among the tests that `pytest` collects, because the package wants libraries that others here cannot have; run in an
environment of its own with

    pip install . pytest agent-framework-core==1.23.0 agent-framework-openai==1.17.0
    python -m pytest -s -c /dev/null --rootdir=. --noconftest \
        tests/histories/agent_framework/oracle_agent_framework.py

Each run of each scenario is played through the program's own loop, with messages that are stored when a run or when a
response has ended, and stopped before its first and after each of its events: by the cancelled task of a client that
has left, and by an error of the model. What happens after the place happens once it was stopped. The messages of the
session, and what the package makes of what the next run sends for Chat Completions, are held to the history. What its
loop cannot play is counted by reason.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponseUpdate, Content, FunctionTool, InMemoryHistoryProvider
from agent_framework._middleware import ChatMiddlewareLayer
from agent_framework._tools import FunctionInvocationLayer
from agent_framework_openai import OpenAIChatCompletionClient
from tests.histories.oracle_runs import Event, Script, hold, is_of_tools, journal_at, text_of, without_parts

from tpharness.histories.agent_framework import AGENT_FRAMEWORK

STOPS = tuple(f"{how} {kept}" for kept in ("run", "call") for how in ("left", "error"))
CHAT = OpenAIChatCompletionClient(model="gpt-4o", api_key="none")

logging.disable(logging.CRITICAL)


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc]  # a job of its own has the package
    """Says what the script says, or one word without a script, and keeps what it was sent."""

    def __init__(self, script: Script | None = None) -> None:
        super().__init__()
        self.script = script
        self.sent: list[Any] = []

    def _inner_get_response(self, *, messages: Any, **options: Any) -> Any:
        del options
        self.sent = list(messages)
        return self._build_response_stream(self._updates())

    async def _updates(self) -> Any:
        if self.script is None:
            yield ChatResponseUpdate(role="assistant", contents=[Content.from_text("ok")])
            return
        called: dict[int, str] = {}
        async for _, event in self.script.response():
            if event["event_kind"] in ("part_start", "part_delta"):
                yield ChatResponseUpdate(role="assistant", contents=[_content(event, called)])


def _content(event: Event, called: dict[int, str]) -> Any:
    said = event["part"] if event["event_kind"] == "part_start" else event["delta"]
    text = said.get("content") or said.get("content_delta")
    kind = said.get("part_kind") or said.get("part_delta_kind")
    if kind == "text":
        return Content.from_text(text or "")
    args = said.get("args") or said.get("args_delta") or ""
    call_id = called.setdefault(event["index"], said.get("tool_call_id") or "")
    name = said["tool_name"] if event["event_kind"] == "part_start" else ""
    return Content.from_function_call(call_id, name, arguments=args if isinstance(args, str) else json.dumps(args))


async def play(events: list[Event], at: int, stop: str) -> tuple[list[Any], list[Any]]:
    """Return the messages of the session after a run that was stopped, and what the next one sends."""
    how, kept = stop.split()
    script = Script(events, at, fails=how == "error")
    agent = _agent(Scripted(script), [_tool(name, script) for name in script.tools()], kept)
    session = agent.create_session()

    async def read() -> None:
        async for _ in agent.run("q", stream=True, session=session):
            pass

    run = asyncio.create_task(read())
    raised = await script.stop(run, run.cancel if how == "left" else None)
    if raised is not None and "has died" not in str(raised):
        raise raised
    messages = session.to_dict()["state"].get("in_memory", {}).get("messages", [])
    listening = Scripted()
    async for _ in _agent(listening, [], kept).run("Go on.", stream=True, session=session):
        pass
    request = CHAT._prepare_messages_for_openai(listening.sent)
    for message in request:
        message.pop("name", None)  # that of the agent
    return [_kept(message) for message in messages], request


def _agent(client: Any, tools: Any, kept: str) -> Any:
    each = kept == "call"
    history = [InMemoryHistoryProvider()]
    return Agent(
        client=client, tools=tools, context_providers=history, require_per_service_call_history_persistence=each
    )


def _tool(name: str, script: Script) -> Any:
    class Scheduled(FunctionTool):  # type: ignore[misc]
        """A tool that returns when the script says so, whatever its arguments are."""

        async def invoke(self, *, tool_call_id: str | None = None, **given: Any) -> Any:
            """Return the result of the call."""
            del given
            text = text_of((await script.returned(str(tool_call_id)))["content"])
            return [Content.from_text(text)]

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    return Scheduled(name=name, description="a tool", input_model=schema, func=lambda **given: given)


def _kept(message: Any) -> dict[str, Any]:
    names = ("type", "text", "call_id", "name", "arguments", "result")
    contents = [{n: c[n] for n in names if c.get(n) is not None} for c in message["contents"]]
    return {"type": "message", "role": message["role"], "contents": contents}


def stored_at(events: list[Event], at: int, stop: str) -> list[Any]:
    """Return the messages that the history predicts; a model fails when it is asked, behind the tools that run."""
    how, kept = stop.split()
    if how == "error" and at < len(events) and is_of_tools(events[at]):
        at = next(
            (i for i, event in enumerate(events) if i >= at and event["event_kind"] == "model_request"), len(events)
        )
    return AGENT_FRAMEWORK[f"agent-framework/{kept}"].store(journal_at(events, at))


def differences(events: list[Event], at: int, stop: str) -> list[str]:
    """Return in what the program and the history differ at a place: the session, and the next request."""
    messages, request = asyncio.run(play(events, at, stop))
    ours = stored_at(events, at, stop)
    written = AGENT_FRAMEWORK["agent-framework/run"].model_input(ours, "openai-chat", next_user="Go on.")
    pairs: dict[str, tuple[Any, Any]] = {"session": (messages, ours), "chat": (request, written)}
    return [f"{what}: {real} and not {predicted}" for what, (real, predicted) in pairs.items() if real != predicted]


def test_a_session_holds_what_the_histories_predict(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    with capsys.disabled():
        store = AGENT_FRAMEWORK["agent-framework/call"].store
        equal = hold(store, STOPS, differences, print, why_not=without_parts)
    assert min(equal[stop] for stop in STOPS) > 500
