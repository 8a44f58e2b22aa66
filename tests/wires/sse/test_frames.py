"""Frames as bytes: nothing is lost, and they are the frames that the parser reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpharness.wires.sse.frames import iter_frames, split_frames
from tpharness.wires.sse.parser import SseParser

PIECES = (b"data: x", b"data", b"dat", b": note", b"id: 7", b"event: e", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\xc3")
STREAMS = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)


@given(STREAMS)
def test_the_pieces_are_the_stream(data: bytes) -> None:
    """Joined they give the same bytes, and each frame stands at its offset."""
    assert b"".join(split_frames(data)) == data
    end = 0
    for frame in iter_frames(data):
        assert (frame.start, data[frame.start : frame.end]) == (end, frame.raw)
        assert data[frame.start : frame.blank].endswith((b"\n", b"\r"))
        assert data[frame.blank : frame.end] in (b"\n", b"\r", b"\r\n")
        end = frame.end


@given(STREAMS)
def test_each_frame_with_data_is_an_event_of_the_parser(data: bytes) -> None:
    """The parser, which reads line by line, dispatches the same events, at the same places."""
    events = SseParser().feed(data)
    frames = [frame for frame in iter_frames(data) if frame.field(b"data") is not None]
    assert len(events) == len(frames)
    for event, frame in zip(events, frames, strict=True):
        assert event.end in (frame.end, frame.end - 1)  # the parser ends an event at the CR of a CRLF
        assert [one.data for one in SseParser().feed(frame.raw)] == [event.data]


@pytest.mark.parametrize(
    ("data", "pieces"),
    [
        (b"", []),
        (b"data: 1\n\ndata: 2\n\n", [b"data: 1\n\n", b"data: 2\n\n"]),
        (b"data: 1\r\n\r\n: c\r\r", [b"data: 1\r\n\r\n", b": c\r\r"]),
        (b"data: 1\n\r\ndata: 2", [b"data: 1\n\r\n", b"data: 2"]),
        (b"data: 1\r\ndata: 2\r\n", [b"data: 1\r\ndata: 2\r\n"]),
        (b"\ndata: 1\n\n\n", [b"\ndata: 1\n\n", b"\n"]),
    ],
)
def test_a_frame_ends_with_an_empty_line(data: bytes, pieces: list[bytes]) -> None:
    """Whatever the line ends; what follows the last frame is a piece of its own."""
    assert split_frames(data) == pieces


@pytest.mark.parametrize(
    ("raw", "name", "value"),
    [
        (b"id: 7\ndata: x\n\n", b"id", b"7"),
        (b"id:  7\r\nid: 8\r\n\r\n", b"id", b"8"),
        (b"data\r\r", b"data", b""),
        (b"database: x\n\n", b"data", None),
        (b": data: x\n\n", b"data", None),
    ],
)
def test_a_field_of_a_frame(raw: bytes, name: bytes, value: bytes | None) -> None:
    """The last line of that name counts, without the blank after its colon."""
    (frame,) = iter_frames(raw)
    assert frame.field(name) == value
