"""Benchmarks run alike, and their README lists them all."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from benchmarks import table

FOLDER = Path(__file__).parents[1] / "benchmarks"
SHARED = {"bodies", "table", "virtual_conversation", "virtual_serve", "virtual_time"}
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - SHARED)
README = (FOLDER / "README.md").read_text("utf-8")


def test_the_readme_lists_every_benchmark() -> None:
    """And none that is gone."""
    assert sorted(re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_as_a_module_and_prints_the_table_that_all_print(name: str) -> None:
    """`python -m benchmarks.NAME`, with one way to take time and to judge."""
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.__doc__
    assert module.main.__annotations__ == {"return": "int"}
    assert module.report is table.report


def test_a_missed_target_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """In a table with one column for each of name, value, target and verdict."""
    rows = [table.shown("a", 12.345, "ms"), table.at_most("b / c", 5.01, 5), table.at_least("d", 2000.4, 2000, "/s")]
    assert table.report(rows) == 1
    assert capsys.readouterr().out.splitlines() == [
        "measure    value  target      verdict",
        "a        12.3 ms",
        "b / c     5.01 ×  <= 5 ×      FAIL",
        "d        2000 /s  >= 2000 /s  PASS",
    ]
    assert table.report([rows[0], rows[2]]) == 0
