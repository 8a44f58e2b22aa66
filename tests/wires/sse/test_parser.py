"""The event-stream parser agrees with the WHATWG grammar, however the bytes are split into reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.errors import UsageError
from tpharness.wires.sse.parser import SSE_INVALID_UTF8, SSE_PARTIAL_EVENT, SSE_TOO_LONG, SSE_UNKNOWN_FIELD, SseParser

BOM = b"\xef\xbb\xbf"


def reference(body: bytes) -> tuple[list[tuple[str, str, str]], str, int | None]:
    """Interpret a whole body by the letter of the standard: events as (type, data, id), last event id, retry.

    Follows "9.2.6 Interpreting an event stream" of the HTML standard on the decoded text, and knows no reads.
    """
    text = body.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    *lines, _unfinished = re.split("\r\n|\r|\n", text)
    events = []
    data, event_type, id_buffer, last_id, retry = "", "", "", "", None
    for line in lines:
        if line == "":
            last_id = id_buffer
            if data == "":
                event_type = ""
                continue
            events.append((event_type or "message", data.removesuffix("\n"), last_id))
            data = event_type = ""
            continue
        if line[0] == ":":
            continue
        field, value = line.split(":", 1) if ":" in line else (line, "")
        value = value[1:] if value[:1] == " " else value
        if field == "event":
            event_type = value
        elif field == "data":
            data += value + "\n"
        elif field == "id" and "\0" not in value:
            id_buffer = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            retry = int(value)
    return events, last_id, retry


def split(body: bytes, sizes: list[int] | None) -> Iterator[bytes]:
    """Yield a body in reads of the given sizes (cycled; one read if None)."""
    position = turn = 0
    while position < len(body):
        size = sizes[turn % len(sizes)] if sizes else len(body)
        yield body[position : position + size]
        position += size
        turn += 1


def parse(
    body: bytes, sizes: list[int] | None = None, **options: Any
) -> tuple[SseParser, list[tuple[str, str, str]], list[int]]:
    """Feed a body in such reads; return the parser, events, their ends."""
    parser = SseParser(**options)
    frames = [frame for read in split(body, sizes) for frame in parser.feed(read)]
    return parser, [(f.event or "message", f.data.decode(), f.id or "") for f in frames], [f.end for f in frames]


TOKENS = [
    b"data: {}\n\n",
    b"data: a\n\ndata: b\n\n",
    b"data: a\rdata: b\n\n",
    b"data: a\rb\n\ndata: c\n\n",
    b"data: \xff\n\n",
    b"id: 1\ndata: a\n\n",
    b"data",
    b"data:",
    b"data: ",
    b"data:  two",
    b"event: e",
    b"event",
    b"id: 7",
    b"id",
    b"id: a\0b",
    b"retry: 10",
    b"retry: +5",
    b"retry: 1_0",
    b"retry: \xd9\xa1",
    b"retry",
    b": ping",
    b"unknown: x",
    b"Data: no",
    b":",
    b" ",
    b"x",
    b"\n",
    b"\n",
    b"\n\n",
    b"\r",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    BOM,
    b"\xef",
    b"\xbb",
    b"\xe2\x82\xac",
    b"\xe2\x82",
    b"\xf0\x9f",
    b"\x98\x80",
    b"\xff",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
]
tokens = st.lists(st.sampled_from(TOKENS), max_size=24)
soups = tokens.map(b"".join)
splits = st.lists(st.integers(min_value=1, max_value=7), min_size=1, max_size=8)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(body=soups, sizes=splits)
def test_any_bytes_in_any_reads_give_what_the_standard_says(body, sizes):
    """Events, last event id and retry equal the whole-text reference for random token soups and random splits."""
    events, last_id, retry = reference(body)
    for reads in (None, sizes, [1]):
        parser, got, _ = parse(body, reads)
        parser.close()
        assert got == events
        assert (parser.last_event_id or "") == last_id
        assert parser.retry == retry


@settings(derandomize=True, max_examples=300, deadline=None)
@given(reads=tokens)
def test_reads_that_hold_whole_lines_and_events_give_what_the_standard_says(reads):
    """Reads that end where lines and events end, as a live stream's do, take the same path through the grammar."""
    parser = SseParser()
    frames = [frame for read in reads for frame in parser.feed(read)]
    events, last_id, _ = reference(b"".join(reads))
    assert [(f.event or "message", f.data.decode(), f.id or "") for f in frames] == events
    assert (parser.last_event_id or "") == last_id


