"""Conversations that are broken in known ways are found, repaired and taken by every command as they should be."""

from __future__ import annotations

from pathlib import Path

from benchmarks.broken_store import play
from benchmarks.stored_conversations import BREAKAGES


def test_a_store_of_broken_conversations_is_taken_as_its_breakages_say(tmp_path: Path) -> None:
    """Each of the ways, in three formats, and a kill in the middle; a row that is missed is named."""
    assert len(BREAKAGES) >= 15
    rows = play(tmp_path, 150, "1")
    assert [row for row in rows if row.passed is False] == []
    assert sum(row.passed is True for row in rows) == 9
