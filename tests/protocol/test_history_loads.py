"""The history of any valid thread is loaded by Pydantic AI's own classes, and says what is not in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic_ai import ModelMessagesTypeAdapter
from pydantic_ai.messages import ModelRequest, ModelResponse, ThinkingPart, ToolReturnPart

from tpharness.explore.strategies import documents
from tpharness.protocol.history import ModelHistory, check_history, model_history
from tpharness.resources import conformance_dir

AT = "2025-01-20T10:00:{:02d}Z"
REFERENCE = {"uri": "https://example.org/1", "size_bytes": 5}


def call(call_id: str) -> dict[str, Any]:
    """Return a call."""
    return {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": call_id, "args": [1]}


def answer(call_id: str, status: str = "success", **more: Any) -> dict[str, Any]:
    """Return a return."""
    part = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": call_id, "status": status}
    return part | (more or {"content": status})


def history(*messages: list[dict[str, Any]], **options: Any) -> ModelHistory:
    """Return the history of a thread with these parts: responses and requests in turn."""
    turn = {
        "turn_type": "agent",
        "agent_id": "a",
        "messages": [
            {"message_type": kind, "timestamp": AT.format(second), "agent_id": "a", "parts": parts}
            for second, (kind, parts) in enumerate(zip(["response", "request"] * 4, messages, strict=False))
        ],
    }
    return model_history({"version": "0.0.4", "agents": {}, "turns": [turn]}, **options)


def loaded(messages: list[dict[str, Any]]) -> list[ModelRequest | ModelResponse]:
    """Return the messages as Pydantic AI loads them."""
    return list(ModelMessagesTypeAdapter.validate_python(messages))


def test_the_status_of_a_return_is_its_outcome() -> None:
    """R22: Pydantic AI ignores a status, so that a failure would be loaded as a success."""
    calls = [call("c1"), call("c2"), call("c3")]
    made = history(calls, [answer("c1"), answer("c2", "error"), answer("c3", "validation_error")])
    parts = [part for part in loaded(made.messages)[1].parts if isinstance(part, ToolReturnPart)]
    assert [(part.outcome, part.content) for part in parts] == [
        ("success", "success"),
        ("failed", "error"),
        ("retried", "validation_error"),
    ]
    assert parts[0].timestamp.isoformat() == "2025-01-20T10:00:01+00:00"  # and not the time of loading
    assert made.left_out == ()


def test_a_thought_keeps_its_id_and_its_provider_if_it_has_one() -> None:
    """R15: `unknown` is the word for no provider."""
    thoughts: list[dict[str, Any]] = [
        {"part_kind": "thinking", "content": "Hm.", "provider_name": "openai", "thinking_id": "rs_1", "signature": "s"},
        {"part_kind": "thinking", "content": None, "provider_name": "unknown"},
    ]
    one, other = loaded(history(thoughts).messages)[0].parts
    assert one == ThinkingPart(content="Hm.", id="rs_1", signature="s", provider_name="openai")
    assert other == ThinkingPart(content="")


def test_parts_that_the_library_does_not_have_are_left_out_and_reported() -> None:
    """Each with its place: custom parts, metadata, files without their data, content that is not base64."""
    bad = {"kind": "binary", "data": "%%%", "media_type": "image/png", "identifier": "x"}
    parts: list[dict[str, Any]] = [
        {"part_kind": "custom:plan", "step": 1},
        {"part_kind": "text", "content": "x"},
        {"part_kind": "meta:cost", "cents": 1},
        {"part_kind": "file", "content": {"kind": "image-url", "url": "https://example.org/a", "identifier": "a"}},
        {"part_kind": "file", "content": bad},
    ]
    asked = [{"part_kind": "user-prompt", "content": ["Look.", {"kind": "hologram"}, bad]}]
    made = history(parts, asked)
    assert [(loss.pointer, loss.what) for loss in made.left_out] == [
        ("/turns/0/messages/0/parts/0", "custom:plan"),
        ("/turns/0/messages/0/parts/2", "meta:cost"),
        ("/turns/0/messages/0/parts/3", "a file by image-url"),
        ("/turns/0/messages/0/parts/4", "a file"),
        ("/turns/0/messages/1/parts/0", "hologram"),
        ("/turns/0/messages/1/parts/0", "binary"),
    ]
    assert [p["part_kind"] for p in made.messages[0]["parts"]] == ["text"]
    assert made.messages[1]["parts"][0]["content"] == ["Look."]
    assert len(loaded(made.messages)) == 2


def test_a_response_of_which_nothing_is_left_is_not_sent() -> None:
    """No empty message: some APIs reject one."""
    made = history([{"part_kind": "custom:plan"}], [{"part_kind": "user-prompt", "content": "Go on."}])
    assert [message["kind"] for message in made.messages] == ["request"]


def test_a_reference_that_nobody_resolves_leaves_the_calls_out_and_is_reported() -> None:
    """R6, R46: a model is told neither an empty result nor the address of one."""
    said = {"part_kind": "text", "content": "I look."}
    returns = [answer("c1"), answer("c2", content_ref=REFERENCE)]
    made = history([said, call("c1"), call("c2")], returns)
    assert [[p["part_kind"] for p in message["parts"]] for message in made.messages] == [["text"]]
    (loss,) = made.left_out
    assert loss.pointer == "/turns/0/messages/0"
    assert loss.what == "calls c1, c2, and the returns of c1"
    assert loss.why == "the return of c2 is stored at https://example.org/1, and nobody resolved it (R6)"
    assert "history-call-unanswered" not in {finding.code for finding in check_history(made.messages)}


@pytest.mark.parametrize("content", [{"t": 1}, "", None, [], 0])
def test_a_reference_is_resolved_by_the_caller(content: Any) -> None:
    """Whatever is stored there, an empty text too, is what the tool returned."""
    stored = {"https://example.org/1": content}
    made = history(
        [call("c1")], [answer("c1", content_ref=REFERENCE)], resolve=lambda reference: stored[reference["uri"]]
    )
    assert made.left_out == ()
    part = loaded(made.messages)[1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert part.content == content
    assert "content_ref" not in made.messages[1]["parts"][0]


def test_what_the_caller_does_not_have_is_reported() -> None:
    """A LookupError of `resolve` says so."""
    made = history([call("c1")], [answer("c1", content_ref=REFERENCE)], resolve=lambda reference: {}[reference["uri"]])
    assert [loss.what for loss in made.left_out] == ["calls c1"]
    assert made.messages == []


def test_a_retry_prompt_answers_its_call_also_without_the_name_of_the_tool() -> None:
    """Pydantic AI takes one without a name for feedback that answers no call."""
    retry = {"part_kind": "retry-prompt", "content": "again", "tool_call_id": "c1"}
    part = loaded(history([call("c1")], [retry]).messages)[1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert (part.outcome, part.tool_name, part.tool_call_id) == ("retried", "look", "c1")


def test_arguments_that_are_not_an_object_are_sent_as_their_text() -> None:
    """R12 keeps any JSON value; the library has texts and objects."""
    assert history([call("c1")], [answer("c1")]).messages[0]["parts"][0]["args"] == "[1]"


@settings(max_examples=100)
@given(documents())
def test_the_history_of_any_valid_thread_is_loaded(thread: dict[str, Any]) -> None:
    """With unknown fields and kinds, values at the edges, retries and references in it (R7)."""
    made = model_history(thread)
    loaded(json.loads(json.dumps(made.messages)))
    assert all(loss.why for loss in made.left_out)
    parts = [
        (t, m, p)
        for t, turn in enumerate(thread["turns"])
        for m, message in enumerate(turn.get("messages", ()))
        for p in range(len(message.get("parts", ())))
    ]
    custom = [
        f"/turns/{t}/messages/{m}/parts/{p}"
        for t, m, p in parts
        if thread["turns"][t]["messages"][m]["parts"][p]["part_kind"].startswith("custom:")
    ]
    assert set(custom) <= {loss.pointer for loss in made.left_out}


def test_the_histories_of_the_golden_threads_are_loaded() -> None:
    """Every scenario's thread, in every version, odd ones too."""
    count = 0
    for path in sorted((conformance_dir() / "golden").rglob("*.json")):
        loaded(json.loads(json.dumps(model_history(json.loads(path.read_bytes())).messages)))
        count += 1
    assert count > 400
