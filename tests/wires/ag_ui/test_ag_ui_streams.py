"""The checker of AG-UI finds in hand-written streams what is wrong with them, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.wires.ag_ui.streams import STREAMS, body_of, differing_findings, framed, input_of, run_of

from tpharness.checking import check
from tpharness.wires.ag_ui.decode import read_input
from tpharness.wires.ag_ui.judge import Judge, is_ag_ui, judge_stream
from tpharness.wires.ag_ui.states import AgUiRunState

LATER = "encryptedValueType"
"""What version 1.1 has added."""


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_what_is_wrong_is_found_and_nothing_else(stream: dict[str, Any]) -> None:
    """In order; and a client has to reject exactly the streams that break a rule for which clients do."""
    assert differing_findings(stream) == ""


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_how_a_body_is_split_into_reads_changes_nothing(stream: dict[str, Any]) -> None:
    """Byte by byte, the same findings at the same events."""
    body, posted = body_of(stream), input_of(stream)
    whole = Judge(read_input(posted)[0] if posted else None)
    whole.feed(body)
    whole.close()
    split = Judge(read_input(posted)[0] if posted else None)
    for at in range(len(body)):
        split.feed(body[at : at + 1])
    split.close()
    assert split.findings == whole.findings
    assert (split.state, split.events, split.values.state) == (whole.state, whole.events, whole.values.state)


def test_every_stream_is_known_as_ag_ui() -> None:
    """By its content: those with nothing but odd events too."""
    assert [stream["name"] for stream in STREAMS if not is_ag_ui(body_of(stream))] == []
    nested = b'data: {"type":"start","messageId":"m"}\n\ndata: {"type":"data-x","data":{"type":"RUN_STARTED"}}\n\n'
    assert not is_ag_ui(nested)
    assert not is_ag_ui(b"")
    assert not is_ag_ui(b"<html>")
    assert is_ag_ui(b"data: [DONE]\n\n" + run_of())
    assert is_ag_ui(run_of({"type": "CUSTOM", "name": "acme.x", "value": "x" * 200_000}))


def test_a_finding_says_where_it_is_and_what_to_do() -> None:
    """The event from 0, a pointer into it, the rule, and the remedy of the catalogue."""
    found = check(run_of({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": 1}))
    assert [(one.code, one.place.event, one.place.pointer) for one in found] == [("ag-ui-malformed", 1, "/delta")]
    assert found[0].message == "delta has to be a string, not a number"
    assert "agui.95" in found[0].kind.clauses


@pytest.mark.parametrize("code", ["ag-ui-open-at-end", "ag-ui-malformed"])
def test_a_finding_cites_the_rules_of_what_it_is_about(code: str) -> None:
    """Those that the stream names, and at most that of its member: who leaves a text open breaks no rule of steps."""
    wrong = {}
    for stream in STREAMS:
        found = [one for one in judge_stream(body_of(stream), input_of(stream)).findings if one.code == code]
        if found and "rules" in stream:
            cited = {clause for one in found for clause in one.clauses}
            named = {f"agui.{number}" for number in stream["rules"]} & set(found[0].kind.clauses)
            if not named <= cited or len(cited - named) > 1:
                wrong[stream["name"]] = cited
    assert wrong == {}


END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
WORD = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}
SAID: dict[str, tuple[list[dict[str, Any]], str, str | None, str]] = {
    "a first chunk that names nothing": (
        [{"type": "TOOL_CALL_CHUNK", "delta": "{}"}],
        "ag-ui-first-chunk",
        None,
        "the first TOOL_CALL_CHUNK of a tool call does not have toolCallId and toolCallName",
    ),
    "an event that AG-UI does not have": (
        [{"type": "TEXT_MESSAGE_BEGIN"}],
        "ag-ui-unknown-event",
        "/type",
        "TEXT_MESSAGE_BEGIN is not an event of AG-UI",
    ),
    "a time in fractions": (
        [{"type": "CUSTOM", "name": "acme.x", "value": 1, "timestamp": 0.5}],
        "ag-ui-malformed",
        "/timestamp",
        "timestamp has to be an integer, not a number",
    ),
    "a role that is not a text": (
        [{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": 7}],
        "ag-ui-malformed",
        "/role",
        "role has to be a string, not a number",
    ),
    "a member that AG-UI does not have": (
        [{"type": "CUSTOM", "name": "acme.x", "value": 1, "odd": 1}],
        "ag-ui-unknown-field",
        "/odd",
        "odd is not a member of CUSTOM",
    ),
    "a member that comes with a later version": (
        [{"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "r", "role": "reasoning", "content": "", LATER: "a"}]}],
        "ag-ui-unknown-field",
        f"/messages/0/{LATER}",
        f"{LATER} is not a member of reasoning before 1.1",
    ),
    "the end of a text that has ended": (
        [{"type": "TEXT_MESSAGE_START", "messageId": "m"}, END, END],
        "ag-ui-not-open",
        None,
        "the text message 'm' has been closed",
    ),
    "the end of a call that never began": (
        [{"type": "TOOL_CALL_END", "toolCallId": "c"}],
        "ag-ui-not-open",
        None,
        "the tool call 'c' was not opened",
    ),
    "the end of a text that never began": ([END], "ag-ui-not-open", None, "the text message 'm' was not opened"),
}


@pytest.mark.parametrize("case", SAID)
def test_a_finding_says_what_is_wrong(case: str) -> None:
    """In words that name the member, the kind of value, the version, and what had happened to an item."""
    events, code, pointer, message = SAID[case]
    found = [(one.code, one.place.pointer, one.message) for one in judge_stream(run_of(*events)).findings]
    assert found[0] == (code, pointer, message)


def test_a_finding_shows_what_came_and_what_is_right() -> None:
    """Of whom a call is and its message; the id that two messages have; what is wrong with the input is the input's."""
    message = [{"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s1"}, END]
    call = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m"}
    owners = judge_stream(
        run_of(*message, {**call, "subagentRunId": "s2"}, {"type": "TOOL_CALL_END", "toolCallId": "c"})
    )
    assert [(one.got, one.expected) for one in owners.findings if one.code == "ag-ui-call-owner"] == [("s2", "s1")]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": "r"}
    ids = judge_stream(run_of(message[0], END, result)).findings
    assert [one.got for one in ids if one.code == "ag-ui-message-id-reused"] == ["m"]
    assert judge_stream(run_of(), b"{}").findings[0].place.side == "input"
    text = {**END, "type": "TEXT_MESSAGE_START"}
    again = judge_stream(run_of(text, END, {**text, "role": "user"}, END)).findings[0]
    values = {"role": "user", "name": None, "subagentRunId": None}
    assert (again.got, again.expected) == (values, {**values, "role": "assistant"})
    activity = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {}}
    other = {**activity, "replace": False, "subagentRunId": "s1"}
    found = judge_stream(run_of({**activity, "subagentRunId": "s2"}, other)).findings
    assert [(one.got, one.expected) for one in found if one.code == "ag-ui-activity-owner"] == [("s1", "s2")]


