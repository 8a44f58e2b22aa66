"""What a stream gives as the whole input of a call, in reads of any size."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tpharness.wires.vsp.inputs import WholeInputs

BEGUN = {"type": "tool-input-start", "toolCallId": "c1", "toolName": "t"}
PIECE = {"type": "tool-input-delta", "toolCallId": "c1", "inputTextDelta": "{}"}
WHOLE = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "t", "input": {}}
REFUSED = {"type": "tool-input-error", "toolCallId": "c1", "toolName": "t", "input": "{", "errorText": "not JSON"}


def stream(*chunks: Any) -> bytes:
    """Return chunks as an event stream."""
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("chunks", "given"),
    [
        pytest.param([BEGUN, PIECE], None, id="open"),
        pytest.param([BEGUN, PIECE, WHOLE], WHOLE, id="available"),
        pytest.param([BEGUN, REFUSED], REFUSED, id="refused"),
        pytest.param([BEGUN, WHOLE, BEGUN, PIECE], None, id="the id comes again"),
        pytest.param(["tool-input-available", WHOLE], WHOLE, id="a text that is not a chunk"),
        pytest.param([{**WHOLE, "toolCallId": "c2"}], None, id="another call"),
    ],
)
def test_what_gives_an_input(chunks: list[Any], given: Any, size: int) -> None:
    """The chunk that gave it, since the call last began."""
    data = stream(*chunks)
    inputs = WholeInputs()
    for begin in range(0, len(data), size):
        inputs.feed(data[begin : begin + size])
    assert inputs.given("c1") == given


def test_bytes_that_are_not_json_give_nothing() -> None:
    """A stream of somebody else may hold anything."""
    inputs = WholeInputs()
    inputs.feed(b'data: {"type": "tool-input-available", \n\ndata: [DONE]\n\n')
    assert inputs.given("c1") is None


@pytest.mark.parametrize(
    ("begun", "rest"),
    [
        pytest.param(stream(BEGUN), stream(WHOLE), id="between two events"),
        pytest.param(stream(BEGUN) + stream(WHOLE)[:6], stream(WHOLE)[6:], id="inside one"),
        pytest.param(stream(BEGUN) + stream(WHOLE)[:28], stream(WHOLE)[28:], id="inside the name of its type"),
    ],
)
def test_what_a_further_read_would_give_is_not_taken_in(begun: bytes, rest: bytes) -> None:
    """What is asked for leaves the original alone, in the middle of an event as well."""
    inputs = WholeInputs()
    inputs.feed(begun)
    later = inputs.after(rest)
    assert (inputs.given("c1"), later.given("c1")) == (None, WHOLE)
    assert inputs.after(b"").given("c1") is None
