"""The server's half of the wire: server events → chunks → bytes. A reader of streams does not load it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.server_events import EventKind
from tpharness.wires.vsp.encode import DONE, encode_sse
from tpharness.wires.vsp.server import Chunks, Encoder

__all__ = ["ChunkWriter"]


class ChunkWriter:
    """The server's half: chunks of server events as bytes."""

    def __init__(
        self,
        *,
        agent_id: str,
        carriers: bool = True,
        message_id: str | None = None,
        tool_name: Callable[[str], str | None] = lambda _: "",
        has_return: Callable[[str], bool] = lambda _: False,
        waiting: Collection[str] | None = None,
        waiting_provider_calls: Collection[str] = (),
    ) -> None:
        self._encoder = Encoder(
            agent_id=agent_id,
            carriers=carriers,
            message_id=message_id,
            tool_name=tool_name,
            has_return=has_return,
            waiting=waiting,
            waiting_provider_calls=waiting_provider_calls,
        )

    def start(self, at: str, user_parts: tuple[Mapping[str, Any], ...] = ()) -> bytes:
        """Return the bytes that open the stream."""
        return _encode(self._encoder.start(at, user_parts))

    def feed(self, event: Mapping[str, Any], judged: EventKind | Finding | None = None, at: str | None = None) -> bytes:
        """Return the bytes of one event."""
        return _encode(self._encoder.feed(event, judged, at))

    def stop(self, reason: str, at: str) -> bytes:
        """Return the bytes of an abort, and the end marker."""
        return _encode(self._encoder.abort(reason, at)) + DONE

    def finish(self) -> bytes:
        """Return the end marker."""
        return DONE


def _encode(sent: Chunks) -> bytes:
    return encode_sse(sent[0]) if len(sent) == 1 else b"".join(map(encode_sse, sent))
