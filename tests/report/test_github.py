"""Annotations for GitHub, read as its runner reads them; and the summary in Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tpharness.findings import Finding, Kind, Level, Place, load_kinds
from tpharness.report import Report
from tpharness.report.comparison import read_earlier
from tpharness.report.github import render_github, render_github_of_several
from tpharness.report.json import render_json
from tpharness.report.markdown import render_markdown, render_markdown_of_several
from tpharness.run import RunOptions
from tpharness.run.engine import run_suite
from tpharness.verdict import Outcome, Result, ResultReady, RunFinished, RunStarted, ScenarioFinished
from tpharness.verdict.baseline import Baseline, BaselineEntry

SCENARIO = """\
description: A greeting.
clauses: [turn.complete-has-end]
turns:
  - user: "Hello!"
  - steps: [{response: [{text: "Hello!"}]}]

expect:
  outline: [user, "agent complete: response(text text)"]
"""
COMMAND = re.compile(r"::error (.*?)::(.*)")


def commands(text: str) -> list[tuple[dict[str, str], str]]:
    """Return properties and message of each command as the runner decodes them; anything else fails."""
    found = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        pairs = [pair.partition("=") for pair in match[1].split(",")]
        found.append(({name: decoded(value) for name, _, value in pairs}, decoded(match[2])))
    return found


def decoded(text: str) -> str:
    """Undo the runner's escapes; the percent sign last."""
    for escape, sign in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, sign)
    return text


def report_of(*results: Result, problems: tuple[Finding, ...] = (), ended: str = "") -> Report:
    """Return the report on a run with these results."""
    report = Report()
    counts = {outcome: n for outcome in Outcome if (n := sum(r.cases for r in results if r.outcome is outcome))}
    green = all(result.outcome.green for result in results) and not problems and not ended
    report.feed(RunStarted(scenarios=len(results), server="mi|ne", client="reference", versions=("0.0.4",)))
    for result in results:
        report.feed(ResultReady(result=result))
        report.feed(ScenarioFinished(id=result.id))
    report.feed(RunFinished(passed=green, counts=counts, seconds=1.25, problems=problems, ended=ended))
    return report


def failed(name: str, message: str) -> Result:
    """Return a failure that says so."""
    return Result(id=name, outcome=Outcome.FAILED, findings=(Kind("second-output").at(Place(), message),))


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Return the report on scenarios of one's own: one with a wrong expectation, one that does not load."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "scenarios" / "chat"
    folder.mkdir(parents=True)
    (folder / "wrong.yaml").write_text(SCENARIO, "utf-8")
    (folder / "bad.yaml").write_text("description: x\nclauses: [turn.fields]\nturns:\n  - usr: x\n", "utf-8")
    report = Report()
    for event in run_suite(RunOptions(roots=(Path("scenarios"),))):
        report.feed(event)
    return report


def test_a_failure_stands_at_its_scenario(own: Report) -> None:
    """At what the scenario expects, or where it does not load; the message is what the console says."""
    told = {properties["title"]: (properties, text) for properties, text in commands(render_github(own))}
    wrong, text = told["failed chat/wrong"]
    assert (wrong["file"], wrong["line"]) == ("scenarios/chat/wrong.yaml", "7")
    assert text.startswith("outline-differs: ")
    assert "\n  expected  agent complete: response(text text)\n" in text
    bad, text = told["errored chat/bad"]
    assert (bad["file"], bad["line"]) == ("scenarios/chat/bad.yaml", "4")
    assert "'usr'" in text


def test_the_command_plays_on_the_same_server() -> None:
    """What the annotation says to type finds the failure again."""
    report = Report()
    report.feed(
        RunStarted(
            scenarios=1, server="u", client="reference", versions=(), roots=(), target_words=("--server", "http://x")
        )
    )
    report.feed(ResultReady(result=failed("cycles/three-steps", "it is so")))
    ((_, text),) = commands(render_github(report))[:1]
    assert "tpharness replay cycles/three-steps --server http://x" in text


