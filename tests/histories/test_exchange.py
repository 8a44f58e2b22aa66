"""Pydantic AI's messages to a thread and back: everything is kept but the losses that docs/EXCHANGE.md names."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai import BinaryContent, ImageUrl, ModelMessagesTypeAdapter
from pydantic_ai.messages import (
    CompactionPart,
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.usage import RequestUsage

from tpharness.errors import InputError, ThreadError
from tpharness.findings import Level
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.exchange.imported import Imported
from tpharness.protocol.history import model_history
from tpharness.protocol.rules import check_thread

START = datetime(2025, 1, 20, 10, tzinfo=UTC)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
NAMES = st.sampled_from(["look", "book_hotel"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=2)
OPTIONAL = st.none() | TEXTS.filter(bool)
DETAILS = st.none() | st.dictionaries(TEXTS, st.integers(0, 9), min_size=1, max_size=2)
FILES = st.builds(BinaryContent, st.binary(max_size=6), media_type=st.just("image/png"))
CONTENTS = st.one_of(
    TEXTS, FILES, st.builds(ImageUrl, st.just("https://example.org/a.png")), st.builds(TextContent, content=TEXTS)
)


def dumped(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """Return messages as the library writes them."""
    found: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return found


def imported(messages: list[ModelMessage]) -> Imported:
    """Return the thread of messages."""
    return thread_of_messages(dumped(messages), agent_id="bot", thread_id="t", at="1970-01-01T00:00:00Z")


def back(made: Imported) -> list[dict[str, Any]]:
    """Return the messages of a thread, loaded and written by the library."""
    history = model_history(made.thread)
    assert history.left_out == ()
    return dumped(ModelMessagesTypeAdapter.validate_python(json.loads(json.dumps(history.messages))))


class Clock:
    """Times that grow, some of them equal."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        self._now = START

    def next(self) -> datetime:
        """Return the next time."""
        self._now += timedelta(milliseconds=self._draw(st.integers(0, 3)) * 500)
        return self._now


@st.composite
def runs(draw: Any) -> list[ModelMessage]:
    """Runs as the library writes them: prompts, cycles, retries, answers; the last may wait for approval."""
    clock = Clock(draw)
    messages: list[ModelMessage] = []
    calls = 0
    count = draw(st.integers(1, 3))
    for number in range(count):
        facts: dict[str, Any] = {
            "run_id": f"run-{number}",
            "conversation_id": draw(OPTIONAL),
            "metadata": draw(DETAILS),
        }
        prompt = draw(TEXTS | st.lists(CONTENTS, min_size=1, max_size=3))
        at = clock.next()
        asked: list[ModelRequestPart] = [UserPromptPart(content=prompt, timestamp=at)]
        if draw(st.booleans()):
            asked.insert(0, SystemPromptPart(content="Be brief.", timestamp=at))
        told = draw(st.none() | st.just("Be kind."))
        messages.append(ModelRequest(parts=asked, timestamp=at, instructions=told, **facts))
        for _ in range(draw(st.integers(0, 2))):
            made = [draw(calls_of(f"c{calls + i}")) for i in range(draw(st.integers(1, 3)))]
            calls += len(made)
            said = draw(st.lists(said_parts(), max_size=2))
            messages.append(draw(responses([*said, *made], clock.next(), facts)))
            at = clock.next()
            answers: list[ModelRequestPart] = [draw(answers_to(call, at)) for call in made]
            if draw(st.booleans()):
                answers += [draw(st.sampled_from(more_parts(at)))]
            messages.append(ModelRequest(parts=answers, timestamp=draw(st.sampled_from([at, None])), **facts))
        last = draw(st.lists(said_parts(), min_size=1, max_size=3))
        if number == count - 1 and draw(st.booleans()):
            last = [*last, draw(calls_of("pending"))]
        messages.append(draw(responses(last, clock.next(), facts)))
    return messages


def more_parts(at: datetime) -> list[ModelRequestPart]:
    """Return parts of a request that answer no call."""
    retry: RetryInfo[Any] = RetryInfo("no_output", attempt=1, max_retries=3)
    return [
        UserPromptPart(content="Faster.", timestamp=at),
        RetryFeedbackPart(content="Once more.", retry=retry, timestamp=at),
        CompactionPart(content="They spoke of Paris."),
    ]


