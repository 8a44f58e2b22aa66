"""The summary of an application's run, and what it is compared with, on results that are written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tpharness.errors import InputError
from tpharness.findings import Finding, Kind, Level, Place, load_kinds
from tpharness.report import ConsoleReport, Report
from tpharness.report.comparison import read_earlier
from tpharness.report.html import render_html
from tpharness.report.json import render_json
from tpharness.report.markdown import render_markdown
from tpharness.verdict import Outcome, Result, ResultReady, RunStarted
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.case_run import finish_run

BRICKED, FORGOTTEN, LOST = "chat-bricked", "effect-forgotten", "answer-lost"


def case(name: str, *codes: str) -> Result:
    """Return a case with these findings; it passes without one."""
    found = tuple(Kind(code).at(Place(case=name)) for code in codes)
    return Result(id=name, outcome=Outcome.FAILED if found else Outcome.PASSED, findings=found)


def entry(name: str, code: str, reason: str = "until #12") -> BaselineEntry:
    """Return an entry of a baseline."""
    return BaselineEntry(id=name, findings=frozenset({code}), clauses=(), reason=reason)


def report_on(*results: Result, known: tuple[BaselineEntry, ...] = (), problems: tuple[Finding, ...] = ()) -> Report:
    """Return the report on a run of an application with these results and a baseline."""
    baseline = Baseline(entries={one.id: one for one in known}, path="known.yaml")
    judged = [baseline.apply(one) for one in results]
    report = Report()
    report.feed(
        RunStarted(scenarios=len(judged), server="chat (openai-chat)", client="client", versions=(), application="chat")
    )
    for one in judged:
        report.feed(ResultReady(result=one))
    report.feed(finish_run(judged, problems, 1.5))
    return report


def test_the_summary_begins_with_the_verdict() -> None:
    """It names no protocol that was not played, and says in how many cases."""
    lines = render_markdown(report_on(case("a/x"), case("a/y", BRICKED))).splitlines()
    assert lines[0] == "## tpharness app chat"
    assert lines[2] == "**Not interruption-safe**: 1 of 2 cases failed."
    assert not [line for line in lines if line.startswith("## ThreadProtocol")]
    (row,) = [line for line in lines if line.startswith("| a/y |")]
    assert "chat-bricked: after an interruption the chat is unusable" in row
    assert "give every call a result" in row
    safe = render_markdown(report_on(case("a/x")))
    assert "**interruption-safe** in the one case that applies. This is not a statement about ThreadProtocol." in safe


def test_a_known_failure_stands_there_with_its_reason() -> None:
    """And an application that has one is not safe."""
    text = render_markdown(report_on(case("a/x"), case("a/y", BRICKED), known=(entry("a/y", BRICKED),)))
    assert "**Not interruption-safe**: 1 of 2 cases fail as the baseline says." in text
    assert r"| a/y | chat-bricked | until \#12 |" in text
    assert "### Failed" not in text


def test_what_fails_now_comes_before_an_entry_that_is_outdated() -> None:
    """Two cases fail in another way than the baseline says, one passes."""
    known = tuple(entry(name, BRICKED) for name in ("a/x", "a/y", "a/z"))
    report = report_on(case("a/x"), case("a/y", FORGOTTEN), case("a/z", FORGOTTEN), known=known)
    text = render_markdown(report)
    failed, outdated = text.index("| a/y, a/z | effect-forgotten:"), text.index("Passes now, take it out")
    assert failed < outdated
    assert "**Not interruption-safe**: 2 of 3 cases failed." in text
    assert "baseline-stale" not in text
    entries = "- The baseline expects chat-bricked of a/y, a/z, which fail otherwise now: correct that, or"
    assert failed < text.index(entries) < outdated


def test_a_case_that_fails_in_two_ways_names_both() -> None:
    """The cause that is explained is not all that has to be corrected."""
    text = render_markdown(report_on(case("a/x", BRICKED, FORGOTTEN)))
    (row,) = [line for line in text.splitlines() if line.startswith("| a/x |")]
    assert "no later message reaches the model; also effect-forgotten |" in row


def test_nothing_is_called_safe_that_was_not_judged() -> None:
    """A run that broke, one of nothing, one that ended early."""
    broken = Result(id="a/x", outcome=Outcome.ERRORED, reason="no answer")
    assert "**Not judged**: 1 of 2 cases could not be judged." in render_markdown(report_on(case("a/y"), broken))
    unplayed = Result(id="a/x", outcome=Outcome.NOT_APPLICABLE, reason="no stop button")
    assert "**Not judged**: none of 1 case applied." in render_markdown(report_on(unplayed))
    early = report_on(case("a/x"))
    early.finished = None
    early.stop("interrupted by SIGTERM", "SIGTERM")
    assert "**Not judged**: the run did not come to its end: interrupted by SIGTERM" in render_markdown(early)


@pytest.fixture
def main_branch(tmp_path: Path) -> Path:
    """Write the report of the main branch: two cases fail, one in two ways, and one passes."""
    file = tmp_path / "main.json"
    results = (case("a/x", BRICKED), case("a/y", BRICKED, LOST), case("a/z"), case("a/gone", BRICKED))
    file.write_text(render_json(report_on(*results)), "utf-8")
    return file


def test_the_difference_to_the_main_branch_is_named(main_branch: Path) -> None:
    """New, gone and still there by finding and case, whatever a baseline says of them; unplayed is not gone."""
    report = report_on(case("a/x"), case("a/y", BRICKED), case("a/z", FORGOTTEN), known=(entry("a/y", BRICKED),))
    report.earlier = read_earlier(main_branch)
    found = report.earlier.compare(report.results)
    assert (found.new, found.still) == ({FORGOTTEN: ("a/z",)}, {BRICKED: ("a/y",)})
    assert found.gone == {BRICKED: ("a/x",), LOST: ("a/y",)}
    lines = render_markdown(report).splitlines()
    told = "Compared with main.json: 1 new, 2 gone, 1 still there; not judged now: 1 case that failed."
    assert lines.index(told) < lines.index("### Failed")
    at = lines.index("| **new** | effect-forgotten | a/z |")
    assert lines[at + 1 : at + 4] == [
        "| gone | chat-bricked | a/x |",
        "| gone | answer-lost | a/y |",
        "| still | chat-bricked | a/y |",
    ]


def test_what_is_new_is_explained_before_what_was_there(tmp_path: Path) -> None:
    """Also where more fails than the comment explains, and on the page."""
    before = [case(f"a/{code}", code) for code in _codes("apps")[:9] if code != LOST]
    (file := tmp_path / "main.json").write_text(render_json(report_on(*before)), "utf-8")
    report = report_on(*before, case("b/new", LOST))
    assert "| b/new | answer-lost: " not in render_markdown(report)
    report.earlier = read_earlier(file)
    lines = render_markdown(report).splitlines()
    assert lines[lines.index("### Failed") + 4].startswith("| b/new | answer-lost: ")
    causes = render_html(report).partition("<h2>Causes</h2>")[2]
    assert causes.index("b/new") < min(causes.index(one.id) for one in before)


def test_the_console_begins_with_what_is_new(main_branch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And calls it so; without an earlier report it begins with the most harm."""
    results = (case("a/x", BRICKED), case("a/z", FORGOTTEN))
    heads = []
    for earlier in (None, read_earlier(main_branch)):
        console = ConsoleReport(again="tpharness app chat {id}", earlier=earlier)
        console.feed(RunStarted(scenarios=2, server="chat", client="client", versions=(), application="chat"))
        for one in results:
            console.feed(ResultReady(result=one))
        console.feed(finish_run(results, (), 1.5))
        text = capsys.readouterr().out
        heads.append([line for line in text.splitlines() if line.endswith((" a/x", " a/z")) and "FAILED" in line])
        first = "what is new, 1 cause" if earlier is not None else "the one that harms the user most"
        assert f"2 cases failed for 2 causes; first {first}\n" in text
    assert heads == [["FAILED a/x", "FAILED a/z"], ["NEW FAILED a/z", "FAILED a/x"]]


