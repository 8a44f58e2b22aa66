"""What an import of UI messages does not take over, it names; what it refuses, it refuses at a part.

Every text, output, reason and argument of a generated page is a word of its own, so that it can be looked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpharness.errors import ThreadError
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.histories.exchange.imported import Imported

AT = "2025-01-20T10:00:00Z"
STATES = (
    *("input-streaming", "input-available", "approval-requested", "approval-responded", "output-available"),
    *("output-error", "output-denied", "done", "result", None),
)
USER = {"role": "user", "parts": [{"type": "text", "text": "Book"}]}


def imported(*parts: dict[str, Any]) -> Imported:
    """Return the thread of a page with one answer."""
    page = [USER, {"role": "assistant", "parts": list(parts)}]
    return thread_of_ui_messages(page, agent_id="bot", thread_id="t", at=AT)


def call(state: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a part of a call."""
    stated = {} if state is None else {"state": state}
    return {"type": "tool-book", "toolCallId": "c1", "input": {"city": "Paris"}, **stated, **more}


def said(found: Imported) -> list[tuple[str, str, str]]:
    """Return the losses as they are printed."""
    return [(loss.pointer, loss.what, loss.why) for loss in found.losses]


def results(found: Imported) -> list[Any]:
    """Return status and content of the returns."""
    messages = [message for turn in found.thread["turns"] for message in turn.get("messages", ())]
    parts = [part for message in messages for part in message.get("parts", ())]
    return [(part["status"], part["content"]) for part in parts if part["part_kind"] == "tool-return"]


# ------------------------------------------------------------------------------------------------ by hand


@pytest.mark.parametrize("state", ["done", "result", None])
def test_a_state_that_nobody_knows_is_said_and_the_output_is_kept(state: str | None) -> None:
    """The tool has run, which is not forgotten: the call is what its other fields say, as `repair` reads it."""
    found = imported(call(state, output="booked"))
    assert results(found) == [("success", "booked")]
    (loss,) = found.losses
    assert (loss.pointer, loss.what) == ("/1/parts/0", "tool-book")
    assert loss.why.endswith("it is kept as one that has its output")
    failed = imported(call(state, errorText="full"))
    assert results(failed) == [("error", "full")]
    assert [why.partition("kept as ")[2] for _, _, why in said(failed)] == ["one that failed"]
    (waiting,) = imported(call(state)).losses
    assert waiting.why.endswith("it is kept as one that waits for its output")


def test_the_form_of_older_releases_is_named_with_what_it_had() -> None:
    """Parts of the kind `tool-call` have `args` and `result`, which no release with parts has."""
    older = {"type": "tool-call", "toolCallId": "c1", "toolName": "book", "args": {}, "result": "booked"}
    assert said(imported(older)) == [
        (
            "/1/parts/0",
            "tool-call",
            "it has no state, so it is kept as one that waits for its output, without args, result",
        )
    ]


def test_a_denial_that_the_server_has_not_answered_is_a_denial() -> None:
    """The page stores it before its next post; the SDK sends `execution-denied` for it."""
    denied = imported(call("approval-responded", approval={"id": "p1", "approved": False, "reason": "too dear"}))
    assert results(denied) == [("error", "too dear")]
    assert [(pointer, what) for pointer, what, _ in said(denied)] == [("/1/parts/0/state", "a denial")]
    granted = imported(call("approval-responded", approval={"id": "p1", "approved": True}))
    assert results(granted) == []
    assert [(pointer, what) for pointer, what, _ in said(granted)] == [("/1/parts/0/approval", "an approval")]


def test_an_answer_without_parts_is_named() -> None:
    """It becomes a complete turn without messages."""
    assert said(imported()) == [("/1/parts", "no parts", "it is kept as a complete turn without messages")]


def test_arguments_as_text_and_a_preliminary_output_are_named() -> None:
    """The first are kept otherwise than a model is sent them, the second are not an output yet."""
    text = imported(call("output-available", input='{"city":"Paris"}', output="booked"))
    assert [(pointer, what) for pointer, what, _ in said(text)] == [("/1/parts/0/input", "arguments as text")]
    early = imported(call("output-available", output="booking", preliminary=True))
    assert [(pointer, what) for pointer, what, _ in said(early)] == [("/1/parts/0/output", "a preliminary output")]


def test_a_refusal_names_the_message_and_the_part() -> None:
    """Not an event of a stream that nobody has."""
    whole = call("output-available", output="booked")
    with pytest.raises(ThreadError) as raised:
        imported({"type": "text", "text": "Let me."}, whole, whole)
    assert {finding.place.pointer for finding in raised.value.findings} == {"/1/parts/2"}
    assert all(finding.place.event is None for finding in raised.value.findings)
    without_id = {name: value for name, value in whole.items() if name != "toolCallId"}
    with pytest.raises(ThreadError) as raised:
        imported(without_id)
    assert [finding.place.pointer for finding in raised.value.findings] == ["/1/parts/0"]


# ------------------------------------------------------------------------------------------------ any page


@st.composite
def pages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw the parts of an answer; each word in them is unlike all others."""
    parts: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 5))):
        word = f"word-{number}"
        kind = draw(st.sampled_from(("text", "reasoning", "step-start", "tool", "tool", "data-note", "hologram")))
        if kind == "tool":
            state = draw(st.sampled_from(STATES))
            approved = draw(st.sampled_from((None, True, False)))
            part = {"type": "tool-book", "toolCallId": f"c{number}", "input": {"city": f"{word}-input"}}
            part |= {"state": state} if state is not None else {}
            if state in ("output-available", "done", "result", None):
                part["output"] = f"{word}-output"
            if state == "output-error":
                part["errorText"] = f"{word}-error"
            if state in ("approval-responded", "output-denied") and approved is not None:
                part["approval"] = {"id": f"p{number}", "approved": approved, "reason": f"{word}-reason"}
            parts.append(part | ({"preliminary": True} if draw(st.booleans()) and state == "output-available" else {}))
        elif kind in ("text", "reasoning"):
            parts.append({"type": kind, "text": word, "state": draw(st.sampled_from(("done", "streaming")))})
        elif kind == "data-note":
            parts.append({"type": kind, "data": {"note": word}})
        else:
            parts.append({"type": kind, "note": word} if kind == "hologram" else {"type": kind})
    return parts


def words_of(value: Any) -> Iterator[str]:
    """Yield every drawn word in a value."""
    if isinstance(value, str) and value.startswith("word-"):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from words_of(item)


@given(pages())
def test_whatever_is_not_in_the_thread_is_in_the_report(parts: list[dict[str, Any]]) -> None:
    """Each word of each part, unless a part of its response was still streaming, which takes the response with it."""
    found = imported(*parts)
    kept = json.dumps(found.thread)
    lost = [loss.pointer for loss in found.losses]
    cut = any(part.get("state") in ("streaming", "input-streaming") for part in parts)
    for number, part in enumerate(parts):
        pointer = f"/1/parts/{number}"
        named = any(one == pointer or one.startswith(f"{pointer}/") for one in lost)
        for word in words_of(part):
            assert word in kept or named or cut, (word, lost)
    assert parts or lost


def test_a_text_that_is_not_one_is_not_lost_in_silence() -> None:
    """What a user said as a number, or not at all."""
    for said in (5, None):
        chat = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": said}, {"type": "text", "text": "Hi"}]}]
        made = thread_of_ui_messages(chat, agent_id="a", thread_id="t", at="2025-01-20T10:00:00Z")
        assert [(loss.pointer, loss.what) for loss in made.losses] == [("/0/parts/0", "a text")]
