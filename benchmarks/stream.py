"""Bytes → journal: the reference client against bare decoding of the same chunks, in one run.

Prints a table of ratios with their targets; exit code 1 when one is missed. `--ai FOLDER` names a folder in which
`npm install ai` was run: then the AI SDK's own client reads the same bodies as well.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx_sse._decoders as peer  # the decoder by itself
import msgspec

from tpharness.vsp.assembler import Assembler
from tpharness.vsp.records import KnownChunk
from tpharness.vsp.sse import SseParser

AT = "2026-01-01T00:00:00Z"
READ = 16 * 1024


def event(value: object) -> bytes:
    """Return one chunk as an event of the stream."""
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"


def mixed(steps: int) -> list[bytes]:
    """Return a body of steps with a text of 60 deltas and a call of 32 deltas each."""
    out = [event({"type": "start", "messageId": "m1"})]
    for step in range(steps):
        out += [event({"type": "start-step"}), event({"type": "text-start", "id": f"t{step}"})]
        out += [event({"type": "text-delta", "id": f"t{step}", "delta": f"word{i} "}) for i in range(60)]
        out += [event({"type": "text-end", "id": f"t{step}"})]
        call = {"toolCallId": f"c{step}"}
        out += [event({"type": "tool-input-start", **call, "toolName": "get_weather"})]
        pieces = ['{"a":[', *(f'"{i:02d}",' for i in range(30)), "0]}"]
        out += [event({"type": "tool-input-delta", **call, "inputTextDelta": piece}) for piece in pieces]
        value = json.loads("".join(pieces))
        out += [event({"type": "tool-input-available", **call, "toolName": "get_weather", "input": value})]
        out += [
            event({"type": "tool-output-available", **call, "output": {"temp": 18}}),
            event({"type": "finish-step"}),
        ]
    return [*out, event({"type": "finish", "finishReason": "stop"}), b"data: [DONE]\n\n"]


def text(deltas: int) -> list[bytes]:
    """Return a body of one text."""
    out = [event({"type": "start", "messageId": "m1"}), event({"type": "text-start", "id": "t"})]
    out += [event({"type": "text-delta", "id": "t", "delta": f"word{i} "}) for i in range(deltas)]
    return [*out, event({"type": "text-end", "id": "t"}), event({"type": "finish"}), b"data: [DONE]\n\n"]


def timed(work: Callable[[], object], runs: int = 7) -> float:
    """Return the median time of a few runs after one that is not counted, in seconds."""
    work()
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def fold(reads: list[bytes]) -> None:
    """Fold a body given in reads."""
    assembler = Assembler()
    assembler.begin(AT)
    for read in reads:
        assembler.feed(read, AT)
    assembler.close(None, AT)
    assembler.journal()


def split(data: bytes, size: int) -> list[bytes]:
    """Return the bytes in reads of a size."""
    return [data[i : i + size] for i in range(0, len(data), size)]


def decode(events: list[bytes]) -> None:
    """Decode each chunk, and nothing else: the floor."""
    decoder = msgspec.json.Decoder(KnownChunk)
    for one in events:
        decoder.decode(one)


def own_sse(reads: list[bytes]) -> None:
    """Split a body into events."""
    parser = SseParser()
    for read in reads:
        parser.feed(read)


def peer_sse(reads: list[bytes]) -> None:
    """Do the same with httpx-sse."""
    decoder, lines = peer.SSEDecoder(), peer.SSELineDecoder()
    for read in reads:
        for line in lines.decode(read.decode()):
            decoder.decode(line.rstrip("\n"))


NODE = """
import {readFileSync} from 'node:fs';
import {parseJsonEventStream, readUIMessageStream, uiMessageChunkSchema} from 'ai';
const body = readFileSync(process.argv[2]);
async function once() {
  const source = new ReadableStream({start(c) { for (let i = 0; i < body.length; i += 16384)
    c.enqueue(body.subarray(i, i + 16384)); c.close(); }});
  const chunks = parseJsonEventStream({stream: source, schema: uiMessageChunkSchema}).pipeThrough(
    new TransformStream({transform(r, c) { if (r.success) c.enqueue(r.value); }}));
  for await (const _ of readUIMessageStream({stream: chunks})) {}
}
await once();
const times = [];
for (let i = 0; i < 3; i++) { const t = performance.now(); await once(); times.push(performance.now() - t); }
console.log(times.sort((a, b) => a - b)[1] / 1000);
"""


def ai_client(folder: Path, body: bytes) -> float:
    """Return the time that the AI SDK's own client takes for a body, in seconds."""
    with tempfile.TemporaryDirectory(dir=folder) as work:
        script, data = Path(work) / "read.mjs", Path(work) / "body.sse"
        script.write_text(NODE, encoding="utf-8")
        data.write_bytes(body)
        node = folder / "node_modules" / ".bin" / "node"
        command = [str(node) if node.exists() else shutil.which("node") or "node", str(script), str(data)]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Measure, print, judge."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ai", type=Path, help="a folder in which `npm install ai` was run")
    args = options.parse_args()
    events = mixed(202)
    body = b"".join(events)
    raw = [one[6:-2] for one in events[:-1]]
    reads = split(body, READ)
    floor = timed(lambda: decode(raw))
    big = event({"type": "text-delta", "id": "t", "delta": "x" * (8 * 1024 * 1024)})
    rows = [
        ("bytes → journal, 16 KiB reads / bare decoding", timed(lambda: fold(reads)) / floor, "<=", 5.0),
        ("bytes → journal, one event a read / bare decoding", timed(lambda: fold(events)) / floor, "<=", 8.0),
        (
            "httpx-sse / our SSE, 16 KiB reads",
            timed(lambda: peer_sse(reads)) / timed(lambda: own_sse(reads)),
            ">=",
            2.0,
        ),
        (
            "8 MiB event, 1 KiB reads / 64 KiB reads",
            timed(lambda: own_sse(split(big, 1024)), 3) / timed(lambda: own_sse(split(big, 65536)), 3),
            "<=",
            5.0,
        ),
    ]
    if args.ai is not None:
        for name, made, target in (("text, 20k deltas", text(20_000), 20.0), ("tools, 2k chunks", mixed(20), 60.0)):
            whole = b"".join(made)
            ours = timed(partial(fold, split(whole, READ)))
            rows.append((f"AI SDK client / ours, {name}", ai_client(args.ai, whole) / ours, ">=", target))
    missed = 0
    print(f"{len(events)} chunks, bare decoding {floor / len(raw) * 1e9:.0f} ns a chunk")
    for name, ratio, sign, target in rows:
        good = ratio <= target if sign == "<=" else ratio >= target
        missed += not good
        print(f"{'PASS' if good else 'FAIL'}  {name:<55} {ratio:8.2f}  target {sign} {target:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
