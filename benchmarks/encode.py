"""Server events to bytes: the reference server against Pydantic AI's own adapter on the same events.

Each side gets the events in the form that it reads: objects there, JSON values here.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from benchmarks.table import at_least, median_seconds, report, shown
from pydantic_ai.messages import PartDeltaEvent, PartEndEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from tpharness.server_events import Recorder
from tpharness.wires.vsp.encode import encode_sse
from tpharness.wires.vsp.server import Encoder

AT = "2026-01-01T00:00:00Z"
DELTAS = 20_000


def ours(count: int = DELTAS) -> list[dict[str, Any]]:
    """Return the events of one long text as JSON values."""
    whole = "".join(f"word{i} " for i in range(count))
    deltas = [
        {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "text", "content_delta": f"word{i} "}}
        for i in range(count)
    ]
    return [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": ""}},
        *deltas,
        {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": whole}},
    ]


def theirs(count: int = DELTAS) -> list[Any]:
    """Return the same events as Pydantic AI's objects."""
    whole = "".join(f"word{i} " for i in range(count))
    deltas = [PartDeltaEvent(index=0, delta=TextPartDelta(content_delta=f"word{i} ")) for i in range(count)]
    return [
        PartStartEvent(index=0, part=TextPart(content="")),
        *deltas,
        PartEndEvent(index=0, part=TextPart(content=whole)),
    ]


def encode(events: list[dict[str, Any]]) -> int:
    """Encode on the reference server; return the bytes written."""
    encoder = Encoder(agent_id="a", carriers=False)
    chunks = encoder.start(AT)
    for event in events:
        chunks += encoder.feed(event)
    return sum(len(encode_sse(chunk)) for chunk in chunks)


def record(events: list[dict[str, Any]]) -> None:
    """Fold the events into a journal as well."""
    recorder = Recorder()
    recorder.begin("a", AT)
    for event in events:
        recorder.feed(event)
    recorder.journal()


async def adapt(events: list[Any]) -> int:
    """Encode with Pydantic AI's adapter; return the bytes written."""

    async def source() -> AsyncIterator[Any]:
        for event in events:
            yield event

    adapter: Any = VercelAIEventStream
    stream = adapter(run_input=None, sdk_version=6)  # no request is needed
    return sum([len(stream.encode_event(chunk)) async for chunk in stream.transform_stream(source())])


def main() -> int:
    """Measure, print; return the exit code."""
    mine, peer = ours(), theirs()
    encoding, recording = median_seconds(lambda: encode(mine)), median_seconds(lambda: record(mine))
    adapting = median_seconds(lambda: asyncio.run(adapt(peer)))
    unit = "µs/event"
    return report(
        [
            shown("encode", encoding / DELTAS * 1e6, unit),
            shown("record", recording / DELTAS * 1e6, unit),
            shown("Pydantic AI's adapter", adapting / DELTAS * 1e6, unit),
            at_least("Pydantic AI's adapter / ours, encoded and recorded", adapting / (encoding + recording), 1),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
