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