def test_nothing_is_annotated_where_everything_passes() -> None:
    """A built-in scenario that fails has no file in the repository."""
    assert render_github(report_of(Result(id="a/b", outcome=Outcome.PASSED))) == ""
    ((properties, _),) = commands(render_github(report_of(failed("cycles/three-steps", "it is so"))))
    assert properties == {"title": "failed cycles/three-steps"}


def test_cases_of_one_cause_are_one_annotation() -> None:
    """GitHub shows ten of a step."""
    cases = [failed(f"a/b@event-{place}", "the same") for place in range(30)]
    ((properties, _),) = commands(render_github(report_of(*cases)))
    assert properties["title"].endswith("and 29 more")


@pytest.mark.parametrize(
    "hostile", ["100%, :: done", "a\n::set-output name=x::y", "\x1b[31mred", "%0A::stop-commands::x"]
)
def test_what_others_wrote_commands_nothing(hostile: str) -> None:
    """Whatever they write, a line is one command, ours, and its message says what they wrote."""
    ((properties, text),) = commands(render_github(report_of(failed("a/b", hostile))))
    assert properties == {"title": "failed a/b"}
    assert not any(line.lstrip().startswith("::") for line in text.split("\n"))
    assert "\x1b" not in text
    if "\n" not in hostile and "\x1b" not in hostile:
        assert hostile in text


def test_what_fails_otherwise_than_the_baseline_says_is_a_failure() -> None:
    """Its annotation says what fails now, and comes before that of an entry which is merely outdated."""
    entries = {n: BaselineEntry(id=n, findings=frozenset({"old"}), clauses=(), reason="known") for n in "ab"}
    passed = Result(id="a", outcome=Outcome.PASSED)
    results = [Baseline(entries=entries).apply(one) for one in (passed, failed("b", "it is lost"))]
    first, last = commands(render_github(report_of(*results)))
    assert first[0]["title"] == "failed b"
    assert "it is lost" in decoded(first[1])
    assert last[0]["title"] == "stale a"


def test_a_run_that_fails_without_a_failure_says_why() -> None:
    """It ended early, played nothing, or has a problem of its own."""
    assert commands(render_github(report_of(ended="ended by --maxfail")))[0][1] == "ended by --maxfail"
    unjudged = Result(id="a/b", outcome=Outcome.NOT_APPLICABLE, reason="it needs carriers")
    report = report_of(unjudged)
    assert report.finished
    report.finished = replace(report.finished, passed=False)
    ((_, text),) = commands(render_github(report))
    assert text.startswith("nothing was judged: 1 scenario, 1 case (1 not applicable)")
    unfinished = Report()
    unfinished.stop("interrupted by SIGTERM", "SIGTERM")
    assert commands(render_github(unfinished))[0][1] == "interrupted by SIGTERM"
    stale = Kind("baseline-stale").at(Place(case="a/b"))
    told = commands(render_github(report_of(Result(id="a/b", outcome=Outcome.PASSED), problems=(stale,))))
    assert told == [({"title": "tpharness run"}, stale.line())]


def test_several_runs_are_told_apart() -> None:
    """By the names of the pair."""
    reports = {"server a, client b": report_of(failed("a/b", "x")), "other": report_of(failed("a/b", "y"))}
    titles = [properties["title"] for properties, _ in commands(render_github_of_several(reports))]
    assert titles == ["failed a/b, server a, client b", "failed a/b, other"]
    assert [line for line in render_markdown_of_several(reports).splitlines() if line.startswith("## ")] == [
        "## server a, client b",
        "## other",
    ]


def test_the_summary_has_verdict_and_causes() -> None:
    """What is not ours does not act on the page: no link, no mention, no second table."""
    text = render_markdown(
        report_of(failed("[x](http://x) @you <img> | y", "it"), Result(id="c/d", outcome=Outcome.PASSED))
    )
    assert "**FAILED** 2 scenarios, 2 cases (1 passed, 1 failed), 1.2 s" in text
    assert r"server mi\|ne, client reference" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| 1 |")]
    assert r"smallest \[x\](http://x) \@you \<img\> \| y" in row
    assert "**PASSED**" in render_markdown(report_of(Result(id="c/d", outcome=Outcome.PASSED)))


