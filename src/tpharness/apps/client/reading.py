"""What a reply needs of others: who makes chunks of its events, what goes on beside it, who is sent it as well."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from tpharness.apps.client.own_code import calling
from tpharness.apps.client.routes import Fetched
from tpharness.wires.sse.parser import Frame

__all__ = ["Beside", "Onward", "Translator", "translated", "type_of"]


class Translator(Protocol):
    """Makes chunks of the UI message stream of the events of another protocol; one for each answer.

    The rules of the UI message stream are not those of that protocol: nothing is said about the order of its chunks.
    Where the events have names, it has `feed_event(event, data)`, which is called in place of `feed`.
    """

    def feed(self, data: bytes) -> Iterable[Mapping[str, Any] | str]:
        """Return the chunks that an event comes to; `[DONE]` is the end marker.

        StreamRefusedError where the client of that protocol ends the stream with an error.
        """
        ...


class Beside(Protocol):
    """What is done around the request of an answer, which may need others (`tpharness.apps.client.around`)."""

    async def begin(self) -> Fetched | None:
        """Make what the request needs; return the answer that refuses it, None where it can be sent."""
        ...

    def answered(self, headers: Mapping[str, str]) -> None:
        """Take the headers of the answer."""
        ...

    async def end(self) -> Iterable[Mapping[str, Any]]:
        """Return chunks that the end of the answer comes to."""
        ...


class Onward(Protocol):
    """Where the answer is passed on to while it is read: a client that somebody else wrote, behind the relay."""

    async def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take status and headers."""
        ...

    async def write(self, data: bytes) -> None:
        """Take bytes of the body as they have come."""
        ...


def translated(translator: Translator, frame: Frame) -> Iterator[bytes]:
    """Yield the data of the chunks that a translator makes of an event."""
    by_name = getattr(translator, "feed_event", None)
    with calling(translator, "feed" if by_name is None else "feed_event"):
        chunks = translator.feed(frame.data) if by_name is None else by_name(frame.event or "message", frame.data)
        for chunk in chunks:
            yield (chunk if isinstance(chunk, str) else json.dumps(chunk)).encode()


def type_of(frame: Frame) -> str:
    """Return what an event of any wire calls itself."""
    value: Any = None
    with contextlib.suppress(ValueError, RecursionError):
        value = json.loads(frame.data)
    said = (value.get("type") or value.get("event") or value.get("object")) if isinstance(value, dict) else None
    return said if isinstance(said, str) else frame.event or "event without a type"