def test_a_read_of_one_event_counts_it() -> None:
    """As in a live stream: a finding is at the event, or the byte, of the whole stream, and not of its read."""
    judge = Judge()
    whole = run_of({**END, "type": "TEXT_MESSAGE_START"}, WORD, END, END)
    for frame in whole.split(b"\n\n")[:-1]:
        judge.feed(frame + b"\n\n")
    judge.feed(b": bye\r\n")
    judge.close()
    (line_ends,) = (one.place.byte for one in judge.findings if one.code == "ag-ui-line-ends")
    assert line_ends == len(whole + b": bye")
    assert [one.place.event for one in judge.findings if one.code == "ag-ui-not-open"] == [4]
    assert judge.events == 6


def test_who_takes_events_gets_each_piece() -> None:
    """Also the pieces that follow each other in one read."""
    taken: list[Any] = []
    Judge(take=taken.append).feed(run_of({**END, "type": "TEXT_MESSAGE_START"}, WORD, WORD, WORD, END))
    assert [one.delta for one in taken if hasattr(one, "delta")] == ["a"] * 3


def test_one_mistake_is_one_finding() -> None:
    """A start that got lost is reported once, and what follows the end of a run not event by event."""
    lost = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": str(n)} for n in range(9)]
    assert [one.code for one in check(run_of(*lost))] == ["ag-ui-not-open"]
    late = run_of() + framed([{"type": "TEXT_MESSAGE_START", "messageId": "m"}, *lost])
    assert [one.code for one in check(late)] == ["ag-ui-after-end"]


def test_state_and_activities_are_what_a_client_holds() -> None:
    """Snapshots replace, patches amend at once or not at all, and the input's state is where a run begins."""
    posted = json.dumps({"threadId": "t", "runId": "r", "messages": [], "state": {"n": 1}}).encode()
    events: list[dict[str, Any]] = [
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/n", "value": 2}, {"op": "remove", "path": "/x"}]},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/m", "value": [1]}, {"op": "later", "path": "/n"}]},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "plan", "content": {"k": 1}},
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "other", "content": {}, "replace": False},
        {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "done", "patch": [{"op": "remove", "path": "/k"}]},
    ]
    judge = judge_stream(run_of(*events), posted)
    assert judge.values.state == {"n": 1, "m": [1]}
    activity = judge.values.activities["a"]
    assert (activity.kind, activity.content, activity.owner) == ("done", {}, None)
    assert [one.code for one in judge.findings] == ["ag-ui-patch-fails", "ag-ui-unknown-value"]


def test_a_malformed_patch_changes_nothing() -> None:
    """Also not with what stands before the operation that is wrong."""
    right = {"op": "replace", "path": "", "value": 2}
    delta = {"type": "STATE_DELTA", "delta": [right, {"op": "add"}]}
    assert judge_stream(run_of({"type": "STATE_SNAPSHOT", "snapshot": 1}, delta)).values.state == 1


def test_the_end_of_a_stream_is_told_apart() -> None:
    """A run that has finished, one that failed, and one whose end did not come."""
    started = framed([{"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}])
    ends = {
        AgUiRunState.FINISHED: run_of(),
        AgUiRunState.FAILED: run_of() + framed([{"type": "RUN_ERROR", "message": "flush failed"}]),
        AgUiRunState.RUNNING: started,
        AgUiRunState.NOT_BEGUN: b": nothing\n\n",
    }
    assert {state: judge_stream(body).state for state, body in ends.items()} == {state: state for state in ends}
    assert [one.code for one in judge_stream(b": nothing\n\n").findings] == ["ag-ui-truncated"]


def test_an_input_that_is_echoed_is_where_a_run_begins() -> None:
    """A recording without the input beside it still has it in RUN_STARTED, if the server echoes it."""
    echoed = {"threadId": "t", "runId": "r", "messages": [], "state": {"n": 1}}
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0", "input": echoed}
    delta = {"type": "STATE_DELTA", "delta": [{"op": "test", "path": "/n", "value": 1}]}
    assert (
        judge_stream(framed([started, delta, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}])).findings == []
    )
