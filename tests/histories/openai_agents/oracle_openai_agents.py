"""The real openai-agents beside the history `openai-agents`: what its session holds after each place where a run stops.

Not among the tests that `pytest` collects, because the package wants libraries that others here cannot have; run in an
environment of its own with

    pip install . pytest openai-agents==0.24.0
    python -m pytest -s -c /dev/null --rootdir=. --noconftest tests/histories/openai_agents/oracle_openai_agents.py

Each run of each scenario is played through the program's own loop with a session in SQLite, and stopped before its
first and after each of its events: by `cancel()`, by the cancelled task of a client that has left, by an error of the
model, and by `cancel(mode="after_turn")`. What happens after the place happens once it was stopped, as a tool that
cannot be stopped does. The items of the session, what the next run sends the model, and what the SDK makes of it for
Chat Completions are held to the history. What its loop cannot play is counted by reason; nothing else differs.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, FunctionTool, Model, Runner, SQLiteSession, set_tracing_disabled
from agents.models.chatcmpl_converter import Converter
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from tests.histories.oracle_runs import Event, NotPlayableError, Script, hold, is_of_tools, journal_at, text_of

from tpharness.histories.openai_agents import OPENAI_AGENTS

HISTORY = OPENAI_AGENTS["openai-agents"]
STOPS = ("immediate", "task", "error", "after_turn")

set_tracing_disabled(disabled=True)


class Scripted(Model):  # type: ignore[misc]  # a job of its own has the package
    """Says what the script says."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse what is not streamed."""
        raise AssertionError(args, kwargs)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield the next response."""
        del args, kwargs
        parts: dict[int, dict[str, str]] = {}
        async for number, event in self._script.response():
            if event["event_kind"] not in ("part_start", "part_delta"):
                continue
            said = event["part"] if event["event_kind"] == "part_start" else event["delta"]
            part = parts.setdefault(event["index"], {"text": "", "args": ""})
            part.update({name: said[name] for name in ("tool_name", "tool_call_id") if said.get(name)})
            text, piece = said.get("content") or said.get("content_delta") or "", _arguments(said)
            part["text"] += text
            part["args"] += piece
            place: Any = {"item_id": f"i{event['index']}", "output_index": event["index"], "sequence_number": number}
            if "tool_name" in part:
                kind: Any = "response.function_call_arguments.delta"
                yield ResponseFunctionCallArgumentsDeltaEvent(type=kind, delta=piece, **place)
            else:
                kind = "response.output_text.delta"
                yield ResponseTextDeltaEvent(type=kind, delta=text, content_index=0, logprobs=[], **place)
        yield _completed([_item(index, part) for index, part in sorted(parts.items())])


class Listening(Model):  # type: ignore[misc]
    """Answers at once, and keeps what it was sent."""

    def __init__(self) -> None:
        self.sent: Any = None

    async def get_response(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse what is not streamed."""
        raise AssertionError(args, kwargs)

    async def stream_response(self, system: Any, given: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Yield an answer."""
        del system, args, kwargs
        self.sent = given
        yield _completed([_item(0, {"text": "ok", "args": ""})])


def _arguments(said: Event) -> str:
    given = said.get("args") or said.get("args_delta") or ""
    return given if isinstance(given, str) else json.dumps(given)


def _item(index: int, part: dict[str, str]) -> Any:
    if "tool_name" in part:
        call: Any = {"call_id": part["tool_call_id"], "name": part["tool_name"], "arguments": part["args"] or "{}"}
        return ResponseFunctionToolCall(type="function_call", **call)
    text = ResponseOutputText(type="output_text", text=part["text"], annotations=[])
    return ResponseOutputMessage(id=f"m{index}", type="message", role="assistant", status="completed", content=[text])


def _completed(output: list[Any]) -> Any:
    whole: Any = {"id": "r", "created_at": 0, "model": "scripted", "object": "response", "tool_choice": "auto"}
    response = Response(output=output, tools=[], parallel_tool_calls=True, **whole)
    return ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)


async def _read(result: Any) -> None:
    async for _ in result.stream_events():
        pass


async def play(events: list[Event], at: int, stop: str) -> tuple[list[Any], Any]:
    """Return the items of the session after a run that was stopped, and what the next run sends the model."""
    script, session = Script(events, at, fails=stop == "error"), SQLiteSession("chat")
    schema = {"type": "object", "properties": {}, "additionalProperties": True}

    async def returned(context: Any, given: str) -> str:
        del given
        return text_of((await script.returned(context.tool_call_id))["content"])

    tools: list[Any] = [
        FunctionTool(
            name=name,
            description="a tool",
            params_json_schema=schema,
            on_invoke_tool=returned,
            strict_json_schema=False,
        )
        for name in script.tools()
    ]
    result = Runner.run_streamed(Agent("a", model=Scripted(script), tools=tools), "q", session=session)
    reader = asyncio.create_task(_read(result))
    mode: Any = stop
    stops: dict[str, Any] = {"task": reader.cancel, "error": None}
    raised = await script.stop(reader, stops.get(stop, lambda: result.cancel(mode=mode)))
    if result.run_loop_task:
        await asyncio.wait([result.run_loop_task])
    if raised is not None and not (stop == "error" and isinstance(raised, ConnectionError)):
        raise NotPlayableError(str(raised)) from raised
    items = await session.get_items()
    listening = Listening()
    await _read(Runner.run_streamed(Agent("a", model=listening), "Go on.", session=session))
    return items, listening.sent


# ------------------------------------------------------------------------------------------------ what is compared


def kept_of(items: list[Any]) -> list[Any]:
    """Return what counts of items: ids and what is empty do not."""
    return [_kept_item(item) for item in items]


def _kept_item(item: dict[str, Any]) -> Any:
    if item.get("type") == "message":
        return "said", [part["text"] for part in item["content"]]
    names = ("type", "role", "content", "call_id", "name", "arguments", "output")
    return {name: item[name] for name in names if item.get(name) is not None}


def stored_at(events: list[Event], at: int, stop: str) -> list[Any]:
    """Return the items that the history predicts: after_turn lets the step end, and so does a model that fails.

    It fails when it is asked, which is when the tools have returned that run at the place.
    """
    if stop == "error":
        at = next((then for then in range(at, len(events)) if not is_of_tools(events[then])), len(events))
    now = HISTORY.store(journal_at(events, at))
    if stop != "after_turn":
        return now
    later = (HISTORY.store(journal_at(events, then)) for then in range(at + 1, len(events) + 1))
    return next((items for items in later if items != now), now)


def differences(events: list[Event], at: int, stop: str) -> list[str]:
    """Return in what the program and the history differ at a place: the session, the next input, its form for Chat."""
    items, sent = asyncio.run(play(events, at, stop))
    ours = stored_at(events, at, stop)
    asked = HISTORY.model_input(ours, "openai-responses", next_user="Go on.")
    written = HISTORY.model_input(ours, "openai-chat", next_user="Go on.")
    pairs = {
        "session": (kept_of(items), kept_of(ours)),
        "input": (kept_of(sent), kept_of(asked)),
        "chat": (without_nulls(Converter.items_to_messages(sent)), without_nulls(written)),
    }
    return [f"{what}: {real} and not {predicted}" for what, (real, predicted) in pairs.items() if real != predicted]


def without_nulls(messages: list[Any]) -> list[Any]:
    """Return messages without the fields that are null."""
    return [{name: value for name, value in message.items() if value is not None} for message in messages]


def test_a_session_holds_what_the_history_predicts(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    with capsys.disabled():
        equal = hold(HISTORY.store, STOPS, differences, print)
    assert min(equal[stop] for stop in STOPS) > 500
