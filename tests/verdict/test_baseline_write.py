"""A baseline after a run: what has failed is in it, what fails otherwise now too, and what passes is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tpharness.findings import Kind, Place
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import OUTDATED
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


COMMENTED = """\
# What we know, and who looks after it.

# See issue 12.
- id: a/one
  findings: [answer-lost]
  reason: "since May"  # by Ann

# Ask Bob before you add to these.

# Gone soon.
- id: a/two
  findings: [answer-lost]
  reason: since June

# Of two cases.
- departure: both
  reason: since July
  cases:
    answer-lost: [a/three, a/four]  # the old store
# The end.
"""


def test_what_somebody_wrote_into_a_baseline_is_kept(tmp_path: Path) -> None:
    """Their comments, quotes and order, each once, below a new entry: only what is outdated goes, with its comments."""
    file = tmp_path / "known.yaml"
    file.write_text(COMMENTED, "utf-8")
    kept = baseline_text([], known=file)
    assert [line for line in kept.splitlines() if line in COMMENTED.splitlines() and line] == [
        line for line in COMMENTED.splitlines() if line
    ]
    file.write_text(kept, "utf-8")
    assert baseline_text([], known=file) == kept
    new = baseline_text([case("b/new", "chat-bricked")], known=file)
    assert new.index("looks after it") < new.index("b/new") < new.index("See issue 12")
    gone = [OUTDATED[0].at(Place(case=name)) for name in ("a/two", "a/four")]
    left = baseline_text([], gone, known=file)
    file.write_text(left, "utf-8")
    assert set(read_baseline(file).entries) == {"a/one", "a/three"}
    words = ("looks after it", "issue 12", "by Ann", "Ask Bob", "Of two cases", "The end")
    assert [word for word in words if left.count(word) != 1] == []
    assert "Gone soon" not in left


ONE, TWO = "{id: a/one, findings: [answer-lost], reason: x}", "{id: a/two, findings: [answer-lost], reason: y}"


@pytest.mark.parametrize(
    "text",
    [
        f"[{ONE}, {TWO}]",
        f"---\n  - {ONE}\n  - id: a/two\n    findings: [answer-lost]\n    reason: |\n      # y\n",
        f"- &one {ONE.replace('[', '&codes [')}\r\n- {TWO}\r\n...\r\n",
        f"\ufeff# head\n- {ONE}\n- {TWO.replace(' reason', chr(10) + '   reason')}",
    ],
    ids=["on one line", "indented", "windows, with an end", "byte order mark"],
)
def test_a_baseline_of_another_form_says_the_same_when_it_is_written_again(tmp_path: Path, text: str) -> None:
    """Where its lines cannot stand as they are, its entries are written anew."""
    file = tmp_path / "known.yaml"
    file.write_bytes(text.encode())
    before = {name: one.reason for name, one in read_baseline(file).entries.items()}
    file.write_text(baseline_text([case("b/new", "chat-bricked")], known=file).replace("''", "z"), "utf-8")
    assert {name: one.reason for name, one in read_baseline(file).entries.items()} == before | {"b/new": "z"}


def test_the_entries_stand_as_close_as_somebody_has_written_them(tmp_path: Path) -> None:
    """Without empty lines between them where there were none, with them where there were, also around a new one."""
    file = tmp_path / "known.yaml"
    for between in ("", "\n"):
        file.write_text(f"# ours\n\n- {ONE}\n{between}# why\n- {TWO}\n{between}", "utf-8")
        text = baseline_text([case("b/new", "chat-bricked")], known=file)
        items = text[text.index("\n- departure") + 1 :]
        assert items.endswith(f"    - b/new\n{between}- {ONE}\n{between}# why\n- {TWO}\n")
        gone = [OUTDATED[0].at(Place(case="a/one"))]
        assert baseline_text([], gone, known=file).endswith(f"# ours\n\n# why\n- {TWO}\n")
        assert "\n\n\n" not in text
