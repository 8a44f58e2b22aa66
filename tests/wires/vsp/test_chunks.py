"""Every chunk type is read into its record; everything else is kept or named, and nothing raises."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.findings import Level, Place
from tpharness.resources import schema_path
from tpharness.wires.vsp import chunks
from tpharness.wires.vsp import records as c

PM = {"openai": {"itemId": "i1"}}

# One complete example of each type, written by hand from the table of the protocol: wire object, record.
EXAMPLES: list[tuple[dict[str, Any], c.Chunk]] = [
    (
        {"type": "start", "messageId": "m", "messageMetadata": {"a": 1}},
        c.StartChunk(message_id="m", message_metadata={"a": 1}),
    ),
    (
        {"type": "finish", "finishReason": "stop", "messageMetadata": 1},
        c.FinishChunk(finish_reason="stop", message_metadata=1),
    ),
    ({"type": "abort", "reason": "user"}, c.AbortChunk(reason="user")),
    ({"type": "error", "errorText": "boom"}, c.ErrorChunk(error_text="boom")),
    ({"type": "message-metadata", "messageMetadata": None}, c.MessageMetadataChunk(message_metadata=None)),
    ({"type": "start-step"}, c.StartStepChunk()),
    ({"type": "finish-step"}, c.FinishStepChunk()),
    ({"type": "reset-step"}, c.ResetStepChunk()),
    ({"type": "text-start", "id": "t", "providerMetadata": PM}, c.TextStartChunk(id="t", provider_metadata=PM)),
    (
        {"type": "text-delta", "id": "t", "delta": "d", "providerMetadata": PM},
        c.TextDeltaChunk(id="t", delta="d", provider_metadata=PM),
    ),
    (
        {"type": "text-end", "id": "t", "citations": [{}], "providerMetadata": PM},
        c.TextEndChunk(id="t", citations=[{}], provider_metadata=PM),
    ),
    (
        {"type": "reasoning-start", "id": "r", "providerMetadata": PM},
        c.ReasoningStartChunk(id="r", provider_metadata=PM),
    ),
    (
        {"type": "reasoning-delta", "id": "r", "delta": "d", "providerMetadata": PM},
        c.ReasoningDeltaChunk(id="r", delta="d", provider_metadata=PM),
    ),
    ({"type": "reasoning-end", "id": "r", "providerMetadata": PM}, c.ReasoningEndChunk(id="r", provider_metadata=PM)),
    (
        {
            "type": "tool-input-start",
            "toolCallId": "k",
            "toolName": "n",
            "inputEncoding": "text",
            "providerExecuted": True,
            "providerMetadata": PM,
            "toolMetadata": {"z": 1},
            "dynamic": False,
            "title": "T",
        },
        c.ToolInputStartChunk(
            tool_call_id="k",
            tool_name="n",
            input_encoding="text",
            provider_executed=True,
            provider_metadata=PM,
            tool_metadata={"z": 1},
            dynamic=False,
            title="T",
        ),
    ),
    (
        {"type": "tool-input-delta", "toolCallId": "k", "inputTextDelta": '{"q'},
        c.ToolInputDeltaChunk(tool_call_id="k", input_text_delta='{"q'),
    ),
    (
        {
            "type": "tool-input-available",
            "toolCallId": "k",
            "toolName": "n",
            "input": {"q": [1, None]},
            "providerExecuted": True,
            "providerMetadata": PM,
            "toolMetadata": {},
            "dynamic": True,
            "title": "T",
        },
        c.ToolInputAvailableChunk(
            tool_call_id="k",
            tool_name="n",
            input={"q": [1, None]},
            provider_executed=True,
            provider_metadata=PM,
            tool_metadata={},
            dynamic=True,
            title="T",
        ),
    ),
    (
        {
            "type": "tool-input-error",
            "toolCallId": "k",
            "toolName": "n",
            "input": '{"q',
            "dynamic": True,
            "errorText": "bad",
        },
        c.ToolInputErrorChunk(tool_call_id="k", tool_name="n", input='{"q', dynamic=True, error_text="bad"),
    ),
    (
        {
            "type": "tool-approval-request",
            "approvalId": "a",
            "toolCallId": "k",
            "approvalDescriptor": [1],
            "inputSchemaInput": {"s": 1},
            "reason": "r",
            "isAutomatic": True,
            "signature": "s",
        },
        c.ToolApprovalRequestChunk(
            approval_id="a",
            tool_call_id="k",
            approval_descriptor=[1],
            input_schema_input={"s": 1},
            reason="r",
            is_automatic=True,
            signature="s",
        ),
    ),
    (
        {
            "type": "tool-approval-response",
            "approvalId": "a",
            "approved": False,
            "reason": "no",
            "providerExecuted": False,
            "providerMetadata": PM,
        },
        c.ToolApprovalResponseChunk(
            approval_id="a", approved=False, reason="no", provider_executed=False, provider_metadata=PM
        ),
    ),
    (
        {
            "type": "tool-output-available",
            "toolCallId": "k",
            "output": None,
            "providerExecuted": True,
            "providerMetadata": PM,
            "toolMetadata": {},
            "dynamic": True,
            "preliminary": True,
        },
        c.ToolOutputAvailableChunk(
            tool_call_id="k",
            output=None,
            provider_executed=True,
            provider_metadata=PM,
            tool_metadata={},
            dynamic=True,
            preliminary=True,
        ),
    ),
    (
        {"type": "tool-output-error", "toolCallId": "k", "errorText": "boom", "toolMetadata": {}},
        c.ToolOutputErrorChunk(tool_call_id="k", error_text="boom", tool_metadata={}),
    ),
    ({"type": "tool-output-denied", "toolCallId": "k"}, c.ToolOutputDeniedChunk(tool_call_id="k")),
    (
        {"type": "source-url", "sourceId": "s", "url": "https://e.org", "title": "T", "providerMetadata": PM},
        c.SourceUrlChunk(source_id="s", url="https://e.org", title="T", provider_metadata=PM),
    ),
    (
        {"type": "source-document", "sourceId": "s", "mediaType": "text/plain", "title": "T", "filename": "f"},
        c.SourceDocumentChunk(source_id="s", media_type="text/plain", title="T", filename="f"),
    ),
    (
        {"type": "file", "url": "data:,x", "mediaType": "text/plain", "providerMetadata": PM},
        c.FileChunk(url="data:,x", media_type="text/plain", provider_metadata=PM),
    ),
    (
        {"type": "reasoning-file", "url": "data:,x", "mediaType": "text/plain"},
        c.ReasoningFileChunk(url="data:,x", media_type="text/plain"),
    ),
    (
        {"type": "custom", "kind": "acme.note", "providerMetadata": PM},
        c.CustomChunk(kind="acme.note", provider_metadata=PM),
    ),
    (
        {"type": "steering-message", "id": "s", "parts": [{"type": "text", "text": "hi"}]},
        c.SteeringMessageChunk(id="s", parts=[{"type": "text", "text": "hi"}]),
    ),
    (
        {"type": "data-tp-status", "id": "d", "data": {"x": 1}, "transient": True},
        c.DataChunk(name="data-tp-status", data={"x": 1}, id="d", transient=True),
    ),
]
IDS = [str(wire["type"]) for wire, _ in EXAMPLES]

# The fields without which a chunk cannot be read, by hand: the schema's and the decoder's common oracle.
REQUIRED = {
    "error": ["errorText"],
    "message-metadata": ["messageMetadata"],
    "text-start": ["id"],
    "text-delta": ["id", "delta"],
    "text-end": ["id"],
    "reasoning-start": ["id"],
    "reasoning-delta": ["id", "delta"],
    "reasoning-end": ["id"],
    "tool-input-start": ["toolCallId", "toolName"],
    "tool-input-delta": ["toolCallId", "inputTextDelta"],
    "tool-input-available": ["toolCallId", "toolName", "input"],
    "tool-input-error": ["toolCallId", "toolName", "input", "errorText"],
    "tool-approval-request": ["approvalId", "toolCallId"],
    "tool-approval-response": ["approvalId", "approved"],
    "tool-output-available": ["toolCallId", "output"],
    "tool-output-error": ["toolCallId", "errorText"],
    "tool-output-denied": ["toolCallId"],
    "source-url": ["sourceId", "url"],
    "source-document": ["sourceId", "mediaType", "title"],
    "file": ["url", "mediaType"],
    "reasoning-file": ["url", "mediaType"],
    "custom": ["kind"],
    "steering-message": ["id", "parts"],
    "data-tp-status": ["data"],
}
ANYTHING = {"messageMetadata", "approvalDescriptor", "inputSchemaInput", "input", "output", "data"}


def decode(value) -> c.Chunk:
    """Decode a value by way of its JSON bytes."""
    return chunks.decode_chunk(json.dumps(value).encode())


@pytest.fixture(scope="module")
def accepts():
    """Whether the published schema accepts a chunk."""
    return jsonschema_rs.Draft202012Validator(json.loads(schema_path("vsp-chunk").read_text())).is_valid


@pytest.mark.parametrize(("wire", "record"), EXAMPLES, ids=IDS)
def test_a_complete_chunk_of_each_type_becomes_its_record(wire, record):
    """Bytes and decoded objects give the record written beside the example."""
    assert decode(wire) == record
    assert chunks.chunk_from_object(wire) == record
    assert c.type_of(record) == wire["type"]


def test_the_examples_cover_every_record():
    """No chunk type is left untested."""
    assert {type(record) for _, record in EXAMPLES} == {*c.RECORDS.values(), c.DataChunk}
    assert set(c.RECORDS) == set(IDS) - {"data-tp-status"}


@pytest.mark.parametrize("wire", [wire for wire, _ in EXAMPLES], ids=IDS)
def test_schema_and_decoder_agree_on_every_variation_of_a_chunk(wire, accepts):
    """With each field removed, null, or of each wrong type, both accept or both refuse, as the table says."""
    kind = str(wire["type"])
    required = REQUIRED.get(kind, [])
    variations = [(wire, True), ({**wire, "anything": [1]}, True)]
    for name in wire:
        if name == "type":
            continue
        variations.append(({k: v for k, v in wire.items() if k != name}, name not in required))
        variations.append(({**wire, name: None}, name not in required or name in ANYTHING))
        kinds = [True, 1, 1.5, "text", [1], {"a": 1}]
        for value in kinds:
            fits = name in ANYTHING or type(value) is type(wire[name])
            if name == "parts":
                fits = False  # a list, but not of objects
            variations.append(({**wire, name: value}, fits))
    for value, fits in variations:
        read = decode(value)
        assert (not isinstance(read, c.Malformed), accepts(value)) == (fits, fits), value
        if isinstance(read, c.Malformed):
            assert read.kind is c.CHUNK_BAD_FIELD
            assert kind in read.reason


OTHERS = [
    ({"type": "telemetry", "x": None}, c.UnknownChunk(type="telemetry", raw={"type": "telemetry", "x": None})),
    ({"type": "data"}, c.UnknownChunk(type="data", raw={"type": "data"})),
    ({"type": "data", "name": 1, "value": 1}, c.UnknownChunk(type="data", raw={"type": "data", "name": 1, "value": 1})),
    ({"type": "data", "name": "x"}, c.UnknownChunk(type="data", raw={"type": "data", "name": "x"})),
    ({"type": "database"}, c.UnknownChunk(type="database", raw={"type": "database"})),
    ({"type": "thinking-x"}, c.UnknownChunk(type="thinking-x", raw={"type": "thinking-x"})),
    ({"type": "thinking-start", "id": "r"}, c.ReasoningStartChunk(id="r")),
    ({"type": "thinking-delta", "id": "r", "delta": "d"}, c.ReasoningDeltaChunk(id="r", delta="d")),
    ({"type": "thinking-end", "id": "r"}, c.ReasoningEndChunk(id="r")),
    ({"type": "data-", "data": 0}, c.DataChunk(name="data-", data=0)),
    ({"type": "data-x", "data": None, "id": None}, c.DataChunk(name="data-x", data=None)),
    ({"type": "data-x", "data": 1, "at": "now"}, c.DataChunk(name="data-x", data=1, extra={"at": "now"})),
    (
        {"type": "data-x", "name": "n", "value": 2, "data": 1},
        c.DataChunk(name="data-x", data=1, extra={"name": "n", "value": 2}),
    ),
    (
        {"type": "data", "name": "data-tp-x", "value": {"a": 1}},
        c.DataChunk(name="data-tp-x", data={"a": 1}, by_name=True),
    ),
    (
        {"type": "data", "name": "data-tp-x", "value": None, "id": "i", "transient": False, "at": 1},
        c.DataChunk(name="data-tp-x", data=None, id="i", transient=False, by_name=True, extra={"at": 1}),
    ),
]


@pytest.mark.parametrize(("wire", "record"), OTHERS, ids=[json.dumps(wire) for wire, _ in OTHERS])
def test_custom_unknown_and_respelled_types_are_kept(wire, record, accepts):
    """R7 and R33: unknown types keep the whole object, both framings of custom events give one record."""
    assert decode(wire) == record
    assert accepts(wire)


@pytest.mark.parametrize(
    ("data", "kind", "word"),
    [
        (b"", c.CHUNK_NOT_JSON, "not JSON"),
        (b"[DONE] ", c.CHUNK_NOT_JSON, "not JSON"),
        (b'{"type":"text-del', c.CHUNK_NOT_JSON, "not JSON"),
        (b"{'type':'start'}", c.CHUNK_NOT_JSON, "not JSON"),
        (b'{"type":"start",}', c.CHUNK_NOT_JSON, "not JSON"),
        (b'{"type":"start"}{}', c.CHUNK_NOT_JSON, "not JSON"),
        (b'{"type":"start-step","x":"\x01"}', c.CHUNK_NOT_JSON, "not JSON"),
        (b"<html>", c.CHUNK_NOT_JSON, "not JSON"),
        (b'{"type":"data-x","data":' + b"[" * 100_000 + b"]" * 100_000 + b"}", c.CHUNK_NOT_JSON, "nested too deeply"),
        (b"[1]", c.CHUNK_NOT_OBJECT, "not an object but an array"),
        (b"null", c.CHUNK_NOT_OBJECT, "null"),
        (b'"start"', c.CHUNK_NOT_OBJECT, "not an object but a string"),
        (b"{}", c.CHUNK_NOT_OBJECT, "no field `type`"),
        (b'{"type":""}', c.CHUNK_NOT_OBJECT, "empty"),
        (b'{"type":null}', c.CHUNK_NOT_OBJECT, "null"),
        (b'{"type":["start"]}', c.CHUNK_NOT_OBJECT, "`type` is not text but an array"),
        (b'{"type":"text-delta","id":"t"}', c.CHUNK_BAD_FIELD, "`delta`"),
        (b'{"type":"text-delta","id":1,"delta":""}', c.CHUNK_BAD_FIELD, "Expected `string`, got `number` - at `$.id`"),
        (b'{"type":"finish","finishReason":1.5}', c.CHUNK_BAD_FIELD, "Expected `string | null`, got `number`"),
        (
            b'{"type":"tool-input-start","toolCallId":"c","toolName":"f","dynamic":"x"}',
            c.CHUNK_BAD_FIELD,
            "`boolean | null`",
        ),
        (b'{"type":"thinking-delta","id":"t"}', c.CHUNK_BAD_FIELD, "thinking-delta"),
        (b'{"type":"data","name":"data-x"}', c.CHUNK_BAD_FIELD, "`value`"),
        (b'{"type":"data-x","data":1,"id":7}', c.CHUNK_BAD_FIELD, "Expected `string | null`, got a number - at `$.id`"),
        (b'{"type":"data-x","data":1,"transient":"yes"}', c.CHUNK_BAD_FIELD, "Expected `boolean | null`, got a string"),
    ],
)
def test_what_is_no_chunk_is_malformed_with_a_reason(data, kind, word):
    """Malformed data gives a record that names the reason and keeps the bytes; it never raises."""
    read = chunks.decode_chunk(data)
    assert isinstance(read, c.Malformed)
    assert (read.kind, read.raw) == (kind, data)
    assert word in read.reason
    finding = read.finding(Place(event=3))
    assert (finding.level, finding.place.event, finding.message) == (Level.MUST, 3, read.reason)


def test_what_nests_deeply_in_a_field_without_a_reader_does_not_raise() -> None:
    """Until Python 3.13 levels are counted, and this is malformed; then the stack is, and it is passed over."""
    read = chunks.decode_chunk(b'{"type":"start","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert isinstance(read, c.Malformed | c.StartChunk)


def test_invalid_utf8_is_replaced():
    """Bytes that did not come through the frame parser are read as it would have left them."""
    read = chunks.decode_chunk(b'{"type":"text-delta","id":"t","delta":"a\xffb"}')
    assert read == c.TextDeltaChunk(id="t", delta="a\ufffdb")


def test_the_end_marker_is_exact():
    """Only the six bytes `[DONE]` are the end marker."""
    assert chunks.decode_chunk(b"[DONE]") == c.Done()
    assert not isinstance(chunks.decode_chunk(b" [DONE]"), c.Done)


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude80"])
def test_half_a_surrogate_pair_survives_in_each_chunk(half):
    """R43: two chunks that each hold a lone surrogate are read, and join to one character as UTF-16."""
    lone = json.loads(f'"{half}"')
    assert decode_text(f'{{"type":"text-delta","id":"t","delta":"{half}"}}') == c.TextDeltaChunk(id="t", delta=lone)
    assert decode_text(
        f'{{"type":"tool-input-delta","toolCallId":"t","inputTextDelta":"a{half}b"}}'
    ) == c.ToolInputDeltaChunk(tool_call_id="t", input_text_delta=f"a{lone}b")
    assert decode_text(f'{{"type":"data-x","data":{{"{half}":"{half}"}}}}') == c.DataChunk(
        name="data-x", data={lone: lone}
    )
    # In names that no record knows, and inside free-form fields.
    assert decode_text(f'{{"type":"start-step","{half}":1}}') == c.StartStepChunk()
    assert decode_text(f'{{"type":"text-end","id":"t","providerMetadata":{{"{half}":{{}}}}}}') == c.TextEndChunk(
        id="t", provider_metadata={lone: {}}
    )


def decode_text(text: str) -> c.Chunk:
    """Decode JSON text, escapes as they stand."""
    return chunks.decode_chunk(text.encode())


def test_a_surrogate_pair_in_one_chunk_is_one_character():
    """An escaped pair is the character itself."""
    assert decode_text('{"type":"text-delta","id":"t","delta":"\\ud83d\\ude80"}') == c.TextDeltaChunk(
        id="t", delta="🚀"
    )


@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("9223372036854775808", 2**63),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("-18446744073709551616", -(2**64)),
        ("1" * 5000, math.inf),
        ("1e400", math.inf),
        ("-Infinity", -math.inf),
        ("1.0", 1.0),
        ("-0", 0),
    ],
    ids=lambda x: str(x)[:20],
)
def test_odd_numbers_are_kept_for_a_later_judgement(number, value):
    """R38 judges documents: here an integer keeps its digits, and what overflows is infinite, as in JavaScript."""
    read = decode_text(f'{{"type":"tool-output-available","toolCallId":"k","output":{number}}}')
    assert read == c.ToolOutputAvailableChunk(tool_call_id="k", output=value)
    assert isinstance(read, c.ToolOutputAvailableChunk)
    assert type(read.output) is type(value)


def test_nan_is_kept_for_a_later_judgement():
    """NaN is not JSON, but what it stands in is."""
    read = decode_text('{"type":"tool-output-available","toolCallId":"k","output":[NaN]}')
    assert isinstance(read, c.ToolOutputAvailableChunk)
    assert math.isnan(read.output[0])


@pytest.mark.parametrize(
    ("text", "record"),
    [
        ('{"type":"text-delta","id":"t","delta":"a","delta":"b"}', c.TextDeltaChunk(id="t", delta="b")),
        ('{"type":"text-start","id":"t","type":"text-end"}', c.TextEndChunk(id="t")),
        ('{"type":"data-x","data":{"a":1,"a":2}}', c.DataChunk(name="data-x", data={"a": 2})),
        ('{"delta":"a","id":"t","type":"text-delta"}', c.TextDeltaChunk(id="t", delta="a")),
        (' \n{"type" : "start-step"}\t', c.StartStepChunk()),
        ('{"type":"\\u0073tart"}', c.StartChunk()),
    ],
)
def test_odd_but_valid_json_is_read(text, record):
    """The last of duplicate keys wins, also for `type`; order and white space mean nothing."""
    assert decode_text(text) == record


PIECES = ["{", "}", "[", "]", ",", ":", '"type"', '"start-step"', '"text-delta"', '"id"', '"delta"', '"x"', '"\\ud83d"']
PIECES += [
    '"\\q"',
    '"\x01"',
    "1",
    "01",
    "1.",
    "1e400",
    "NaN",
    "null",
    "tru",
    " ",
    "\n",
    '"',
    "\\",
    "9" * 30,
    '"data-x"',
    '"data"',
]
json_soups = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@settings(derandomize=True, max_examples=500, deadline=None)
@given(head=st.sampled_from(["", '{"type":"start-step","x":', '{"type":"data-x","data":', '{"type":']), soup=json_soups)
def test_the_two_ways_of_decoding_agree_with_the_standard_library(head, soup):
    """For any text: not JSON exactly when `json` says so, and otherwise what the decoded object gives."""
    for text in (head + soup, head + soup + "}"):
        read = decode_text(text)
        try:
            value = json.loads(text)
        except ValueError:
            assert isinstance(read, c.Malformed)
            assert read.kind is c.CHUNK_NOT_JSON
        else:
            assert repr(read) == repr(chunks.chunk_from_object(value, raw=text.encode()))


@settings(derandomize=True, max_examples=300, deadline=None)
@given(data=st.binary(max_size=40))
def test_any_bytes_give_some_chunk(data):
    """Decoding never raises."""
    assert c.type_of(chunks.decode_chunk(data)) is not None


ODD = [
    "\ud83d",
    "a\udc00",
    10**30,
    -1,
    1.5,
    math.nan,
    math.inf,
    None,
    True,
    [],
    {},
    ["\ud83d"],
    {"\ud83d": "\ud83d"},
    [[[[[]]]]],
]


@pytest.mark.parametrize("kind", sorted(c.RECORDS))
def test_whatever_a_field_holds_there_is_a_chunk(kind):
    """R36: no value in any field of any chunk is an exception; what no record takes is malformed, its type named."""
    names = dict.fromkeys(field for record in c.RECORDS.values() for field in record.__struct_encode_fields__)
    for name, odd in product(names, ODD):
        given = {"type": kind, "id": "1", "toolCallId": "1", "toolName": "t", "delta": "d", name: odd}
        chunk = chunks.chunk_from_object(given)
        if isinstance(chunk, c.Malformed):
            assert chunk.reason.startswith(f"{kind}: "), given
            assert chunk.reason.isprintable(), given


@pytest.mark.parametrize(
    "data",
    [
        b'{"type":"data-x","data":1}',
        b'{"type":"data-x","data":1,"by_name":true}',
        b'{"type":"data-x","data":1,"by_name":false,"extra":null}',
        b'{"type":"data-x","data":1,"extra":{"a":1}}',
        b'{"type":"data-x","data":1,"extra":{}}',
        b'{"type":"data-x","data":1,"name":"data-y"}',
        b'{"type":"data-x","data":1,"data":2}',
        b'{"type":"data-x","data":1,"type":"data-y"}',
        b'{"type":"data-x","data":1,"type":"start"}',
        b'{"type":"data","name":"data-x","value":1}',
        b'{"type":"data-x","value":1}',
        b'{"type":"data-x","data":1,"id":2}',
        b'{"type":"dat","data":1}',
        b'{"type":"data-x","data":"\\ud800"}',
        b'{"type":"d',
        b'{"type":"',
        b"{}",
        b"",
    ],
)
def test_a_custom_chunk_is_decoded_in_one_step_as_it_is_in_several(data: bytes) -> None:
    """Names of our own fields, on the wire, are other fields; names that come twice count as everywhere."""
    assert chunks.decode_chunk(data) == chunks.decode_untyped(data)
    assert type(chunks.decode_chunk(data)) is type(chunks.decode_untyped(data))
