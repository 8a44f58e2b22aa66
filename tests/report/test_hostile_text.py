"""Whatever a target, a scenario or a file says is read where it is printed, and does nothing else."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console
from tests.hostile import HOSTILE, HUGE, harmless

from tpharness.findings import Finding, Kind, Place
from tpharness.printable import MAX_LINE, make_printable, say
from tpharness.report import ConsoleReport, Report, failure_lines, print_matrix, tally_lines
from tpharness.report.spec import FORMATS
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished, RunStarted
from tpharness.verdict.pair import Pair
from tpharness.verdict.tally import tally_json


def hostile(record: Any, text: str) -> Any:
    """Return a record with the text in every field that holds text, at any depth of mappings and tuples."""

    def changed(value: Any) -> Any:
        match value:
            case str():
                return text
            case tuple():
                return tuple(changed(item) for item in value)
            case Mapping():
                return {key: changed(item) for key, item in value.items()}
        return value

    return replace(record, **{one.name: changed(getattr(record, one.name)) for one in fields(record)})


def events(text: str) -> list[Any]:
    """Return the events of a run with a result of each outcome, the text in all their fields."""
    place = hostile(Place(side="s", case="c", file="f", pointer="/p", line=1, column=2, byte=3), text)
    finding = Finding(kind=Kind("identity-differs"), place=place, message=text, got=text, expected=text)
    results = [
        Result(id=text, outcome=outcome, reason=text, clauses=(text,), findings=(finding,) * 9, played_again=2)
        for outcome in Outcome
    ]
    results.append(Result(id=text, outcome=Outcome.FAILED, clauses=(text,), findings=(replace(finding),)))
    started = RunStarted(scenarios=2, server=text, client=text, versions=(text,), order=text, history="")
    counts = dict.fromkeys(Outcome, 1)
    finished = RunFinished(passed=False, counts=counts, seconds=1.0, problems=(finding,), exercised={text: (text,)})
    return [started, *(ResultReady(result=one) for one in results), finished]


def reported(text: str) -> Report:
    """Return the report of such a run."""
    report = Report()
    for event in events(text):
        report.feed(event)
    return report


@pytest.mark.parametrize("of_several", [False, True])
def test_the_console_shows_hostile_text_as_text(capsys: pytest.CaptureFixture[str], of_several: bool) -> None:
    """Every field of every event, as one run and as one of several."""
    console = ConsoleReport(one_of_several=of_several)
    for event in events(HOSTILE):
        console.feed(event)
    out = capsys.readouterr().out
    harmless(out)
    assert r"\x1b]0;owned\x07" in out
    assert "[red]d" in out  # nor is it markup


def test_the_console_leaves_the_names_of_emoji(capsys: pytest.CaptureFixture[str]) -> None:
    """What was got and what was expected may differ in nothing else."""
    console = ConsoleReport()
    for event in events("db:x:9"):
        console.feed(event)
    out = capsys.readouterr().out
    assert "db:x:9" in out
    assert "\N{CROSS MARK}" not in out


def test_lines_of_other_commands_are_harmless() -> None:
    """`replay`, `merge` and the pytest plugin print these."""
    report = reported(HOSTILE)
    for result in report.results:
        for _, line in failure_lines(result, history="", roots=(Path(HOSTILE.replace("\0", "")),)):
            harmless(line)
            assert "\n" not in line
    for line in tally_lines(tally_json(report.results)):
        harmless(line)
        assert "\n" not in line


def test_the_table_of_pairs_is_harmless() -> None:
    """Names of targets are its rows and columns."""
    out = io.StringIO()
    pairs = {Pair(server=f"{HOSTILE}{n}", client=HOSTILE): reported(HOSTILE) for n in range(2)}
    print_matrix(Console(file=out, width=200), pairs)
    harmless(out.getvalue())


@pytest.mark.parametrize("name", FORMATS)
def test_files_are_harmless_where_they_are_printed(name: str) -> None:
    """`--report junit:-` and `json:-`, and a file in a CI server's log; they are still what they were."""
    for text in (
        FORMATS[name].render(reported(HOSTILE)),
        FORMATS[name].render_several({HOSTILE: reported(HOSTILE), "b": reported("b")}),
        FORMATS[name].render(Report(error=HOSTILE)),
    ):
        if name == "github":  # its own commands are meant; test_github.py reads them as the runner does
            assert all(line.startswith("::error ") for line in text.splitlines())
            text = "".join(line.removeprefix("::error ") + "\n" for line in text.splitlines())  # noqa: PLW2901
        harmless(text)
        if name == "json":
            assert isinstance(json.loads(text), dict)
        elif name == "html":
            assert text.startswith("<!doctype html>")
            assert text.count("<script") == 2  # the values, and the page's own; test_html_report.py has the elements
        elif name == "markdown":
            assert text.startswith("## ")
        elif name == "junit":
            assert ET.fromstring(text).tag in ("testsuite", "testsuites")  # noqa: S314  # ours
    value = json.loads(FORMATS["json"].render(reported(HOSTILE)))
    assert value["results"][0]["reason"] == HOSTILE  # an escape in JSON loses nothing


def test_a_line_is_cut_in_its_middle(capsys: pytest.CaptureFixture[str]) -> None:
    """A name of a megabyte fills a log."""
    say(HUGE, f"{HUGE}\n")
    first, second = capsys.readouterr().out.splitlines()
    assert len(first) < MAX_LINE + 100
    assert len(second) < MAX_LINE + 100
    assert f"({len(HUGE) - MAX_LINE} characters left out)" in first


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – é 日本 🙂", "plain – é 日本 🙂"),
        ("a::b, c: d", "a::b, c: d"),
        ("::error::x", r"\x3a:error::x"),
        ("  ::error::x", r"  \x3a:error::x"),
        ("see ##[group]x", r"see \x23#[group]x"),
        ("## Title #[x]", "## Title #[x]"),
        ("a\nb\t", r"a\nb\t"),
        ("\ud800", r"\ud800"),
    ],
)
def test_only_what_would_act_is_escaped(text: str, shown: str) -> None:
    """Everything else is left as it was written."""
    assert make_printable(text) == shown
