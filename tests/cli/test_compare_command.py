"""`tpharness compare`, and histories as `--dialect` of `run`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

EVERY_LENGTH = ("histories/k09*", "histories/l-12*", "cycles/reset-step", "cycles/three-steps", "cycles/unexecuted*")
"""Few scenarios that fill cells with one word, with the longest list, and with several at different places."""


def test_the_tables_are_readable_at_a_hundred_columns(call: Any) -> None:
    """Piped, with every history: no line is longer, no word is torn, legends below."""
    called = call("compare", *EVERY_LENGTH)
    assert called.code == 0
    lines = called.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert {"What", "Whether"} <= {line.split()[0] for line in lines if line.strip()}
    assert all(line.startswith("(") for line in lines if "…" in line), "only legends have an ellipsis"
    for word in ("thought", "documented", "0.0.4", "between steps", "that the turn was cut at all"):
        assert word in called.out
    rows = [line for line in lines if line.strip().startswith("k of n tools done") and "✓" in line]
    assert sum(row.count("✓") for row in rows) == 17
    assert sum(row.count("✗") for row in rows) == 6


def test_named_histories_and_scenarios_alone_are_compared(call: Any) -> None:
    """A family is all of its variants, in the order of the names; each once."""
    options = ["--dialect", "langchain", "--dialect", "0.0.4", "--dialect", "langchain/repaired", "--json"]
    told = json.loads(call("compare", "histories/l-0*", *options).out)
    assert told["dialects"] == ["langchain/documented", "langchain/repaired", "langchain/js", "0.0.4"]
    assert len(told["scenarios"]) == 9
    assert list(told["places"][0]["dialects"]) == told["dialects"]


def test_the_tables_come_as_markdown_too(call: Any) -> None:
    """For a page of documentation: a column for each history that was named."""
    called = call("compare", "histories/k09*", "--dialect", "langchain", "--markdown")
    assert "| interrupted | `langchain/documented` | `langchain/repaired` | `langchain/js` |" in called.out
    assert "| k of n tools done | ✗ C1 R1 A1 G1 | ✓ | ✗ C1 R1 A1 G1 |" in called.out


def test_a_place_that_no_scenario_has_says_so(call: Any) -> None:
    """K01 has no tools; the row is there all the same."""
    called = call("compare", "histories/k01-text-only", "--dialect", "0.0.4")
    (row,) = [line for line in called.out.splitlines() if line.strip().startswith("tool running") and "✓" not in line][
        :1
    ]
    assert "never" in row


def test_own_scenarios_are_all_compared(call: Any, tmp_path: Path) -> None:
    """`--scenarios` without ids."""
    text = "description: One.\nclauses: [cycle.kept]\nturns:\n  - user: q\n  - steps: [{response: [{text: a}]}]\n"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "one.yaml").write_text(text, "utf-8")
    assert json.loads(call("compare", "--scenarios", str(tmp_path), "--json").out)["scenarios"] == ["mine/one"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "--dialect", "langchan"], "no history is called 'langchan'"),
        (["compare", "no/such"], "no built-in scenario"),
        (["compare", "--json", "--markdown"], "two forms of one output"),
        (["compare", "cycles/three-steps@event-3"], "compare cycles/three-steps"),
        (["run", "--dialect", "lang"], "message-parts/plan"),
        (["run", "--dialect", "langchain", "--client", "reference"], "leave --client"),
        (["run", "--dialect", "langchain", "--fault", "all"], "without faults"),
        (["run", "--dialect", "message-parts", "--compare", "content"], "leave --client"),
    ],
)
def test_wrong_use_is_told_in_a_line(call: Any, arguments: list[str], said: str) -> None:
    """Exit code 2, what is wrong and what there is."""
    called = call(*arguments)
    assert called.code == 2
    assert said in called.err
    assert called.out == ""


def test_a_history_gives_a_verdict_of_its_own(call: Any) -> None:
    """Known refusals are expected, each reason once; no clause is owed."""
    called = call("run", "histories", "--dialect", "langchain/documented")
    assert called.code == 0
    assert "client history langchain/documented\n" in called.out
    assert called.out.count("GAP-4:") == 1
    verdict = called.out.splitlines()[-1]
    assert verdict.startswith("PASSED 32 scenarios, 32 cases (")
    assert "known differences" in verdict
    assert "rules tested" not in verdict


def test_histories_stand_beside_versions(call: Any, tmp_path: Path) -> None:
    """Each with a report of its own; a version is played as without histories."""
    report = tmp_path / "m.json"
    options = ["--dialect", "message-parts", "--dialect", "0.0.4", "--report", "console", "--report", f"json:{report}"]
    called = call("run", "histories/k08*", *options)
    assert called.code == 0
    assert "PASSED 4 of 4 pairs" in called.out
    reports = json.loads(report.read_text("utf-8"))["reports"]
    names = [f"history message-parts/{variant}" for variant in ("plan", "2.32", "current")]
    assert [r["client"] for r in reports][1:] == names
    assert [r["versions"] for r in reports] == [["0.0.4"], [], [], []]


def test_an_unexpected_refusal_fails(call: Any, tmp_path: Path) -> None:
    """Of a scenario of one's own: no baseline of ours speaks for it; the finding names the rule and the API."""
    text = (
        "description: One of two tools is done.\nclauses: [cycle.kept]\nturns:\n  - user: q\n  - steps:\n"
        "      - response: [{call: a, id: c1, args: {}}, {call: b, id: c2, args: {}}]\n"
        "      - {returns: {c1: 1}, label: one}\n      - returns: {c2: 2}\n"
        "    interrupt: {reason: user_cancelled, after: one}\n"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "one.yaml").write_text(text, "utf-8")
    called = call("run", "--scenarios", str(tmp_path), "--dialect", "langchain/documented")
    assert called.code == 1
    assert "FAILED mine/one" in called.out
    assert "A1: `tool_use` ids were found without" in called.out
    assert f"alone: tpharness run mine/one --dialect langchain/documented --scenarios {tmp_path}" in called.out
    assert call("run", "--scenarios", str(tmp_path), "--dialect", "message-parts").code == 0