@settings(derandomize=True, max_examples=300, deadline=None)
@given(body=soups, sizes=splits)
def test_the_split_into_reads_changes_neither_offsets_nor_findings_nor_leftover(body, sizes):
    """One read, random reads and single bytes agree on everything that the parser reports."""
    seen = []
    for reads in (None, sizes, [1]):
        parser, _, ends = parse(body, reads, max_line=20)
        leftover = parser.close()
        seen.append((ends, leftover, parser.findings, parser.offset))
    assert seen[0] == seen[1] == seen[2]


@settings(derandomize=True, max_examples=300, deadline=None)
@given(body=soups, sizes=splits)
def test_a_part_of_a_line_is_taken_as_any_other_read(body, sizes):
    """What `feed_part` takes changes nothing that the parser gives, finds or has left."""
    seen = []
    for quick in (True, False):
        parser, events = SseParser(max_line=20, heartbeats=True), []
        for read in split(body, sizes):
            if not (quick and parser.feed_part(read)):
                events += [frame.data for frame in parser.feed(read)]
        seen.append((events, parser.close(), parser.findings, parser.offset))
    assert seen[0] == seen[1]


@settings(derandomize=True, max_examples=200, deadline=None)
@given(body=soups)
def test_an_event_is_complete_exactly_at_its_end_offset(body):
    """A stream cut one byte before the `end` of the last frame lacks it, a stream cut there has it."""
    _, events, ends = parse(body)
    for count, end in enumerate(ends, start=1):
        assert parse(body[:end])[1] == events[:count]
        assert parse(body[: end - 1])[1] == events[: count - 1]


WHATWG_EXAMPLES = {
    "two data lines": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", "YHOO\n+2\n10", "")]),
    "comment, id, no id, reset id and a lost last block": (
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
        [("message", "first event", "1"), ("message", "second event", "")],
    ),
    "empty data, two empty lines, and a lost block": (
        b"data\n\ndata\ndata\n\ndata:",
        [("message", "", ""), ("message", "\n", "")],
    ),
    "one leading space is dropped": (
        b"data:test\n\ndata: test\n\n",
        [("message", "test", ""), ("message", "test", "")],
    ),
    "event types": (
        b"event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
        [("add", "73857293", ""), ("remove", "2153", ""), ("add", "113411", "")],
    ),
}


@pytest.mark.parametrize("sizes", [None, [1], [2], [3, 1]], ids=["whole", "1", "2", "3+1"])
@pytest.mark.parametrize("name", WHATWG_EXAMPLES)
def test_the_examples_of_the_standard_come_out_as_it_says(name, sizes):
    """The examples in the HTML standard give the events that its prose names."""
    body, events = WHATWG_EXAMPLES[name]
    assert parse(body, sizes)[1] == events


HAND_WRITTEN = {
    "CR line ends": (b"data: a\rdata: b\r\r", [("message", "a\nb", "")]),
    "CRLF line ends": (b"data: a\r\n\r\ndata: b\r\n\r\n", [("message", "a", ""), ("message", "b", "")]),
    "CR then LF are one line end, LF then CR are two": (
        b"data: a\n\rdata: b\r\n\n",
        [("message", "a", ""), ("message", "b", "")],
    ),
    "a BOM is dropped once": (BOM + b"data: a\n\n", [("message", "a", "")]),
    "a second BOM belongs to the field name": (BOM + BOM + b"data: a\n\n", []),
    "a BOM inside data stays": (b"data: " + BOM + b"a\n\n", [("message", "\ufeffa", "")]),
    "a comment between data lines is nothing": (b"data: a\n: c\ndata: b\n\n", [("message", "a\nb", "")]),
    "an event without data is none, and its type is forgotten": (b"event: e\n\ndata: a\n\n", [("message", "a", "")]),
    "an id without data counts for the next event": (b"id: 1\n\ndata: a\n\n", [("message", "a", "1")]),
    "an id stays in force": (b"id: 1\ndata: a\n\ndata: b\n\ndata: c\n\n", [("message", x, "1") for x in "abc"]),
    "an id with NUL is ignored": (
        b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
        [("message", "a", "1"), ("message", "b", "1")],
    ),
    "a keep-alive after an id is not an event": (b"id: 1\ndata: a\n\n: ping\n\n", [("message", "a", "1")]),
    "field names are case-sensitive": (b"Data: a\n\n data: b\n\n", []),
    "U+2028 and U+0085 end no line": ("data: a\u2028b\x85c\n\n".encode(), [("message", "a\u2028b\x85c", "")]),
    "a tab is not the space that is dropped": (b"data:\ta\n\n", [("message", "\ta", "")]),
    "three line ends after an event": (b"data: a\n\n\ndata: b\n\n", [("message", "a", ""), ("message", "b", "")]),
    "a run that ends in data lines": (
        b"data: a\n\ndata: b\ndata: c\n\n",
        [("message", "a", ""), ("message", "b\nc", "")],
    ),
    "data in the middle of a line is data": (b"data: a data: b\n\n", [("message", "a data: b", "")]),
    "an HTML body has no events": (b"<!doctype html>\n<p>data: a</p>\n\n", []),
}


