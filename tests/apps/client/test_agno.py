"""The wire of Agno's runs, read from recorded streams and from a server of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apps.agno_app import AgnoApp
from tests.apps.chat_app import Defect
from tests.apps.playing import codes_of, play

from tpharness.apps.client.agno import AgnoPage, AgnoRefusedError, AgnoStream
from tpharness.apps.client.profile import Chat, Trigger, make_body
from tpharness.verdict import Outcome
from tpharness.wires.sse.parser import SseParser

STREAMS = Path(__file__).parent / "agno_streams"
WIRE: dict[str, Any] = {
    "history": "agno",
    "path": "",
    "effects": "ledger",
    "stop": "POST /agents/{agent}/runs/{run_id}/cancel",
    "on_disconnect": "stop",
}


def test_a_right_server_is_accused_of_nothing() -> None:
    """No case has a finding, not even a policy."""
    results = play(AgnoApp(), **WIRE)
    assert [one.id for one in results if one.findings] == []
    assert sum(one.outcome is Outcome.PASSED for one in results) > 50


@pytest.mark.parametrize(
    ("defect", "code", "cases"),
    [
        (Defect.HIDES_FAILURE, "failure-as-finish", "model-fails"),
        (Defect.TEARS_STREAM, "failure-unsaid", "model-fails"),
        (Defect.FINISHES_STOP, "stop-as-finish", "stop-button/in-text"),
        (Defect.RUNS_ON, "runs-on", "user-leaves/in-text"),
        (Defect.SHOWS_TWICE, "answer-shown-twice", "uncut"),
        (Defect.RUNS_TWICE, "tool-ran-twice", "uncut"),
        (Defect.RUNS_HALF_CALL, "half-call-ran", "model-stops"),
        (Defect.STOPS_ALL, "other-chat-ended", "two-chats"),
        (Defect.REPAIRS_ARGUMENTS, "arguments-invented", "user-leaves/in-arguments"),
    ],
)
def test_a_broken_server_is_found(defect: Defect, code: str, cases: str) -> None:
    """By the same checks as on any other wire, and by nothing else."""
    assert codes_of(play(AgnoApp(defect), cases, **WIRE)) == {code}


@pytest.mark.parametrize(
    ("name", "last"), [("whole", "finish"), ("stopped", "abort"), ("failed", "error"), ("left", "text-delta")]
)
def test_a_recorded_stream_is_read(name: str, last: str) -> None:
    """Of agno 3.1.10. A run that is whole says its text at its end; one that was stopped says more than it has sent."""
    frames = [json.loads(data) for data in SseParser().feed_data((STREAMS / f"{name}.sse").read_bytes())]
    stream = AgnoStream()
    chunks = [chunk for frame in frames for chunk in stream.feed(json.dumps(frame).encode())]
    said = "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")
    assert said == "".join(frame["content"] for frame in frames if frame["event"] == "RunContent")
    ends = [frame["content"] for frame in frames if frame["event"] in ("RunCompleted", "RunCancelled")]
    assert all(said == text if name == "whole" else text.startswith(said) for text in ends)
    assert len(ends) == {"whole": 1, "stopped": 2}.get(name, 0)
    assert chunks[-1]["type"] == last
    assert stream.run_id == frames[0]["run_id"]
    called = [frame["tool"] for frame in frames if frame["event"] == "ToolCallCompleted"]
    assert [(c["toolCallId"], c["output"]) for c in chunks if c["type"] == "tool-output-available"] == [
        (tool["tool_call_id"], tool["result"]) for tool in called
    ]


def test_a_page_posts_a_form() -> None:
    """What is no text is written as JSON has it."""
    chat = Chat(id="s1", messages=[{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi & bye"}]}])
    body = make_body(AgnoPage(), chat, Trigger.SUBMIT, {"background": False})
    assert body == b"message=Hi+%26+bye&stream=true&session_id=s1&background=false"
    with pytest.raises(ValueError, match="take regenerate and edit out"):
        AgnoPage().body(chat, Trigger.REGENERATE)


def test_what_is_not_json_is_refused() -> None:
    """A page cannot read on."""
    with pytest.raises(AgnoRefusedError, match="not JSON"):
        list(AgnoStream().feed(b"{"))
