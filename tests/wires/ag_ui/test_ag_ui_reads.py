"""How many events of AG-UI come in one read changes nothing: pieces that take the quick way say what others say."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.counting import count_calls
from tests.wires.ag_ui.streams import framed

from tpharness.findings import Finding
from tpharness.folding import render
from tpharness.journal import Interrupted, Journal
from tpharness.protocol.versions import newest_version
from tpharness.wires.ag_ui.contents import NOT_JSON, parse
from tpharness.wires.ag_ui.fold import AgUiAssembler
from tpharness.wires.ag_ui.inputs import EndedCalls

AT = "2026-01-01T00:00:00Z"
IDS = ("a", "b")
EXTRA: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"metadata": {"acme": 1}},
    {"subagentRunId": "s"},
    {"unknown": 1},
)


def _event(kind: str, id_: str, words: str, extra: dict[str, Any]) -> dict[str, Any]:
    of_call = {"toolCallId": id_}
    of_message = {"messageId": id_}
    events: dict[str, dict[str, Any]] = {
        "text": {"type": "TEXT_MESSAGE_CONTENT", **of_message, "delta": words},
        "arguments": {"type": "TOOL_CALL_ARGS", **of_call, "delta": words},
        "thought": {"type": "REASONING_MESSAGE_CONTENT", **of_message, "delta": words},
        "text starts": {"type": "TEXT_MESSAGE_START", **of_message},
        "user text starts": {"type": "TEXT_MESSAGE_START", **of_message, "role": "user"},
        "text ends": {"type": "TEXT_MESSAGE_END", **of_message},
        "call starts": {"type": "TOOL_CALL_START", **of_call, "toolCallName": "look"},
        "call ends": {"type": "TOOL_CALL_END", **of_call},
        "thought starts": {"type": "REASONING_MESSAGE_START", **of_message, "role": "reasoning"},
        "thought ends": {"type": "REASONING_MESSAGE_END", **of_message},
        "chunk": {"type": "TEXT_MESSAGE_CHUNK", **of_message, "delta": words},
        "result": {"type": "TOOL_CALL_RESULT", "messageId": f"r-{id_}", **of_call, "content": words},
        "state": {"type": "STATE_SNAPSHOT", "snapshot": {}},
        "failure": {"type": "RUN_ERROR", "message": words},
        "begins": {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    }
    return {**events[kind], **extra}


PIECES = st.sampled_from(["text", "arguments"])
STARTS = st.sampled_from(["text starts", "user text starts", "call starts", "thought starts"])
OTHERS = st.sampled_from(["thought", "text ends", "call ends", "thought ends", "chunk", "result", "state"])
RARE = st.sampled_from(["failure", "begins"])
EVENTS = st.lists(
    st.builds(
        _event,
        st.one_of(PIECES, PIECES, PIECES, STARTS, OTHERS, RARE),
        st.sampled_from(IDS),
        st.sampled_from(["", "1", "word "]),
        st.sampled_from(EXTRA),
    ),
    max_size=40,
)
OPENED = [_event(kind, id_, "", {}) for id_ in IDS for kind in ("begins", "text starts", "call starts")]
OPENED = [event for number, event in enumerate(OPENED) if number == 0 or event["type"] != "RUN_STARTED"]


class _LooksAtEach(AgUiAssembler):
    """Has no quick way for the pieces of what is open."""

    def _more(self, _piece: object) -> None:
        return None


def _folded(
    reads: list[bytes], *, failing: int | None, by: type[AgUiAssembler] = AgUiAssembler
) -> tuple[Journal, list[Finding], bool]:
    assembler = by()
    assembler.begin(AT)
    for number, read in enumerate([*reads, b""]):
        if number == failing:
            assembler.fail("gone", AT)
        assembler.feed(read, AT)
    assembler.close("network_failure", AT)
    return assembler.journal(), assembler.findings, assembler.signalled_end


@given(EVENTS, st.integers(0, 40), st.none() | st.just(1))
@settings(max_examples=400)
def test_a_read_of_many_events_says_what_a_read_of_each_says(
    events: list[dict[str, Any]], cut: int, failing: int | None
) -> None:
    """In two reads, or an event a read: the same journal and findings, also where the run has failed between."""
    both = [*OPENED, *events]
    together = [framed(both[:cut]), framed(both[cut:])]
    alone = [framed([event]) for event in both]
    many = _folded(together, failing=failing)
    failing_alone = min(cut, len(both)) if failing is not None else None
    assert many == _folded(alone, failing=failing_alone)
    assert many == _folded(alone, failing=failing_alone, by=_LooksAtEach)


def test_a_piece_that_comes_alone_costs_little_more_than_one_among_others() -> None:
    """As pieces of a live stream do, each of which once took the way of an event that opens or ends something."""
    pieces = [_event("text", "a", "word ", {}) for _ in range(200)]
    alone, together = [framed([one]) for one in pieces], [framed(pieces)]
    calls = [count_calls(partial(_folded, [framed(OPENED), *reads], failing=None)) for reads in (together, alone)]
    assert calls[1] - calls[0] < 16 * len(pieces)


def test_a_byte_of_a_line_costs_few_calls() -> None:
    """The fold's, the judge's, the parser's, and of these two in C."""
    line = framed([_event("text", "a", "word " * 200, {})])
    begun, rest = line[:1], [bytes((one,)) for one in line[1:-2]]
    calls = [count_calls(partial(_folded, [framed(OPENED), begun, *reads], failing=None)) for reads in ([], rest)]
    assert calls[1] - calls[0] < 6 * len(rest)


