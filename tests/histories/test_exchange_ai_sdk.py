"""The AI SDK takes the UI messages that are made of threads; a chat of its own becomes a thread and comes back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.histories.test_exchange_losses import pages

import tpharness.peers
from tpharness.errors import InputError, ThreadError
from tpharness.findings import Level
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.histories.exchange.imported import Imported
from tpharness.histories.exchange.model_calls import model_call
from tpharness.histories.exchange.to_ui_messages import ui_messages
from tpharness.protocol.rules import check_thread
from tpharness.resources import conformance_dir
from tpharness.targets.node_packages import node_program

AT = "2025-01-20T10:00:00Z"
SCRIPT = """
import { validateUIMessages, convertToModelMessages } from 'ai';
import { readFileSync } from 'node:fs';
const out = [];
for (const messages of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    await validateUIMessages({ messages });
    out.push(await convertToModelMessages(messages));
  } catch (error) { out.push(String(error)); }
}
process.stdout.write(JSON.stringify(out));
"""
TOO_MUCH = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
Convert = Callable[[list[list[dict[str, Any]]]], list[Any]]


@pytest.fixture(scope="module", params=["ai_sdk", "ai_sdk_6", "ai_sdk_5"])
def convert(request: pytest.FixtureRequest) -> Convert:
    """Return a function that gives lists of messages to a release (7, 6, 5): model messages of each, or an error."""
    program = node_program(Path(tpharness.peers.__file__).parent / request.param)

    def run(lists: list[list[dict[str, Any]]]) -> list[Any]:
        command = [str(program.node), "--input-type=module", "-e", SCRIPT]
        done = subprocess.run(
            command, cwd=program.scripts, input=json.dumps(lists).encode(), capture_output=True, check=True, timeout=60
        )
        found: list[Any] = json.loads(done.stdout)
        return found

    return run


def imported(messages: Any) -> Imported:
    """Return the thread of messages."""
    return thread_of_ui_messages(messages, agent_id="bot", thread_id="t", at=AT)


def tool(call_id: str, **fields: Any) -> dict[str, Any]:
    """Return a tool part."""
    return {"type": "tool-look", "toolCallId": call_id, "state": "output-available", "input": {"q": call_id}, **fields}


def user(*parts: Any) -> dict[str, Any]:
    """Return a user's message; a text is a part."""
    said = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    return {"id": "u", "role": "user", "parts": said}


def answer(*parts: dict[str, Any]) -> dict[str, Any]:
    """Return an assistant's message."""
    return {"id": "a", "role": "assistant", "parts": list(parts)}


TEXT = {"type": "text", "text": "Done.", "state": "done"}
IMAGE = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,cG5n"}
CHAT = [
    user("Look.", IMAGE, {"type": "file", "mediaType": "application/pdf", "url": "https://example.org/a.pdf"}),
    answer(
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm.", "state": "done", "providerMetadata": {"anthropic": {"signature": "s"}}},
        {"type": "text", "text": "I look.", "state": "done"},
        tool("c1", output={"t": 1}),
        tool("c2", output="plain"),
        tool("c3", state="output-error", errorText="no luck"),
        {"type": "step-start"},
        tool("c4", output=[1, None]),
        {"type": "step-start"},
        IMAGE,
        TEXT,
    ),
    user("And now?"),
    answer({"type": "step-start"}, {"type": "text", "text": "Nothing.", "state": "done"}),
]


FIRST = "thinking text tool-call tool-call tool-call | tool-return tool-return tool-return"


def outline(thread: dict[str, Any]) -> list[str]:
    """Return a line for each turn: the kinds of parts of each message."""
    lines = []
    for turn in thread["turns"]:
        if turn["turn_type"] == "user":
            lines.append("user")
            continue
        said = [" ".join(part["part_kind"] for part in m.get("parts", ())) or m["event_type"] for m in turn["messages"]]
        lines.append(f"{turn['completion_status']}: {' | '.join(said)}")
    return lines


@pytest.mark.node
def test_a_chat_becomes_a_thread_and_the_model_is_told_the_same(convert: Convert) -> None:
    """The real package makes the same model messages of the chat and of what comes back of the thread."""
    made = imported(CHAT)
    assert made.losses == ()
    assert outline(made.thread) == [
        "user",
        f"complete: {FIRST} | tool-call | tool-return | file text",
        "user",
        "complete: text",
    ]
    back = model_call(made.thread, "ai-sdk")
    assert back.left_out == back.not_sent == ()
    before, after = convert([CHAT, back.messages])
    assert before == after
    assert len(before) == 8


@pytest.mark.node
def test_the_package_takes_what_is_written_of_the_golden_threads(convert: Convert) -> None:
    """It validates them, and the model messages have every call with its result, in order."""
    lists, calls = [], []
    for path in sorted((conformance_dir() / "golden").rglob("*.json")):
        if "@" in path.stem:
            continue
        thread = {**json.loads(path.read_bytes()), "agents": {}}
        made = model_call(thread, "ai-sdk").messages
        if made:
            lists.append(made)
            told = model_call(thread, "pydantic-ai").messages
            calls.append([p["tool_call_id"] for m in told for p in m["parts"] if p["part_kind"] == "tool-call"])
    assert len(lists) > 250
    for messages, expected in zip(convert(lists), calls, strict=True):
        assert not isinstance(messages, str), messages
        parts = [part for message in messages if isinstance(message["content"], list) for part in message["content"]]
        made = [
            part["toolCallId"] for part in parts if part["type"] == "tool-call" and not part.get("providerExecuted")
        ]
        results = [p["toolCallId"] for m in messages if m["role"] == "tool" for p in m["content"]]
        assert made == expected
        assert sorted(results) == sorted(expected)


