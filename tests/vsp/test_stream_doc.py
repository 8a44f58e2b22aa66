"""docs/STREAM.md says what the table of states does."""

from __future__ import annotations

from pathlib import Path

from tpharness.vsp.records import RECORDS, DataChunk, Done, UnknownChunk
from tpharness.vsp.states import ORDER, Reaction, StreamState

DOC = Path(__file__).parent.parent.parent / "docs" / "STREAM.md"
WORDS = {Reaction.FOLD: "folded", Reaction.NO_PART_OPEN: "violation", Reaction.OBSERVE: "observed", None: "violation"}
KINDS: dict[str, type] = {**RECORDS, "data-*": DataChunk, "(unknown)": UnknownChunk, "[DONE]": Done}


def table() -> list[str]:
    """Return the rows of the table, from the machine's own table."""
    states = list(StreamState)
    rows = [f"| chunk | {' | '.join(state.name.lower() for state in states)} |", "|---|" + "---|" * len(states)]
    for name, record in KINDS.items():
        cells = [WORDS[ORDER[state].get(record)] for state in states]
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return rows


def test_the_table_in_the_document_is_the_table_of_the_machine() -> None:
    """Every chunk in every state, as documented."""
    lines = DOC.read_text("utf-8").splitlines()
    start = lines.index(table()[0])
    assert lines[start : start + len(table())] == table()