def test_a_reader_says_where_its_stream_stands() -> None:
    """Before, in and behind a run, also when the stream has been closed; a torn one is a finding of its own."""
    started, text = _event("begins", "", "", {}), _event("text starts", "a", "", {})
    finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    reader = AgUiAssembler()
    reader.begin(AT)
    assert (reader.signalled_end, reader.complete, reader.state_name) == (False, False, "not begun")
    reader.feed(framed([started, text]), AT)
    assert (reader.signalled_end, reader.state_name, reader.place.event) == (False, "running", 1)
    reader.feed(framed([_event("text ends", "a", "", {}), finished]), AT)
    assert (reader.signalled_end, reader.complete, reader.state_name) == (True, True, "finished")
    reader.close(None, AT)
    assert (reader.signalled_end, reader.state_name, reader.place.event) == (True, "finished", 3)
    assert reader.findings == []
    torn = AgUiAssembler()
    torn.begin(AT)
    torn.feed(framed([started]), AT)
    torn.close("network_failure", AT)
    assert [finding.code for finding in torn.findings] == ["ag-ui-truncated"]
    assert (torn.signalled_end, torn.state_name) == (False, "running")


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_run_that_is_reported_to_have_failed_in_a_text_goes_on_only_if_it_ends_in_order(goes_on: bool) -> None:
    """As behind an error of the server (R27): what was read stays open, and the rest of its pieces still count."""
    reader = AgUiAssembler()
    reader.begin(AT)
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
    opened = {"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"}
    pieces = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": word} for word in ("One", " and", " two")]
    reader.feed(framed([started, opened, *pieces[:2]]), AT)
    reader.fail("the model is away", AT)
    if goes_on:
        finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
        reader.feed(framed([pieces[2], {"type": "TEXT_MESSAGE_END", "messageId": "a"}, finished]), AT)
    reader.close(None, AT)
    (turn,) = render(reader.journal(), newest_version(), "t", AT)["turns"]
    errors = [one for one in turn["messages"] if one.get("event_type") == "data-tp-error"]
    words = [part["content"] for one in turn["messages"] for part in one.get("parts", ())]
    assert [one["event_data"] for one in errors] == [{"error": "the model is away"}]
    assert (turn["completion_status"], words) == (("complete", ["One and two"]) if goes_on else ("interrupted", []))


def test_what_comes_behind_a_rejection_is_not_read_into_the_text_that_is_open() -> None:
    """Nor shown, where what streams is shown (G9): not the first piece, and none that takes the quick way behind it."""
    reader = AgUiAssembler()
    reader.begin(AT)
    said = [_event("text", "a", word, {}) for word in ("One", " two", " three")]
    bad = _event("text ends", "b", "", {})
    reader.feed(framed([_event("begins", "", "", {}), _event("text starts", "a", "", {}), said[0], bad, *said[1:]]), AT)
    journal = str(reader.journal(Interrupted(reason="timeout", at=AT), partial=True))
    assert "One" in journal
    assert "two" not in journal
    assert "three" not in journal


def test_a_finding_is_known_before_its_stream_has_ended() -> None:
    """At the client's side; and none is lost or doubled by the end."""
    reader = AgUiAssembler()
    reader.begin(AT)
    reader.feed(framed([_event("begins", "", "", {}), _event("text ends", "a", "", {})]), AT)
    assert [(one.code, one.place.side) for one in reader.findings] == [("ag-ui-not-open", "client")]
    reader.close(None, AT)
    assert [one.code for one in reader.findings] == ["ag-ui-not-open", "ag-ui-truncated"]


def test_the_calls_that_a_stream_has_ended_are_known() -> None:
    """Not one that streams, nor one that is closed because its run was cut; one that begins again is open again."""
    cut = {"metadata": {"threadprotocol": {"cut": True}}}
    ended = EndedCalls()
    ended.feed(framed([_event("call starts", "a", "", {}), _event("call starts", "b", "", {})]))
    assert ended.given("a") is None
    later = ended.after(framed([_event("call ends", "a", "", {}), _event("call ends", "b", "", cut)]))
    assert (later.given("a"), later.given("b")) == (_event("call ends", "a", "", {}), None)
    assert ended.given("a") is None
    later.feed(framed([_event("call starts", "a", "", {})]))
    assert later.given("a") is None


def test_a_rejected_stream_is_the_same_thread_in_however_many_deltas_its_text_comes() -> None:
    """What the thread says of the rejection does not count events."""
    begun = [_event(kind, "a", "", {}) for kind in ("begins", "text starts")]
    whole = [_event("text", "a", "one two", {})]
    pieces = [_event("text", "a", word, {}) for word in ("one", " ", "two")]
    bad = [_event("text", "b", "of no message", {})]
    folded = [_folded([framed([*begun, *said, *bad])], failing=None)[0] for said in (whole, pieces)]
    assert "rejects" in str(folded[0])
    assert folded[0] == folded[1]


@pytest.mark.parametrize(
    "text",
    [
        "-0",
        "-0.0",
        "1e5",
        "5e-324",
        str(2**64),
        "9" * 400,
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        '"\\ud83d\\ude00"',
        " [1] ",
    ],
)
def test_arguments_are_read_as_python_reads_them(text: str) -> None:
    """To the sign of a zero, and half a character as well (R43)."""
    assert repr(parse(text)) == repr(json.loads(text))


@pytest.mark.parametrize("text", ["{", "[1,]", "01", "NaN", "-Infinity", "1e999", "[1e999]", "{} {}", "\ufeff1"])
def test_arguments_that_nothing_can_write_again_are_not_json(text: str) -> None:
    """Numbers that JSON does not have (R38), and what is not JSON."""
    assert parse(text) is NOT_JSON
