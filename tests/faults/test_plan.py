"""Plans without sockets: which actions come of which bytes, however these are split."""

from __future__ import annotations

import gzip
import http.client
import io
import socket
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpharness.faults.compress import Compressor
from tpharness.faults.plan import (
    Action,
    Blackhole,
    Buffer,
    CutBody,
    Fin,
    Gzip,
    Notify,
    Pass,
    Permute,
    Rechunk,
    RelayPlan,
    Reset,
    Send,
    Step,
    Transmission,
    Wait,
)

BODY = b"data: 1\n\ndata: 2\n\n"
ASKED = b"GET / HTTP/1.1\r\nAccept-Encoding: br, gzip\r\n\r\n"


def actions(steps: tuple[Step, ...], *reads: bytes, asked: bytes = b"", ends: bool = True) -> list[Action]:
    """Return what is done with reads, writes next to each other joined."""
    carrier = Transmission(RelayPlan(steps))
    carrier.see_request(asked)
    done = list(carrier.begin())
    for data in reads:
        done += carrier.feed(data)
    return [*done, *(carrier.end() if ends else ())]


def joined(done: list[Action]) -> list[Action]:
    """Join writes that follow each other."""
    out: list[Action] = []
    for action in done:
        if isinstance(action, Send) and out and isinstance(out[-1], Send):
            out[-1] = Send(out[-1].data + action.data)
        else:
            out.append(action)
    return out


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((), [Send(BODY), Fin()]),
        ((Pass(5), Fin()), [Send(b"data:"), Fin()]),
        ((Pass(5), Reset()), [Send(b"data:"), Reset()]),
        ((Pass(5), Blackhole()), [Send(b"data:"), Blackhole()]),
        ((Fin(),), [Fin()]),
        ((Pass(0), Fin()), [Fin()]),
        ((Pass(5), Wait(0.1)), [Send(b"data:"), Wait(0.1), Send(BODY[5:]), Fin()]),
        (
            (Pass(5), Notify("x"), Pass(1), Notify("y")),
            [Send(b"data:"), Notify("x"), Send(b" "), Notify("y"), Send(BODY[6:]), Fin()],
        ),
        ((Pass(18), Fin()), [Send(BODY), Fin()]),
        ((Pass(99), Reset()), [Send(BODY), Fin()]),
        ((Buffer(),), [Send(BODY), Fin()]),
        ((Pass(6), Permute((3, 2, 1, 0)), Fin()), [Send(b"data: d\n\n1"), Fin()]),
        ((Permute((1, 0)),), [Send(b"ad" + BODY[2:]), Fin()]),
        ((Permute(tuple(range(99))),), [Send(BODY), Fin()]),
    ],
)
@given(split=st.integers(0, len(BODY)))
def test_a_plan_does_the_same_however_the_bytes_come(
    steps: tuple[Step, ...], expected: list[Action], split: int
) -> None:
    """What counts is the byte, not the read."""
    reads = [data for data in (BODY[:split], BODY[split:]) if data]
    assert joined(actions(steps, *reads)) == expected


def test_a_buffering_proxy_says_nothing_before_the_end() -> None:
    """And then everything at once."""
    assert actions((Buffer(),), b"a", b"b", ends=False) == []
    assert actions((Buffer(),), b"a", b"b") == [Send(b"ab"), Fin()]


def test_pieces_have_their_sizes_across_reads() -> None:
    """A pause follows each; what is left over goes out in the end."""
    done = actions((Rechunk((1, 3), pause=0.5),), b"ab", b"cdef", b"gh")
    wait = Wait(0.5)
    expected = [Send(b"a"), wait, Send(b"bcd"), wait, Send(b"e"), wait, Send(b"fgh"), wait, Fin()]
    assert done == expected


def test_nothing_follows_the_end() -> None:
    """What comes later from upstream is dropped."""
    carrier = Transmission(RelayPlan((Pass(1), Reset())))
    assert list(carrier.begin()) == []
    assert list(carrier.feed(b"ab")) == [Send(b"a"), Reset()]
    assert list(carrier.feed(b"cd")) == []
    assert list(carrier.end()) == []


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n" + BODY
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"