def test_the_summary_of_a_run_that_ended_early_says_so() -> None:
    """It never says that it passed."""
    unfinished = Report()
    unfinished.stop("interrupted by SIGTERM", "SIGTERM")
    text = render_markdown(unfinished)
    assert "**FAILED**" in text
    assert "did not come to its end: interrupted by SIGTERM" in text
    assert "ended by --maxfail" in render_markdown(report_of(ended=r"ended by --maxfail"))


def app_report(*results: Result, described: Place | None = None) -> Report:
    """Return the report on an application with these results."""
    report = report_of(*results)
    assert report.started is not None
    report.started = replace(report.started, application="chat", described=described)
    return report


def test_what_fails_in_an_application_stands_at_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what breaks a SHOULD; an outdated entry stands at its line. The paths are from the repository's top."""
    (below := tmp_path / "apps" / "chat").mkdir(parents=True)
    known = {"b": BaselineEntry(id="b", findings=frozenset({"old"}), clauses=(), reason="known", line=9)}
    baseline = Baseline(entries=known, path="known.yaml")
    should = Result(id="c", outcome=Outcome.PASSED, findings=(Kind("runs-on").at(Place()),))
    results = (failed("a", "it is so"), baseline.apply(Result(id="b", outcome=Outcome.PASSED)), should)
    report = app_report(*results, described=Place(file=str(below / "tpharness.toml"), line=4))

    def places() -> dict[str, tuple[str, str]]:
        text = render_github(report).replace("::warning ", "::error ")
        return {one["title"].partition(" ")[0]: (one["file"], one["line"]) for one, _ in commands(text)}

    monkeypatch.chdir(below)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert places() == {
        "failed": ("tpharness.toml", "4"),
        "stale": ("known.yaml", "9"),
        "SHOULD": ("tpharness.toml", "4"),
    }
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert places()["failed"] == ("apps/chat/tpharness.toml", "4")
    assert places()["stale"] == ("apps/chat/known.yaml", "9")
    report = app_report(results[0], described=Place(file="/elsewhere/tpharness.toml", line=4))
    assert [*commands(render_github(report))[0][0]] == ["title"]


def test_ten_are_shown_and_the_tenth_counts_the_rest() -> None:
    """GitHub leaves out what comes after ten errors of a step, and after ten warnings."""
    found = commands(render_github(report_of(*(failed(f"a/{n}", "x") for n in range(10)))))
    assert len(found) == 1, "one cause"
    codes = [kind.code for kind in load_kinds().values() if kind.room == "apps" and kind.level is Level.MUST]
    causes = [Result(id=code, outcome=Outcome.FAILED, findings=(Kind(code).at(Place()),)) for code in codes[:12]]
    assert len(commands(render_github(report_of(*causes[:10])))) == 10
    *_, last = shown = commands(render_github(report_of(*causes)))
    assert len(shown) == 10
    assert last == (
        {"title": "and 3 more causes"},
        "3 more causes: GitHub shows 10 errors of a step; the other reports have them all",
    )


def test_what_is_new_comes_before_what_was_there(tmp_path: Path) -> None:
    """Even if it harms less: it is what the pull request has done."""

    def case(name: str, code: str) -> Result:
        return Result(id=name, outcome=Outcome.FAILED, findings=(Kind(code).at(Place(case=name)),))

    (file := tmp_path / "main.json").write_text(render_json(app_report(case("a", "chat-bricked"))), "utf-8")
    report = app_report(case("a", "chat-bricked"), case("b", "answer-lost"))
    assert [one["title"] for one, _ in commands(render_github(report))] == ["failed a", "failed b"]
    report.earlier = read_earlier(file)
    assert [one["title"] for one, _ in commands(render_github(report))] == ["NEW failed b", "failed a"]
