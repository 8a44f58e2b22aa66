"""What each report says of the same events: nothing is judged again, and nothing that failed is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest

from tpharness.checks import NotApplicable
from tpharness.errors import UsageError
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.versions import Version
from tpharness.report import ConsoleReport, Report, failure_lines, parse_reports, render_json
from tpharness.report.junit import render_junit
from tpharness.resources import schema_path
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.verdict.result import Outage

KIND = Kind("second-output")


def finding(message: str = "") -> Finding:
    """Return a finding with got and expected."""
    return KIND.at(Place(pointer="/turns/1"), message, got="<b>&\x00", expected="]]>")


def events(*results: Result, problems: tuple[Finding, ...] = ()) -> list[RunEvent]:
    """Return the events of a run with these results; green results alone pass, and nothing played does not."""
    counts = {outcome: n for outcome in Outcome if (n := sum(r.cases for r in results if r.outcome is outcome))}
    green = bool(results) and all(result.outcome.green for result in results) and not problems
    return [
        RunStarted(scenarios=len(results), server="[red]mine", client="reference", versions=("0.0.4",)),
        *(event for r in results for event in (ResultReady(result=r), ScenarioFinished(id=r.id))),
        RunFinished(passed=green, counts=counts, seconds=1.25, problems=problems, clause_count=3),
    ]


def report_of(told: list[RunEvent]) -> Report:
    """Fold events."""
    report = Report()
    for event in told:
        report.feed(event)
    return report


EVERY_OUTCOME = [
    Result(id=f"theme/{outcome.value}", outcome=outcome, findings=(finding("it's \ud83d"),), reason="a reason")
    for outcome in Outcome
]
SILENT = Result(id="theme/silent", outcome=Outcome.ERRORED, outage=Outage(what="no answer", began=True))


def test_the_json_report_fits_its_schema_whatever_the_outcomes() -> None:
    """Every outcome, a problem of the run, and text that has no UTF-8."""
    text = render_json(report_of(events(*EVERY_OUTCOME, SILENT, problems=(finding(),))))
    schema = json.loads(schema_path("report").read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(schema).validate(json.loads(text.encode()))


def test_the_junit_report_is_xml_that_counts_every_outcome() -> None:
    """Failed and stale fail; errored and could-not-run are errors; known departures are skipped, with the reason."""
    suite = ET.fromstring(render_junit(report_of(events(*EVERY_OUTCOME))).encode())  # noqa: S314  # our own
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "9",
        "failures": "2",
        "errors": "2",
        "skipped": "3",
    }
    tags = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert tags["passed"] == tags["run"] == []
    assert tags["failed"] == tags["stale"] == ["failure"]
    assert tags["errored"] == tags["could-not-run"] == ["error"]
    assert tags["expected"] == tags["not-applicable"] == tags["no-part"] == ["skipped"]


UNJUDGED = [
    Result(id="a/one", outcome=Outcome.PASSED, played_again=2),
    Result(id="a/two", outcome=Outcome.NO_PART, reason="asked nothing"),
    Result(id="a/three", outcome=Outcome.NOT_APPLICABLE, reason="no marks", cases=4),
    Result(id="a/four", outcome=Outcome.NOT_APPLICABLE, reason="no marks"),
    Result(id="a/five", outcome=Outcome.NOT_APPLICABLE, reason="no carriers", played_again=1),
]


def test_what_has_no_verdict_is_counted_by_reason_and_what_was_played_again_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In every format: the last lines of the console, the JSON report, the properties of the JUnit suite."""
    console = ConsoleReport()
    for event in events(*UNJUDGED):
        console.feed(event)
    shown = capsys.readouterr().out
    assert (
        "1 does not use the target, by reason:\n      1  asked nothing\n"
        "6 not applicable, by reason:\n      5  no marks\n      1  no carriers\n"
        "played again, since this machine's own timers were late: 2 cases (a/one, a/five)\n"
    ) in shown
    told = json.loads(render_json(report_of(events(*UNJUDGED))))
    assert told["reasons"] == {"no-part": {"asked nothing": 1}, "not-applicable": {"no marks": 5, "no carriers": 1}}
    assert told["played_again"] == {"cases": 2, "ids": ["a/one", "a/five"]}
    assert [result["played_again"] for result in told["results"]] == [2, 0, 0, 0, 1]
    suite = ET.fromstring(render_junit(report_of(events(*UNJUDGED))).encode())  # noqa: S314  # our own
    properties = [(one.get("name"), one.get("value")) for one in suite.iter("property")]
    assert properties == [
        ("played_again", "2"),
        ("played_again_case", "a/one"),
        ("played_again_case", "a/five"),
    ]


