"""The page of a run: its tables need no script, its links lead somewhere, and it says who played what it shows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import unquote

import pytest
from tests.picture.looking import look_at
from tests.picture.test_page import HOSTILE, Elements
from tests.report.test_reports import EVERY_OUTCOME, events, finding, report_of
from tests.scenarios import load_builtin

from tpharness.clauses import load_rulings
from tpharness.picture import PageEntry, timeline_of_case
from tpharness.readings import Readings, UnfinishedRule
from tpharness.report import Report, parse_reports
from tpharness.report.html import render_html, render_html_of_several
from tpharness.report.html_find import find_words, tools_of
from tpharness.resources import scenarios_dir
from tpharness.run import RunOptions, run_suite
from tpharness.run.plan import base_case
from tpharness.scenario_files import find_files
from tpharness.targets import Capabilities, Script, TargetOutput
from tpharness.targets.reference import ReferenceServer, serve_turns
from tpharness.verdict import Outcome, Result, RunStarted
from tpharness.verdict.grouping import group_failures

SWEPT = "cycles/three-steps"


class KeepsCompleteParts:
    """A server that keeps the complete parts of a response that was still streaming (an alternative of R20)."""

    capabilities = Capabilities(name="keeps-parts")

    def server_session(self, script: Script) -> ReferenceServer:
        return ReferenceServer(replace(script, readings=Readings(R20=UnfinishedRule.COMPLETE_PARTS)))

    async def serve(self, script: Script) -> TargetOutput:
        session = self.server_session(script)
        streams = serve_turns(session, script.turns)
        return TargetOutput(threads=session.threads(), findings=session.findings(), streams=streams)


TARGET = KeepsCompleteParts()


def played(*ids: str, server: str = "reference") -> Report:
    """Play scenarios and return the report."""
    return report_of(list(run_suite(RunOptions(ids=ids, server=server))))


@pytest.fixture(scope="module")
def broken() -> Report:
    """A run of a server that is wrong at some places of a sweep."""
    return played(SWEPT, "basics/parallel-returns-in-call-order", server=f"python:{__name__}:TARGET")


def cases(page: str) -> list[dict[str, Any]]:
    """Return what the page's script is told of its cases."""
    (data,) = [text for attrs, text in Elements(page).named("script") if attrs.get("id") == "page-data"]
    found: list[dict[str, Any]] = json.loads(data)["cases"]
    return found


def hrefs(page: str) -> Iterator[str]:
    """Yield where the links lead."""
    for attrs, _ in Elements(page).named("a"):
        yield str(attrs["href"])


def test_a_failed_run_shows_causes_findings_and_the_places_that_failed(broken: Report) -> None:
    """The cause, what to do, a strip, and the sweep's timeline first, with a word on who played it."""
    page = render_html(broken)
    assert '<span class="verdict bad">failed</span>' in page
    assert "thread-departs" in page or "identity-differs" in page
    wrong = [result for result in broken.results if not result.outcome.green]
    assert page.count('<details class="result"') == len(wrong)
    first = cases(page)[0]
    assert first["id"] == SWEPT
    assert first["failed"] == [result.id.partition("@")[2] for result in wrong if result.id.startswith(SWEPT)]
    assert first["note"].startswith("Played by the reference: what keeps-parts really sent is in the traced cases")
    assert f"{SWEPT}: wrong at {len(set(first['failed']))} of" in page


def test_the_page_opens_at_the_first_cause_and_folds_what_did_not_fail(broken: Report) -> None:
    """The timeline that is shown is that of the smallest case of the first cause; a green page folds no table."""
    page = render_html(broken)
    assert cases(page)[0]["id"] == group_failures(broken.results)[0].smallest.id.partition("@")[0]
    assert '<section class="aside"><details><summary><h2>Profiles</h2>' in page
    assert page.count('<details class="result"') > page.count(" open><summary><span class=")
    green = render_html(played("basics/tool-call-and-answer"))
    assert "<section><h2>Profiles</h2><div" in green


def test_what_was_not_judged_is_said_in_words() -> None:
    """Not with the code of its outcome, as `no-part`."""
    of_a_client = "stream/approval-for-an-unknown-call"  # it gives the stream itself, and asks nothing of a server
    page = render_html(played(of_a_client, "basics/tool-call-and-answer", server=f"python:{__name__}:TARGET"))
    words = page.partition("<h2>Not judged</h2>")[2].partition("</section>")[0]
    assert "1 does not use the target" in words
    assert "no-part" not in words


