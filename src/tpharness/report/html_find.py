"""The field above the cases that failed, and what a case is found by. The page's `find.js` makes it work."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tpharness.picture import PageEntry, text_html
from tpharness.verdict import Result

__all__ = ["find_field", "find_words", "tools_of"]

_TOOL = re.compile(r'"(?:tool_name|toolName)": ("(?:[^"\\]|\\.)+")')


def find_field(cases: Sequence[Result], name: str) -> str:
    """Return the field with the id `name`, with a box for each outcome if there are several; nothing for one case."""
    if len(cases) < 2:
        return ""
    tally = Counter(result.outcome.value for result in cases)
    boxes = "".join(
        f'<label><input type="checkbox" value="{outcome}" checked> {outcome} ({count})</label>'
        for outcome, count in tally.items()
    )
    return (
        f'<div class="find scripts-only" role="search"><label for="{name}">Find</label>'
        f'<input type="search" id="{name}" placeholder="case, clause, ruling, tool, any of its words">'
        f'{boxes if len(tally) > 1 else ""}<output for="{name}"></output></div>'
    )


def find_words(result: Result, tools: Iterable[str]) -> str:
    """Return what a case is found by beside its text: clauses and rulings that it is about, and its tools."""
    cited = {one for finding in result.findings for one in (*finding.clauses, *finding.rulings)}
    return text_html(" ".join(sorted({*result.clauses, *cited, *tools})))


def tools_of(entry: PageEntry) -> frozenset[str]:
    """Return the names of the tools of a timeline."""
    return frozenset(json.loads(name) for name in _TOOL.findall(json.dumps(entry.timeline)))
