"""What breaks a SHOULD in an application's run, in every report and in a baseline, on results written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report.test_app_markdown import BRICKED, FORGOTTEN, entry, report_on

from tpharness.apps.judge import demand_should
from tpharness.findings import Kind, Place
from tpharness.report.comparison import read_earlier
from tpharness.report.github import render_github
from tpharness.report.html import render_html
from tpharness.report.json import render_json
from tpharness.report.markdown import render_markdown
from tpharness.verdict import CheckState, Outcome, Result
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.grouping import group_failures

RUNS_ON, EXITED = "runs-on", "app-exited"
CLAUSE = "app.stops-or-goes-on"


def judged(name: str, *codes: str, clauses: tuple[str, ...] = (CLAUSE,), size: int = 0) -> Result:
    """Return a case as it is judged: it fails for a finding at MUST, and passes with one at SHOULD."""
    found = tuple(Kind(code).at(Place(case=name)) for code in codes)
    outcome = Outcome.FAILED if any(finding.fails for finding in found) else Outcome.PASSED
    states = {"stops-or-goes-on": CheckState.SHOULD if RUNS_ON in codes else CheckState.PASSED}
    return Result(id=name, outcome=outcome, findings=found, clauses=clauses, checks=states, size=size)


def test_a_should_that_is_broken_is_in_the_summary() -> None:
    """With its cases, what is wrong and what to do; the verdict counts it."""
    text = render_markdown(report_on(judged("a/x"), judged("a/y", RUNS_ON), judged("a/z", RUNS_ON)))
    assert "**interruption-safe** in all 3 cases that apply. A SHOULD is broken in 2 of them." in text
    (row,) = [line for line in text.splitlines() if line.startswith("| a/y, a/z |")]
    assert "runs-on: the application is declared to stop" in row
    assert "abort signal" in row


def test_a_should_that_is_broken_is_a_warning() -> None:
    """One annotation for its cases; what fails is an error."""
    errors = render_github(report_on(judged("a/x", BRICKED), judged("a/y", RUNS_ON), judged("a/z", RUNS_ON)))
    first, second = errors.splitlines()
    assert first.startswith("::error title=failed a/x::")
    assert second.startswith("::warning title=SHOULD a/y and 1 more::runs-on%3A".replace("%3A", ":"))


def test_the_page_does_not_call_it_passed() -> None:
    """The clause table counts what was found; the finding has a section of its own."""
    page = render_html(report_on(judged("a/x"), judged("a/y", RUNS_ON), judged("a/z", RUNS_ON)))
    row = page.partition(f"<code>{CLAUSE}</code>")[2].partition("</tr>")[0]
    assert "2 of 3 found" in row
    assert "1 passed" in row
    assert "SHOULD, which fails nothing" in page
    assert "a/y, a/z" in page


def test_the_page_and_the_json_report_say_what_it_means_for_the_user() -> None:
    """At the cause, before what to change."""
    report = report_on(judged("a/x", FORGOTTEN))
    card = render_html(report).partition("<h2>Causes</h2>")[2].partition("</details>")[0]
    _, said, after = card.partition(
        "<strong>For the user:</strong> the model books what is booked already: two bookings"
    )
    assert said
    assert "<strong>Change:</strong>" in after
    assert '"for_user": "the model books what is booked already: two bookings"' in render_json(report)


def test_an_outdated_entry_is_not_a_broken_clause() -> None:
    """The case has passed: no clause that it was judged by has failed."""
    known = (entry("a/x", BRICKED),)
    both = (CLAUSE, "app.alive")
    page = render_html(report_on(judged("a/x", clauses=both), judged("a/y", clauses=both), known=known))
    for clause in both:
        row = page.partition(f"<code>{clause}</code>")[2].partition("</tr>")[0]
        assert "2 passed" in row
        assert "failed" not in row


def test_the_json_report_says_which_check_found_it() -> None:
    """In `checks`, as well as in the finding."""
    (result,) = json.loads(render_json(report_on(judged("a/y", RUNS_ON))))["results"]
    assert result["checks"] == {"stops-or-goes-on": "should"}


def test_it_is_compared_with_the_main_branch(tmp_path: Path) -> None:
    """New, gone and still there, behind what is at MUST, and named as what it is."""
    (file := tmp_path / "main.json").write_text(render_json(report_on(judged("a/x", RUNS_ON), judged("a/y"))), "utf-8")
    report = report_on(judged("a/x", RUNS_ON), judged("a/y", RUNS_ON), judged("a/z", BRICKED))
    report.earlier = read_earlier(file)
    text = render_markdown(report)
    assert "2 new (1 at SHOULD), 0 gone, 1 still there (1 at SHOULD)." in text.replace("\\", "")
    lines = [line for line in text.splitlines() if "new**" in line or line.startswith(("| **new", "| still"))]
    assert [line.split(" | ")[0] for line in lines] == ["| **new**", "| **new**, SHOULD", "| still, SHOULD"]
    annotations = render_github(report).splitlines()
    assert annotations[0].startswith("::error title=NEW failed a/z::")
    assert annotations[1].startswith("::warning title=SHOULD a/x and 1 more::")


def test_what_is_demanded_fails_as_a_must_does() -> None:
    """`fail_on = "should"`: outcome, check, JSON and the verdict, which still says that no MUST is broken."""
    result = demand_should(judged("a/y", RUNS_ON))
    assert (result.outcome, result.failing_codes) == (Outcome.FAILED, frozenset({RUNS_ON}))
    assert result.checks == {"stops-or-goes-on": CheckState.FAILED}
    assert demand_should(judged("a/x")).outcome is Outcome.PASSED
    report = report_on(result, judged("a/x"))
    assert not report.passed
    text = render_markdown(report)
    assert "**Interruption-safe, and failed**: no MUST is broken, but a SHOULD in 1 of 2 cases" in text
    assert render_github(report).startswith("::error title=failed a/y::")
    assert json.loads(render_json(report))["results"][0]["findings"][0]["demanded"] is True
    assert "**Not interruption-safe**: 2 of 2" in render_markdown(
        report_on(result, demand_should(judged("z", BRICKED)))
    )


@pytest.mark.parametrize("demanded", [False, True], ids=["must", "should"])
def test_a_baseline_may_name_a_should(demanded: bool) -> None:
    """It is then expected, and neither advice nor an outdated entry, whatever fails a case."""
    found = judged("a/y", RUNS_ON)
    report = report_on(demand_should(found) if demanded else found, judged("a/x"), known=(entry("a/y", RUNS_ON),))
    assert report.passed
    assert report.results[0].outcome is Outcome.EXPECTED
    text = render_markdown(report)
    assert "### SHOULD" not in text
    assert r"| a/y | runs-on | until \#12 |" in text
    assert render_github(report) == ""
    assert ("**Not interruption-safe**" in text) == demanded


def test_an_entry_with_a_should_that_is_gone_is_outdated() -> None:
    """What it expects and what was got are not the same, so that the message does not contradict itself."""
    known = BaselineEntry(id="a/y", findings=frozenset({RUNS_ON, "gives-up"}), clauses=(), reason="r")
    baseline = Baseline(entries={"a/y": known})
    (_, stale) = baseline.apply(judged("a/y", RUNS_ON)).findings
    assert (stale.got, stale.expected) == (RUNS_ON, f"gives-up, {RUNS_ON}")
    (stale,) = baseline.apply(judged("a/y")).findings
    assert stale.got == "passed"
    more = baseline.apply(judged("a/y", RUNS_ON, "gives-up", BRICKED))
    assert (more.outcome, more.fails_now) == (Outcome.STALE, True)
    assert replace(known, id="a/*").explains(judged("a/y", RUNS_ON, "gives-up"))
    assert not replace(known, id="a/*").explains(judged("a/y", RUNS_ON))


def test_a_new_failure_has_not_the_reason_of_a_known_one() -> None:
    """A case that fails otherwise than its entry says; the annotation is not that of the entry's file."""
    known = replace(entry("a/x", FORGOTTEN, "ticket CHAT-12"), line=4)
    report = report_on(judged("a/x", BRICKED, FORGOTTEN), judged("a/y", BRICKED), known=(known,))
    assert [group.cause.codes for group in group_failures(report.results)] == [(BRICKED,)]
    (line,) = render_github(report).splitlines()
    assert line.startswith("::error title=failed a/x and 1 more::")
    assert "CHAT-12" not in line


def test_an_outdated_entry_is_annotated_on_its_line() -> None:
    """With its reason."""
    known = replace(entry("a/x", FORGOTTEN, "ticket CHAT-12"), line=4)
    (line,) = render_github(report_on(judged("a/x"), known=(known,))).splitlines()
    assert line.startswith("::error file=known.yaml,line=4,title=stale a/x::ticket CHAT-12")


def test_what_harms_most_comes_first_with_the_case_that_is_cut_least() -> None:
    """A crash in one case before three cases of something else; a case without a cut before one with a shorter id."""
    forgotten = [judged(f"a/{n}", FORGOTTEN) for n in range(3)]
    crashed = [judged("m/cut", EXITED, size=102), judged("z/uncut", EXITED, size=2)]
    groups = group_failures([*forgotten, *crashed])
    assert [group.cause.codes for group in groups] == [(EXITED,), (FORGOTTEN,)]
    assert groups[0].smallest.id == "z/uncut"