def test_the_page_says_the_difference_and_links_what_is_new(main_branch: Path) -> None:
    """As the comment does; a case that failed is a link to its place, one that passes now is none."""
    report = report_on(case("a/x"), case("a/y", BRICKED), case("a/<z>", FORGOTTEN), known=(entry("a/y", BRICKED),))
    assert "Since the earlier report" not in render_html(report)
    report.earlier = read_earlier(main_branch)
    section = render_html(report).partition("<h2>Since the earlier report</h2>")[2].partition("</section>")[0]
    words = "Compared with main.json: 1 new, 2 gone, 1 still there; not judged now: 1 case that failed."
    assert f"<p>{words}</p>" in section
    new, gone, lost, still = (row.replace("<td>", "|") for row in section.split("<tr>")[2:])
    assert ">new</span>" in new
    assert "<code>effect-forgotten</code>" in new
    place = new.partition('<a href="#')[2].partition('"')[0]
    assert f'id="{place}"' in render_html(report)
    assert ">a/&lt;z&gt;</a>" in new
    for row, word, code, name in ((gone, "gone", BRICKED, "a/x"), (lost, "gone", LOST, "a/y")):
        assert (f">{word}</span>" in row, f"<code>{code}</code>" in row, f"|{name}<" in row) == (True,) * 3
    assert ">still</span>" in still