def test_every_link_leads_somewhere(broken: Report) -> None:
    """To a case that is on the page, or to the timeline of a scenario that is there."""
    page = render_html(broken)
    ids = {attrs["id"] for _, attrs, _ in Elements(page).found if "id" in attrs}
    known = {case["id"] for case in cases(page)}
    for href in hrefs(page):
        if href.startswith("#view/"):
            assert unquote(href.removeprefix("#view/")).partition("@")[0] in known
        else:
            assert href.removeprefix("#") in ids


def test_the_clauses_are_counted_by_version(broken: Report) -> None:
    """A clause that the sweep is about failed in the versions that were judged, and another was not played."""
    page = render_html(broken)

    def row(clause: str) -> str:
        return page.partition(f"<code>{clause}</code>")[2].partition("</tr>")[0]

    assert ">1 of 1 failed</a>" in row("sync.idempotent")
    assert row("ref.verified").count("not played") == 2  # 2.0.0 does not have it
    assert ">1 passed<" in row("tool.status-error")


def test_profiles_are_counted(broken: Report) -> None:
    """Each profile with its passed and failed cases; the sweep's clauses belong to cycles or interruptions."""
    table = render_html(broken).partition("<h2>Profiles</h2>")[2].partition("</section>")[0]
    wrong = sum(result.cases for result in broken.results if not result.outcome.green)
    assert f'<span class="bad">{wrong}</span>' in table
    assert "<code>documents</code>" not in table


def test_a_green_run_has_the_timelines_of_all_that_was_played() -> None:
    """They are there to be read, and nothing is said to have failed."""
    page = render_html(played("basics"))
    assert "<h2>What failed</h2>" not in page
    assert len(cases(page)) == 4
    assert all(case["green"] and not case["note"] for case in cases(page))


def test_several_pairs_are_a_table_and_each_timeline_stands_there_once(broken: Report) -> None:
    """A cell for each server with each client; findings name the pair that they are of."""
    page = render_html_of_several({"server a, client b": broken, "server c, client b": broken})
    ids = [attrs["id"] for _, attrs, _ in Elements(page).found if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {href.removeprefix("#") for href in hrefs(page) if not href.startswith("#view/")} <= set(ids)
    assert "<h2>Servers and clients</h2>" in page
    assert [case["id"] for case in cases(page)].count(SWEPT) == 1
    pairs = {one["id"].partition(": ")[0] for one in cases(page)[0]["results"]}
    assert pairs == {"server a, client b", "server c, client b"}


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        ({Outcome.PASSED: 1999, Outcome.FAILED: 1}, "99.9 %</a> of 2000 judged cases, 1 failed"),
        (
            {Outcome.PASSED: 3, Outcome.EXPECTED: 1, Outcome.NO_PART: 4},
            "75 %</span> of 4 judged cases, 1 known difference",
        ),
        ({Outcome.PASSED: 2, Outcome.NOT_APPLICABLE: 1}, '<span class="good">100 %</span> of 2 judged cases'),
        ({Outcome.NOT_APPLICABLE: 2}, "nothing</span> was judged, 2 not applicable"),
    ],
)
def test_a_cell_says_how_much_of_what_was_judged_has_passed(outcomes: dict[Outcome, int], words: str) -> None:
    """It is never rounded up, and what does not use the target is not counted; a failure links to its causes."""
    results = [Result(id=f"a/{outcome.value}", outcome=outcome, cases=n) for outcome, n in outcomes.items()]
    one = report_of(events(*results))
    page = render_html_of_several({"a": one, "b": one})
    assert words in page
    assert ('<a class="bad" href="#case-0-">' in page) == (Outcome.FAILED in outcomes)
    assert ('<section id="case-0-">' in page) == (Outcome.FAILED in outcomes)


def test_what_does_not_fit_is_named(broken: Report) -> None:
    """The page stays small: timelines that failed come first, the others are listed."""
    with mock.patch("tpharness.report.html.MOST_BYTES", 50_000):
        page = render_html(broken)
    assert [case["id"] for case in cases(page)] == [SWEPT]
    assert "1 timeline left out" in page
    assert "basics/parallel-returns-in-call-order" in page


