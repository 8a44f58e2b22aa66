"""docs/LIMITS.md says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tpharness.finding_log import MOST_OF_A_KIND
from tpharness.protocol.parse import MAX_DEPTH, MAX_SIZE
from tpharness.reference_app import Settings
from tpharness.run import cluster, trail
from tpharness.targets import capture
from tpharness.targets.remote import Patience, StreamLimits

MIB = 1 << 20
LIMITS, PATIENCE, SERVED = StreamLimits(), Patience(), Settings()
ROWS = [
    ("findings of one kind in one document or stream", MOST_OF_A_KIND, ", then their number"),
    ("misfits with the schema of one document", MOST_OF_A_KIND, ", then that there are more"),
    ("states of a client's thread that are compared", trail._ALL_OF, f", of later ones one in N/{trail._SELDOM}"),
    ("a JSON document", MAX_SIZE // MIB, " MiB"),
    ("its depth", MAX_DEPTH, " levels"),
    ("one stream of a target", LIMITS.stream // MIB, " MiB"),
    ("one line of a stream", LIMITS.line // MIB, " MiB"),
    ("one answer of a target", LIMITS.body // MIB, " MiB"),
    ("a stream that is recorded", capture.MAX_STREAM // MIB, " MiB"),
    ("a thread that is recorded", capture.MAX_THREAD // MIB, " MiB"),
    ("a connection", PATIENCE.connect, " s"),
    ("the first byte of an answer", PATIENCE.answer, " s"),
    ("a stream that says nothing new", PATIENCE.silence, " s"),
    ("a stream after `[DONE]`", PATIENCE.settle, " s"),
    ("a thread that has to show what was done to its run", PATIENCE.settle, " s"),
    ("one answer altogether", PATIENCE.total, " s"),
    ("judging one case, in processor time", PATIENCE.total, " s"),
    ("a stream that is recorded and says nothing new", capture._SILENCE, " s"),
    ("path and headers of a request", SERVED.max_head // 1024, " KiB"),
    ("their time", SERVED.head_seconds, " s"),
    ("a body that stops", SERVED.body_seconds, " s"),
    ("open connections", SERVED.max_connections, ""),
    ("a scheduler of `--cluster`", cluster.PATIENCE, " s"),
]


def table() -> dict[str, str]:
    """Return the value of each limit in the page; each has a reason."""
    text = (Path(__file__).parent.parent / "docs" / "LIMITS.md").read_text("utf-8")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    assert all(len(row) == 3 and all(row) for row in cells)
    return {name: value for name, value, _ in cells if name != "limit"}


@pytest.mark.parametrize(("name", "number", "unit"), ROWS, ids=[row[0] for row in ROWS])
def test_a_limit_is_what_the_page_says(name: str, number: float, unit: str) -> None:
    """Whoever changes one changes the other, and its reason."""
    assert table()[name] == f"{number:,g}{unit}"


def test_the_page_has_no_other_limit() -> None:
    """Each row is held by this file."""
    assert set(table()) == {name for name, _, _ in ROWS}
