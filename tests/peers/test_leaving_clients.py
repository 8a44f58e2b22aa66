"""What a framework writes for a client that has left is not part of what the client could have got."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from tpharness.peers.pydantic_ai.framework import written_until_cancelled


async def ending(stalled: asyncio.Event) -> AsyncIterator[str]:
    """Stream as Pydantic AI 2.0.0 does: it waits for the model, and ends the stream also when it is cancelled."""
    try:
        yield "start"
        stalled.set()
        await asyncio.get_running_loop().create_future()
    finally:
        yield "finish"


def test_the_end_of_a_stream_is_not_written_for_a_client_that_has_left():
    """An ASGI server is cancelled at its next `send`: `finish` would make an interrupted turn look whole."""

    async def leave() -> list[str]:
        written: list[str] = []
        stalled = asyncio.Event()

        async def serve() -> None:
            async for text in written_until_cancelled(ending(stalled)):
                written.append(text)  # noqa: PERF401  # it is cancelled before the list would be complete

        serving = asyncio.ensure_future(serve())
        await stalled.wait()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        assert serving.cancelled()
        return written

    assert asyncio.run(leave()) == ["start"]
