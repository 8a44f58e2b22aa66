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
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
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

from tpharness.histories.compare import DEFAULT_IDS
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.openai_agents import OPENAI_AGENTS
from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.server_events import Recorder

HISTORY = OPENAI_AGENTS["openai-agents"]
STOPS = ("immediate", "task", "error", "after_turn")
IDS = (*DEFAULT_IDS, "cycles", "tools")
ASKED = UserTurn(at="2025-01-20T10:00:00Z", parts=({"part_kind": "user-prompt", "content": "q"},))
PLAYABLE = (
    *("model_request", "part_start", "part_delta", "part_end", "final_result", "model_response_end"),
    *("function_tool_call", "function_tool_result", "agent_run_result"),
)
Event = dict[str, Any]

set_tracing_disabled(disabled=True)


class NotPlayableError(Exception):
    """What a run has that the program's loop never does, or that a scripted model cannot say through it."""


class Script:
    """The script of a model and its tools: what comes after the first `at` events waits until the run was stopped."""

    def __init__(self, events: list[Event], at: int, *, fails: bool) -> None:
        self.events, self._at, self._fails, self._asked = events, at, fails, 0
        self.reached, self.stopped = asyncio.Event(), asyncio.Event()

    async def _wait(self, index: int, *, fails: bool) -> None:
        if index < self._at:
            return
        self.reached.set()
        await self.stopped.wait()
        if fails and self._fails:
            raise ConnectionError("the model's server has died")

    async def response(self) -> AsyncIterator[tuple[int, Event]]:
        """Yield the events of the next response of the model, with their numbers."""
        begins = [i for i, event in enumerate(self.events) if event["event_kind"] == "model_request"]
        if self._asked == len(begins):
            raise NotPlayableError("the program asks the model once more")
        start, self._asked = begins[self._asked], self._asked + 1
        for index in range(start, len(self.events)):
            await self._wait(index, fails=True)
            if self.events[index]["event_kind"] == "model_response_end":
                return
            yield index, self.events[index]

    async def tool(self, context: Any, given: str) -> str:
        """Return what a tool returns, once it has."""
        del given
        for index, event in enumerate(self.events):
            if event["event_kind"] == "function_tool_result" and event["part"]["tool_call_id"] == context.tool_call_id:
                await self._wait(index, fails=False)
                content = event["part"]["content"]
                return content if isinstance(content, str) else json.dumps(content)
        await asyncio.Event().wait()  # it never returns
        raise AssertionError


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
    names = {event["part"]["tool_name"] for event in events if event["event_kind"] == "function_tool_call"}
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    tools: list[Any] = [
        FunctionTool(
            name=name,
            description="a tool",
            params_json_schema=schema,
            on_invoke_tool=script.tool,
            strict_json_schema=False,
        )
        for name in sorted(names)
    ]
    result = Runner.run_streamed(Agent("a", model=Scripted(script), tools=tools), "q", session=session)
    reader = asyncio.create_task(_read(result))
    reached = asyncio.create_task(script.reached.wait())
    await asyncio.wait({reader, reached}, return_when=asyncio.FIRST_COMPLETED)
    for _ in range(200):  # let what was said, and the tools that have returned, be noticed
        await asyncio.sleep(0)
    if not reader.done() and stop == "task":
        reader.cancel()
    elif not reader.done() and stop in ("immediate", "after_turn"):
        mode: Any = stop
        result.cancel(mode=mode)
    script.stopped.set()
    reached.cancel()
    await asyncio.wait([reader])
    if result.run_loop_task:
        await asyncio.wait([result.run_loop_task])
    raised = None if reader.cancelled() else reader.exception()
    if raised is not None and not (stop == "error" and isinstance(raised, ConnectionError)):
        raise NotPlayableError(str(raised)) from raised
    items = await session.get_items()
    listening = Listening()
    await _read(Runner.run_streamed(Agent("a", model=listening), "Go on.", session=session))
    return items, listening.sent


# ------------------------------------------------------------------------------------------------ what is compared


