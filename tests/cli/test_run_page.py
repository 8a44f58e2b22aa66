"""`tpharness run --report html:FILE` without the console still says how it ended and where the page is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("pairs", [1, 2])
def test_a_page_alone_says_where_it_is(call: Any, tmp_path: Path, pairs: int) -> None:
    """On standard error, the verdict of each pair and then the path; standard output stays free for a pipe."""
    page = tmp_path / "run.html"
    clients = [
        "--client",
        "reference",
        "--client",
        "reference",
        "--server",
        "reference",
        "--server",
        "http://127.0.0.1:1",
    ]
    called = call("run", "basics/*answer", "--report", f"html:{page}", *(clients if pairs > 1 else ()))
    assert called.out == ""
    *verdicts, last = called.err.splitlines()[-pairs - 1 :]
    assert last == f"the page: {page}"
    assert [verdict.split()[0] for verdict in verdicts] == ["PASSED", "FAILED"][:pairs]
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_a_page_beside_the_console_or_on_standard_output_is_not_named_again(call: Any, tmp_path: Path) -> None:
    """The console has the verdict as its last line, and what reads the page from a pipe knows where it is."""
    page = tmp_path / "run.html"
    called = call("run", "basics/*answer", "--report", "console", "--report", f"html:{page}")
    assert called.out.splitlines()[-1].startswith("PASSED")
    assert "the page" not in called.out + called.err
    assert "the page:" not in call("run", "basics/*answer", "--report", "html:-").err