def test_a_trace_that_cannot_be_read_does_not_cost_the_report(broken: Report, tmp_path: Path) -> None:
    """The page is written, and says so."""
    (tmp_path / "trace.zip").write_bytes(b"PK")
    page = render_html(replace(broken, trace=tmp_path / "trace.zip"))
    assert "the trace trace.zip, which cannot be read" in page
    assert cases(page)


def test_every_outcome_and_hostile_text_is_only_text() -> None:
    """Names, reasons and findings of others are escaped; a run of something else than scenarios has no timelines."""
    hostile = Result(id=f"theme/{HOSTILE}", outcome=Outcome.FAILED, findings=(finding(HOSTILE),), reason=HOSTILE)
    page = render_html(report_of(events(*EVERY_OUTCOME, hostile, problems=(finding(HOSTILE),))))
    assert [attrs.get("type") for attrs, _ in Elements(page).named("script")] == ["application/json", None]
    assert not Elements(page).named("img")
    assert "\u202e" not in page
    for outcome in Outcome:
        assert outcome.value in page


def test_a_run_that_did_not_finish_says_why() -> None:
    """There is no verdict to show, only the reason."""
    assert "the target is gone" in render_html(Report(error="the target is gone"))


def test_the_option_names_it() -> None:
    """`--report html:PATH`, beside the others."""
    _, (destination,) = parse_reports(["html:-"])
    assert (destination.format, destination.path) == ("html", "-")


def test_causes_and_their_smallest_cases_come_first(broken: Report) -> None:
    """What to correct stands above what is counted, and every link has a place to go to, however much failed."""
    groups = group_failures(broken.results)
    with mock.patch("tpharness.report.html._MOST_RESULTS", len(groups)):  # which is a part of what failed
        page = render_html(broken)
    assert page.index("<h2>Causes</h2>") < page.index("<h2>Profiles</h2>")
    smallest = groups[0].smallest
    assert len(groups) < sum(not result.outcome.green for result in broken.results)
    first = page.partition("<h2>What failed</h2>")[2].partition("<summary>")[2].partition("</summary>")[0]
    assert re.sub(" <span.*", "", first.partition("</span>")[2]) == f" {smallest.id}"
    block = page.partition(f"{first}</summary>")[2].partition("</details>")[0]
    assert html.escape(load_builtin(smallest.id.partition("@")[0]).description) in block
    assert all(html.escape(load_rulings()[one].title) in block for one in smallest.findings[0].rulings)
    ids = {attrs["id"] for _, attrs, _ in Elements(page).found if "id" in attrs}
    assert {href.removeprefix("#") for href in hrefs(page) if not href.startswith("#view/")} <= ids


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_link_from_a_failure_opens_its_place(broken: Report, width: int, tmp_path: Path) -> None:
    """The cut stands where the case was cut, its finding is beside it; axe finds nothing, and nothing overflows."""
    file = tmp_path / "run.html"
    file.write_text(render_html(broken), "utf-8")
    failed = group_failures(broken.results)[0].smallest.id
    seen = look_at(
        file,
        ["axe"],
        ["eval", "document.documentElement.scrollWidth"],
        ["click", ".cause a"],
        ["eval", "document.getElementById('server-words').textContent"],
        ["text", "#panel"],
        ["axe"],
        ["click", "#next-bad"],
        ["eval", "document.getElementById('server-words').textContent"],
        width=width,
    )
    found, wide, _, words, panel, again, _, later = seen.results
    assert (found, wide, again) == ([], width, [])
    count = failed.partition("@event-")[2].partition(":")[0]
    assert words.startswith(f"event {count} ")
    assert f"Failed: {failed}" in panel
    assert "as the reference plays it" in panel
    assert later != words
    assert seen.requests == [file.as_uri()]
    assert seen.errors == []


