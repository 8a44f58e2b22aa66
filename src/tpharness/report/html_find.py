"""The field at the top of a run's page, what a case is found by, and the list of everything that was played.

In: the results of a run. Out: HTML. The page's `find.js` makes the field work; the list needs no script.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from urllib.parse import quote

from tpharness.picture import PageEntry, table_html, text_html
from tpharness.verdict import Outcome, Result

__all__ = ["find_field", "find_words", "played_table", "seconds_words", "tools_of"]

_TOOL = re.compile(r'"(?:tool_name|toolName)": ("(?:[^"\\]|\\.)+")')


def find_field(results: Sequence[Result]) -> str:
    """Return the field, with a box for each outcome if there are several; nothing for one result."""
    if len(results) < 2:
        return ""
    tally: Counter[Outcome] = Counter()
    for result in results:
        tally[result.outcome] += result.cases
    boxes = "".join(
        f'<label><input type="checkbox" value="{outcome.value}" checked> {outcome.counted(count)}</label>'
        for outcome, count in tally.items()
    )
    return (
        '<div class="find scripts-only" role="search"><label for="find">Find</label>'
        '<input type="search" id="find" placeholder="case, clause, ruling, tool, any of its words">'
        f'{boxes if len(tally) > 1 else ""}<output for="find"></output></div>'
    )


def find_words(result: Result, tools: Iterable[str] = ()) -> str:
    """Return what a case is found by beside its text: clauses and rulings that it is about, and its tools."""
    cited = {one for finding in result.findings for one in (*finding.clauses, *finding.rulings)}
    return text_html(" ".join(sorted({*result.clauses, *cited, *tools})))


def tools_of(entry: PageEntry) -> frozenset[str]:
    """Return the names of the tools of a timeline."""
    return frozenset(json.loads(name) for name in _TOOL.findall(json.dumps(entry.timeline)))


def seconds_words(seconds: float) -> str:
    """Return a duration for people, such as `12 ms` or `1.4 s`."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def played_table(
    results: Sequence[Result], shown: Collection[str], wrong: Collection[str], anchor: Callable[[str], str]
) -> str:
    """Return a row for each scenario and outcome: how many cases, how long they took, and a link to what is shown.

    `shown` are the scenarios that have a timeline, `wrong` the cases that stand on the page, `anchor` their places.
    """
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        rows.setdefault((result.id.partition("@")[0], result.outcome.value), []).append(result)
    times = {key: sum(result.seconds for result in found) for key, found in rows.items()}
    cells = []
    for key in sorted(rows, key=lambda key: -times[key]):
        (name, outcome), found = key, rows[key]
        to = f"#{anchor(found[0].id)}" if found[0].id in wrong else ""
        if not to and name in shown:
            to = f"#view/{quote(name, safe='/@:', errors='backslashreplace')}"
        title = f'<a href="{to}">{text_html(name)}</a>' if to else text_html(name)
        colour = "" if found[0].outcome.green else ' class="bad"'
        word = f'<span{colour} data-outcome="{outcome}" data-words="{find_words(found[0])}">{outcome}</span>'
        cases = sum(result.cases for result in found)
        cells.append((title, word, str(cases), seconds_words(times[key]) if times[key] else "–"))
    return f'<div class="played">{table_html(("scenario", "outcome", "cases", "duration"), cells)}</div>'
