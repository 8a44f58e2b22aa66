"""What chat applications survive: the table of all of them, and a page of each that a trace was given of.

In: what was played (`conformance/apps.json`) and traces of `tpharness app`. Out: HTML by the name of its file, and
Markdown. A cell is what came of a case; it leads to the case's picture, with the requests to the model before the cut
and after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tpharness.errors import InputError
from tpharness.picture import PicturePage, application_sections, applications_of_trace, render_page, text_html
from tpharness.site.anchors import anchor_name
from tpharness.trace.read import Trace
from tpharness.verdict import Outcome

__all__ = ["application_files", "application_lines"]

_BASIC = (
    "uncut/tool-call",
    "model-fails/error-status",
    "user-leaves/in-text",
    "user-leaves/in-arguments",
    "user-leaves/while-tool-runs",
    "user-leaves/in-answer",
    "model-drops/in-text",
    "model-drops/in-arguments",
    "model-drops/in-answer",
)
_LEVELS = (("must", "bad"), ("should", "part"), ("may", "part"))

Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
Names = Mapping[str, Sequence[str]]
"""The cases of each application that have a picture."""


def application_files(traces: Sequence[Trace]) -> tuple[dict[str, str], Names]:
    """Return the page of each application that is traced, by the name of its file, and the cases that are on it.

    InputError for a trace without a case of an application.
    """
    files: dict[str, list[str]] = {}
    shown: dict[str, list[str]] = {}
    for trace in traces:
        found = applications_of_trace(trace, unfolded=True)
        if not found:
            raise InputError(f"{trace.name} has no case of an application", hint="tpharness app --trace all writes one")
        for name, (case, turns) in found.items():
            app = case.entry.server.partition(" (")[0]
            if name not in shown.setdefault(app, []):
                shown[app].append(name)
                files.setdefault(app, []).append(_case(name, application_sections(name, [(case, turns)])))
    lead = '<p class="muted">What each case sent to the model, what the user saw, and what became of it.</p>'
    pages = {
        f"views/{_file_name(app)}": render_page(
            PicturePage(title=f"Application: {text_html(app)}", lead=lead, sections=sections, shares=True)
        )
        for app, sections in files.items()
    }
    return pages, shown


def application_lines(known: Mapping[str, Any], shown: Names, table: Table) -> Iterator[str]:
    """Yield the page of all applications; `table` makes a table of heads and rows of finished cells."""
    yield (Path(__file__).parent / "applications.md").read_text("utf-8")
    heads = ("application", *(text_html(case.replace("/", ": ").replace("-", " ")) for case in _BASIC))
    rows = [
        (text_html(app), *(_cell(app, case, known.get(app, {}).get("cases", {}).get(case), shown) for case in _BASIC))
        for app in dict.fromkeys((*known, *shown))
    ]
    yield table(heads, rows)
    yield "\nA cell with a link leads to the picture of its case: what the user saw, and both requests to the model. "
    yield "To make one: `tpharness app NAME CASE --baseline /dev/null --trace all`; `tpharness site` takes its trace.\n"
    for app, cases in shown.items():
        links = ", ".join(f'<a href="{_link(app, case)}">{text_html(case)}</a>' for case in cases)
        yield f"<p><strong>{text_html(app)}</strong>: {links}</p>\n"


def _cell(app: str, case: str, summary: Mapping[str, Any] | None, shown: Names) -> str:
    """Return what came of a case, in colour, as a link to its picture if there is one."""
    words, colour = _words(summary)
    if case in shown.get(app, ()):
        return f'<a class="{colour}" href="{_link(app, case)}">{words}</a>'
    return f'<span class="{colour}">{words}</span>'


def _words(summary: Mapping[str, Any] | None) -> tuple[str, str]:
    if summary is None:
        return "see it", "part"
    if summary["outcome"] in (Outcome.NOT_APPLICABLE.value, Outcome.ERRORED.value):
        return text_html(Outcome(summary["outcome"]).counted(1).removeprefix("1 ")), "none"
    for level, colour in _LEVELS:
        if summary.get(level):
            return text_html(", ".join(summary[level])), colour
    return "right", "good"


def _case(name: str, sections: Sequence[str]) -> str:
    """Return the section of a case, open, as a place of the page."""
    opened = "".join(sections).replace('<details class="result">', '<details class="result" open>', 1)
    return f'<div id="{_anchor(name)}">{opened}</div>'


def _link(app: str, case: str) -> str:
    return f"views/{_file_name(app)}#{_anchor(case)}"


def _file_name(app: str) -> str:
    return f"app-{anchor_name(app)}.html"


def _anchor(case: str) -> str:
    return f"case-{anchor_name(case)}"
