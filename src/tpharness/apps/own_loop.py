"""The events of an asynchronous run, for a caller that is not asynchronous.

In: an async generator. Out: what it yields, one by one. It runs on an event loop of its own, which is closed with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import TypeVar

__all__ = ["on_own_loop"]

_Event = TypeVar("_Event")


def on_own_loop(events: AsyncGenerator[_Event, None]) -> Iterator[_Event]:
    """Yield what the generator yields. Whoever leaves early closes the generator, too: its `finally` runs."""
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    event = runner.run(_next(events))
                except StopAsyncIteration:
                    return
                yield event
        finally:
            runner.run(events.aclose())


async def _next(events: AsyncGenerator[_Event, None]) -> _Event:
    return await anext(events)
