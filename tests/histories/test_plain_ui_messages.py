"""What is made without a stream is what folding the stream makes, key by key; what is not plain is folded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpharness.errors import InputError, ThreadError
from tpharness.histories.exchange import from_ui_messages
from tpharness.histories.exchange.plain_ui_messages import plain_turns

AT = "2025-01-20T10:00:00Z"

ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, "", "\ud800", 0, True, [], {}, {"INVALID_JSON": "{"}, 2**60, 1e300]
)
WORDS = st.text(max_size=5)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=3,
)
TEXTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "reasoning"]), "text": WORDS | ODD},
    optional={"state": st.sampled_from(["done", "streaming", None, 1]), "providerMetadata": st.just({"a": {}}) | ODD},
)
CALLS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["tool-look", "tool-", "dynamic-tool"]),
        "toolCallId": st.sampled_from(["c1", "c2", "c3", "c4"]) | ODD,
        "state": st.sampled_from(
            ["output-available"] * 9 + ["output-error", "input-available", "input-streaming", "?"]
        ),
        "input": st.dictionaries(WORDS, DATA, max_size=2) | ODD,
        "output": DATA,
    },
    optional={
        "toolName": WORDS | ODD,
        "providerExecuted": st.booleans() | ODD,
        "preliminary": st.booleans(),
        "callProviderMetadata": st.just({"a": {"b": 1}}) | ODD,
        "errorText": WORDS,
        "approval": st.just({"id": "1", "approved": False, "reason": "no"}),
        "of the application": DATA,
    },
)
OTHERS = st.sampled_from(
    [
        {"type": "step-start"},
        {"type": "step-start", "state": "done"},
        {"type": "data-sys-tp", "data": {"timestamp": "2026-01-01T00:00:00Z"}},
        {"type": "source-url", "sourceId": "s", "url": "https://example.org"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,cG5n"},
    ]
)
PARTS = st.lists(TEXTS | CALLS | OTHERS, max_size=5)
SAID = st.lists(OTHERS | st.fixed_dictionaries({"type": st.just("text"), "text": WORDS | ODD}), max_size=3)
CHATS = st.lists(
    st.fixed_dictionaries({"role": st.just("assistant"), "parts": PARTS})
    | st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "parts": SAID}, optional={"metadata": DATA}),
    max_size=4,
)
STEP = {"type": "step-start"}
PLAIN_CHATS = [
    [{"role": "user", "parts": [{"type": "text", "text": "Hi"}]}, {"role": "assistant", "parts": [STEP, STEP]}],
    [
        {"role": "system", "parts": [{"type": "text", "text": "Be brief"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "text": "Hm"},
                {
                    "type": "tool-look",
                    "toolCallId": "c1",
                    "state": "output-available",
                    "input": {"a": None},
                    "output": [1, None],
                },
                {"type": "text", "text": "I look.", "state": "done"},
                {
                    "type": "dynamic-tool",
                    "toolName": "find",
                    "toolCallId": "c2",
                    "state": "output-available",
                    "input": {},
                    "output": "",
                },
                STEP,
                {"type": "text", "text": "Done."},
            ],
        },
    ],
]


def outcome(chat: Any) -> str:
    """Return everything that comes of a chat as text: the thread in the order of its keys, or the error."""
    try:
        made = from_ui_messages.thread_of_ui_messages(chat, agent_id="bot", thread_id="t", at=AT)
    except (InputError, ThreadError) as error:
        return repr((error.line, [finding.as_json() for finding in getattr(error, "findings", ())]))
    return json.dumps([made.thread, [loss.as_json() for loss in made.losses]])


def folded_outcome(chat: Any) -> str:
    """Return the same where everything is folded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(from_ui_messages, "plain_turns", lambda *_, **__: None)
        return outcome(chat)


@given(chat=CHATS)
def test_what_is_made_without_a_stream_is_what_the_stream_makes(chat: Any) -> None:
    """Of any chat, whatever its parts have that they should not, both ways make the same or fail the same."""
    assert outcome(chat) == folded_outcome(chat)


@pytest.mark.parametrize("chat", PLAIN_CHATS)
def test_plain_chats_need_no_stream(chat: Any) -> None:
    """Texts, thoughts and answered calls are taken the short way, and it makes the same."""
    assert plain_turns(chat, agent_id="bot", at=AT) is not None
    assert outcome(chat) == folded_outcome(chat)
