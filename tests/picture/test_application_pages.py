"""The page of an application's cases: what was said, seen and told stands side by side, whoever wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.picture.looking import look_at
from tests.picture.test_page import HOSTILE, Elements

from tpharness.apps.checks import APP_CHECKS
from tpharness.picture import application_sections, applications_of_trace, entries_of_trace
from tpharness.picture.page import PicturePage, render_page
from tpharness.report.html import render_html
from tpharness.report.summary import Report
from tpharness.trace.format import encode_line
from tpharness.trace.read import Trace
from tpharness.trace.write import CaseFiles, TraceWriter
from tpharness.verdict import CheckState, Outcome, Result, ResultReady, RunFinished, RunStarted

CASE = "user-leaves/in-arguments"


def told(role: str, text: str, **more: Any) -> dict[str, Any]:
    """Return a message that the model is told."""
    return {"role": role, "text": text, **more}


def asked(
    turn: int, history: list[dict[str, Any]], said: str, outcome: str = "completed", **more: Any
) -> dict[str, Any]:
    """Return a request to the model."""
    line = {"kind": "app-model", "turn": turn, "number": 1, "api": "openai-chat", "t": 0.1, "status": 200}
    return {**line, "outcome": outcome, "told": history, "said": said, "calls": [], **more}


def write(path: Path, words: str = "Here", *, outcome: str = "failed") -> Trace:
    """Write the trace of a case in which half arguments were repaired, with the model's words, and open it."""
    player = {"name": words, "reference": False}
    call = {"id": "c1", "name": "book", "args": '{"city":"Pa'}
    cut = {"by": "the user closes the tab", "in_tool": False, "t": 0.2, "pieces": 3, "left_after": 0.01}
    first = [told("user", f"[tp:x] {words} 1")]
    screen = [
        {"role": "user", "parts": [{"type": "text", "text": f"[tp:x] {words} 1"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "text": words},
                {"type": "tool-book", "toolCallId": "c1", "state": "input-streaming", "rawInput": '{"city":"Pa'},
            ],
        },
    ]
    answer = told("assistant", words, calls=[{"id": "c1", "name": "book", "args": "{}"}])
    following = [*first, answer, told("user", f"{words} 2")]
    lines: list[dict[str, Any]] = [
        {"kind": "case", "id": CASE, "description": words, "clauses": [], "outcome": outcome, "versions": []}
        | {"server": player, "client": player},
        {"kind": "finding", "code": "arguments-invented", "level": "must", "message": words, "place": {"side": words}},
        {"kind": "app-turn", "turn": 1, "says": f"{words} 1", "strays": [], "screen": screen}
        | {"cut": {**cut, "pieces_after": 0, "asked_after": 0, "tools": words}},
        asked(1, first, words, "disconnected", calls=[{**call, "whole": False}], refused=[words]),
        {"kind": "app-turn", "turn": 2, "says": f"{words} 2", "strays": [], "screen": []},
        asked(2, following, "Done"),
    ]
    writer = TraceWriter(path, traced="failed")
    entry = {"case": CASE, "server": "chat", "client": "client", "outcome": outcome, "codes": ["arguments-invented"]}
    writer.add(
        entry, CaseFiles(body=b"".join(map(encode_line, lines if outcome == "failed" else [lines[0], *lines[2:]])))
    )
    writer.close()
    return Trace.open(path)


def page_of(trace: Trace) -> str:
    """Return the page that `tpharness show TRACE --html` writes."""
    sections = application_sections("What happened", applications_of_trace(trace).values())
    return render_page(PicturePage(title="trace", sections=sections))


def cells(page: str) -> list[str]:
    """Return the texts of the cells of the last table of the first turn, row by row."""
    table = page.partition("What became of the first turn</caption>")[2].partition("</table>")[0]
    return ["".join(part.split(">", 1)[-1] for part in cell.split("<")) for cell in table.split("<td>")[1:]]


def test_what_was_said_seen_and_told_stands_side_by_side(tmp_path: Path) -> None:
    """The text is whole on both; of the cut call the user saw what was said, and the model is told something else."""
    trace = write(tmp_path / "t.zip")
    page = page_of(trace)
    shown = cells(page)
    assert shown[:4] == ["text", "Here", "all of it", "all of it"]
    assert shown[4:] == ["call c1", "book({&quot;city&quot;:&quot;Pa) cut here", "all of it", "something elsebook({})"]
    assert "Cut:</strong> the user closes the tab, after 3 pieces of the model&#x27;s answer" in page
    assert entries_of_trace(trace, 1_000_000) == ([], [])  # its turns are no timeline


def test_the_report_of_an_application_has_its_turns_and_its_clauses(tmp_path: Path) -> None:
    """A case that failed shows its turns where its findings are; the clauses are those of applications."""
    write(tmp_path / "t.zip")
    states = dict.fromkeys((check.name for check in APP_CHECKS), CheckState.PASSED)
    report = Report(trace=tmp_path / "t.zip")
    report.feed(RunStarted(scenarios=1, server="chat", client="client", versions=()))
    report.feed(ResultReady(result=Result(id=CASE, outcome=Outcome.FAILED, checks=states, clauses=("app.prefix",))))
    counts = {Outcome.FAILED: 1}
    report.feed(RunFinished(passed=False, counts=counts, seconds=1.0, problems=(), exercised={}, clause_count=12))
    page = render_html(report)
    assert "<h1>tpharness app</h1>" in page
    assert "What became of the first turn" in page.partition("<h2>What failed</h2>")[2].partition("<h2>Clauses</h2>")[0]
    assert "1 of 1 failed" in page.partition("<code>app.prefix</code>")[2]
    assert "cycle.kept" not in page.partition("<h2>Clauses</h2>")[2].partition("</section>")[0]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_is_accessible_and_hostile_text_stays_text(tmp_path: Path, width: int, dark: bool) -> None:
    """Axe finds nothing; no element comes of what an application, its user or its model wrote."""
    file = tmp_path / "hostile.html"
    text = page_of(write(tmp_path / "t.zip", HOSTILE))
    file.write_bytes(text.encode("utf-8", "backslashreplace"))
    assert [attrs.get("type") for attrs, _ in Elements(text).named("script")] == ["application/json", None]
    assert not Elements(text).named("img")
    assert "\u202e" not in text
    assert "\x1b" not in text
    wide = ["eval", "document.documentElement.scrollWidth"]
    opened = ["eval", "document.querySelectorAll('details').forEach((one) => { one.open = true })"]
    seen = look_at(file, opened, ["axe"], wide, ["text", "main"], width=width, dark=dark)
    _, found, is_wide, words = seen.results
    assert (found, is_wide) == ([], width)
    assert "<script>alert(1)</script>" in words
    assert seen.requests == [file.as_uri()]
    assert seen.errors == []
