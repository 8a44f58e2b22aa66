"""Server events → bytes: the reference server against Pydantic AI's own adapter on the same events, in one run.

Needs the extra `bench`. Each side gets the events in the form that it reads: objects there, JSON values here.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from pydantic_ai.messages import PartDeltaEvent, PartEndEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.ui.vercel_ai import VercelAIEventStream

from tpharness.server_events import Encoder, Recorder
from tpharness.vsp.encode import encode_sse

AT = "2026-01-01T00:00:00Z"
DELTAS = 20_000


def ours() -> list[dict[str, Any]]:
    """Return the events of one long text as JSON values."""
    whole = "".join(f"word{i} " for i in range(DELTAS))
    deltas = [
        {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "text", "content_delta": f"word{i} "}}
        for i in range(DELTAS)
    ]
    return [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": ""}},
        *deltas,
        {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": whole}},
    ]


def theirs() -> list[Any]:
    """Return the same events as Pydantic AI's objects."""
    whole = "".join(f"word{i} " for i in range(DELTAS))
    deltas = [PartDeltaEvent(index=0, delta=TextPartDelta(content_delta=f"word{i} ")) for i in range(DELTAS)]
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


def timed(work: Callable[[], object]) -> float:
    """Return the median time of five runs after one that is not counted, in seconds."""
    work()
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def main() -> int:
    """Measure, print."""
    mine, peer = ours(), theirs()
    encoding, folding = timed(lambda: encode(mine)), timed(lambda: record(mine))
    adapting = timed(lambda: asyncio.run(adapt(peer)))
    ratio = adapting / (encoding + folding)
    print(f"{DELTAS} deltas: encode {encoding / DELTAS * 1e6:.2f} us, record {folding / DELTAS * 1e6:.2f} us an event")
    print(f"Pydantic AI's adapter {adapting / DELTAS * 1e6:.2f} us an event")
    good = ratio >= 1.0
    print(f"{'PASS' if good else 'FAIL'}  Pydantic AI's adapter / ours, encoded and recorded  {ratio:.2f}  target >= 1")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