@pytest.mark.parametrize("sizes", [None, [1], [2], [5]], ids=["whole", "1", "2", "5"])
@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_each_rule_holds_in_whole_and_split_reads(name, sizes):
    """Hand-written bodies, one rule each, give the events written beside them."""
    body, events = HAND_WRITTEN[name]
    assert parse(body, sizes)[1] == events


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xff", "\ufffd"),
        (b"\xe2\x82", "\ufffd"),  # one for a truncated sequence, as far as it was valid
        (b"\xf0\x80\x80", "\ufffd\ufffd\ufffd"),  # F0 80 can begin no character: one for each byte
        (b"\xed\xa0\x80", "\ufffd\ufffd\ufffd"),  # a surrogate in UTF-8 is invalid
        (b"\xc0\xaf", "\ufffd\ufffd"),
        (b"a\xf0\x9f\x98b", "a\ufffdb"),
    ],
)
@pytest.mark.parametrize("sizes", [None, [1]], ids=["whole", "1"])
def test_invalid_utf8_is_replaced_and_reported(data, text, sizes):
    """Each maximal invalid sequence becomes one U+FFFD, and the event is named in an observation."""
    parser, events, _ = parse(b"data: ok\n\ndata: " + data + b"\n\n", sizes)
    assert events == [("message", "ok", ""), ("message", text, "")]
    assert [(f.kind, f.place.byte) for f in parser.findings] == [(SSE_INVALID_UTF8, 10)]


def test_a_character_split_between_reads_is_whole():
    """Valid UTF-8 cut inside a character is not a finding."""
    parser, events, _ = parse("data: 🚀\n\n".encode(), [7, 1])
    assert events == [("message", "🚀", "")]
    assert parser.findings == []


@pytest.mark.parametrize(
    ("body", "start", "line", "has_data"),
    [
        (b"data: a\n\ndata: b\n", 9, b"", True),
        (b"data: a\n\ndata: b", 9, b"data: b", False),
        (b"data: a\n\ndata: b\nda", 9, b"da", True),
        (b"data: a\n\n: pi", 9, b": pi", False),
        (b": c\r\nid: 1\r\n", 5, b"", False),
        (b"\xef\xbb", 0, b"\xef\xbb", False),
    ],
)
def test_closing_inside_an_event_tells_what_was_lost(body, start, line, has_data):
    """`close` returns the place and the unfinished line of a discarded event, and reports it as an observation."""
    parser = parse(body, [1])[0]
    assert parser.in_event
    leftover = parser.close()
    assert leftover is not None
    assert (leftover.start, leftover.size, leftover.line, leftover.has_data) == (
        start,
        len(body) - start,
        line,
        has_data,
    )
    assert [f.kind for f in parser.findings] == [SSE_PARTIAL_EVENT]


@pytest.mark.parametrize(
    "body", [b"", BOM, b"\n", b"data: a\n\n", b"data: a\r\n\r", b"data: a\n\n: ping\n", b"data: a\r\r\n"]
)
def test_closing_between_events_leaves_nothing(body):
    """A stream that ends between events has no leftover and no finding; a last LF may be missing after CR."""
    parser = parse(body)[0]
    assert parser.close() is None
    assert parser.findings == []


