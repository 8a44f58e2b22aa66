"""The wire of Google ADK's `api_server`: what the page reads is what Google's own types read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from tests.apps.adk_app import AdkApp
from tests.apps.chat_app import Defect
from tests.apps.playing import codes_of, play

from tpharness.apps.client.adk import AdkPage, AdkRefusedError, AdkStream
from tpharness.apps.client.profile import Chat, Trigger
from tpharness.verdict import Outcome
from tpharness.wires.sse.parser import SseParser

STREAMS = Path(__file__).parent / "adk_streams"
WIRE: dict[str, Any] = {
    "history": "adk",
    "path": "",
    "effects": "ledger",
    "thread": "GET /apps/{app}/users/{user}/sessions/{id}",
    "on_disconnect": "stop",
}


def test_a_right_server_is_accused_of_nothing() -> None:
    """One policy: the store of the tests has a word for a result until the tool has ended."""
    results = play(AdkApp(), **WIRE)
    assert codes_of(results) == set()
    said = {one.id for one in results if one.findings}
    assert said == {"reload/while-tool-runs"}
    assert sum(one.outcome is Outcome.PASSED for one in results) > 40


@pytest.mark.parametrize(
    ("defect", "code", "cases"),
    [
        (Defect.HIDES_FAILURE, "failure-as-finish", "model-fails"),
        (Defect.TEARS_STREAM, "failure-unsaid", "model-fails"),
        (Defect.RUNS_ON, "runs-on", "user-leaves/in-text"),
        (Defect.VIEWS_TWICE, "view-differs", "uncut"),
        (Defect.RUNS_TWICE, "tool-ran-twice", "uncut"),
        (Defect.RUNS_HALF_CALL, "half-call-ran", "model-stops"),
        (Defect.STOPS_ALL, "other-chat-ended", "two-chats"),
        (Defect.REPAIRS_ARGUMENTS, "arguments-invented", "user-leaves/in-arguments"),
    ],
)
def test_a_broken_server_is_found(defect: Defect, code: str, cases: str) -> None:
    """By the same checks as on any other wire, and by nothing else."""
    assert codes_of(play(AdkApp(defect), cases, **WIRE)) == {code}


Reading = tuple[str, dict[str, tuple[str, Any]], dict[str, Any]]


def read_by_us(data: bytes) -> tuple[Reading, list[str]]:
    """Return the text, calls and results by id; and the types of all chunks, those of the end too."""
    stream, text, types_seen = AdkStream(), "", []
    calls: dict[str, tuple[str, Any]] = {}
    results: dict[str, Any] = {}
    chunks = [chunk for event in SseParser().feed_data(data) for chunk in stream.feed(event)]
    for chunk in (*chunks, *stream.end()):
        types_seen.append(chunk["type"])
        match chunk:
            case {"type": "text-delta", "delta": delta}:
                text += delta
            case {"type": "tool-input-available", "toolCallId": call_id}:
                calls[call_id] = (chunk["toolName"], chunk["input"])
            case {"type": "tool-output-available", "toolCallId": call_id}:
                results[call_id] = chunk["output"]
    return (text, calls, results), types_seen


def read_by_google(data: bytes) -> Reading:
    """Return the same of the contents in Google's types: whole events, and deltas that no whole event has followed."""
    whole, rest = "", ""
    calls: dict[str, tuple[str, Any]] = {}
    results: dict[str, Any] = {}
    for event in map(json.loads, SseParser().feed_data(data)):
        for part in types.Content.model_validate(event.get("content") or {}).parts or ():
            if part.text and event.get("partial"):
                rest += part.text
            elif part.text:
                whole, rest = whole + part.text, ""
            if part.function_call is not None and not event.get("partial"):
                calls[str(part.function_call.id)] = (str(part.function_call.name), part.function_call.args)
            if part.function_response is not None:
                results[str(part.function_response.id)] = part.function_response.response
    return whole + rest, calls, results


@pytest.mark.parametrize("name", sorted(path.stem for path in STREAMS.glob("*.sse")))
def test_a_recorded_stream_is_read_as_google_reads_it(name: str) -> None:
    """Of google-adk 2.13.0; only a run that was over ends as one, and only one that failed has an error."""
    data = (STREAMS / f"{name}.sse").read_bytes()
    ours, types_seen = read_by_us(data)
    assert ours == read_by_google(data)
    assert ours[0], "it has words"
    assert ("finish" in types_seen) is name.startswith("whole")
    assert types_seen.count("error") == name.startswith("failed")


def test_a_session_is_shown_as_it_is_stored() -> None:
    """A call that was left while its tool ran has the word of ADK for its result."""
    shown = AdkPage().messages_of(json.loads((STREAMS / "left-in-a-tool.json").read_text("utf-8")))
    assert shown is not None
    user, answer = shown
    assert user["parts"] == [{"type": "text", "text": "BOOK it"}]
    (call,) = [part for part in answer["parts"] if part["type"] == "tool-book_hotel"]
    assert call["output"] == {"error": "Invocation was aborted by client."}
    assert [part["text"] for part in answer["parts"] if part["type"] == "text"] == ["Let me book. "]
    assert AdkPage().messages_of({"detail": "Session not found"}) is None


@pytest.mark.parametrize(
    ("event", "chunks"),
    [
        ({"finishReason": "STOP"}, [{"type": "finish", "finishReason": "stop"}]),
        ({"finishReason": "MAX_TOKENS", "errorCode": "MAX_TOKENS"}, [{"type": "finish", "finishReason": "length"}]),
        ({"finishReason": "RECITATION", "errorCode": "RECITATION"}, [{"type": "finish", "finishReason": "other"}]),
        ({}, [{"type": "finish"}]),
        ({"errorCode": "ModelError", "errorMessage": "away"}, [{"type": "error", "errorText": "away"}]),
        ({"error": "ModelError: away"}, [{"type": "error", "errorText": "ModelError: away"}]),
        ({"partial": True}, []),
    ],
)
def test_the_last_event_says_how_the_run_ended(event: dict[str, Any], chunks: list[dict[str, Any]]) -> None:
    """ADK gives every reason but STOP as an error code, too; that is the model's end, and not a failure."""
    stream = AdkStream()
    read = [*stream.feed(json.dumps(event).encode()), *stream.end()]
    assert read == [{"type": "start"}, *chunks]


def test_what_is_not_json_is_refused() -> None:
    """A page cannot read on."""
    with pytest.raises(AdkRefusedError, match="not JSON"):
        list(AdkStream().feed(b"{"))


def test_an_edit_is_refused_with_a_reason() -> None:
    """The page writes messages alone."""
    chat = Chat(id="t1", messages=[{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}])
    with pytest.raises(ValueError, match="take regenerate and edit out"):
        AdkPage().body(chat, Trigger.REGENERATE)
