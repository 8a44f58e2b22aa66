"""Chunks are written as the AI SDK writes them, and read back as what they were."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.errors import UsageError
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.sse.writer import KEEP_ALIVE, encode_data, encode_json
from tpharness.wires.vsp import chunks
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.encode import (
    DONE,
    encode_sse,
    encode_stream,
    to_wire,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def read_back(body: bytes) -> list[c.Chunk]:
    """Parse and decode a body."""
    return [chunks.decode_chunk(frame.data) for frame in SseParser().feed(body)]


@pytest.mark.parametrize(
    ("chunk", "line"),
    [
        (c.StartStepChunk(), '{"type":"start-step"}'),
        (c.StartChunk(message_id="m"), '{"type":"start","messageId":"m"}'),
        (
            c.TextDeltaChunk(id="t", delta='a"\n/\u2028é🚀'),
            '{"type":"text-delta","id":"t","delta":"a\\"\\n/\u2028é🚀"}',
        ),
        (
            c.ToolInputStartChunk(tool_call_id="k", tool_name="n", dynamic=False, provider_executed=True),
            '{"type":"tool-input-start","toolCallId":"k","toolName":"n","providerExecuted":true,"dynamic":false}',
        ),
        (
            c.ToolInputAvailableChunk(tool_call_id="k", tool_name="n", input={"b": 1, "a": [1.5, None]}),
            '{"type":"tool-input-available","toolCallId":"k","toolName":"n","input":{"b":1,"a":[1.5,null]}}',
        ),
        (
            c.ToolOutputAvailableChunk(tool_call_id="k", output=None),
            '{"type":"tool-output-available","toolCallId":"k","output":null}',
        ),
        (c.ErrorChunk(error_text="é🚀\u2028\x7f"), '{"type":"error","errorText":"é🚀\u2028\x7f"}'),
        (c.MessageMetadataChunk(message_metadata=None), '{"type":"message-metadata","messageMetadata":null}'),
        (
            c.DataChunk(name="data-tp-x", data=None, id="i", transient=True, extra={"at": 1}),
            '{"type":"data-tp-x","id":"i","data":null,"transient":true,"at":1}',
        ),
        (c.UnknownChunk(type="wat", raw={"z": 1, "type": "wat"}), '{"z":1,"type":"wat"}'),
        ({"z": 1, "type": "start"}, '{"z":1,"type":"start"}'),
        (c.TextDeltaChunk(id="t", delta="\ud83d"), '{"type":"text-delta","id":"t","delta":"\\ud83d"}'),
        (c.TextEndChunk(id="\ude80"), '{"type":"text-end","id":"\\ude80"}'),
    ],
)
def test_a_chunk_is_one_compact_event(chunk, line):
    """One data line: type first, fields in declared order, absent ones left out, real UTF-8, surrogates escaped."""
    assert encode_sse(chunk) == f"data: {line}\n\n".encode()


def test_the_end_marker_and_malformed_data_are_written_as_they_are():
    """`[DONE]` is not JSON; malformed data keeps its bytes."""
    assert encode_sse(c.Done()) == DONE == b"data: [DONE]\n\n"
    assert encode_sse(chunks.decode_chunk(b"{oops\n}")) == b"data: {oops\ndata: }\n\n"


@pytest.mark.parametrize("chunk", [c.Done(), chunks.decode_chunk(b"")])
def test_what_is_no_object_has_no_wire_object(chunk):
    """`to_wire` refuses the end marker and malformed data."""
    with pytest.raises(UsageError):
        to_wire(chunk)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, object(), {"a": {1, 2}}])
def test_what_json_cannot_say_is_refused(value):
    """No number is silently written as null."""
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        encode_json(value)
    with pytest.raises(UsageError):
        encode_sse(c.ToolOutputAvailableChunk(tool_call_id="k", output=value))
    with pytest.raises(UsageError):
        encode_sse(c.TextDeltaChunk(id="t", delta="d", provider_metadata={"p": value}))


def test_integers_keep_their_digits():
    """An integer beyond 64 bits is written in full."""
    assert encode_json([2**70, -(2**64)]) == b"[1180591620717411303424,-18446744073709551616]"


def test_a_heartbeat_is_nothing_to_a_reader():
    """It is a comment, so it is no event and no part of one (R35)."""
    parser = SseParser()
    assert parser.feed(KEEP_ALIVE) == []
    assert parser.findings == []
    assert not parser.in_event


@pytest.mark.parametrize("data", [b"", b"a", b" a", b"a\nb", b"a\r\nb", b"\n", b"a\rb\n"])
def test_any_data_is_one_event(data):
    """Line ends in data become data lines; the reader joins them with LF."""
    frames = SseParser().feed(encode_data(data))
    assert [frame.data for frame in frames] == [data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")]


def test_a_stream_ends_with_the_marker_unless_told_otherwise():
    """`encode_stream` writes the chunks in order."""
    chunks: list[c.Chunk | Mapping[str, Any]] = [c.StartChunk(), {"type": "finish"}]
    assert encode_stream(chunks) == b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
    assert encode_stream(chunks, done=False) == b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\n'


texts = st.text(st.characters(codec=None), max_size=6)
names = st.text(st.characters(codec=None), min_size=1, max_size=6)  # no tool has an empty name: the reader refuses one
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
some_chunks = st.one_of(
    st.builds(c.TextDeltaChunk, id=texts, delta=texts),
    st.builds(c.ToolInputDeltaChunk, tool_call_id=texts, input_text_delta=texts),
    st.builds(
        c.ToolInputAvailableChunk, tool_call_id=texts, tool_name=names, input=json_values, title=st.none() | texts
    ),
    st.builds(
        c.ToolOutputAvailableChunk, tool_call_id=texts, output=json_values, preliminary=st.none() | st.booleans()
    ),
    st.builds(c.FinishChunk, finish_reason=st.none() | texts, message_metadata=json_values),
    st.builds(c.DataChunk, name=texts.map("data-{}".format), data=json_values, id=st.none() | texts),
)


def joined(value: object) -> object:
    """Join surrogate pairs everywhere: two escapes side by side are one character to any JSON reader."""
    return json.loads(json.dumps(value))


@settings(derandomize=True, max_examples=300, deadline=None)
@given(chunk=some_chunks)
def test_what_is_written_is_read_back(chunk):
    """Encode, parse and decode give the same chunk for any text, lone surrogates included."""
    (back,) = read_back(encode_sse(chunk))
    assert joined(to_wire(back)) == joined(to_wire(chunk))
    assert type(back) is type(chunk)
    assert encode_sse(back) == encode_sse(chunks.chunk_from_object(joined(to_wire(chunk))))