@pytest.mark.parametrize("sizes", [None, [1], [7]], ids=["whole", "1", "7"])
@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: " + b"x" * 30 + b"\n\ndata: ok\n\n", ["ok"]),
        (b"data: a\ndata: " + b"x" * 30 + b"\ndata: c\n\ndata: ok\n\n", ["ok"]),
        (b"data: 12345678\ndata: 12345678\ndata: 12345678\n\ndata: ok\n\n", ["ok"]),
        (b"junk" * 9 + b"\ndata: a\n\ndata: ok\n\n", ["ok"]),
    ],
    ids=["one line", "a line among lines", "the sum of lines", "another field"],
)
def test_an_event_beyond_the_limit_is_dropped_and_reported_once(body, events, sizes):
    """With a limit of 20 bytes the long event goes, the next one stays, and one finding says so."""
    parser, got, _ = parse(body, sizes, max_line=20)
    assert [data for _, data, _ in got] == events
    assert [f.kind for f in parser.findings if f.kind is not SSE_UNKNOWN_FIELD] == [SSE_TOO_LONG]
    assert parser.close() is None


def test_a_line_exactly_at_the_limit_is_read():
    """The limit itself is allowed, one byte more is not."""
    body = b"data: " + b"x" * 14 + b"\n\n"
    assert len(parse(body, [1], max_line=20)[1]) == len(parse(body, max_line=20)[1]) == 1
    assert len(parse(body, [1], max_line=19)[1]) == len(parse(body, max_line=19)[1]) == 0


def test_a_comment_beyond_the_limit_is_skipped():
    """A comment carries nothing, so its length is no fault."""
    parser, events, _ = parse(b": " + b"x" * 99 + b"\ndata: ok\n\n", [10], max_line=20)
    assert events == [("message", "ok", "")]
    assert parser.findings == []


def test_an_unfinished_line_beyond_the_limit_keeps_no_bytes():
    """A line that never ends does not fill the memory."""
    parser = SseParser(max_line=1000)
    for _ in range(100):
        parser.feed(b"x" * 100)
    leftover = parser.close()
    assert leftover is not None
    assert leftover.line == b""
    assert leftover.size == 10_000


def test_findings_about_garbage_are_bounded():
    """A body of ten thousand unknown lines gives fifty findings, and one that counts the others."""
    parser = parse(b"garbage\n" * 10_000)[0]
    assert [f.kind for f in parser.findings] == [SSE_UNKNOWN_FIELD] * 51
    assert parser.findings[-1].message == "and 9,950 more, the first of them here"
    assert parser.findings[-1].place.byte == 50 * len("garbage\n")


def test_what_a_fork_finds_is_its_own():
    """Reading on in another way adds nothing to the findings of the parser that was forked."""
    parser = SseParser()
    parser.feed(b"garbage\n" * 60)
    before = parser.findings
    parser.fork().feed(b"garbage\n" * 60)
    assert parser.findings == before


@pytest.mark.parametrize(
    ("field", "retry"),
    [
        (b"retry: 3000", 3000),
        (b"retry:007", 7),
        (b"retry", None),
        (b"retry: -1", None),
        (b"retry: +5", None),
        (b"retry: 1.5", None),
        ("retry: ٣".encode(), None),
        (b"retry: 2 ", None),
        (b"retry: " + b"9" * 5000, 10**18),
    ],
)
def test_retry_takes_ascii_digits_only(field, retry):
    """Anything but ASCII digits is ignored; a number of any length does no harm."""
    assert parse(field + b"\n\n")[0].retry == retry


def test_the_last_event_id_changes_only_at_the_end_of_an_event():
    """An id whose event never ended is not the one to reconnect with."""
    parser = SseParser()
    parser.feed(b"id: 1\ndata: a\n\nid: 2\ndata: b\n")
    assert parser.last_event_id == "1"
    parser.feed(b"\n")
    assert parser.last_event_id == "2"
    parser.feed(b"id: 3\n\n")
    assert parser.last_event_id == "3"  # also without data


@pytest.mark.parametrize("cut", range(18))
def test_a_fork_reads_on_independently(cut):
    """A parser forked at any byte and the original each see only what they are fed."""
    body = b"data: 1\ndata: 2\n\n"
    parser = SseParser()
    parser.feed(body[:cut])
    fork = parser.fork()
    before = (parser.offset, parser.in_event)
    assert [f.data for f in fork.feed(body[cut:] + b"data: 3\n\n")][-1] == b"3"
    assert (parser.offset, parser.in_event) == before
    assert [f.data for f in parser.feed(body[cut:])] == ([b"1\n2"] if cut < len(body) else [])


def test_a_closed_parser_refuses_more_bytes():
    """Feeding after `close` is a mistake of the caller."""
    for body in (b"", b"data: a\n\n"):
        parser = parse(body)[0]
        parser.close()
        with pytest.raises(UsageError):
            parser.feed(b"data: b\n\n")