@pytest.mark.node
@settings(max_examples=3, suppress_health_check=TOO_MUCH)
@given(st.lists(pages(), min_size=60, max_size=60))
def test_the_package_takes_what_comes_back_of_any_page(convert: Convert, drawn: list[list[dict[str, Any]]]) -> None:
    """Whatever the page held: what is written of its thread is valid, and no call is sent without its result."""
    threads = [imported([user("Book"), answer(*parts)]).thread for parts in drawn]
    made = [model_call(thread, "ai-sdk", next_user="Go on.").messages for thread in threads]
    for messages, told in zip(made, convert(made), strict=True):
        assert not isinstance(told, str), (told, messages)
        parts = [part for message in told if isinstance(message["content"], list) for part in message["content"]]
        called = [part["toolCallId"] for part in parts if part["type"] == "tool-call"]
        answered = [part["toolCallId"] for part in parts if part["type"] == "tool-result"]
        assert sorted(called) == sorted(answered)


def test_an_answer_that_was_still_streaming_was_interrupted() -> None:
    """R20: its last response goes, the cycle before it stays; the part is reported."""
    half = {"type": "text", "text": "Do", "state": "streaming"}
    made = imported([user("Hi"), answer({"type": "step-start"}, tool("c1", output=1), {"type": "step-start"}, half)])
    assert outline(made.thread) == ["user", "interrupted: tool-call | tool-return"]
    assert [loss.pointer for loss in made.losses] == ["/1/parts/3"]
    cut = imported([user("Hi"), answer({"type": "step-start"}, tool("c1", state="input-streaming", input={"q": 1}))])
    assert outline(cut.thread) == ["user"]


def test_calls_are_what_their_state_says() -> None:
    """A refused input, a denial with its reason, a call that waits, one of the provider, one of an undeclared tool."""
    parts = [
        tool("c1", state="output-error", input=None, rawInput="{", errorText="not JSON"),
        tool("c2", state="output-denied", approval={"id": "1", "approved": False, "reason": "No."}),
        {**tool("c3", output=3), "type": "dynamic-tool", "toolName": "any"},
        tool("n1", output=1, providerExecuted=True),
        tool("c4", state="approval-requested", approval={"id": "2"}),
    ]
    made = imported([user("Hi"), answer({"type": "step-start"}, *parts)])
    (_, turn) = made.thread["turns"]
    returns = [p for m in turn["messages"] for p in m["parts"] if p["part_kind"] == "tool-return"]
    assert [(p["tool_call_id"], p["tool_name"], p["status"], p["content"]) for p in returns] == [
        ("c1", "look", "validation_error", "not JSON"),
        ("c2", "look", "error", "No."),
        ("c3", "any", "success", 3),
    ]
    assert [call.tool_call_id for call in model_call(made.thread, "ai-sdk").pending] == ["c4"]
    kinds = [part["part_kind"] for part in turn["messages"][0]["parts"]]
    assert kinds == ["tool-call", "tool-call", "tool-call", "builtin-tool-call", "builtin-tool-return", "tool-call"]


def test_a_file_of_the_model_at_an_address_keeps_it() -> None:
    """It has no data to write."""
    content = {"kind": "image-url", "url": "https://example.org/a.png", "media_type": "image/png"}
    messages, left_out = ui_messages([{"kind": "response", "parts": [{"part_kind": "file", "content": content}]}])
    assert messages[0]["parts"][1] == {"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"}
    assert left_out == []


def test_events_and_sources_become_events() -> None:
    """They are in the thread; no model is sent them, which is reported."""
    source = {"type": "source-url", "sourceId": "s", "url": "https://example.org"}
    made = imported(
        [user("Hi"), answer({"type": "step-start"}, source, {"type": "data-app-note", "data": {"a": 1}}, TEXT)]
    )
    assert outline(made.thread) == ["user", "complete: text | source.url | data-app-note"]
    assert [loss.what for loss in model_call(made.thread, "ai-sdk").left_out] == ["source.url", "data-app-note"]


def test_what_a_thread_does_not_have_is_reported() -> None:
    """System prompts, metadata, parts that no stream makes."""
    system = {"id": "s", "role": "system", "parts": [TEXT]}
    asked = {**user("Hi", {"type": "data-x", "data": 1}, {"type": "file", "mediaType": "a/b"}), "metadata": {"at": 1}}
    made = imported([system, asked, answer({"type": "hologram"}, TEXT)])
    assert [(loss.pointer, loss.what) for loss in made.losses] == [
        ("/0", "a system prompt"),
        ("/1/metadata", "metadata"),
        ("/1/parts/1", "data-x"),
        ("/1/parts/2", "file"),
        ("/2/parts/0", "hologram"),
    ]
    assert [f for f in check_thread(made.thread) if f.level is Level.MUST] == []


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"messages": []}, "a list was expected, not an object"),
        ([{"role": "tool", "parts": []}], "/0 has no role that is one of user, assistant, system"),
        ([{"role": "user", "content": "Hi"}], "/0/parts is not a list"),
        ([{"role": "user", "parts": [{"text": "x"}]}], "/0/parts/0 has no text type"),
    ],
)
def test_what_is_not_such_a_list_is_refused(value: Any, part: str) -> None:
    """The place and what was expected are named."""
    with pytest.raises(InputError) as refused:
        imported(value)
    assert part in str(refused.value)


@pytest.mark.parametrize(
    "part", [{"type": "text"}, {"type": "tool-look"}, {"type": "text", "text": 5}, {"type": "file"}]
)
def test_parts_that_no_stream_could_have_made_are_refused(part: dict[str, Any]) -> None:
    """A text without its text, a call without its id."""
    with pytest.raises(ThreadError) as refused:
        imported([user("Hi"), answer({"type": "step-start"}, part)])
    assert refused.value.findings
