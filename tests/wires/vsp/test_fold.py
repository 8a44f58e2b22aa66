"""The client's fold: every chunk in every state, any split of the bytes, and never a crash."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.about import about

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal import AgentTurn, Interrupted, Part, Response
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.carrier import apply_carried_return
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.content import ContentParts
from tpharness.wires.vsp.encode import encode_sse, encode_stream
from tpharness.wires.vsp.events import TurnEvents
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.majors import CHUNK_TYPES
from tpharness.wires.vsp.records import RECORDS
from tpharness.wires.vsp.states import ORDER, Reaction, StreamState
from tpharness.wires.vsp.tool_calls import ToolCalls

T = "2025-01-20T10:00:00Z"
HEADER = ThreadHeader(thread_id="t", created_at=T, agents={"assistant": {"agent_id": "assistant"}})

VALUES: dict[str, Any] = {
    "id": "t",
    "delta": "x",
    "toolCallId": "c",
    "toolName": "a",
    "inputTextDelta": "{",
    "input": {},
    "output": 1,
    "errorText": "bad",
    "approvalId": "p",
    "approved": False,
    "messageMetadata": {},
    "sourceId": "s",
    "title": "d",
    "url": "data:image/png;base64,iVBORw0KGgo=",
    "mediaType": "image/png",
    "kind": "a.b",
    "parts": [{"type": "text", "text": "go"}],
}
"""A value for each field that some chunk must have. A KeyError below names one that is missing here."""
EXAMPLES: dict[str, dict[str, Any]] = {
    **{name: {field: VALUES[field] for field in CHUNK_TYPES[name].required} for name in RECORDS},
    "data-app-x": {"data": 1},
    "data-tp-thread_spawn": {"data": {}},
    "data-sys-tp": {"data": {"agent_id": "other", "timestamp": T}, "transient": True},
    "vendor": {"odd": True},
}
KINDS = {*RECORDS.values(), c.DataChunk, c.UnknownChunk, c.Done, c.Malformed}
PARTS = (ChunkFold, Lifecycle, ContentParts, ToolCalls, TurnEvents)
OBJECTS = [{"type": name, **fields} for name, fields in EXAMPLES.items()]


def rendered(fold: ChunkFold | Assembler, reason: str | None = None) -> dict[str, Any]:
    """End the stream and return its thread."""
    fold.close(reason, T)
    return cast("dict[str, Any]", DIALECTS[Version.V0_0_4].renderer(HEADER, Readings()).render(fold.journal()))


def test_every_state_has_a_row_and_every_record_a_place() -> None:
    """The table names each state; while a response streams every record is folded."""
    assert set(ORDER) == set(StreamState)
    assert {record for record, reaction in ORDER[StreamState.STREAMING].items() if reaction is Reaction.FOLD} == KINDS


def test_every_record_has_one_handler() -> None:
    """The parts of the fold share the kinds of chunks between them: none is left out, none is in two of them."""
    handled = [record for part in PARTS for record in part.HANDLERS]
    assert len(handled) == len(set(handled))
    assert set(handled) == KINDS


PREFIXES: dict[StreamState, list[str]] = {
    StreamState.IDLE: [],
    StreamState.BETWEEN: ["start", "start-step"],
    StreamState.STREAMING: ["start", "start-step", "text-start"],
    StreamState.ABORTED: ["start", "abort"],
    StreamState.FINISHED: ["start", "finish"],
}


@pytest.mark.parametrize("state", PREFIXES, ids=lambda state: state.name)
def test_any_chunk_in_any_state_is_folded_or_named(state: StreamState) -> None:
    """A chunk that has no place is a finding with its index, and the thread is what it would be without it (R36)."""
    for name in EXAMPLES:
        with about(name):
            feed_behind(state, name)


def feed_behind(state: StreamState, name: str) -> None:
    """Feed a chunk to a fold in a state, and compare it with a fold that was not fed it."""
    plain, with_it = ChunkFold(agent_id="assistant"), ChunkFold(agent_id="assistant")
    for fold in (plain, with_it):
        fold.begin(T)
        for step in PREFIXES[state]:
            fold.feed(chunk_from_object({"type": step, **EXAMPLES[step]}), T)
        assert fold.state is state
    chunk = chunk_from_object({"type": name, **EXAMPLES[name]})
    with_it.feed(chunk, T)
    if ORDER[state].get(type(chunk)) is not Reaction.FOLD:
        assert [f.place.event for f in with_it.findings] == [len(PREFIXES[state])]
        assert rendered(with_it) == rendered(plain)


@given(st.lists(st.sampled_from(OBJECTS), max_size=25))
def test_no_sequence_of_chunks_crashes_and_nothing_canonical_goes_away(objects: list[dict[str, Any]]) -> None:
    """Legal or not, a stream folds; over its prefixes messages are only added (SPEC, invariant 4)."""
    fold = ChunkFold(agent_id="assistant")
    fold.begin(T)
    renderer = DIALECTS[Version.V0_0_4].renderer(HEADER, Readings())
    before: list[Any] = []
    for value in objects:
        fold.feed(chunk_from_object(value), T)
        thread = renderer.render(fold.journal(Interrupted(reason="network_failure", at=T)))
        now = [m for turn in thread["turns"] if turn["turn_type"] == "agent" for m in turn["messages"]]
        rest = iter(now)
        assert all(message in rest for message in before)
        before = now
    rendered(fold)


@given(st.lists(st.sampled_from(OBJECTS), max_size=20), st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_how_bytes_are_split_changes_nothing(objects: list[dict[str, Any]], sizes: list[int]) -> None:
    """SPEC, invariant 5: one read or many give one thread and the same findings."""
    data = encode_stream([chunk_from_object(value) for value in objects])
    whole, split = Assembler(), Assembler()
    for assembler in (whole, split):
        assembler.begin(T)
    whole.feed(data, T)
    position = turn = 0
    while position < len(data):
        size = sizes[turn % len(sizes)]
        split.feed(data[position : position + size], T)
        position, turn = position + size, turn + 1
    assert rendered(whole) == rendered(split)
    assert [f.line() for f in whole.findings] == [f.line() for f in split.findings]


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_client(data: bytes) -> None:
    """Whatever a server sends, the client has a thread."""
    assembler = Assembler()
    assembler.begin(T)
    assembler.feed(data, T)
    assert rendered(assembler)["turns"] == []


def test_hand_written_bytes_give_the_thread_that_the_protocol_asks_for() -> None:
    """An anchor without our encoder: a text, a call, its return, a cut in the next text."""
    body = (
        b'data: {"type":"start","messageId":"m1"}\n\n'
        b'data: {"type":"start-step"}\r\n\r\n'
        b'data: {"type":"text-start","id":"0"}\n\n'
        b'data: {"type":"text-delta","id":"0","delta":"Voil\xc3\xa0"}\n\n'
        b'data: {"type":"text-end","id":"0"}\n\n'
        b'data: {"type":"tool-input-start","toolCallId":"c1","toolName":"look"}\n\n'
        b'data: {"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\\"q\\":"}\n\n'
        b'data: {"type":"tool-input-available","toolCallId":"c1","toolName":"look","input":{"q":1.5}}\n\n'
        b'data: {"type":"tool-output-available","toolCallId":"c1","output":null}\n\n'
        b'data: {"type":"finish-step"}\n\n'
        b'data: {"type":"start-step"}\n\n'
        b'data: {"type":"text-start","id":"0"}\n\n'
        b'data: {"type":"text-delta","id":"0","delta":"hal'
    )
    assembler = Assembler()
    assembler.begin(T)
    assembler.feed(body, T)
    (turn,) = rendered(assembler)["turns"]
    assert turn == {
        "turn_type": "agent",
        "agent_id": "assistant",
        "started_at": T,
        "completion_status": "interrupted",
        "interruption": {"reason": "network_failure", "interrupted_at": T},
        "messages": [
            {
                "message_type": "response",
                "timestamp": T,
                "agent_id": "assistant",
                "parts": [
                    {"part_kind": "text", "content": "Voilà"},
                    {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "c1", "args": {"q": 1.5}},
                ],
            },
            {
                "message_type": "request",
                "timestamp": T,
                "agent_id": "assistant",
                "parts": [
                    {
                        "part_kind": "tool-return",
                        "tool_name": "look",
                        "tool_call_id": "c1",
                        "status": "success",
                        "content": None,
                    }
                ],
            },
        ],
    }


def test_an_index_counts_every_chunk_also_the_fast_ones() -> None:
    """A finding after deltas names the chunk by its place in the whole stream."""
    assembler = Assembler()
    assembler.begin(T)
    for name in ("text-start", "text-delta", "text-delta"):
        assembler.feed(encode_sse(chunk_from_object({"type": name, **EXAMPLES[name]})), T)
    assembler.feed(encode_sse(c.TextEndChunk(id="ghost")), T)
    assert [f.place.event for f in assembler.findings] == [3]


def test_a_denied_call_of_the_provider_is_an_output_of_its_response() -> None:
    """R42: what the provider executes, or is not allowed to, is part of its response and ends nothing."""
    client = Assembler()
    client.begin(T)
    call = {"toolCallId": "p", "toolName": "web_search", "providerExecuted": True}
    client.feed_chunks(
        [
            {"type": "start"},
            {"type": "start-step"},
            {"type": "tool-input-available", **call, "input": {}},
            {"type": "tool-output-denied", "toolCallId": "p"},
            {"type": "finish-step"},
            {"type": "finish"},
        ],
        T,
    )
    client.close(None, T)
    (turn,) = client.journal().ended
    assert isinstance(turn, AgentTurn)
    (response,) = turn.tail.entries
    assert isinstance(response, Response)
    called, answered = response.parts
    assert isinstance(called, Part)
    assert isinstance(answered, Part)
    assert (called.kind, answered.kind) == ("builtin-tool-call", "builtin-tool-return")
    assert answered.fields["content"] == "The tool call was denied."


def test_a_model_is_told_of_one_agent_alone() -> None:
    """Carried model names end with the turn of their agent, and a response keeps those that held when it ended."""
    told = [
        {"agent_id": "assistant", "model_name": "m1", "provider_name": "p1", "usage": {"output_tokens": 3}},
        {"agent_id": "assistant"},
        {"agent_id": "other", "provider_name": "p2"},
    ]
    fold = ChunkFold(agent_id="assistant")
    fold.begin(T)
    for data in told:
        for name in ("data-sys-tp", "start-step", "text-start", "text-end", "finish-step"):
            fields = {"data": data, "transient": True} if name == "data-sys-tp" else EXAMPLES[name]
            fold.feed(chunk_from_object({"type": name, **fields}), T)
    first, second = rendered(fold, "network_failure")["turns"]
    assert (first["agent_id"], second["agent_id"]) == ("assistant", "other")
    facts = [{k: m.get(k) for k in ("model_name", "provider_name")} for t in (first, second) for m in t["messages"]]
    assert facts[0] == facts[1] == {"model_name": "m1", "provider_name": "p1"}
    assert facts[2:] == [{"model_name": None, "provider_name": "p2"}]


@pytest.mark.parametrize("told", [{"status": "x"}, {"status": 1}, {"status": None}, {}])
def test_a_carried_status_that_nobody_knows_is_none(told: dict[str, Any]) -> None:
    """The status that the wire says stays (R22)."""
    assert apply_carried_return({"status": "error", "content": 1}, told) == (
        "tool-return",
        {"status": "error", "content": 1},
    )


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ({"type": "file", "url": "data:text/plain;base64,YQ==", "mediaType": ""}, ["application/octet-stream"]),
        ({"type": "file", "url": "data:text/plain;base64,YQ=="}, ["application/octet-stream"]),
        ({"type": "file", "url": "", "mediaType": "text/plain"}, []),
        ({"type": "file", "url": 5, "mediaType": "text/plain"}, []),
    ],
)
def test_a_file_that_steers_has_a_place_and_a_media_type(part: dict[str, Any], kept: list[str]) -> None:
    """What stands in the prompt is a file that a thread can hold (R36, R44); with no file, nothing was said (R52)."""
    fold = ChunkFold(agent_id="assistant")
    fold.begin(T)
    fold.feed(chunk_from_object({"type": "steering-message", "id": "m", "parts": [part]}), T)
    messages = [message for turn in rendered(fold, "network_failure")["turns"] for message in turn["messages"]]
    assert [content["media_type"] for message in messages for content in message["parts"][0]["content"]] == kept


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("data:text/plain;base64,YQ==", "binary"),
        ("data:text/plain;base64,YQ", "binary"),
        ("data:text/plain;base64,-_-_", "binary"),
        ("data:text/plain;base64,Y", "document-url"),
        ("data:text/plain;base64,%%%", "document-url"),
        ("data:text/plain,hello", "document-url"),
    ],
)
def test_a_file_holds_bytes_if_its_data_is_base64_and_else_its_address(url: str, kind: str) -> None:
    """R49: nothing is lost, and the thread has no bytes that nobody can read."""
    fold = ChunkFold(agent_id="assistant")
    fold.begin(T)
    for chunk in ({"type": "file", "url": url, "mediaType": "text/plain"}, {"type": "finish"}):
        fold.feed(chunk_from_object(chunk), T)
    content = rendered(fold)["turns"][0]["messages"][0]["parts"][0]["content"]
    assert content["kind"] == kind
    assert content.get("url", url) == url


def test_a_million_misplaced_chunks_are_counted() -> None:
    """Memory does not grow with the mistakes of a server: fifty findings are kept, and the number of the others."""
    fold = ChunkFold(agent_id="assistant")
    fold.begin("2025-01-20T10:00:00Z")
    fold.feed(chunk_from_object({"type": "start"}), "2025-01-20T10:00:00Z")
    for _ in range(1000):
        fold.feed(chunk_from_object({"type": "text-delta", "id": "x", "delta": "y"}), "2025-01-20T10:00:00Z")
    assert [f.place.event for f in fold.findings] == [*range(1, 51), 51]
    assert fold.findings[-1].message == "and 950 more, the first of them here"


def test_the_pieces_of_a_long_part_are_joined_as_they_come() -> None:
    """A character that is split between two of them becomes whole (R43), also where the pieces before are joined."""
    fold = ChunkFold(agent_id="a")
    fold.begin(T)
    start = [
        b'{"type":"start"}',
        b'{"type":"text-start","id":"t"}',
        b'{"type":"tool-input-start","toolCallId":"c","toolName":"x"}',
    ]
    halves = [b'{"type":"text-delta","id":"t","delta":"\\ud83d"}', b'{"type":"text-delta","id":"t","delta":"\\ude00"}']
    fold.feed_events(start, T)
    rounds = 3 * 4096 + 1
    for half in [*halves, b'{"type":"tool-input-delta","toolCallId":"c","inputTextDelta":"1"}'] * rounds:
        fold.feed_events([half], T)
    last = cast("AgentTurn", fold.journal(partial=True).last)
    text, call = cast("Response", last.tail.entries[0]).parts
    assert text.fields["content"] == "\U0001f600" * rounds
    assert call.raw == "1" * rounds
    held = [len(part.pieces) for part in fold._context.open_parts.texts.values()]
    assert held < [2 * 4096]


ALIEN = {"type": "message_start"}


@pytest.mark.parametrize(
    ("chunks", "reason", "found"),
    [
        ([ALIEN], None, True),
        ([ALIEN, {"type": "content_block_delta"}], None, True),
        ([ALIEN], "user_cancelled", False),
        ([ALIEN, {"type": "start"}], None, False),
        ([ALIEN, {"type": "data-app-x", "data": 1}], None, False),
        ([{"type": "start"}, ALIEN], None, False),
        ([{"type": 4}], None, False),
        ([], None, False),
    ],
)
def test_a_stream_of_another_protocol_is_found(chunks: list[dict[str, Any]], reason: str | None, found: bool) -> None:
    """Where it was cut, what was to come is not known; one unknown chunk beside others is an event (R7)."""
    fold = Assembler()
    fold.begin(T)
    fold.feed(encode_stream(chunks), T)
    fold.close(reason, T)
    assert ("stream-of-unknown-chunks" in [f.code for f in fold.findings]) is found
    fold.begin(T)
    fold.close(None, T)
    assert [f.code for f in fold.findings].count("stream-of-unknown-chunks") == int(found)
