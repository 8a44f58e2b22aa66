"""What cases of an application have found and fail for nothing: at SHOULD, and policies. The end of a run shows it.

A test carries it in the properties of its report, which a worker of pytest-xdist sends to the controller.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence

import pytest

from tpharness.findings import Level
from tpharness.printable import make_printable
from tpharness.verdict import Result
from tpharness.verdict.finding_lines import finding_lines
from tpharness.verdict.grouping import group_advice

__all__ = ["AdviceReports", "advice_lines", "notes_of"]

_PROPERTY = "tpharness-advice"
_WORDS = {Level.SHOULD: "SHOULD", Level.MAY: "policy"}
_MOST_IDS = 3


class AdviceReports:
    """Adds to the report of a test what the fixture has `noted` while it ran. A plugin of pytest."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, str]] = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add it to the report of the test itself."""
        report = yield
        if report.when == "call":
            report.user_properties += self.noted
            self.noted.clear()
        return report


def notes_of(app: str, results: Sequence[Result]) -> list[tuple[str, str]]:
    """Return the properties of a report: for each kind of finding that fails nothing its cases, and its lines."""
    notes = []
    for level, word in _WORDS.items():
        for advice in group_advice(results, level):
            lines = [make_printable(line) for _, line in finding_lines(advice.finding)]
            ids = [result.id for result in advice.results]
            notes.append((_PROPERTY, json.dumps({"app": app, "word": word, "ids": ids, "lines": lines})))
    return notes


def advice_lines(properties: Iterable[tuple[str, object]]) -> list[str]:
    """Return the lines of all reports together, what is at SHOULD first: a block for each kind of an application."""
    found: dict[tuple[str, str, str], tuple[list[str], list[str]]] = {}
    for name, value in properties:
        if name == _PROPERTY:
            note = json.loads(str(value))
            key = note["app"], note["word"], note["lines"][0].partition(":")[0]
            ids, _ = found.setdefault(key, ([], note["lines"]))
            ids += [one for one in note["ids"] if one not in ids]
    lines = []
    for (app, word, _), (ids, of_finding) in sorted(found.items(), key=lambda one: (one[0][0], one[0][1] != "SHOULD")):
        some = ", ".join(ids[:_MOST_IDS]) + (f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else "")
        lines += [make_printable(f"{app}: {word} in {some}"), *(f"  {line}" for line in of_finding)]
    return lines
