"""Which inputs of calls are what their deltas said: values are compared, and not texts (R12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpharness.folding import fold
from tpharness.wires.vsp import streamed_inputs

DEEP = "[" * 200 + "1" + "]" * 200
SAME: list[tuple[str, Any]] = [
    ('{"a": 1, "b": [true, null]}', {"b": [True, None], "a": 1.0}),
    ('{"n": 9007199254740993}', {"n": 9007199254740992}),  # as JavaScript reads it
    ('{"n": 1' + "0" * 400 + "}", {"n": 10**400}),
    ('{"a": 1, "a": 2}', {"a": 2}),
    ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    (" \n", {}),
    ('{"half": "', {"half": "x"}),
    ('{"half": "', {"INVALID_JSON": '{"half": "'}),
    ("[1]", {"values": [1]}),
    ("no JSON", "no JSON"),
    ('"{\\"a\\": 1}"', '{"a": 1}'),
    ('{"deep": ' + DEEP + "}", {"deep": json.loads(DEEP)}),
]
DIFFERENT: list[tuple[str, Any, str, str]] = [
    ('{"a": 1}', {"a": True}, "input-not-as-streamed", "at /a"),
    ('{"a": 1}', {}, "input-not-as-streamed", "at /a"),
    ('{"a": null}', {}, "input-not-as-streamed", "at /a"),
    ("{}", {"a": None}, "input-not-as-streamed", "at /a"),
    ('{"a": {"b": [1, "2"]}}', {"a": {"b": [1, 2]}}, "input-not-as-streamed", "at /a/b/1"),
    ('{"a": [1]}', {"a": [1, 2]}, "input-not-as-streamed", "at /a"),
    ('{"a": 1}', None, "input-not-as-streamed", "differs from"),
    ('{"a": 1}', "a is 1", "input-not-as-streamed", "differs from"),
    ('{"a": 1}', '{"a": 1}', "input-in-text", "holds a JSON object"),
    ("", '{"a": 1}', "input-in-text", "holds a JSON object"),
]


def _found(deltas: str, value: Any) -> list[tuple[str, str]]:
    middle = len(deltas) // 2
    pieces = (deltas[:middle], deltas[middle:])
    chunks: list[dict[str, Any]] = [
        {"type": "start"},
        {"type": "start-step"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "t"},
        *({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": piece} for piece in pieces),
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "t", "input": value},
        {"type": "finish-step"},
        {"type": "finish"},
    ]
    data = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    return [(f.code, f.message) for f in fold(data).findings if f.code.startswith("input-")]


@pytest.mark.parametrize(("deltas", "value"), SAME)
def test_nobody_is_accused_of_an_input_that_is_equal_or_cannot_be_compared(deltas: str, value: Any) -> None:
    """Keys in another order, other spellings of numbers, and texts that are not a JSON object."""
    assert _found(deltas, value) == []


@pytest.mark.parametrize(("deltas", "value", "code", "where"), DIFFERENT)
def test_an_input_that_its_deltas_did_not_say_is_found(deltas: str, value: Any, code: str, where: str) -> None:
    """Once, and with the place that differs."""
    [(found, message)] = _found(deltas, value)
    assert found == code
    assert where in message


@pytest.mark.parametrize("value", [{"a": [1, 2.5, None, "é"], "b": {}}, {}, "a text", [1]])
def test_deltas_as_most_servers_write_them_are_not_read(value: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without spaces and with the keys in their order: they are compared as text, since reading them costs most."""

    def read(_: str) -> None:
        pytest.fail("deltas were read")

    monkeypatch.setattr(streamed_inputs, "parse_tool_args", read)
    assert _found(json.dumps(value, separators=(",", ":"), ensure_ascii=False), value) == []


@pytest.mark.parametrize(
    ("said", "value"), [({"a": 1}, {"a": True}), ({"a": 1, "b": 2}, {"a": 1}), ({"a": "1"}, {"a": 1})]
)
def test_deltas_without_spaces_that_say_something_else_are_found(said: Any, value: Any) -> None:
    """Equal in Python is not equal in JSON."""
    assert [code for code, _ in _found(json.dumps(said, separators=(",", ":")), value)] == ["input-not-as-streamed"]


@pytest.mark.parametrize("half", ["\\ud83d", "\ud83d"])
def test_half_a_character_in_deltas_is_no_accusation(half: str) -> None:
    """A lone surrogate has no bytes, so such deltas are read."""
    assert _found('{"a":"' + half + '"}', {"a": "\ud83d"}) == []