def decoded(response: bytes) -> bytes:
    """Take chunked coding and gzip off, with code that is not ours."""
    head, _, rest = response.partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert b"ontent-Length" not in head
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return gzip.decompress(body)
        body, rest = body + rest[:length], rest[length + 2 :]


@pytest.mark.parametrize("response", [PLAIN, CHUNKED], ids=["with a length", "chunked"])
@given(splits=st.lists(st.integers(0, 120), max_size=4))
def test_a_compressed_response_says_the_same(response: bytes, splits: list[int]) -> None:
    """Head and body may be split anywhere."""
    places = [0, *sorted(min(split, len(response)) for split in splits), len(response)]
    reads = [response[a:b] for a, b in pairwise(places) if a < b]
    done = actions((Gzip(),), *reads, asked=ASKED)
    assert done[-1] == Fin()
    assert decoded(b"".join(action.data for action in done if isinstance(action, Send))) == BODY


@pytest.mark.parametrize("response", [PLAIN, CHUNKED], ids=["with a length", "chunked"])
@pytest.mark.parametrize("count", [0, 4, 9, 13, len(BODY)])
@given(splits=st.lists(st.integers(0, 120), max_size=4))
def test_a_body_that_ends_well_before_its_end_is_a_whole_response(
    response: bytes, count: int, splits: list[int]
) -> None:
    """An HTTP client of somebody else reads so many bytes and sees a regular end, wherever the reads end."""
    places = [0, *sorted(min(split, len(response)) for split in splits), len(response)]
    reads = [response[a:b] for a, b in pairwise(places) if a < b]
    done = actions((CutBody(count, chunked=True), Fin()), *reads, ends=False)
    assert done[-1] == Fin()
    read = http.client.HTTPResponse(_Received(b"".join(action.data for action in done if isinstance(action, Send))))
    read.begin()
    assert (read.read(), read.status) == (BODY[:count], 200)


@pytest.mark.parametrize("response", [PLAIN, CHUNKED], ids=["with a length", "chunked"])
def test_a_body_without_a_framing_of_its_own_ends_with_its_connection(response: bytes) -> None:
    """No length and no chunks: a reset is all that comes after its bytes."""
    *sent, last = actions((CutBody(4, chunked=False), Reset()), response, ends=False)
    head, _, body = b"".join(action.data for action in sent if isinstance(action, Send)).partition(b"\r\n\r\n")
    assert (body, last) == (BODY[:4], Reset())
    assert b"length" not in head.lower()
    assert b"transfer-encoding" not in head.lower()


class _Received(socket.socket):
    """What came from a connection, for the standard library's reader of responses."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: object, **__: object) -> io.BytesIO:  # type: ignore[override]
        return io.BytesIO(self._data)

    def __del__(self) -> None:
        """There is nothing to close."""


def test_what_is_compressed_can_be_read_as_it_comes() -> None:
    """Nothing waits in the compressor: each event is there when it was sent."""
    compressor = Compressor()
    head, _, _ = CHUNKED.partition(b"9\r\n")
    first = compressor.feed(head + b"9\r\ndata: 1\n\n\r\n").partition(b"\r\n\r\n")[2]
    assert zlib.decompressobj(wbits=31).decompress(first.partition(b"\r\n")[2]) == b"data: 1\n\n"


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nxyz",
        b"HTTP/1.1 200 OK\r\nno end of the head",
    ],
)
def test_what_has_no_body_to_compress_passes(response: bytes) -> None:
    """As it is."""
    compressor = Compressor()
    assert compressor.feed(response) + compressor.end() == response


def test_nobody_compresses_for_a_client_that_does_not_accept_it() -> None:
    """A proxy that did would break HTTP, not the target."""
    assert joined(actions((Gzip(),), PLAIN, asked=b"GET / HTTP/1.1\r\nAccept-Encoding: identity\r\n\r\n")) == [
        Send(PLAIN),
        Fin(),
    ]


def test_a_broken_body_stays_broken_when_it_is_compressed() -> None:
    """No last chunk is made up."""
    done = actions((Gzip(),), CHUNKED[:-8], asked=ASKED)
    assert not b"".join(action.data for action in done if isinstance(action, Send)).endswith(b"0\r\n\r\n")