def test_a_report_on_another_application_and_an_incomplete_one_are_named(main_branch: Path) -> None:
    """The difference is then not what it seems."""
    document = json.loads(main_branch.read_text("utf-8"))
    main_branch.write_text(json.dumps({**document, "server": "other", "incomplete": {"played": 1}}), "utf-8")
    report = report_on(case("a/x"))
    report.earlier = read_earlier(main_branch)
    told = "Compared with main.json, which is the report on other, which is incomplete: "
    assert told in render_markdown(report)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b'{"format": "tpharness-report/1"}', b"[" * 100_000])
def test_what_is_no_report_is_refused(data: bytes, tmp_path: Path) -> None:
    """With the option that writes one."""
    (file := tmp_path / "r.json").write_bytes(data)
    with pytest.raises(InputError, match=r"--compare-to .*r\.json") as raised:
        read_earlier(file)
    assert "--report json:FILE" in raised.value.hint
    with pytest.raises(InputError, match="No such file"):
        read_earlier(tmp_path / "none.json")


def test_the_comment_has_at_most_60_lines(tmp_path: Path) -> None:
    """Of a run in which everything is wrong that can be, in more ways than are shown."""
    codes = [*_codes("apps")][:24]
    before = report_on(*(case(f"b/{code}", code) for code in codes), *(case(f"c/{code}", code) for code in codes))
    (file := tmp_path / "main.json").write_text(render_json(before), "utf-8")
    should = [kind.code for kind in load_kinds().values() if kind.room == "apps" and kind.level is Level.SHOULD]
    results = [replace(case(f"s/{code}", code), outcome=Outcome.PASSED) for code in should]
    results += [case(f"a/{code}", code) for code in codes] + [case(f"b/{code}", code) for code in codes]
    results += [case(f"c/{code}") for code in codes] + [case(f"d/{n}@thread-protocol", LOST) for n in range(9)]
    known = [entry(f"b/{code}", code, f"reason {code}") for code in codes] + [entry(f"c/{codes[0]}", codes[0])]
    problems = tuple(Kind("baseline-unmatched").at(Place(case=str(n))) for n in range(9))
    report = report_on(*results, known=tuple(known), problems=problems)
    report.earlier = read_earlier(file)
    assert report.started is not None
    report.started = replace(report.started, unseen="Effects are not counted.")
    lines = render_markdown(report).splitlines()
    assert 50 < len(lines) <= 60
    assert [word for word in ("more cause", "more reason", "more problem") if word not in "\n".join(lines)] == []


def _codes(room: str) -> list[str]:
    return [kind.code for kind in load_kinds().values() if kind.room == room and kind.level is Level.MUST]
