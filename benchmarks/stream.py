"""Bytes to a journal: the reference client, against bare decoding of the same chunks and the AI SDK's own client.

The AI SDK's packages are installed on first use, as for `peer:ai-sdk-client`; `--without-node` leaves them out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.bodies import READ, long_text, reads_of, steps
from benchmarks.least_fold import AT, check_least, least_journal
from benchmarks.table import at_least, at_most, median_seconds, report, shown

import tpharness.peers
from tpharness.targets.node_packages import node_program
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.chunks import decode_typed


def fold(reads: list[bytes]) -> None:
    """Fold a body given in reads."""
    assembler = Assembler()
    assembler.begin(AT)
    for read in reads:
        assembler.feed(read, AT)
    assembler.close(None, AT)
    assembler.journal()


def decode(events: list[bytes]) -> None:
    """Decode each chunk, and nothing else: the floor."""
    for one in events:
        decode_typed(one)


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


def ai_client(body: bytes) -> float:
    """Return the time that the AI SDK's own client takes for a body, in seconds; its package comes on first use."""
    program = node_program(Path(tpharness.peers.__file__).parent / "ai_sdk")
    with tempfile.TemporaryDirectory(dir=program.scripts) as work:
        script, data = Path(work) / "read.mjs", Path(work) / "body.sse"
        script.write_text(NODE, encoding="utf-8")
        data.write_bytes(body)
        command = [program.node, script, data]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--without-node", action="store_true", help="leave out the AI SDK's client")
    args = options.parse_args()
    events = steps(202)
    raw = [one[6:-2] for one in events[:-1]]  # without [DONE]
    reads = reads_of(b"".join(events), READ)
    floor = median_seconds(lambda: decode(raw), repeat=7)
    check_least(reads)
    lean = median_seconds(partial(least_journal, reads), repeat=7)
    rows = [
        shown(f"bare decoding of {len(raw)} chunks", floor / len(raw) * 1e9, "ns/chunk"),
        shown("the least that gives this journal, 16 KiB reads / bare decoding", lean / floor, "×"),
        at_most("bytes to journal, 16 KiB reads / bare decoding", median_seconds(lambda: fold(reads)) / floor, 5),
        at_most("bytes to journal, one event a read / bare decoding", median_seconds(lambda: fold(events)) / floor, 8),
    ]
    if args.without_node:
        rows.append(shown("AI SDK client", "not measured: --without-node"))
    else:
        for name, made, target in (("text, 20k deltas", long_text(20_000), 20), ("tools, 2k chunks", steps(20), 60)):
            body = b"".join(made)
            ours = median_seconds(partial(fold, reads_of(body, READ)), clock=time.perf_counter)  # as Node's
            rows.append(at_least(f"AI SDK client / ours, {name}", ai_client(body) / ours, target))
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