@pytest.mark.parametrize(
    ("verbosity", "said"),
    [
        (0, ["not checked: prefix in 0.0.3, 0.0.4; integrity in 0.0.4 (-v says why; tpharness explain prefix"]),
        (
            1,
            [
                "prefix checked nothing in 0.0.3, 0.0.4 (2 cases): lost",
                "integrity checked nothing in 0.0.4 (2 cases): kept",
            ],
        ),
    ],
)
def test_what_a_check_never_judged_is_named_in_a_line(
    verbosity: int, said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """However many reasons there were; they are shown with -v."""
    lost, kept = NotApplicable(reason="lost"), NotApplicable(reason="kept")
    silent = {Version.V0_0_3: {"prefix": lost}, Version.V0_0_4: {"integrity": kept, "prefix": lost}}
    console = ConsoleReport(verbosity=verbosity)
    for event in events(*(Result(id=name, outcome=Outcome.PASSED, not_judged=silent) for name in ("a/one", "a/two"))):
        console.feed(event)
    lines = [line for line in capsys.readouterr().out.splitlines() if "checked" in line]
    assert [line[: len(start)] for line, start in zip(lines, said, strict=True)] == said


ADVISED = Result(
    id="theme/advised", outcome=Outcome.PASSED, cases=2, findings=(Kind("done-missing").at(Place(side="client")),)
)


def advised_by(server: str, told: list[RunEvent], capsys: pytest.CaptureFixture[str], verbosity: int = 0) -> str:
    """Return what the console prints of a run of the built-in scenarios on a server."""
    console = ConsoleReport(verbosity=verbosity)
    console.feed(RunStarted(scenarios=2, server=server, client="reference", versions=("0.0.4",), roots=()))
    for event in told[1:]:
        console.feed(event)
    return capsys.readouterr().out


def test_what_is_found_at_should_is_counted_by_kind_and_named_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that passes has no block of its own."""
    told = events(ADVISED, replace(ADVISED, id="theme/other", cases=1))
    for verbosity in (0, 1):
        shown = advised_by("mine", told, capsys, verbosity)
        assert "SHOULD done-missing in 3 cases: the stream ended after finish or abort without [DONE]" in shown
        assert ("passed, but SHOULD done-missing: theme/advised (2 cases)\n" in shown) is bool(verbosity)


def test_the_reference_alone_is_not_advised(capsys: pytest.CaptureFixture[str]) -> None:
    """What it shows is what its scenarios are about."""
    assert "SHOULD" not in advised_by("reference", events(ADVISED), capsys)


def test_many_reasons_are_cut_and_still_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """The most frequent come first; the others are one line with their sum."""
    console = ConsoleReport()
    many = [Result(id=f"a/{n}", outcome=Outcome.NOT_APPLICABLE, reason=f"reason {n}", cases=50 - n) for n in range(20)]
    for event in events(*many):
        console.feed(event)
    shown = capsys.readouterr().out
    assert "     50  reason 0\n" in shown
    assert "reason 12" not in shown
    assert f"    {sum(50 - n for n in range(12, 20))}  8 other reasons" in shown


def test_what_fails_the_whole_run_fails_in_the_junit_report_too() -> None:
    """A CI server that reads only the XML does not see green when the run failed."""
    passed = Result(id="theme/name", outcome=Outcome.PASSED)
    for told in (events(passed, problems=(finding("stale"),)), events(), events(passed)[:-1]):
        report = report_of(told)
        assert not report.passed
        suite = ET.fromstring(render_junit(report).encode())  # noqa: S314  # our own
        assert suite.get("failures") == "1"


def test_a_run_that_played_nothing_has_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict is FAILED, with a hint how places are called."""
    console = ConsoleReport()
    for event in events():
        console.feed(event)
    shown = capsys.readouterr().out
    assert "nothing was played" in shown
    assert "FAILED 0 scenarios, 0 cases" in shown


def test_the_console_shows_each_failure_and_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """Id, outcome, finding, place, got, expected, ruling, remedy; known departures with their reasons; counts."""
    console = ConsoleReport()
    for event in events(*EVERY_OUTCOME):
        console.feed(event)
    shown = capsys.readouterr().out
    assert "server [red]mine" in shown  # text of others is never taken for markup
    for part in (
        "FAILED theme/failed",
        "second-output: it's \\ud83d",
        "at        /turns/1",
        "got       <b>&\\x00",
        "expected  ]]>",
        "decided   by R14 (tpharness explain R14)",
        f"to do     {KIND.remedy}",
        "known differences (1)",
        "theme/expected: a reason",
        "FAILED 8 scenarios, 8 cases (1 passed, 1 failed, 1 known difference",
        "0 of 3 rules tested, 1.2 s",
    ):
        assert part in shown
    assert "PASSED theme/passed" not in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_follow_terminal_and_environment(
    environment: dict[str, str], coloured: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None in a pipe, as here; none with NO_COLOR even where colours are forced."""
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    console = ConsoleReport()
    for event in events(EVERY_OUTCOME[1]):
        console.feed(event)
    console.close()
    shown = capsys.readouterr().out
    assert ("\x1b[31m" in shown or "\x1b[1;31m" in shown) == coloured


def test_the_console_gives_way_to_a_report_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """Then it writes to standard error."""
    console = ConsoleReport(stderr=True)
    for event in events(*EVERY_OUTCOME):
        console.feed(event)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "FAILED theme/failed" in captured.err


def test_the_command_that_replays_a_failure_can_be_copied() -> None:
    """With the folders of scenarios that are not built in, quoted for a shell; not for what the harness broke."""
    failed = Result(id="mine/wrong@event-3", outcome=Outcome.FAILED, findings=(finding(),))
    assert failure_lines(failed)[-1][1].endswith("tpharness replay mine/wrong@event-3")
    own = failure_lines(failed, roots=(Path("my scenarios"),))[-1][1]
    assert own.endswith("tpharness replay mine/wrong@event-3 --scenarios 'my scenarios'")
    errored = Result(id="mine/broken", outcome=Outcome.ERRORED, reason="no such target")
    assert failure_lines(errored) == [("", "no such target")]


def test_a_failure_whose_findings_cite_no_clause_names_those_of_its_scenario() -> None:
    """That two threads differ breaks what the scenario is about; a finding that cites a clause says more."""
    differs = Kind("identity-differs").at(Place(pointer="/turns/1"))
    about = "the scenario is about cycle.kept, sync.identity (tpharness explain cycle.kept)"

    def lines(*findings: Finding, history: str = "") -> list[str]:
        clauses = ("cycle.kept", "sync.identity")
        failed = Result(id="a/b", outcome=Outcome.FAILED, findings=findings, clauses=clauses)
        return [line for _, line in failure_lines(failed, history=history)]

    assert about in lines(differs)
    assert about not in lines(differs, finding())
    assert about not in lines(differs, history="langchain/repaired")


def test_many_findings_are_cut_short_with_a_word() -> None:
    """The console names six and says how many more there are, and where."""
    many = Result(id="a/b", outcome=Outcome.FAILED, findings=tuple(finding(f"number {n}") for n in range(9)))
    text = "\n".join(line for _, line in failure_lines(many))
    assert "number 5" in text
    assert "number 6" not in text
    assert "3 more findings (--report json:PATH has them all)" in text


def test_reports_are_named_by_format_and_path() -> None:
    """The console alone when nothing is named."""
    assert parse_reports([]) == (True, [])
    console, (first, second) = parse_reports(["json:a:b.json", "junit:-"])
    assert not console
    assert [(first.format, first.path), (second.format, second.path)] == [("json", "a:b.json"), ("junit", "-")]
    assert parse_reports(["console", "json:x"])[0]


@pytest.mark.parametrize("specs", [["xml:a"], ["json"], ["json:"], ["console:a"], ["json:a", "junit:a"], ["json:."]])
def test_a_report_that_cannot_be_is_refused_before_the_run(specs: list[str]) -> None:
    """Unknown formats, no path, one path for two reports, a folder: told before anything is played."""
    with pytest.raises(UsageError):
        parse_reports(specs)