def calls_of(call_id: str) -> st.SearchStrategy[ToolCallPart]:
    """Return calls; arguments as the model streamed them, as a value, or none."""
    written = OBJECTS.map(lambda value: json.dumps(value, separators=(",", ":")))
    return st.builds(
        ToolCallPart,
        tool_name=NAMES,
        args=st.one_of(st.none(), OBJECTS, written, st.sampled_from(["", "{", "[1]"])),
        tool_call_id=st.just(call_id),
        id=OPTIONAL,
        provider_name=OPTIONAL,
        provider_details=DETAILS,
    )


@st.composite
def answers_to(draw: Any, call: ToolCallPart, at: datetime) -> ToolReturnPart:
    """Return a return of a call."""
    outcome = draw(st.sampled_from(["success", "failed", "denied", "retried"]))
    retry: Any = RetryInfo("model_retry", attempt=2) if outcome == "retried" and draw(st.booleans()) else None
    return ToolReturnPart(
        tool_name=call.tool_name,
        content=draw(JSON),
        tool_call_id=call.tool_call_id,
        metadata=draw(JSON),
        timestamp=at + timedelta(seconds=draw(st.integers(0, 1))),
        outcome=outcome,
        retry=retry,
    )


def said_parts() -> st.SearchStrategy[ModelResponsePart]:
    """Return parts of a response beside calls."""
    facts: dict[str, Any] = {"id": OPTIONAL, "provider_name": OPTIONAL, "provider_details": DETAILS}
    builtin: dict[str, Any] = {"tool_name": NAMES, "tool_call_id": st.just("n"), "provider_name": OPTIONAL}
    return st.one_of(
        st.builds(TextPart, content=TEXTS, **facts),
        st.builds(ThinkingPart, content=TEXTS, signature=OPTIONAL, **facts),
        st.builds(FilePart, content=FILES, **facts),
        st.builds(NativeToolCallPart, args=OBJECTS, provider_details=DETAILS, **builtin),
        st.builds(NativeToolReturnPart, content=JSON, timestamp=st.just(START), **builtin),
        st.builds(CompactionPart, content=TEXTS),
    )


def responses(parts: list[Any], at: datetime, facts: dict[str, Any]) -> st.SearchStrategy[ModelResponse]:
    """Return responses with these parts."""
    small = st.integers(0, 3)
    usage = st.builds(
        RequestUsage,
        input_tokens=small,
        output_tokens=small,
        output_reasoning_tokens=small,
        cache_read_tokens=small,
        details=st.dictionaries(TEXTS.filter(bool), st.integers(1, 3), max_size=1),
    )
    return st.builds(
        ModelResponse,
        parts=st.just(parts),
        usage=usage,
        model_name=OPTIONAL,
        provider_name=OPTIONAL,
        provider_url=OPTIONAL,
        provider_details=DETAILS,
        provider_response_id=OPTIONAL,
        finish_reason=st.sampled_from([None, "stop", "length", "content_filter", "tool_call", "error"]),
        timestamp=st.just(at),
        **{name: st.just(value) for name, value in facts.items()},
    )


