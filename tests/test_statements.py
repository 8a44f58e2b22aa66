"""Every statement of the source documents has a row that says how it is judged, and what it names is there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tpharness.clauses import load_clauses, load_rulings
from tpharness.resources import conformance_dir

ROOT = Path(__file__).parent.parent
FILE = conformance_dir() / "statements" / "thread-protocol.yaml"
ROWS: list[dict[str, Any]] = yaml.safe_load(FILE.read_text("utf-8"))
VIOLATED = {
    clause
    for one in json.loads((conformance_dir() / "violations.json").read_text("utf-8"))
    for clause in one["clauses"]
}


def test_every_statement_has_one_row() -> None:
    """The list of the statements was made once, from the documents alone."""
    assert len(ROWS) == len({row["id"] for row in ROWS}) == 293
    assert Counter(row["id"][3:6] for row in ROWS) == {"000": 84, "001": 70, "002": 34, "003": 89, "004": 16}


def test_what_is_not_judged_gets_less() -> None:
    """Whoever has a statement judged lowers the number; a statement that contradicts us has a ruling."""
    verdicts = Counter(row["verdict"] for row in ROWS)
    assert set(verdicts) <= {"checked", "ruled", "tool", "outside", "partly", "not"}
    assert verdicts["outside"] <= 4
    assert verdicts["partly"] == 0
    assert verdicts["not"] == 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_what_a_row_names_is_there(row: dict[str, Any]) -> None:
    """Clauses and rulings exist, a file too; where a clause judges it, something that violates the clause is found."""
    clauses, rulings = set(row.get("clauses", ())), set(row.get("rulings", ()))
    assert clauses <= set(load_clauses())
    assert rulings <= set(load_rulings())
    assert "by" not in row or (ROOT / row["by"]).exists()
    if row["verdict"] == "checked" and "by" not in row:
        assert clauses & VIOLATED
