"""Conversations that are broken in known ways are found, repaired and taken by every command as they should be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.broken_store import BEGIN, PAGE, play
from benchmarks.performance_page import END
from benchmarks.stored_conversations import BREAKAGES


def test_a_store_of_broken_conversations_is_taken_as_its_breakages_say(tmp_path: Path) -> None:
    """Each of the ways, in three formats, a kill in the middle, and corrections; a row that is missed is named."""
    assert len(BREAKAGES) >= 15
    rows = play(tmp_path, 150, "1")
    assert [row for row in rows if row.passed is False] == []
    assert sum(row.passed is True for row in rows) == 13
    truth = json.loads((tmp_path / "truth.json").read_bytes())
    assert {one["broken"] for one in truth.values()} == set(BREAKAGES)


@pytest.mark.parametrize("missed", ["found", "repaired"])
def test_a_store_that_is_taken_otherwise_is_said(missed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way to break a conversation that breaks nothing, or that is repaired otherwise than it says."""
    form, done, change = BREAKAGES["ui-message-twice"]
    other = (form, done, lambda _: None) if missed == "found" else (form, "not repaired", change)
    monkeypatch.setitem(BREAKAGES, "ui-message-twice", other)
    failed = {row.name for row in play(tmp_path, 60, "1") if row.passed is False}
    assert failed >= {"taken otherwise than it should"} | ({"broken, and not found"} if missed == "found" else set())


def test_the_page_shows_what_was_measured() -> None:
    """All counts are those that were made."""
    measured = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    assert "| conversations | 3000 |" in measured
    assert f"| ways | {len(BREAKAGES)} |" in measured
    assert "| broken, and not found | 0 | ≤ 0 |" in measured
    assert "missed" not in measured
