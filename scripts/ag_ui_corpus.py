"""Say where tpharness differs from a folder of AG-UI's own conformance streams.

`python scripts/ag_ui_corpus.py FOLDER`, where FOLDER is `spec/VERSION/conformance/streams` of a checkout of
ag-ui-protocol/ag-ui. Its files say what a client does with a stream: whether it rejects it, whether it stays quiet,
what state it has then. Exit code 1 on a difference that has no reason here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.judge import Judge, judge_stream

REASONS = {
    "unknown-enum-value-role-fatal": "the corpus pins a gap of its clients: rule 94 has an unknown role stripped",
    "truncated-run-reported-as-completed": "the corpus pins a gap of its clients: rule 106 gives the run no outcome",
}
"""Why tpharness differs, by the name of the stream."""

ABOUT_THE_SERVER = {
    kind.code for kind in (v.VERSION_MISSING, v.PENDING_UNNAMED, v.CUSTOM_UNPREFIXED, v.METADATA_RESERVED, v.RUN_IDS)
}
"""What a client does not warn about: rules that bind the server alone, and that these streams break on the way."""


def differences(vector: dict[str, Any], judge: Judge) -> list[str]:
    """Return in what the verdict on a stream is another than its file expects."""
    expect, found = vector["expect"], [finding.code for finding in judge.findings]
    wrong = []
    rejected = "failed" if judge.rejected_at is not None else "completed"
    if rejected != expect.get("outcome", rejected):
        wrong.append(f"a client that keeps the rules has {rejected}, expected is {expect['outcome']}")
    loud = [code for code in found if code not in ABOUT_THE_SERVER]
    if expect.get("noWarnings") and rejected == "completed" and loud:
        wrong.append(f"a client stays quiet, and there is {', '.join(loud)}")
    if expect.get("warnings") and not found:
        wrong.append("a client warns, and nothing is found")
    if "state" in expect and expect["state"] != judge.values.state:
        wrong.append(f"the state is {judge.values.state!r}, expected is {expect['state']!r}")
    return wrong


def main(folder: Path) -> int:
    """Print each difference, and how many streams were read; return the exit code."""
    files = sorted(folder.glob("*.json"))
    unexplained = explained = 0
    for file in files:
        vector = json.loads(file.read_text("utf-8"))
        events = (json.dumps(event).encode() for event in vector["stream"])
        judge = judge_stream(b"".join(b"data: " + event + b"\n\n" for event in events))
        for wrong in differences(vector, judge):
            reason = REASONS.get(file.stem)
            explained, unexplained = explained + bool(reason), unexplained + (not reason)
            print(f"{file.stem}: {wrong}{f' ({reason})' if reason else ''}")
    print(f"{len(files)} streams, {explained} differences with a reason, {unexplained} without")
    return 1 if unexplained or not files else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1])))
