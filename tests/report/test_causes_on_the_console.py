"""Many failures with one cause are one block; every one of them is in the other reports."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from tests.report.test_reports import events, report_of

from tpharness.findings import Finding, Kind, Place
from tpharness.report import ConsoleReport, render_json
from tpharness.report.failures import case_command, failure_lines, wrap_line
from tpharness.report.junit import render_junit
from tpharness.verdict import Outcome, Result, RunEvent

DIFFERS = Kind("identity-differs")


def failing(count: int, symptom: str = "a part (text) differs", theme: str = "a") -> list[Result]:
    """Return so many failures of one cause, the smallest last."""
    return [
        Result(
            id=f"{theme}/case-{n}",
            outcome=Outcome.FAILED,
            size=count - n,
            findings=(wrong(f"text number {n}", symptom),),
            clauses=("sync.identity",),
        )
        for n in range(count)
    ]


def wrong(message: str, symptom: str) -> Finding:
    """Return a difference on the server's side."""
    return DIFFERS.at(Place(side="server"), message, symptom=symptom)


def shown(told: list[RunEvent], capsys: pytest.CaptureFixture[str], *, verbosity: int = 0) -> str:
    """Return what the console prints of events."""
    console = ConsoleReport(verbosity=verbosity)
    for event in told:
        console.feed(event)
    console.close()
    return capsys.readouterr().out


def test_one_cause_is_one_block_however_many_cases_it_has(capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest case, how many more, three of them by name; never a thousand lines."""
    text = shown(events(*failing(143)), capsys)
    assert "FAILED a/case-142 and 142 more\n  identity-differs: text number 142\n" in text
    assert "the same in a/case-141, a/case-140, a/case-139, … (-v shows every case" in text
    assert text.count("identity-differs") == 1
    assert len(text.splitlines()) < 30


def test_the_other_cases_are_counted_without_the_one_that_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Of three others no four fail for more than this cause."""
    two = (Kind("message-empty").at(Place(side="server")), Kind("second-output").at(Place(side="server")))
    results = [replace(one, findings=two) for one in failing(4)]
    text = shown(events(*results), capsys)
    assert "the same in a/case-2, a/case-1, a/case-0 (" in text
    assert "; 3 of them fail for other causes, too\n" in text


def test_findings_of_several_levels_are_labelled() -> None:
    """What fails the case is known from what does not, without colours; where all have one level nothing is added."""
    (result,) = failing(1)
    must, should = Kind("chat-bricked").at(Place()), Kind("runs-on").at(Place())
    mixed = replace(result, findings=(should, Kind("told-more-than-seen").at(Place()), must))
    codes = ("chat-bricked", "runs-on", "told-more-than-seen")
    first = [line.partition(":")[0] for _, line in failure_lines(mixed) if line.partition(":")[0].endswith(codes)]
    assert first == ["MUST chat-bricked", "SHOULD runs-on", "policy told-more-than-seen"]
    plain = [line for _, line in failure_lines(replace(result, findings=(must,)))]
    assert f"chat-bricked: {must.message}" in plain


def test_the_cause_of_most_cases_comes_first_and_many_causes_are_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Eight blocks, thirty lines, and the number of what is beyond."""
    results = [one for n in range(50) for one in failing(1 + n, f"symptom {n}", f"t{n}")]
    text = shown(events(*results), capsys)
    assert f"{len(results)} cases failed for 50 causes; first the one that concerns most of them" in text
    assert text.index("FAILED t49/case-49 and 49 more") < text.index("FAILED t42/case-42 and 42 more")
    assert "   42  identity-differs at server: symptom 41 [sync.identity, R39], smallest t41/case-41\n" in text
    assert "and 12 more causes with 78 cases (--report json:PATH has them all)" in text
    assert len(text.splitlines()) < 150


def test_verbose_is_every_case_as_it_ends_and_quiet_a_line_for_a_cause(capsys: pytest.CaptureFixture[str]) -> None:
    """-v has what was printed always; -q has the causes and the verdict."""
    results = [*failing(3), Result(id="b/swept@event-*", outcome=Outcome.PASSED, cases=9)]
    verbose = shown(events(*results), capsys, verbosity=1)
    assert all(f"FAILED a/case-{n}\n  identity-differs: text number {n}\n" in verbose for n in range(3))
    assert "passed b/swept@event-* (9 cases)\n" in verbose
    assert "more\n" not in verbose
    quiet = shown(events(*results), capsys, verbosity=-1).splitlines()
    assert quiet[1:] == [
        "",
        "causes:",
        "      3  identity-differs at server: a part (text) differs [sync.identity, R39], smallest a/case-2",
        "",
        "FAILED 4 scenarios, 12 cases (9 passed, 3 failed), 0 of 3 rules tested, 1.2 s",
    ]


def test_a_run_that_does_not_end_still_shows_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    """Closing prints it, and only once."""
    assert shown(events(*failing(2))[:-1], capsys).count("FAILED a/case-1 and 1 more") == 1
    assert shown(events(*failing(2)), capsys).count("FAILED a/case-1") == 1


def test_the_other_reports_have_every_case_with_its_cause() -> None:
    """The JSON report lists the causes besides, JUnit has the cause as the type of the failure."""
    results = [*failing(3), Result(id="b/ok", outcome=Outcome.PASSED, clauses=("sync.identity",))]
    told = json.loads(render_json(report_of(events(*results))))
    cause = "identity-differs at server: a part (text) differs [R39]"
    assert [result.get("cause") for result in told["results"]] == [cause, cause, cause, None]
    assert [(one["cause"], one["cases"], one["smallest"], len(one["ids"])) for one in told["causes"]] == [
        (cause, 3, "a/case-2", 3)
    ]
    assert told["next_profile"] == "stream"
    assert told["profiles"][0]["causes"] == [cause]
    suite = ET.fromstring(render_junit(report_of(events(*results))).encode())  # noqa: S314  # our own
    assert [failure.get("type") for failure in suite.iter("failure")][:3] == [cause] * 3


def test_the_last_lines_are_the_verdict_and_what_to_change(capsys: pytest.CaptureFixture[str]) -> None:
    """Of several causes the first may have left the screen; of one, its block stands there."""
    several = shown(events(*failing(3), *failing(2, "another", "b")), capsys).splitlines()
    assert several[-1].startswith("FAILED ")
    assert several[-4].startswith("correct first: 3  identity-differs")
    assert several[-3] == f"  {DIFFERS.remedy}"
    assert "correct first" not in shown(events(*failing(3)), capsys)


def test_what_was_not_judged_stands_above_the_failures_and_only_if_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing that is no failure stands between what to do and the prompt."""
    left = Result(id="b/left", outcome=Outcome.NOT_APPLICABLE, reason="a capability is missing")
    usual = shown(events(*failing(1), left), capsys)
    assert "a capability is missing" not in usual
    asked = shown(events(*failing(1), left), capsys, verbosity=1)
    assert "a capability is missing" in asked
    assert usual.index("profiles, by scenarios") < usual.index("FAILED a/case-0")
    passed = shown(events(left), capsys)
    assert "a capability is missing" in passed


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("    to do     send the start first", ["    to do     send the start", "              first"]),
        ("  identity-differs: a part differs", ["  identity-differs: a part", "    differs"]),
        (
            "  see it: tpharness replay case --server http://host",
            ["  see it: tpharness replay case --server http://host"],
        ),
        ("  a-word-that-is-longer-than-the-terminal", ["  a-word-that-is-longer-than-the-terminal"]),
        ("  short", ["  short"]),
    ],
)
def test_words_stay_whole_in_a_narrow_terminal(line: str, lines: list[str]) -> None:
    """What follows stands below what it belongs to; a command stays one line, so that it can be copied."""
    assert wrap_line(line, 30) == lines


