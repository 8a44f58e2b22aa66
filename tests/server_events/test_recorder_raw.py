"""What the journal keeps for histories that hold more than a thread: texts of arguments, and failed responses."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.journal import AgentTurn, Response
from tpharness.server_events import Recorder

T = "2025-01-20T10:00:00Z"
START = {"part_kind": "tool-call", "tool_name": "a", "tool_call_id": "c"}


def responses(*events: dict[str, Any]) -> list[Response]:
    """Fold events and return the responses of the turn so far, open parts included."""
    recorder = Recorder()
    recorder.begin("assistant", T)
    for event in events:
        recorder.feed(event)
    (turn,) = recorder.journal(partial=True).turns()
    assert isinstance(turn, AgentTurn)
    assert not recorder.findings
    return [entry for entry in turn.tail.entries if isinstance(entry, Response)]


def start(args: Any = None) -> dict[str, Any]:
    """Start a call."""
    return {"event_kind": "part_start", "index": 0, "part": {**START, "args": args}}


def more(args: Any) -> dict[str, Any]:
    """Stream arguments."""
    return {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "tool_call", "args_delta": args}}


END = {"event_kind": "model_response_end", "finish_reason": "tool_call"}


def runs(args: Any) -> dict[str, Any]:
    """Start the tool, with arguments."""
    return {"event_kind": "function_tool_call", "part": {**START, "args": args}}


@pytest.mark.parametrize(
    ("events", "raw", "args"),
    [
        ([start('{"a'), more('": 1.0')], '{"a": 1.0', '{"a": 1.0'),  # open: what came
        ([start('{"a'), more('": 1.0 }'), END], '{"a": 1.0 }', {"a": 1.0}),
        ([start("no JSON"), END], "no JSON", "no JSON"),
        ([start(), END], None, {}),
        ([start({"a": 1}), END], None, {"a": 1}),
        ([start(), more({"a": 1}), END], None, {"a": 1}),
        ([start(), END, runs('{"b":2}')], '{"b":2}', {"b": 2}),  # R10: the event that starts the tool has the word
        ([start(), END, runs({"b": 2})], None, {"b": 2}),
        ([start("{}"), END, runs("{}")], "{}", {}),
        ([start("null"), END], "null", None),
        ([start("{"), runs('{ "b": 2 }')], '{ "b": 2 }', {"b": 2}),  # it also ends the response
        ([start('"\ud83d'), more('\ude00"'), END], '"\U0001f600"', "\U0001f600"),  # R43
    ],
)
def test_arguments_as_text(events: list[dict[str, Any]], raw: str | None, args: Any) -> None:
    """The text as it was streamed, as far as it came; None where the arguments came as a value."""
    (response,) = responses(*events)
    (part,) = response.parts
    assert (part.raw, part.fields["args"]) == (raw, args)


SAYS = {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hel"}}
SAYS_MORE = {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "text", "content_delta": "lo"}}
SAID = {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "Hello"}}
ERROR = {"event_kind": "error", "error_text": "net down"}


def test_what_a_failed_response_had() -> None:
    """Its parts at the error, open ones too, also when another response follows."""
    (failed,) = responses(SAYS, ERROR)
    assert failed.failed is not None
    assert [(part.fields["content"], part.complete) for part in failed.failed] == [("Hel", False)]
    (whole,) = responses(SAYS, SAYS_MORE, SAID, ERROR)
    assert whole.failed is not None
    assert [(part.fields["content"], part.complete) for part in whole.failed] == [("Hello", True)]


def test_a_response_that_outlives_the_error_did_not_fail() -> None:
    """Its end came all the same, and so did that of the turn; until then the journal ends at the error (R27)."""
    end, finish = {"event_kind": "model_response_end"}, {"event_kind": "agent_run_result", "finish_reason": "stop"}
    (response,) = responses(SAYS, ERROR, SAYS_MORE, SAID, end, finish)
    assert response.failed is None


def test_an_error_outside_of_a_response_fails_none() -> None:
    """The response before it had ended."""
    (response,) = responses(SAYS, SAYS_MORE, SAID, {"event_kind": "model_response_end"}, ERROR)
    assert response.failed is None


def test_arguments_that_the_client_was_told_stay() -> None:
    """R10: they are told at the end of the response, so a tool-call event with others comes too late, and is named."""
    recorder = Recorder()
    recorder.begin("assistant", T)
    for event in (start('{"a": 1}'), END, runs('{"b": 2}')):
        recorder.feed(event)
    (turn,) = recorder.journal(partial=True).turns()
    assert isinstance(turn, AgentTurn)
    (response,) = (entry for entry in turn.tail.entries if isinstance(entry, Response))
    assert response.parts[0].fields["args"] == {"a": 1}
    assert [(f.code, f.got, f.expected) for f in recorder.findings] == [("server-arguments-differ", {"b": 2}, {"a": 1})]
