"""Places in a response, against one written by hand in which every byte is counted."""

from __future__ import annotations

import pytest

from tpharness.faults import FAULTS, RecordedResponse
from tpharness.faults.places import PLACES
from tpharness.faults.plan import Pass

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = b'data: {"type":"start"}\n\n'
SECOND = 'data: {"type":"text-delta","id":"t","delta":"né à Paris"}\n\n'.encode()
THIRD = b'data: {"type":"tool-output-available","toolCallId":"a","output":1}\n\n'
FOURTH = b'data: {"type":"tool-output-error","toolCallId":"b","errorText":"no"}\n\n'
LAST = b"data: [DONE]\n\n"


def response(*pieces: bytes) -> bytes:
    """Return a response with a chunk of the transfer coding for each piece."""
    return HEAD + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


RAW = response(FIRST, SECOND, LAST)
EVERY_PLACE = response(FIRST, SECOND, THIRD, FOURTH, LAST)


def around(name: str, raw: bytes = RAW) -> tuple[bytes, bytes]:
    """Return some bytes before and after a place."""
    offset = PLACES[name](RecordedResponse.parse(raw))
    assert offset is not None
    return raw[max(0, offset - 8) : offset], raw[offset : offset + 8]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("before the first byte", b"", b"HTTP/1.1"),
        ("after the head", b"ked\r\n\r\n", b"18\r\ndata"),
        ("inside a UTF-8 character", b'ta":"n\xc3', b"\xa9 "),
        ("inside a JSON string", b'elta":"n', "é".encode()),
        ("between the two newlines of an event", b'Paris"}\n', b"\n\r\n"),
        ("before the last chunk", b"DONE]\n\n\r\n"[-8:], b"0\r\n\r\n"),
    ],
)
def test_a_place_is_where_its_name_says(name: str, before: bytes, after: bytes) -> None:
    """To the byte."""
    left, right = around(name)
    assert left.endswith(before)
    assert right.startswith(after)


def test_a_place_in_the_size_line_is_between_its_digits() -> None:
    """Of the chunk in the middle."""
    left, right = around("inside the size line of a chunk")
    assert (left + right).count(b"\r\n") >= 2
    assert left[-1:] == b"%x" % (len(SECOND) >> 4)
    assert right.startswith(b"%x\r\n" % (len(SECOND) & 15))


def test_the_middle_counts_the_body_alone() -> None:
    """Chunk sizes and the head are none of it."""
    found = RecordedResponse.parse(RAW)
    assert found.body == FIRST + SECOND + LAST
    middle = found.in_the_middle()
    assert middle is not None
    half = len(found.body) // 2
    assert RAW[middle : middle + 1] == found.body[half : half + 1]


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 200 OK\r\nhalf a head"])
def test_what_has_no_body_has_few_places(raw: bytes) -> None:
    """None of those within a body."""
    found = {name for name, place in PLACES.items() if place(RecordedResponse.parse(raw)) is not None}
    assert found <= {"before the first byte", "in the head of the response"}


def test_a_body_without_transfer_coding_has_its_places_too() -> None:
    """But none in a coding."""
    raw = b"HTTP/1.0 200 OK\r\n\r\n" + FIRST + SECOND + THIRD + FOURTH
    found = {name for name, place in PLACES.items() if place(RecordedResponse.parse(raw)) is not None}
    assert found == set(PLACES) - {"inside the size line of a chunk", "before the last chunk"}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_a_plan_for_an_ordinary_response(name: str) -> None:
    """And a name, words and a ruling that a report can show."""
    fault = FAULTS[name]
    plan = fault.plan(RecordedResponse.parse(EVERY_PLACE))
    assert plan is not None
    assert plan.steps
    assert fault.title[0].islower()
    assert fault.rulings
    offset = fault.offset(RecordedResponse.parse(EVERY_PLACE))
    assert not fault.place or fault.in_body or plan.steps[0] == Pass(offset or 0)


CARRIER = b'data: {"type":"data-sys-tp","data":{"timestamp":"A"},"transient":true}\n\n'


@pytest.mark.parametrize("split", [1, 7, 60, 1000])
def test_outputs_change_places_whatever_the_framing(split: int) -> None:
    """With the carriers before them; chunk sizes stay, and only those two groups move."""
    groups = (FIRST, CARRIER + THIRD, CARRIER.replace(b"A", b"BB") + FOURTH, LAST)
    body = b"".join(groups)
    pieces = [body[at : at + split] for at in range(0, len(body), split)]
    raw = response(*pieces)
    found = RecordedResponse.parse(raw).outputs()
    assert found is not None
    base, order = found
    moved = raw[:base] + bytes(raw[base + place] for place in order) + raw[base + len(order) :]
    first, one, other, last = groups
    assert RecordedResponse.parse(moved).body == first + other + one + last


@pytest.mark.parametrize(
    "between", [b'data: {"type":"finish-step"}\n\n', THIRD.replace(b"1}", b'1,"preliminary":true}')]
)
def test_outputs_with_something_between_stay(between: bytes) -> None:
    """They are not parallel, or one of them is none; so do two of one call."""
    raw = b"HTTP/1.0 200 OK\r\n\r\n"
    assert RecordedResponse.parse(raw + THIRD + between + FOURTH).outputs() is None
    assert RecordedResponse.parse(raw + THIRD + THIRD).outputs() is None


def test_places_and_faults_are_of_one_vocabulary() -> None:
    """No fault names a place that is none, and every place has a fault."""
    assert {fault.place for fault in FAULTS.values()} - {""} == set(PLACES)