SHOWN = "[...document.querySelectorAll('.result')].filter((one) => one.checkVisibility()).length"


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_cases_are_found_by_their_words(broken: Report, width: int, dark: bool, tmp_path: Path) -> None:
    """A case, a ruling or a tool, several words together; the field stays in sight, and an empty one hides nothing."""
    wrong = [result for result in broken.results if not result.outcome.green]
    last = wrong[-1].id
    file = tmp_path / "run.html"
    file.write_text(render_html(broken), "utf-8")
    find = "document.querySelector('.find input')"
    type_in = f"(text) => {{ {find}.value = text; {find}.dispatchEvent(new Event('input', {{bubbles: true}})) }}"
    said = "document.querySelector('.find output').textContent"
    middle = f"((box) => [box.x + box.width / 2, box.y + box.height / 2])({find}.getBoundingClientRect())"
    seen = look_at(
        file,
        *(
            step
            for words in (last, "R20 three-steps", f"sync.monotonic {last}", "no-such-word", "")
            for step in (["eval", f"({type_in})('{words}')"], ["eval", SHOWN], ["eval", said])
        ),
        ["eval", "document.querySelector('.find').getBoundingClientRect().bottom <= innerHeight / 2"],
        ["eval", "(() => { document.querySelector('#viewer').scrollIntoView() })()"],
        ["eval", f"document.querySelector('.find').contains(document.elementFromPoint(...{middle}))"],
        ["axe"],
        width=width,
        dark=dark,
    )
    counts, words = seen.results[1:15:3], seen.results[2:15:3]
    assert len(wrong) > 2
    assert counts == [1, len(wrong), 1, 0, len(wrong)]
    one = f"1 of {len(wrong)} cases that failed, "
    assert words[0].startswith(one)
    assert words[1].startswith(f"{len(wrong)} of {len(wrong)} cases that failed, ")
    assert words[2:] == [f"{one}0 of 3 rows", "none has all of these words", ""]
    assert seen.results[-4:] == [True, None, True, []]
    assert seen.errors == []


@pytest.mark.browser
def test_causes_and_all_that_was_played_are_found(broken: Report, tmp_path: Path) -> None:
    """Words hide the causes none of whose cases has them, and show a scenario that has passed."""
    rest = events(*broken.results, Result(id="a/passed", outcome=Outcome.PASSED))[1:]
    assert broken.started is not None
    page = render_html(report_of([broken.started, *rest]))
    file = tmp_path / "run.html"
    file.write_text(page, "utf-8")
    (first, *_) = groups = group_failures(broken.results)
    field = "document.getElementById('find')"
    typed = f"(text) => {{ {field}.value = text; {field}.dispatchEvent(new Event('input', {{bubbles: true}})) }}"
    in_sight = "(where) => [...document.querySelectorAll(where)].filter((one) => one.checkVisibility()).length"
    seen = look_at(
        file,
        ["eval", f"({in_sight})('.cause')"],
        ["eval", f"({typed})('{first.smallest.id}')"],
        ["eval", f"({in_sight})('.cause')"],
        ["eval", f"({in_sight})('.played tbody tr')"],
        ["eval", f"({typed})('a/passed')"],
        ["eval", f"({in_sight})('.cause')"],
        ["eval", f"({in_sight})('.played tbody tr')"],
        ["click", ".find input[value=passed]"],
        ["eval", f"({in_sight})('.played tbody tr')"],
    )
    assert len(groups) > 1
    assert seen.results[0] == len(groups)
    assert seen.results[2:4] == [1, 0]
    assert seen.results[5:7] == [0, 1]
    assert seen.results[8] == 0
    assert seen.errors == []


def test_every_scenario_has_its_duration_and_the_slowest_is_first() -> None:
    """A row for each scenario and outcome, with the time of its cases together; a case that failed says its own."""
    slow = [Result(id=f"a/slow@event-{n}", outcome=Outcome.PASSED, seconds=0.75) for n in range(2)]
    wrong = Result(id="a/wrong", outcome=Outcome.FAILED, findings=(finding(),), seconds=0.0124)
    page = render_html(report_of(events(wrong, *slow)))
    table = page.partition("<h2>Everything that was played</h2>")[2].partition("</section>")[0]
    rows = [re.sub("<[^>]+>", " ", row).split() for row in table.partition("<tbody>")[2].split("</tr>")[:-1]]
    assert rows == [["a/slow", "passed", "2", "1.5", "s"], ["a/wrong", "failed", "1", "12", "ms"]]
    assert 'a/wrong <span class="muted">12 ms</span></summary>' in page


