"""Marks: bytes written by hand, cut where the comments stand."""

from __future__ import annotations

import pytest

from tpharness.targets.contract import RunScript
from tpharness.targets.marks import cut_at_marks, event_times, has_mark

RUN = RunScript(
    agent_id="a",
    started_at="2025-01-20T10:00:00Z",
    events=({"event_kind": "x", "at": "2025-01-20T10:00:01Z"}, {"event_kind": "y"}),
)
WHOLE = b"data: 0\n\n: tp 0\n\ndata: 1\n\n: tp 1\n\ndata: 2a\n\ndata: 2b\n\n: tp 2\n\ndata: [DONE]\n\n"


def test_bytes_belong_to_the_event_whose_mark_follows_them() -> None:
    """What opens the stream and what ends it belong to none; the marks themselves are left out."""
    marked = cut_at_marks(WHOLE, RUN, "2025-01-20T10:00:09Z", whole=True)
    assert marked.wrong == ""
    assert [(p.data, p.at[17:19], p.event) for p in marked.packets] == [
        (b"data: 0\n\n", "00", None),
        (b"data: 1\n\n", "01", 0),
        (b"data: 2a\n\ndata: 2b\n\n", "01", 1),
        (b"data: [DONE]\n\n", "09", None),
    ]


def test_an_event_without_a_time_happens_with_the_one_before() -> None:
    """Time is data: it is never made up."""
    assert event_times(RUN) == ["2025-01-20T10:00:01Z"] * 2


def test_line_ends_may_be_those_of_windows() -> None:
    """An event stream may end its lines with CR LF."""
    marked = cut_at_marks(WHOLE.replace(b"\n", b"\r\n"), RUN, "t", whole=True)
    assert marked.wrong == ""
    assert b"".join(p.data for p in marked.packets).count(b": tp") == 0


def test_what_only_looks_like_a_mark_stays() -> None:
    """A mark is a whole line of its own."""
    data = b"data: : tp 0\n\n: tp 0\n\n: tp one\n\n: tp 1\n\n: tp 1x\n\n: tp 2\n\n"
    marked = cut_at_marks(data, RUN, "t", whole=True)
    assert marked.wrong == ""
    assert [p.data for p in marked.packets] == [b"data: : tp 0\n\n", b": tp one\n\n", b": tp 1x\n\n", b""]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"data: 0\n\n", "there are no marks at all"),
        (b": tp 0\n\n: tp 1\n\n", "`: tp 2` is missing, of 2 events"),
        (b": tp 0\n\n: tp 2\n\n", "`: tp 2` comes where `: tp 1` is expected"),
        (b": tp 0\n\n: tp 1\n\n: tp 1\n\n: tp 2\n\n", "`: tp 1` comes where `: tp 2` is expected"),
        (b": tp 0\n\n: tp 1\n\n: tp 2\n\n: tp 3\n\n", "`: tp 3` comes where `: tp 3` is expected, of 2 events"),
        (b": tp 0\n\ndata: 1\n: tp 1\n\n: tp 2\n\n", "`: tp 1` stands inside an event"),
    ],
)
def test_marks_that_are_not_as_declared_are_told(data: bytes, words: str) -> None:
    """And the bytes are cut all the same, as well as can be."""
    marked = cut_at_marks(data, RUN, "t", whole=True)
    assert words in marked.wrong
    assert marked.packets


def test_a_stream_that_was_cut_owes_only_the_marks_before_the_cut() -> None:
    """What was lost on the way cannot be missed."""
    marked = cut_at_marks(WHOLE[:40], RUN, "t", whole=False)
    assert marked.wrong == ""
    assert [p.event for p in marked.packets] == [None, 0, None]


@pytest.mark.parametrize("size", range(1, len(WHOLE)))
def test_the_mark_of_the_last_event_is_found_however_it_is_split(size: int) -> None:
    """A read may end inside it."""
    data, found = bytearray(), []
    for start in range(0, len(WHOLE), size):
        data += WHOLE[start : start + size]
        found.append(has_mark(data, 2, start))
    assert any(found)
    assert not has_mark(WHOLE, 20)
    assert not has_mark(b"data: : tp 2\n\n", 2)
