"""A thread is outlined in one line for each turn."""

import pytest

from tpharness.scenario.outline import find_outline_slip, outline

RESPONSE = {
    "message_type": "response",
    "parts": [{"part_kind": "text"}, {"part_kind": "tool-call", "tool_call_id": "c"}],
}
REQUEST = {"message_type": "request", "parts": [{"part_kind": "tool-return", "tool_call_id": "c"}]}
EVENT = {"message_type": "system", "event_type": "data-tp-error"}


def test_an_interrupted_turn_shows_its_reason_and_what_was_kept():
    """Parts show their kind and call id, events their type, in the order of the thread."""
    turn = {
        "turn_type": "agent",
        "completion_status": "interrupted",
        "interruption": {"reason": "user_cancelled"},
        "messages": [RESPONSE, REQUEST, EVENT],
    }
    assert outline({"turns": [{"turn_type": "user"}, turn]}) == [
        "user",
        "agent interrupted user_cancelled: response(text tool-call:c) request(tool-return:c) event(data-tp-error)",
    ]


def test_turns_without_a_status_are_complete():
    """2.0.0 and 0.0.3 have no completion status; a turn without messages ends after it."""
    assert outline({"turns": [{"turn_type": "agent", "messages": []}]}) == ["agent complete"]
    assert outline({"turns": [{"turn_type": "agent", "messages": [{"message_type": "response", "parts": []}]}]}) == [
        "agent complete: response()"
    ]


@pytest.mark.parametrize(
    ("thread", "lines"),
    [
        ({}, []),
        ({"turns": 5}, []),
        ({"turns": [5, {}, {"turn_type": "agent"}]}, ["?", "?", "agent complete: ?"]),
        ({"turns": [{"turn_type": "agent", "messages": [5, {}, {"message_type": "request", "parts": [5]}]}]}, None),
        ({"turns": [{"turn_type": "agent", "completion_status": "interrupted"}]}, ["agent interrupted ?: ?"]),
    ],
)
def test_a_malformed_thread_shows_question_marks(thread, lines):
    """An outline never fails: what is not there or not right is a question mark."""
    assert outline(thread) == (["agent complete: ? ?(?) request(?)"] if lines is None else lines)


@pytest.mark.parametrize(
    "line",
    [
        "agent",
        "agents complete",
        "user complete",
        "user: response(text)",
        "agent complete:",
        "agent completed",
        "agent interrupted",
        "agent complete: response",
        "agent complete: response(text",
        "agent complete: response(txt)",
        "agent complete: response(text,thinking)",
        "agent complete: response(tool_call:c1)",
        "agent complete: respond(text)",
        "agent complete: response(text) requests(tool-return:c)",
        "agent complete: event()",
        "agent complete response(text)",
        "agent interrupted user_canceled: response(text)",
        "",
        "?",
    ],
)
def test_a_slip_in_a_line_is_found(line: str) -> None:
    """No thread that has the form of its version is outlined so."""
    assert find_outline_slip(line)


def test_the_outline_of_a_well_formed_thread_has_no_slip() -> None:
    """With every kind of part, ids as models give them, parts of extensions, and reasons and events of one's own."""
    kinds = ("text", "thinking", "file", "tool-call", "builtin-tool-call", "builtin-tool-return", "custom:a", "meta:b")
    parts = [{"part_kind": kind, "tool_call_id": 'call_(1):{"a"}'} for kind in kinds]
    parts += [
        {"part_kind": kind} for kind in ("user-prompt", "retry-prompt", "tool-return", "system-prompt", "custom:c")
    ]
    turn = {
        "turn_type": "agent",
        "completion_status": "interrupted",
        "interruption": {"reason": "the battery was empty"},
        "messages": [{"message_type": kind, "parts": parts} for kind in ("response", "request")]
        + [{"message_type": "system", "event_type": "my own"}, {"message_type": "response", "parts": []}],
    }
    bare = {"turn_type": "agent", "messages": []}
    for line in outline({"turns": [{"turn_type": "user"}, turn, bare]}):
        assert not find_outline_slip(line), line
