"""What counts as news of a stream, with times of the test's own."""

from __future__ import annotations

import pytest

from tpharness.targets.news import News


def quiet(*pieces: bytes) -> list[float]:
    """Return for how long nothing new had come after each piece, one piece a second."""
    news = News(0.0)
    return [news.quiet(piece, second) for second, piece in enumerate(pieces, 1)]


@pytest.mark.parametrize(
    "beat",
    [
        b": beat\n\n",
        b":\r\n\r\n",
        b"\n",
        b"event: ping\n\n",
        b"event:ping\ndata: {}\n\n",
        b": tp stop\n\n",
        b"id: 7\n\n",
    ],
)
def test_a_heartbeat_is_not_news(beat: bytes) -> None:
    """However it is framed, and wherever the reads are cut."""
    assert quiet(b"data: 1\n\n", beat, beat) == [0, 1, 2]
    news = News(0.0)
    seconds = [news.quiet(beat[i : i + 1], i) for i in range(len(beat))]
    assert seconds == list(range(len(beat)))


@pytest.mark.parametrize("said", [b"data: 1\n\n", b"event: x\ndata: 1\n\n", b": tp 3\n\n", b": beat\ndata: 1\r\r"])
def test_an_event_or_a_mark_is_news(said: bytes) -> None:
    """Also beside a comment in one frame, and after heartbeats."""
    assert quiet(b": beat\n\n", said, b": beat\n\n" + said) == [1, 0, 0]


def test_a_large_event_is_news_while_it_comes() -> None:
    """A slow line of a megabyte is not silence, and it is not read again with each piece."""
    news = News(0.0)
    assert [news.quiet(b"data: " + b"x" * 1000, 1), *(news.quiet(b"x" * 1000, n) for n in range(2, 9))] == [0] * 8
    assert len(news._rest) < 1000
    assert news.quiet(b"\n\n: beat", 9) == 0
    assert news.quiet(b"\n\n", 10) == 1


def test_nothing_is_news_after_done() -> None:
    """The run is over, whatever the server goes on to send."""
    news = News(0.0)
    assert news.quiet(b"data: [DO", 1) == 0
    assert not news.ended
    assert news.quiet(b"NE]\n\n", 2) == 0
    assert bool(news.ended)
    assert news.quiet(b"data: 1\n\n", 5) == 3