@pytest.mark.parametrize(
    ("got", "expected", "sentence", "cells"),
    [
        ("(absent)", '"x"', "The thread lacks metadata", ["(absent)", "&quot;x&quot;"]),
        ("1", "2", "The thread does not have the expected value of metadata", ["1", "2"]),
        ("1", "", "The thread does not have the expected value of metadata", ["1", "an empty text"]),
    ],
)
def test_a_card_says_of_a_value_what_is_wrong_in_words(
    got: str, expected: str, sentence: str, cells: list[str]
) -> None:
    """A pointer is where it is, and no sentence."""
    one = replace(finding(), got=got, expected=expected, symptom="at /turns/*/messages/*/parts/*/metadata")
    page = render_html(report_of(events(Result(id="a/b", outcome=Outcome.FAILED, findings=(one,)))))
    assert f"<h3>1. {sentence}</h3>" in page
    columns = page.partition('<div class="two">')[2].split("<pre>")[1:3]
    for column, cell in zip(columns, cells, strict=True):
        assert re.sub("<[^>]+>", "", column.partition("</pre>")[0]) == cell


@pytest.mark.browser
def test_cases_are_chosen_by_their_outcomes(tmp_path: Path) -> None:
    """A box for each outcome that there is, with its count; one that is not ticked hides its cases."""
    report = report_of(events(*(result for result in EVERY_OUTCOME if not result.outcome.green)))
    file = tmp_path / "run.html"
    file.write_text(render_html(report), "utf-8")
    seen = look_at(
        file,
        ["text", ".find"],
        ["click", ".find input[value=failed]"],
        ["eval", "[...document.querySelectorAll('.result:not([hidden])')].map((one) => one.dataset.outcome).join()"],
    )
    boxes, _, outcomes = seen.results
    assert "1 failed" in boxes
    assert outcomes
    assert "failed" not in outcomes.split(",")
    assert seen.errors == []


def test_a_case_is_found_by_its_tools_and_what_decides() -> None:
    """What its findings need not have in their text."""
    entry = PageEntry(timeline=timeline_of_case(base_case(load_builtin("basics/tool-call-and-answer"))))
    assert tools_of(entry) == {"get_weather"}
    result = Result(id="a/b", outcome=Outcome.FAILED, clauses=("cycle.kept",), findings=(finding(),))
    assert {"cycle.kept", "R14", "get_weather"} <= set(find_words(result, tools_of(entry)).split())


def test_one_case_needs_no_field(broken: Report) -> None:
    """There is nothing to find among one."""
    assert 'class="find ' in render_html(broken)
    (one, *_) = (result for result in broken.results if not result.outcome.green)
    assert 'class="find ' not in render_html(report_of(events(one)))


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, False), (768, True), (1280, False)])
def test_the_first_screen_says_what_to_change(broken: Report, width: int, dark: bool, tmp_path: Path) -> None:
    """Without a click or a scroll, side by side with what is and what should be; the buttons copy what they say."""
    file = tmp_path / "run.html"
    file.write_text(render_html(broken), "utf-8")
    (group, *_) = group_failures(broken.results)
    seen = look_at(
        file,
        ["text", ".cause:first-of-type >> nth=0"],
        ["eval", "document.querySelector('.cause .change').getBoundingClientRect().bottom <= innerHeight"],
        [
            "eval",
            "navigator.clipboard.writeText = (text) => { window.copied = text; };",
        ],
        ["click", ".cause [data-copy]"],
        ["eval", "window.copied"],
        ["click", ".cause [data-copy^='#']"],
        ["eval", "window.copied"],
        ["eval", "document.documentElement.scrollWidth <= innerWidth"],
        ["axe"],
        width=width,
        height=900,
        dark=dark,
    )
    card, in_sight, _, _, command, _, issue, fits, violations = seen.results
    lead = next(one for one in group.smallest.findings if one.code in group.cause.codes)
    assert f"Change: {lead.remedy}" in " ".join(card.split())
    assert "Got" in card
    assert "Expected" in card
    assert (in_sight, fits) == (True, True)
    assert command.startswith(f"tpharness replay {group.smallest.id} --server python:")
    assert issue.startswith(f"### {group.cause}: {group.smallest.id}\n")
    assert lead.remedy in issue
    assert violations == []
    assert seen.errors == []


