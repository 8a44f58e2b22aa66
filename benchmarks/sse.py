"""The frame parser and the decoding of chunks, against a floor and httpx-sse's decoders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from benchmarks.bodies import READ, long_event, reads_of, steps
from benchmarks.table import Row, at_least, at_most, median_seconds, report, shown
from httpx_sse._decoders import SSEDecoder, SSELineDecoder

from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp.chunks import decode_chunk, decode_typed


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


def measure(repeat: int) -> list[Row]:
    """Run all measures."""
    events = steps(202)
    body = b"".join(events)
    whole = reads_of(body, READ)
    count = len(events)
    if not ours(whole) == ours(events) == peer(whole) == count:
        raise SystemExit("the parsers disagree on the number of events: the comparison would mean nothing")

    def each(work: Callable[[], object], number: int = count) -> float:
        return median_seconds(work, repeat=repeat) / number * 1e9

    ours_whole, ours_each = each(lambda: ours(whole)), each(lambda: ours(events))
    peer_whole, peer_each = each(lambda: peer(whole)), each(lambda: peer(events))
    small = reads_of(body, 64)
    payloads = [event[6:-2] for event in events[:-1]]  # without [DONE]
    typed = each(lambda: [decode_typed(data) for data in payloads])
    full = each(lambda: [decode_chunk(data) for data in payloads])
    custom = b'{"type":"data-sys-tp","data":{"timestamp":"2026-01-01T00:00:00Z"},"transient":true}'
    long = long_event()
    in_small, in_large = reads_of(long, 1024), reads_of(long, 64 * 1024)
    long_small = median_seconds(lambda: ours(in_small), repeat=repeat)
    long_large = median_seconds(lambda: ours(in_large), repeat=repeat)
    unit = "ns/chunk"
    return [
        shown("body", f"{count} chunks, {len(body) / 1e6:.2f} MB"),
        shown("bytes.split floor, 16 KiB reads", each(lambda: floor(whole)), unit),
        shown("frames, 16 KiB reads", ours_whole, unit),
        shown("httpx-sse, 16 KiB reads", peer_whole, unit),
        at_least("httpx-sse / frames, 16 KiB reads", peer_whole / ours_whole, 2),
        shown("frames, one event per read", ours_each, unit),
        shown("httpx-sse, one event per read", peer_each, unit),
        at_least("httpx-sse / frames, one event per read", peer_each / ours_each, 1.5),
        shown("frames, 64 B reads", each(lambda: ours(small)), unit),
        shown("typed decode alone", typed, unit),
        shown("decode_chunk", full, unit),
        at_most("decode_chunk / typed decode", full / typed, 1.5),
        at_most("frames / typed decode, 16 KiB reads", ours_whole / typed, 3),
        shown("decode_chunk, a data-* chunk", each(lambda: [decode_chunk(custom) for _ in range(2000)], 2000), unit),
        at_most("8 MiB event in 1 KiB reads", long_small * 1e3, 200, "ms"),
        at_most("8 MiB event, 1 KiB reads / 64 KiB reads", long_small / long_large, 5),
    ]


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=5, metavar="N", help="runs of each measure, median counts (5)")
    return report(measure(options.parse_args().repeat))


if __name__ == "__main__":
    sys.exit(main())