@pytest.mark.parametrize(
    ("name", "history", "command"),
    [
        ("a/b@event-3", "", "tpharness replay a/b@event-3 --server x"),
        ("a/b@fault-reset", "", "tpharness run a/b@fault-reset --server x"),
        ("a/b", "langchain", "tpharness run a/b --dialect langchain --server x"),
    ],
)
def test_the_command_of_a_case_plays_it(name: str, history: str, command: str) -> None:
    """On the console and on the page: `replay` knows neither faults nor histories."""
    result = Result(id=name, outcome=Outcome.FAILED)
    assert case_command(result, roots=(), played_on=("--server", "x"), history=history) == command


def test_what_both_sides_hold_wrongly_is_said_once() -> None:
    """Two findings that differ by their side alone are one; what one side alone holds is said of that side."""
    both = [wrong("a text", "s").with_place(side=side, pointer="/turns/1") for side in ("server", "client")]
    alone = wrong("another", "s").with_place(side="client", pointer="/turns/2")
    result = Result(id="a/one", outcome=Outcome.FAILED, findings=(*both, alone), clauses=())
    places = [line.strip() for _, line in failure_lines(result) if line.startswith("  at")]
    assert places == ["at        server and client /turns/1", "at        client /turns/2"]


def test_of_many_clauses_five_are_named() -> None:
    """A scenario that shows everything is about forty rules; nobody reads all of them."""
    finding = Kind("outline-differs").at(Place(side="server"))
    result = Result(
        id="a/one", outcome=Outcome.FAILED, findings=(finding,), clauses=tuple(f"a.r{n}" for n in range(44))
    )
    about = next(line for _, line in failure_lines(result) if line.startswith("the scenario is about"))
    assert about == "the scenario is about a.r0, a.r1, a.r2, a.r3, a.r4 and 39 more (tpharness explain a.r0)"


def test_in_a_terminal_of_eighty_columns_no_word_is_broken_but_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is wider, the verdict too; a command stays one line, to be copied. Little stands below the remedy."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    passed = [Result(id=f"b/{one.value}", outcome=one, cases=1000) for one in Outcome if one.green]
    two = [*failing(30), *failing(12, "a turn (agent) is only on the server side, and its messages with it", "c")]
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown(events(*passed, *two), capsys))
    wide = [line for line in text.splitlines() if len(line) > 80]
    assert all(": tpharness " in line for line in wide)
    last = text.rstrip().splitlines()[-12:]
    assert any(line.startswith("correct first: 30") for line in last)
    verdict = next(n for n, line in enumerate(last) if line.startswith("FAILED "))
    assert len(last) - verdict <= 3
    assert "rules tested" in " ".join(last[verdict:])
    assert all(len(line) > 40 for line in last[verdict:-1])  # filled, and not broken by the terminal
