"""The real Agno beside the history `agno`: what its database holds after each stop, and what the next run sends.

Not among the tests that `pytest` collects, because the package wants libraries that others here cannot have; run in an
environment of its own with

    pip install . pytest agno==3.1.10 openai==3.57.0
    python -m pytest -s -c /dev/null --rootdir=. --noconftest tests/histories/agno/oracle_agno.py

Each run of each scenario is played through the program's own loop with a database in memory, and stopped before its
first and after each of its events: by the cancelled task of a client that has left, by `cancel_run()`, and by an error
of the model. What happens after the place happens once it was stopped. A new agent is then asked the next question. The
runs of the session and the request for Chat Completions are held to the history. What its loop cannot play is counted.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.metrics import MessageMetrics
from agno.models.openai import OpenAIChat
from agno.models.response import ModelResponse
from agno.tools.function import Function, FunctionCall
from openai.types.chat.chat_completion_chunk import ChoiceDeltaToolCall, ChoiceDeltaToolCallFunction
from tests.histories.oracle_runs import Event, Script, hold, is_of_tools, journal_at, text_of, without_parts

from tpharness.histories.agno import AGNO

HISTORY = AGNO["agno"]
STOPS = ("left", "cancel", "error")

logging.disable(logging.CRITICAL)


class Scripted(OpenAIChat):  # type: ignore[misc]  # a job of its own has the package
    """Says what the script says, or one word without a script, and keeps the request that it would send."""

    script: Any = None
    request: Any = None

    async def ainvoke_stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the next response."""
        del args, kwargs
        self.request = self._format_all_messages(messages)
        if self.script is None:
            yield ModelResponse(content="ok")
            return
        calls: dict[int, int] = {}
        async for _, event in self.script.response():
            match event["event_kind"]:
                case "part_start" | "part_delta":
                    yield _delta(event, calls)
                case "model_response_end" if event.get("usage"):
                    yield ModelResponse(response_usage=MessageMetrics(input_tokens=7, output_tokens=5, total_tokens=12))


def _delta(event: Event, calls: dict[int, int]) -> Any:
    said = event["part"] if event["event_kind"] == "part_start" else event["delta"]
    text = said.get("content") or said.get("content_delta")
    if text is not None:
        return ModelResponse(content=text)
    args = said.get("args") or said.get("args_delta") or ""
    args = args if isinstance(args, str) else json.dumps(args)
    first = event["event_kind"] == "part_start"
    name, call_id = (said.get("tool_name"), said["tool_call_id"]) if first else (None, None)
    function = ChoiceDeltaToolCallFunction(name=name, arguments=args)
    kind: Any = "function" if first else None
    number = calls.setdefault(event["index"], len(calls))
    call = ChoiceDeltaToolCall(index=number, id=call_id, type=kind, function=function)
    return ModelResponse(tool_calls=[call])


async def play(events: list[Event], at: int, stop: str) -> tuple[list[Any], list[Any]]:
    """Return the runs of the session after one that was stopped, and what the next one sends."""
    script = Script(events, at, fails=stop == "error")

    async def returned(fc: FunctionCall, **given: Any) -> str:
        del given
        return text_of((await script.returned(str(fc.call_id)))["content"])

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    tools = [
        Function(
            name=name, description="a tool", parameters=schema, entrypoint=returned, skip_entrypoint_processing=True
        )
        for name in script.tools()
    ]
    db = InMemoryDb()
    agent = _agent(Scripted(id="gpt-4o", api_key="none"), tools, db)
    agent.model.script = script

    async def read() -> None:
        async for _ in agent.arun("q", stream=True, run_id="r"):
            pass

    run = asyncio.create_task(read())
    stops: dict[str, Any] = {
        "left": run.cancel,
        "cancel": lambda: Agent.cancel_run("r"),
        "error": None,
    }
    raised = await script.stop(run, stops[stop])
    if raised is not None:
        raise raised
    for _ in range(50):  # what is stored behind a client that has left
        await asyncio.sleep(0)
    listening = Scripted(id="gpt-4o", api_key="none")
    again = _agent(listening, [], db)
    session = again.get_session(session_id="s")
    runs = [
        (one.status.value.lower(), [_kept(m) for m in one.messages or ()]) for one in (session.runs if session else ())
    ]
    async for _ in again.arun("Go on.", stream=True):
        pass
    return runs, listening.request


def _agent(model: Any, tools: Any, db: Any) -> Any:
    return Agent(id="a", model=model, tools=tools, db=db, session_id="s", add_history_to_context=True, telemetry=False)


def _kept(message: Any) -> dict[str, Any]:
    given = {"role": message.role, "content": message.content, "tool_call_id": message.tool_call_id}
    return {
        **{k: v for k, v in given.items() if v},
        **({"tool_calls": message.tool_calls} if message.tool_calls else {}),
    }


def _session(runs: list[Any]) -> list[Any]:
    return [(one["status"], [{k: v for k, v in m.items() if v} for m in one["messages"]]) for one in runs]


def stored_at(events: list[Event], at: int, stop: str) -> list[Any]:
    """Return the runs that the history predicts."""
    running = at < len(events) and is_of_tools(events[at])
    if stop == "error" and running:
        at = next(
            (i for i, event in enumerate(events) if i >= at and event["event_kind"] == "model_request"), len(events)
        )
    reason = "network_failure" if stop == "error" else "user_cancelled"
    return HISTORY.store(journal_at(events, at, reason))


def differences(events: list[Event], at: int, stop: str) -> list[str]:
    """Return in what the program and the history differ at a place: the session, and the next request.

    `cancel_run()` is noticed when the next event is passed on, so its run goes on to a later place.
    """
    runs, request = asyncio.run(play(events, at, stop))
    ours = stored_at(events, at, stop)
    if stop == "cancel":
        later = [stored_at(events, then, stop) for then in range(at, len(events) + 1)]
        late = [
            [{**one, "status": "cancelled"} for one in later[-1]]
        ]  # the whole answer, cancelled before it was stored
        ours = next((one for one in (*later, *late) if _session(one) == runs), ours)
    predicted = _session(ours)
    pairs: dict[str, tuple[Any, Any]] = {
        "session": (runs, predicted),
        "chat": (request, HISTORY.model_input(ours, "openai-chat", next_user="Go on.")),
    }
    return [f"{what}: {real} and not {predicted}" for what, (real, predicted) in pairs.items() if real != predicted]


def test_a_session_holds_what_the_history_predicts(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    with capsys.disabled():
        equal = hold(HISTORY.store, STOPS, differences, print, why_not=without_parts)
    assert min(equal[stop] for stop in STOPS) > 500
