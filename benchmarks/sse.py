"""Speed of the frame parser and of chunk decoding, against a floor and a peer, as ratios within one run.

Prints one row for each measure, with its target and PASS or FAIL, and exits with 1 if a target is missed. Absolute
numbers depend on the machine; the targets are ratios, or generous enough for a slow one.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from httpx_sse._decoders import SSEDecoder, SSELineDecoder

from tpharness.vsp.chunks import decode_chunk, decode_typed
from tpharness.vsp.encode import encode_sse
from tpharness.vsp.sse import SseParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

READ = 16 * 1024
BIG = 8 * 1024 * 1024
STEPS, TEXTS, ARGUMENTS = 202, 60, 32
WORDS = ("the ", "weather ", "in ", "Paris ", "is ", "mild, ", "with some ", "clouds; ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: what, its value as shown, the target as shown, and whether it was met (None: for information)."""

    name: str
    value: str
    target: str = ""
    passed: bool | None = None


def mixed20k() -> list[bytes]:
    """Return the events of one message of about 20,000 chunks: 202 steps of 60 text and 32 argument deltas each."""
    events: list[dict[str, object]] = [{"type": "start", "messageId": "msg_1"}]
    for step in range(STEPS):
        text, call = f"txt_{step}", f"call_{step}"
        events += [{"type": "start-step"}, {"type": "text-start", "id": text}]
        events += [{"type": "text-delta", "id": text, "delta": WORDS[i % len(WORDS)]} for i in range(TEXTS)]
        events += [
            {"type": "text-end", "id": text},
            {"type": "tool-input-start", "toolCallId": call, "toolName": "look"},
        ]
        events += [
            {"type": "tool-input-delta", "toolCallId": call, "inputTextDelta": f'"k{i}":{i},'} for i in range(ARGUMENTS)
        ]
        given = {f"k{i}": i for i in range(ARGUMENTS)}
        events += [
            {"type": "tool-input-available", "toolCallId": call, "toolName": "look", "input": given},
            {"type": "tool-output-available", "toolCallId": call, "output": {"ok": True, "rows": [1, 2, 3]}},
            {"type": "finish-step"},
        ]
    events.append({"type": "finish", "finishReason": "stop"})
    return [encode_sse(event) for event in events]


def reads_of(body: bytes, size: int) -> list[bytes]:
    """Split a body into reads of one size."""
    return [body[i : i + size] for i in range(0, len(body), size)]


def ours(reads: Sequence[bytes]) -> int:
    """Frames of the parser under test."""
    parser = SseParser()
    return sum(len(parser.feed(read)) for read in reads)


def peer(reads: Sequence[bytes]) -> int:
    """Events of httpx-sse's own decoders, fed as its client feeds them: decoded text, a line at a time."""
    lines, events = SSELineDecoder(), SSEDecoder()
    count = 0
    for read in reads:
        for line in lines.decode(read.decode()):
            count += events.decode(line.rstrip("\n")) is not None
    for line in lines.flush():
        count += events.decode(line.rstrip("\n")) is not None
    return count


def floor(reads: Sequence[bytes]) -> int:
    """Count the pieces between empty lines: what splitting costs at least, wrong as it is across reads."""
    return sum(len(read.split(b"\n\n")) - 1 for read in reads)


def seconds(run: Callable[[], object], *, repeat: int) -> float:
    """Return the median time of a call, after one call to warm up, without the garbage collector."""
    run()
    times = []
    for _ in range(repeat):
        gc.collect()
        gc.disable()
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
        gc.enable()
    return statistics.median(times)


def at_most(name: str, value: float, limit: float, unit: str = "x") -> Row:
    """Make a row for a value with an upper limit."""
    return Row(name=name, value=f"{value:.2f}{unit}", target=f"<= {limit:g}{unit}", passed=value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "x") -> Row:
    """Make a row for a value with a lower limit."""
    return Row(name=name, value=f"{value:.2f}{unit}", target=f">= {limit:g}{unit}", passed=value >= limit)


def measure(repeat: int) -> list[Row]:
    """Run all measures."""
    events = mixed20k()
    body = b"".join(events)
    whole = reads_of(body, READ)
    count = len(events)
    if not ours(whole) == ours(events) == peer(whole) == count:
        raise SystemExit("the parsers disagree on the number of events: the comparison would mean nothing")

    def chunk(run: Callable[[Sequence[bytes]], int], reads: Sequence[bytes]) -> float:
        return seconds(lambda: run(reads), repeat=repeat) / count * 1e9

    ours_whole, ours_each = chunk(ours, whole), chunk(ours, events)
    peer_whole, peer_each = chunk(peer, whole), chunk(peer, events)
    floor_whole = chunk(floor, whole)
    small = chunk(ours, reads_of(body, 64))
    payloads = [event[6:-2] for event in events]
    typed = seconds(lambda: [decode_typed(data) for data in payloads], repeat=repeat) / count * 1e9
    full = seconds(lambda: [decode_chunk(data) for data in payloads], repeat=repeat) / count * 1e9
    custom = b'{"type":"data-sys-tp","data":{"timestamp":"2026-01-01T00:00:00Z"},"transient":true}'
    odd = seconds(lambda: [decode_chunk(custom) for _ in range(2000)], repeat=repeat) / 2000 * 1e9

    long_body = b'data: {"type":"text-delta","id":"t","delta":"' + b"x" * BIG + b'"}\n\n'
    in_small, in_large = reads_of(long_body, 1024), reads_of(long_body, 64 * 1024)
    long_small = seconds(lambda: ours(in_small), repeat=repeat) * 1e3
    long_large = seconds(lambda: ours(in_large), repeat=repeat) * 1e3

    def shown(name: str, value: float) -> Row:
        return Row(name=name, value=f"{value:.0f} ns/chunk")

    return [
        Row(name="body", value=f"{count} chunks, {len(body) / 1e6:.2f} MB"),
        shown("bytes.split floor, 16 KiB reads", floor_whole),
        shown("frames, 16 KiB reads", ours_whole),
        shown("httpx-sse, 16 KiB reads", peer_whole),
        at_least("httpx-sse / frames, 16 KiB reads", peer_whole / ours_whole, 2),
        shown("frames, one event per read", ours_each),
        shown("httpx-sse, one event per read", peer_each),
        at_least("httpx-sse / frames, one event per read", peer_each / ours_each, 1.5),
        shown("frames, 64 B reads", small),
        shown("typed decode alone", typed),
        shown("decode_chunk", full),
        at_most("decode_chunk / typed decode", full / typed, 1.5),
        at_most("frames / typed decode, 16 KiB reads", ours_whole / typed, 3),
        shown("decode_chunk, a data-* chunk", odd),
        at_most("8 MiB event in 1 KiB reads", long_small, 200, " ms"),
        at_most("8 MiB event, 1 KiB / 64 KiB reads", long_small / long_large, 5),
    ]


def main() -> int:
    """Print the table; 1 if a target is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each measure, median counts (5)")
    rows = measure(options.parse_args().repeat)
    width = max(len(row.name) for row in rows)
    for row in rows:
        verdict = "" if row.passed is None else "PASS" if row.passed else "FAIL"
        print(f"{row.name:<{width}}  {row.value:>24}  {row.target:<10} {verdict}".rstrip())
    return 1 if any(row.passed is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