def journal_at(events: list[Event], at: int) -> Journal:
    """Return what has happened after so many events of a run."""
    recorder = Recorder()
    recorder.add_user_turn(ASKED)
    recorder.begin("a", ASKED.at)
    for event in events[:at]:
        recorder.feed(event)
    cut = None if at == len(events) else Interrupted(reason="user_cancelled", at=ASKED.at)
    return recorder.journal(cut, partial=True)


def runs() -> Iterator[tuple[str, list[Event]]]:
    """Yield the events of each agent run of the scenarios, with a name."""
    for one in select_scenarios(IDS, (scenarios_dir(),)):
        scenario = load_scenario(one.path, root=one.root)
        turns = [turn for turn in make_script(base_case(scenario)).turns if not isinstance(turn, UserTurn)]
        for number, turn in enumerate(turns):
            yield f"{scenario.id}:{number}", [dict(event) for event in turn.events]


def why_not(events: list[Event]) -> str:
    """Return why a run cannot be played through the program's loop, "" if it can."""
    kinds = [event["event_kind"] for event in events]
    for event in events:
        part = event.get("part") or event.get("delta") or {}
        kind = part.get("part_kind") or part.get("part_delta_kind") or ""
        if event["event_kind"] not in PLAYABLE:
            return "an event of another kind"
        if event["event_kind"] in ("part_start", "part_delta") and kind not in ("text", "tool_call", "tool-call"):
            return "a part of another kind"
        if event["event_kind"] == "part_delta" and not isinstance(part.get("args_delta") or "", str):
            return "arguments that come as values"
        if event["event_kind"] == "function_tool_result" and part.get("outcome", "success") != "success":
            return "a tool that fails"
        if event["event_kind"] == "function_tool_result" and part.get("content") is None:
            return "a result without content"
    if not kinds or kinds[0] != "model_request" or kinds[-1] != "agent_run_result":
        return "a run that does not begin with its model, or has no end"
    called = [event["part"] for event in events if event["event_kind"] == "part_start" and "tool_name" in event["part"]]
    returned = [event["part"]["tool_call_id"] for event in events if event["event_kind"] == "function_tool_result"]
    if sorted(part["tool_call_id"] for part in called) != sorted(returned):
        return "a call that does not return"
    if kinds.count("part_start") != kinds.count("part_end"):
        return "a part without its end"
    if kinds.count("model_request") != kinds.count("model_response_end"):
        return "a response without its end"
    if "function_tool_call" in kinds[len(kinds) - kinds[::-1].index("model_request") :]:
        return "a run that ends with its tools"
    if any("function_tool_call" not in between for between in _between_responses(kinds)):
        return "a run that goes on after an answer without calls"
    return ""


def _between_responses(kinds: list[str]) -> Iterator[list[str]]:
    """Yield the kinds of events between the end of a response and the next request."""
    ends = [number for number, kind in enumerate(kinds) if kind == "model_response_end"]
    for end in ends[:-1]:
        yield kinds[end : kinds.index("model_request", end)]


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
        at = next((then for then in range(at, len(events)) if not _is_of_tools(events[then])), len(events))
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


def _is_of_tools(event: Event) -> bool:
    return event["event_kind"] in ("function_tool_call", "function_tool_result", "agent_run_result")


def test_a_session_holds_what_the_history_predicts(capsys: Any) -> None:
    """At every place of every run that can be played, however it is stopped."""
    equal: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    wrong: dict[tuple[str, int, str], list[str]] = {}
    for name, events in runs():
        reason = why_not(events)
        try:
            HISTORY.store(journal_at(events, len(events)))
        except UnsupportedError as error:
            reason = reason or str(error)
        if reason:
            reasons[reason] += 1
            continue
        for at in range(len(events) + 1):
            for stop in STOPS:
                different = differences(events, at, stop)
                equal[stop] += not different
                if different:
                    wrong[name, at, stop] = different
    with capsys.disabled():
        said = [f"{count} runs not played: {reason}" for reason, count in reasons.most_common()]
        sys.stdout.write("\n".join(["", f"{sum(equal.values())} places equal: {dict(equal)}", *said, ""]))
    assert wrong == {}
    assert min(equal[stop] for stop in STOPS) > 500