def without_named_losses(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages in a form that does not have what docs/EXCHANGE.md names as lost of complete runs."""
    out: list[dict[str, Any]] = []
    for message in copy.deepcopy(messages):
        message.pop("instructions", None)  # instructions and system prompts
        message["parts"] = [part for part in message["parts"] if part["part_kind"] != "system-prompt"]
        for part in message["parts"]:
            if "args" in part:  # the spelling of arguments
                part["args"] = readable(part["args"])
            if part["part_kind"] == "user-prompt" and isinstance(part["content"], list):
                for item in part["content"]:
                    if isinstance(item, dict):
                        item.pop("_identifier", None)
        if out and message["kind"] == "request" == out[-1]["kind"]:  # where one request ends and the next begins
            out[-1]["parts"] += message["parts"]
        elif message["parts"]:
            out.append(message)
    return out


def readable(args: Any) -> Any:
    """Return arguments as a value."""
    if not isinstance(args, str):
        return args or {}
    try:
        return json.loads(args) if args else {}
    except ValueError:
        return args


def answered(messages: list[ModelMessage]) -> list[dict[str, Any]]:
    """Return the messages without calls that wait for approval, which no history sends (R46)."""
    written = dumped(messages)
    last = written[-1]
    last["parts"] = [part for part in last["parts"] if part.get("tool_call_id") != "pending"]
    return written


@settings(max_examples=40)
@given(runs())
def test_messages_become_a_valid_thread_and_come_back(messages: list[ModelMessage]) -> None:
    """2.0.0, "Lossless round-trip": all data but what is named; prompts are reported, pending calls too."""
    made = imported(messages)
    assert [finding.line() for finding in check_thread(made.thread) if finding.level is Level.MUST] == []
    history = model_history(made.thread)
    loaded = dumped(ModelMessagesTypeAdapter.validate_python(json.loads(json.dumps(history.messages))))
    assert without_named_losses(loaded) == without_named_losses(answered(messages))
    pending = [call.tool_call_id for call in history.pending]
    assert pending == ["pending"] * len(pending)
    assert [loss.what for loss in history.left_out] == ["calls pending"] * len(pending)
    prompts = sum(isinstance(part, SystemPromptPart) for message in messages for part in message.parts)
    told = sum(isinstance(message, ModelRequest) and message.instructions is not None for message in messages)
    assert [loss.what for loss in made.losses].count("a system prompt") == prompts
    assert [loss.what for loss in made.losses].count("instructions") == told
    assert len(made.losses) == prompts + told


def ask(text: str, run_id: str | None = None) -> ModelRequest:
    """Return a request of a user."""
    return ModelRequest(parts=[UserPromptPart(content=text, timestamp=START)], timestamp=START, run_id=run_id)


def say(*parts: Any, run_id: str | None = None, state: Any = "complete") -> ModelResponse:
    """Return a response."""
    return ModelResponse(parts=list(parts), timestamp=START, run_id=run_id, state=state)


def give(*parts: ModelRequestPart, run_id: str | None = None) -> ModelRequest:
    """Return a request without a prompt."""
    return ModelRequest(parts=list(parts), timestamp=START, run_id=run_id)


def call(call_id: str) -> ToolCallPart:
    """Return a call."""
    return ToolCallPart(tool_name="look", args={}, tool_call_id=call_id)


def ret(call_id: str, outcome: Any = "success") -> ToolReturnPart:
    """Return a return."""
    return ToolReturnPart(tool_name="look", content="ok", tool_call_id=call_id, timestamp=START, outcome=outcome)


def outline(thread: dict[str, Any]) -> list[str]:
    """Return a line for each turn: the user's words, or the status and the parts of an agent's."""
    lines = []
    for turn in thread["turns"]:
        if turn["turn_type"] == "user":
            lines.append(turn["parts"][0]["content"])
            continue
        parts = [part["part_kind"] for message in turn["messages"] for part in message["parts"]]
        lines.append(f"{turn['completion_status']}: {' '.join(parts)}")
    return lines


def test_runs_are_turns_with_and_without_their_ids() -> None:
    """A prompt in the middle of a run stays there; without ids it is a turn of its own."""
    messages: list[ModelMessage] = [ask("Hi", "r1"), say(TextPart("a"), run_id="r1"), ask("On", "r1")]
    more: list[ModelMessage] = [say(TextPart("b"), run_id="r1"), ask("Bye", "r2"), say(TextPart("c"), run_id="r2")]
    assert outline(imported([*messages, *more]).thread) == [
        "Hi",
        "complete: text user-prompt text",
        "Bye",
        "complete: text",
    ]
    bare: list[ModelMessage] = [ask("Hi"), say(TextPart("a")), ask("On"), say(TextPart("b"))]
    assert outline(imported(bare).thread) == ["Hi", "complete: text", "On", "complete: text"]


@pytest.mark.parametrize("state", ["interrupted", "incomplete", "suspended"])
def test_what_was_cut_is_not_in_the_thread(state: Any) -> None:
    """R20: the half answer goes, the cycle before it stays; both are said."""
    messages: list[ModelMessage] = [ask("Hi"), say(call("c1")), give(ret("c1")), say(TextPart("ha"), state=state)]
    made = imported(messages)
    assert outline(made.thread) == ["Hi", "interrupted: tool-call tool-return"]
    assert [(loss.pointer, loss.what) for loss in made.losses] == [("/3", "a response")]
    assert len(back(made)) == 3


def test_a_cycle_with_a_call_that_never_returned_is_not_in_the_thread() -> None:
    """R21, R23, R41: nor the other returns of its response, nor the return that the library makes up."""
    cut = ModelRequest(parts=[ret("c1")], timestamp=START, state="interrupted")
    repaired = give(ret("c2", "interrupted"), UserPromptPart(content="Go on", timestamp=START))
    messages: list[ModelMessage] = [ask("Hi"), say(call("c1"), call("c2")), cut, repaired, say(TextPart("ok"))]
    made = imported(messages)
    assert outline(made.thread) == ["Hi", "Go on", "complete: text"]
    assert [loss.pointer for loss in made.losses] == ["/1", "/2", "/3/parts/0"]


def test_returns_that_a_later_run_brings_open_its_turn() -> None:
    """R30: calls that waited for approval are answered in the next run."""
    messages: list[ModelMessage] = [
        ask("Hi", "r1"),
        say(call("c1"), run_id="r1"),
        give(ret("c1"), run_id="r2"),
        say(TextPart("ok"), run_id="r2"),
    ]
    made = imported(messages)
    assert outline(made.thread) == ["Hi", "complete: tool-call", "complete: tool-return text"]
    assert without_named_losses(back(made)) == without_named_losses(dumped(messages))


def test_a_return_without_its_call_is_left_out_and_reported() -> None:
    """R23: a history that was cut at its beginning has them."""
    messages: list[ModelMessage] = [give(ret("c0")), say(TextPart("a"))]
    made = imported(messages)
    assert [loss.pointer for loss in made.losses] == ["/0/parts/0"]
    assert outline(made.thread) == ["complete: text"]


def test_no_messages_are_a_thread_of_the_time_that_was_named() -> None:
    """As of the AI SDK's messages; no message has a time of its own."""
    thread = imported([]).thread
    assert (thread["created_at"], thread["updated_at"], thread["turns"]) == (*["1970-01-01T00:00:00Z"] * 2, [])


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({}, "a list was expected, not an object"),
        (None, "a list was expected, not null"),
        ("hi", "a list was expected, not a string"),
        (1.5, "a list was expected, not a number"),
        ([5], "/0 has no kind"),
        ([{"kind": "request"}], "/0/parts is not a list"),
        ([{"kind": "request", "parts": [{}]}], "/0/parts/0 has no text part_kind"),
        ([{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "x"}]}], "tool_call_id is missing"),
        ([{"kind": "response", "parts": [{"part_kind": "user-prompt", "content": "x"}]}], "parts[0].part_kind is not"),
        ([{"kind": "response", "parts": [], "usage": []}], "usage is not an object or null"),
        ([{"role": "user", "parts": []}], "/0 has no kind that is one of request, response"),
    ],
)
def test_what_is_not_such_a_list_is_refused(value: Any, part: str) -> None:
    """The place and what was expected are named."""
    with pytest.raises(InputError) as refused:
        thread_of_messages(value, agent_id="a", thread_id="t", at="1970-01-01T00:00:00Z")
    assert part in str(refused.value)
    assert refused.value.hint


def test_an_interruption_is_in_the_own_format_and_not_in_that_of_a_page() -> None:
    """Why docs/EXCHANGE.md says which of the two to store; this fails when the adapter keeps the state."""
    cut = ModelResponse(
        parts=[ToolCallPart("look", '{"q":1}', tool_call_id="c1")], timestamp=START, state="interrupted"
    )
    stored = VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages([ask("Hi"), cut]))
    assert [message.state for message in stored if isinstance(message, ModelResponse)] == ["complete"]
    assert [loss.pointer for loss in imported([ask("Hi"), cut]).losses] == ["/1"]


def test_messages_that_break_the_rules_of_a_thread_are_refused() -> None:
    """The second of two open calls has the id of the first."""
    with pytest.raises(ThreadError) as refused:
        imported([ask("Hi"), say(call("c1"), call("c1"))])
    assert [finding.code for finding in refused.value.findings] == ["call-id-in-use"]
