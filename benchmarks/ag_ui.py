"""AG-UI: bytes to a journal against the AI SDK's stream of the same facts, and the checker against bare decoding.

The official client's own time is measured where Node.js and `peer:ag-ui-client` are there; `--without-node` leaves it
out. `--validator PYTHON` names an interpreter that has ag-ui-validate, which then judges the same stream.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.bodies import READ, reads_of, steps
from benchmarks.stream import fold as fold_vsp
from benchmarks.table import at_least, at_most, median_seconds, report, shown

import tpharness.peers
from tpharness.targets.node_packages import node_program
from tpharness.wires.ag_ui.decode import decode_typed
from tpharness.wires.ag_ui.encode import AgUiEncoder, to_bytes
from tpharness.wires.ag_ui.fold import AgUiAssembler
from tpharness.wires.ag_ui.judge import judge_stream
from tpharness.wires.sse.frames import iter_frames, split_frames
from tpharness.wires.vsp.chunks import chunk_from_object

AT = "2026-01-01T00:00:00Z"

NODE = """
import {readFileSync} from 'node:fs';
import {HttpAgent} from '@ag-ui/client';
const body = readFileSync(process.argv[2]);
async function once() {
  const source = () => new ReadableStream({start(c) { for (let i = 0; i < body.length; i += 16384)
    c.enqueue(body.subarray(i, i + 16384)); c.close(); }});
  const agent = new HttpAgent({url: 'http://localhost/', threadId: 't', initialMessages: [],
    fetch: async () => new Response(source(), {headers: {'content-type': 'text/event-stream'}})});
  await agent.runAgent({runId: 'r'});
  if (!agent.messages.length) throw new Error('nothing was read');
}
await once();
const times = [];
for (let i = 0; i < 3; i += 1) { const t = process.cpuUsage(); await once();
  const u = process.cpuUsage(t); times.push((u.user + u.system) / 1e6); }
console.log(times.sort((a, b) => a - b)[1]);
"""


VALIDATOR = """
import json, sys, time
from ag_ui_validate.engine import create_validator
body = open(sys.argv[1], "rb").read()
def once():
    validator = create_validator()
    for frame in body.split(b"\\n\\n"):
        if frame.startswith(b"data: "):
            validator.feed(json.loads(frame[6:]))
    validator.finalize()
    if not validator.report().event_count:
        raise SystemExit("nothing was read")
times = []
for _ in range(3):
    begun = time.process_time()
    once()
    times.append(time.process_time() - begun)
print(sorted(times)[1])
"""


def over_ag_ui(events: list[bytes]) -> list[bytes]:
    """Return the events of the AI SDK's stream as events of AG-UI with the same facts."""
    encoder = AgUiEncoder(thread_id="t", run_id="r")
    texts = [frame.field(b"data") for event in events for frame in iter_frames(event)]
    sent = [one for text in texts if text and text != b"[DONE]" for one in encoder.feed(_chunk(text))]
    return [to_bytes([one]) for one in (*sent, *encoder.end())]


def _chunk(text: bytes) -> dict[str, object]:
    value: dict[str, object] = json.loads(text)
    chunk_from_object(value)  # it is one
    return value


def fold(reads: list[bytes]) -> None:
    """Fold a body of AG-UI given in reads."""
    assembler = AgUiAssembler()
    assembler.begin(AT)
    for read in reads:
        assembler.feed(read, AT)
    assembler.close(None, AT)
    assembler.journal()


def decode(bodies: list[bytes]) -> None:
    """Decode each event, and nothing else."""
    for body in bodies:
        decode_typed(body)


def client_seconds(body: bytes) -> float:
    """Return the processor time of the official client for a body."""
    folder = Path(tpharness.peers.__file__).parent / "ag_ui"
    scripts = node_program(folder).scripts
    with tempfile.TemporaryDirectory(dir=scripts) as place:
        (Path(place) / "body.sse").write_bytes(body)
        (Path(place) / "once.mjs").write_text(NODE, "utf-8")
        words = [str(node_program(folder).node), str(Path(place) / "once.mjs"), str(Path(place) / "body.sse")]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout)


def validator_seconds(python: str, body: bytes) -> float:
    """Return the processor time of ag-ui-validate, which the interpreter has, for a body."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "body.sse").write_bytes(body)
        words = [python, "-c", VALIDATOR, str(Path(place) / "body.sse")]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=202)
    options.add_argument("--without-node", action="store_true")
    options.add_argument("--validator", metavar="PYTHON", help="an interpreter that has ag-ui-validate")
    given = options.parse_args()
    vsp = steps(given.steps)
    ag_ui = over_ag_ui(vsp)
    body = b"".join(ag_ui)
    of_vsp = median_seconds(partial(fold_vsp, reads_of(b"".join(vsp), READ)))
    of_ag_ui = median_seconds(partial(fold, reads_of(body, READ)))
    data = [frame.removeprefix(b"data: ").strip() for frame in split_frames(body)]
    bare = median_seconds(partial(decode, data))
    judged = median_seconds(partial(judge_stream, body))
    rows = [
        shown("events of AG-UI", len(ag_ui)),
        at_most("bytes to journal, AG-UI / the AI SDK's stream", of_ag_ui / of_vsp, 1.3),
        shown("bytes to findings / bare decoding", judged / bare, "×"),
    ]
    if not given.without_node:
        seconds = client_seconds(body)
        rows.append(at_least("@ag-ui/client / bytes to journal", seconds / of_ag_ui, 20))
    if given.validator:
        rows.append(
            at_least("ag-ui-validate / bytes to findings", validator_seconds(given.validator, body) / judged, 10)
        )
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
