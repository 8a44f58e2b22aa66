"""What the reference server writes of a run, held to the rules of AG-UI."""

from __future__ import annotations

import json
from typing import Any

from tests.scenarios import load_builtin
from tests.wires.ag_ui.both_wires import stream_of

from tpharness.wires.ag_ui.encode import AgUiEncoder, to_bytes
from tpharness.wires.ag_ui.judge import judge_stream
from tpharness.wires.ag_ui.wire import WIRE
from tpharness.wires.contract import Said


def events_of_run(*chunks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a run that begins, and then has these chunks."""
    encoder = AgUiEncoder(thread_id="t", run_id="r")
    return [event for chunk in ({"type": "start"}, *chunks) for event in encoder.feed(chunk)]


def asked(call: str) -> list[dict[str, Any]]:
    """Return a call that waits for an approval."""
    made = {"type": "tool-input-available", "toolCallId": call, "toolName": "pay", "input": {"sum": 3}}
    return [
        {"type": "start-step"},
        made,
        {"type": "tool-approval-request", "approvalId": f"a-{call}", "toolCallId": call},
    ]


def test_a_run_that_asks_ends_with_an_interrupt() -> None:
    """It names the call that waits, and no other; without one it is a success (rules 42, 87)."""
    finish = [{"type": "finish-step"}, {"type": "finish", "finishReason": "tool-calls"}]
    waiting = events_of_run(*asked("c1"), *finish)
    assert waiting[-1]["outcome"] == {
        "type": "interrupt",
        "interrupts": [{"id": "a-c1", "reason": "tool_call", "toolCallId": "c1"}],
    }
    done = {"type": "tool-output-available", "toolCallId": "c1", "output": "paid"}
    answered = events_of_run(*asked("c1"), done, *finish)
    assert answered[-1]["outcome"] == {"type": "success"}
    for events in (waiting, answered):
        assert judge_stream(to_bytes(events)).findings == []


def test_a_run_that_asks_about_a_call_of_an_earlier_run_names_it() -> None:
    """By its own id: this run has not streamed it, and gives no other (rule 87)."""
    encoder = AgUiEncoder(thread_id="t", run_id="r", waiting=("c1",))
    _, _, asks, *_ = asked("c1")
    events = [event for chunk in ({"type": "start"}, asks, {"type": "finish"}) for event in encoder.feed(chunk)]
    assert events[-1]["outcome"]["interrupts"] == [{"id": "a-c1", "reason": "tool_call", "toolCallId": "c1"}]


def test_deltas_are_split_into_the_smallest_that_there_are() -> None:
    """Texts, thoughts and arguments, one UTF-16 unit at a time; nothing else, nor what carries something of ours."""
    for kind in ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS"):
        frames = WIRE.split_delta(to_bytes([{"type": kind, "messageId": "m", "delta": "a\U0001f600"}]))
        units = [json.loads(frame.removeprefix(b"data: "))["delta"] for frame in frames]
        assert units == ["a", "\ud83d", "\ude00"], kind
    half = to_bytes([{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\ud83d"}])
    assert WIRE.split_delta(half) == [half]
    for whole in ({"type": "CUSTOM", "delta": "ab"}, {"type": "TOOL_CALL_ARGS", "delta": "ab", "metadata": {}}):
        assert WIRE.split_delta(to_bytes([whole])) == [to_bytes([whole])]


def test_what_a_stream_says_beside_its_thread_is_how_it_ends() -> None:
    """A run has no message of its own, and what is closed in a run that was cut is closed by AG-UI's rules (G3)."""
    assert WIRE.read_said(to_bytes([{"type": "TEXT_MESSAGE_END", "messageId": "m"}])) == Said(end="")
    asks = {"type": "interrupt", "interrupts": [{"id": "a", "reason": "tool_call", "toolCallId": "c1"}]}
    for outcome, said in (
        (None, Said(end="finished")),
        ({"type": "success"}, Said(end="finished")),
        ({"type": "cancelled"}, Said(end="stopped")),
        (asks, Said(end="finished", asks=("c1",))),
    ):
        event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **({"outcome": outcome} if outcome else {})}
        assert WIRE.read_said(to_bytes([event])) == said
        assert WIRE.read_said(to_bytes([event, {"type": "RUN_ERROR", "message": "late"}])) == Said(end="failed")


