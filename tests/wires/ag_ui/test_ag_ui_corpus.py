"""The script that compares us with AG-UI's own conformance streams sees a difference, and an explained one as such."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.wires.ag_ui.streams import FINISHED, STARTED

SCRIPT = Path(__file__).parents[3] / "scripts" / "ag_ui_corpus.py"
LOST: dict[str, Any] = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
STATE: dict[str, Any] = {"type": "STATE_SNAPSHOT", "snapshot": {"n": 1}}


def compared(folder: Path, name: str, events: list[dict[str, Any]], expect: dict[str, Any]) -> tuple[int, str]:
    """Return the exit code and the output for a folder with one stream."""
    for file in folder.glob("*.json"):
        file.unlink()
    (folder / f"{name}.json").write_text(json.dumps({"name": name, "stream": events, "expect": expect}))
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_what_differs_is_named(tmp_path: Path) -> None:
    """The verdict, a warning too many, and the state."""
    right = [STARTED, STATE, FINISHED]
    assert compared(tmp_path, "right", right, {"outcome": "completed", "noWarnings": True, "state": {"n": 1}})[0] == 0
    cases: tuple[tuple[list[dict[str, Any]], dict[str, Any], str], ...] = (
        ([STARTED, LOST, FINISHED], {"outcome": "completed"}, "lost: a client that keeps the rules has failed"),
        ([STARTED, {**STATE, "odd": 1}, FINISHED], {"outcome": "completed", "noWarnings": True}, "stays quiet"),
        (right, {"outcome": "completed", "warnings": ["x"]}, "a client warns, and nothing is found"),
        (right, {"outcome": "completed", "state": {"n": 2}}, "the state is {'n': 1}"),
    )
    for events, expect, word in cases:
        code, out = compared(tmp_path, "lost", events, expect)
        assert (code, word in out) == (1, True), out
    assert compared(tmp_path, "truncated-run-reported-as-completed", [STARTED], {"noWarnings": True})[0] == 0
