"""A baseline after a run: what has failed is in it, what fails otherwise now too, and what passes is not."""

from __future__ import annotations

from pathlib import Path

import yaml

from tpharness.findings import Kind, Place
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline_read import read_baseline
from tpharness.verdict.baseline_write import baseline_text

KNOWN = """\
- departure: chat-bricked-1
  title: it is bricked
  reason: until 12
  cases: {chat-bricked: [a/x, a/y, a/z, a/w]}
"""


def case(name: str, *codes: str) -> Result:
    """Return a case with these findings; it passes without one."""
    found = tuple(Kind(code).at(Place(case=name)) for code in codes)
    return Result(id=name, outcome=Outcome.FAILED if found else Outcome.PASSED, findings=found)


def test_what_fails_otherwise_is_written_in_the_same_run(tmp_path: Path) -> None:
    """After an upgrade two cases fail in another way, one passes, one is as before: the second run passes."""
    (file := tmp_path / "known.yaml").write_text(KNOWN, "utf-8")
    played = [
        case("a/x"),
        case("a/y", "effect-forgotten"),
        case("a/z", "effect-forgotten"),
        case("a/w", "chat-bricked"),
    ]
    baseline = read_baseline(file)
    text = baseline_text(map(baseline.apply, played), known=file)
    new, kept = yaml.safe_load(text)
    assert (new["reason"], new["cases"]) == ("", {"effect-forgotten": ["a/y", "a/z"]})
    assert (kept["reason"], kept["cases"]) == ("until 12", {"chat-bricked": ["a/w"]})
    file.write_text(text.replace("reason: ''", "reason: the release 2"), "utf-8")
    outcomes = [read_baseline(file).apply(one).outcome for one in played]
    assert outcomes == [Outcome.PASSED, *(Outcome.EXPECTED,) * 3]