@pytest.mark.parametrize(
    ("got", "expected", "cells"),
    [
        ("c2, c1", "c1, c2", ["c<del>2, c1</del>", "c<ins>1, c2</ins>"]),
        ("the same end", "another same end", ["<del>the</del> same end", "<ins>another</ins> same end"]),
        ("aa", "aaa", ["aa", "aa<ins>a</ins>"]),
        ("<b>", "<i>", ["&lt;<del>b</del>&gt;", "&lt;<ins>i</ins>&gt;"]),
        (None, "x", ['<span class="muted">nothing</span>', "<ins>x</ins>"]),
    ],
)
def test_what_differs_is_marked(got: str | None, expected: str, cells: list[str]) -> None:
    """Of two texts the part between what they begin and end with alike; text of others stays text."""
    one = replace(finding(), got=got, expected=expected)
    result = Result(id="a/b", outcome=Outcome.FAILED, findings=(one,))
    page = render_html(report_of(events(result)))
    columns = [
        text.partition("<pre>")[2].partition("</pre>")[0]
        for text in page.split('<div class="two">')[1].split("<strong>")[1:3]
    ]
    assert columns == cells


@pytest.fixture(scope="module")
def large(broken: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of 678 cases that failed, of 40 causes, with the timeline of every scenario of the suite."""
    wrong = [result for result in broken.results if result.outcome is Outcome.FAILED]
    names = sorted(find_files((scenarios_dir(),), follow_links=False))
    results = []
    for number in range(678):
        one, name = wrong[number % len(wrong)], names[number * 7 % len(names)]
        findings = tuple(replace(found, symptom=f"{found.symptom} {number % 40}") for found in one.findings)
        results.append(replace(one, id=f"{name}@event-{number // len(names)}", size=number, findings=findings))
    file = tmp_path_factory.mktemp("large") / "run.html"
    assert broken.started is not None
    told = [broken.started, *(one for one in events(*results) if not isinstance(one, RunStarted))]
    file.write_text(render_html(report_of(told)), "utf-8")
    return file


def outside_folds(page: str) -> str:
    """Return a page without what stands in its folds."""
    kept, inside = [], 0
    for piece in re.split(r"(?=<details|</details>)", page):
        if piece.startswith("<details"):
            inside += 1 if inside or piece.startswith("<details class='fold'>") else 0
        elif piece.startswith("</details>") and inside:
            inside -= 1
            kept.append("" if inside else piece.removeprefix("</details>"))
            continue
        kept.append("" if inside else piece)
    return "".join(kept)


def test_a_page_of_many_failures_is_small_and_shows_little_at_once(large: Path) -> None:
    """Of 678 cases of 40 causes one card is open, four more say their change, and three cases are in sight."""
    assert large.stat().st_size <= 6_000_000
    page = large.read_text("utf-8")
    assert page.count('<details class="result"') == 500
    assert page.count('<details class="cause"') == 30
    in_sight = outside_folds(page)
    assert in_sight.count('<details class="cause"') == 5
    assert in_sight.count('<span class="change">') == 5
    assert in_sight.count('<details class="result"') == 3
    assert in_sight.count('<svg class="strip-line"') == 2
    assert len(re.findall('<details class="cause" [^>]* open>', page)) == 1
    assert " open><summary><span class=" not in page
    assert "<summary>25 more causes</summary>" in page
    assert "<summary>497 more cases that failed</summary>" in page
    assert "</details><p>and 178 more: --report json:PATH has them all</p></section>" in page


@pytest.mark.browser
@pytest.mark.parametrize(("width", "most"), [(1280, 3000), (390, 4500)])
def test_a_page_of_many_failures_is_short_before_anybody_opens_one(large: Path, width: int, most: int) -> None:
    """It is 3,000 pixels high on a desktop; a link of a cause that is folded away opens the fold of its case."""
    folded = "document.querySelector('.fold .cause')"
    seen = look_at(
        large,
        ["eval", "document.documentElement.scrollHeight"],
        ["eval", "document.documentElement.scrollWidth"],
        ["eval", "document.querySelectorAll('.cause .change').length"],
        ["axe"],
        ["eval", f"{folded}.closest('.fold').open = {folded}.open = true"],
        ["eval", f"{folded}.querySelector('a[href^=\"#case\"]').click()"],
        ["eval", "[...document.querySelectorAll('.fold')].at(-1).open"],
        width=width,
    )
    assert seen.results[0] <= most
    assert seen.results[1] == width
    assert seen.results[2] == 30
    assert seen.results[3] == []
    assert seen.results[-1] is True
    assert seen.errors == []
