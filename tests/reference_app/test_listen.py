"""When a silence is over: by what was sent, and not by when this process got to reading it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest
from benchmarks.virtual_time import run_virtually, virtual_loop

from tpharness.reference_app.listen import StreamListener

SILENCE = 0.2


class Stream:
    """A session of aiohttp with one stream, which is fed in virtual time."""

    def __init__(self) -> None:
        self.status = 200
        self.content = self
        self._fed = asyncio.StreamReader()

    @asynccontextmanager
    async def get(self, url: str, **_: Any) -> Any:
        """Connect."""
        del url
        yield self

    async def readany(self) -> bytes:
        """Return what has come."""
        return await self._fed.read(65536)

    def at_eof(self) -> bool:
        """Say that it goes on: nobody ends it here."""
        return False

    def close(self) -> None:
        """Close the connection."""

    def feed_after(self, seconds: float, data: bytes, *, stands_still: float = 0.0) -> None:
        """Let data come; `stands_still`: the process could not run for so many seconds when they came."""

        def come() -> None:
            virtual_loop().jump(stands_still)
            virtual_loop().call_soon(self._fed.feed_data, data)

        virtual_loop().call_later(seconds, come)


def listen(*fed: tuple[float, bytes, float]) -> tuple[str | None, list[bytes], float]:
    """Return what was observed of the end, the data, and when it was over."""

    async def main() -> tuple[str | None, list[bytes], float]:
        stream, data = Stream(), list[bytes]()
        for seconds, piece, stands_still in fed:
            stream.feed_after(seconds, piece, stands_still=stands_still)
        listener = StreamListener(
            session=stream,  # type: ignore[arg-type]  # as much of one as is used
            url="http://127.0.0.1/",
            silence=SILENCE,
            most=1000,
            resumes=False,
            feed=data.append,
            ended=lambda: b"end" in data,
            done=lambda: b"end" in data,
        )
        reason = await listener.listen()
        assert len(asyncio.all_tasks()) == 1
        return reason, data, round(virtual_loop().time(), 3)

    return run_virtually(main())


@pytest.mark.parametrize("stands_still", [0.0, 0.3, 60.0])
def test_what_waits_to_be_read_was_sent_in_time(stands_still: float) -> None:
    """A process that stood still for too long finds the data and its timer at once; the silence begins anew."""
    reason, data, at = listen((0.1, b"data: one\n\n", stands_still), (0.1 + stands_still + 0.15, b"data: end\n\n", 0.0))
    assert (reason, data) == (None, [b"one", b"end"])
    assert at == round(0.25 + stands_still, 3)


@pytest.mark.parametrize("pieces", [(), (b"data: one\n\n",), (b": comment\n\n",)], ids=["nothing", "data", "comment"])
def test_a_silence_is_over_after_its_limit(pieces: tuple[bytes, ...]) -> None:
    """And not before it, nor later."""
    reason, _, at = listen(*((0.15, piece, 0.0) for piece in pieces))
    assert (reason, at) == ("timeout", 0.35 if pieces else 0.2)


def test_a_process_that_stood_still_and_finds_nothing_has_waited_long_enough() -> None:
    """There was nothing to be read."""
    reason, _, at = listen((0.1, b"", 5.0))
    assert (reason, at) == ("timeout", 5.1)
