"""`tpharness run` with several servers and clients."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

MODULE = """
from tpharness.targets import Capabilities, Reference

class Mine(Reference):
    capabilities = Capabilities(name="mine")
"""


def test_every_server_plays_every_client(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is not there costs its own pairs only, and the exit code says that not all passed."""
    (tmp_path / "matrix_mine.py").write_text(MODULE, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sides = ["--server", "reference", "--server", "http://127.0.0.1:1", "--client", "python:matrix_mine:Mine"]
    report = tmp_path / "m.json"
    called = call(
        "run", "approvals", *sides, "--client", "reference", "--report", "console", "--report", f"json:{report}"
    )
    assert called.code == 1
    assert "FAILED 2 of 4 pairs" in called.out
    assert called.out.count("COULD NOT RUN server http://127.0.0.1:1") == 2
    assert [r["passed"] for r in json.loads(report.read_text("utf-8"))["reports"]] == [True, True, False, False]


def test_a_matrix_in_which_all_pass_passes(call: Any) -> None:
    """A pair that is named twice is played once."""
    assert "PASSED 1 scenario" in call("run", "basics/*answer", "--client", "reference", "--client", "reference").out


def test_pairs_say_which_side_departs(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair that is wrong alike, each side with the reference, and the last lines of each run."""
    monkeypatch.setenv("COLUMNS", "200")
    wrong = "python:tests.run.test_truth:Changed"
    sides = ["--server", wrong, "--server", "reference", "--client", wrong, "--client", "reference"]
    called = call("run", "threads/right-and-not-only-the-same", *sides)
    assert called.code == 1
    table = called.out.partition("server × client")[2]
    both, one = (line for line in table.splitlines() if line.startswith(("│ alike", "│ reference")))
    assert "(departing: server 1, client 1)" in both
    assert "(departing: server 1) " in both
    assert "(departing: client 1) " in one
    assert "wrong thread (R51): the server in 1 case, the client in 1 case" in called.out