def test_facts_are_sent_to_who_asks_for_them() -> None:
    """By a CUSTOM event of ours, and by nothing where none are asked for (R39)."""
    said = [WIRE.open_writer(agent_id="a", carriers=asked).start("2025-01-20T10:00:00Z") for asked in (True, False)]
    assert [b"threadprotocol" in one for one in said] == [True, False]


def test_a_call_beside_a_text_without_a_word_says_so() -> None:
    """Its message was not made for the call (G11); once the text has a word, that shows it."""
    started = [{"type": "start-step"}, {"type": "text-start", "id": "t1"}]
    word = {"type": "text-delta", "id": "t1", "delta": "Wait"}
    call = {"type": "tool-input-start", "toolCallId": "c1", "toolName": "pay"}
    assert events_of_run(*started, call)[-1]["metadata"] == {"threadprotocol": {"text_open": True}}
    assert "metadata" not in events_of_run(*started, word, call)[-1]


def test_a_call_of_an_earlier_run_is_answered_and_not_streamed_again() -> None:
    """A client would append the arguments to what it holds (rule 17); an id that was answered is another call's."""
    refused = {"type": "tool-input-error", "toolCallId": "c1", "toolName": "pay", "input": {}, "errorText": "no sum"}
    encoder = AgUiEncoder(thread_id="t", run_id="r", waiting=("c1",))
    encoder.feed({"type": "start"})
    assert [event["type"] for event in encoder.feed(refused)] == ["TOOL_CALL_RESULT"]
    made = ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert [event["type"] for event in encoder.feed(refused)] == made
    assert [event["type"] for event in encoder.feed({**refused, "toolCallId": "c2"})] == made


def test_the_next_run_of_a_thread_knows_which_calls_wait() -> None:
    """So that the scenario of a refusal in a later turn streams nothing again."""
    *_, later = stream_of(load_builtin("approvals/refused-in-a-later-turn")).split(b'"RUN_STARTED"')
    assert b"TOOL_CALL_RESULT" in later
    assert b"TOOL_CALL_START" not in later


def test_an_error_before_another_agent_takes_over_does_not_fail_the_run() -> None:
    """The turn of the first agent is complete there (R45); the error of the agent that runs fails the run (R27)."""
    first, second = ({"type": "data-sys-tp", "data": {"agent_id": name}} for name in "ab")
    error, finish = {"type": "error", "errorText": "overloaded"}, {"type": "finish", "finishReason": "error"}
    assert events_of_run(first, error, second, finish)[-1]["type"] == "RUN_FINISHED"
    for same in (first, {"type": "data-sys-tp", "data": {"model_name": "m"}}):
        assert events_of_run(first, error, same, finish)[-1]["type"] == "RUN_ERROR"


def test_an_error_with_another_word_for_the_end_of_the_run_keeps_the_word() -> None:
    """RUN_ERROR has no finish reason of its own: "error" is what it means, any other is carried beside it (R27)."""
    error = {"type": "error", "errorText": "overloaded"}
    for word, facts in (("error", {}), ("interrupted", {"finish_reason": "interrupted"})):
        end = events_of_run(error, {"type": "finish", "finishReason": word})[-1]
        assert end["type"] == "RUN_ERROR"
        assert end["metadata"] == {"threadprotocol": {"reported": True, **facts}}


def test_an_error_that_a_bare_finish_follows_ends_nothing() -> None:
    """The turn is complete (R27), and the end of the run is a success as in a run without an error."""
    end = events_of_run({"type": "error", "errorText": "overloaded"}, {"type": "finish"})[-1]
    assert (end["type"], end["outcome"]) == ("RUN_FINISHED", {"type": "success"})
    assert "metadata" not in end


def test_an_event_named_as_the_facts_are_may_have_any_data() -> None:
    """An application may send one: it is carried as it is, and names no agent."""
    for data in ([1], 5, None, {"agent_id": 5}):
        *_, carried = events_of_run({"type": "data-sys-tp", "data": data})
        assert (carried["type"], carried["value"]["data"]) == ("CUSTOM", data)
