"""The kinds of findings about scenario files, and the list in which a load collects them.

Every finding names file, line, column and path (`turns[1].interrupt`), what was got and what is allowed, and suggests
the nearest name for a misspelt one. The kinds cite no clause, since none of them is about the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tpharness.findings import Finding, Kind, Place, load_kinds

if TYPE_CHECKING:
    from tpharness.scenario.position import Position

__all__ = ["CODES", "Problems", "describe_unknown_code", "suggest_name"]


UNREADABLE = Kind("scenario-unreadable")
TOO_LARGE = Kind("scenario-too-large")
NOT_YAML = Kind("scenario-not-yaml")
DUPLICATE_KEY = Kind("scenario-duplicate-key")
UNKNOWN_KEY = Kind("scenario-unknown-key")
MISSING_KEY = Kind("scenario-missing-key")
BAD_VALUE = Kind("scenario-bad-value")
BAD_FILE = Kind("scenario-bad-file")
UNKNOWN_CLAUSE = Kind("scenario-unknown-clause")
UNKNOWN_RULING = Kind("scenario-unknown-ruling")
UNKNOWN_AGENT = Kind("scenario-unknown-agent")
UNKNOWN_CALL = Kind("scenario-unknown-call")
UNKNOWN_LABEL = Kind("scenario-unknown-label")
DUPLICATE_LABEL = Kind("scenario-duplicate-label")
CUT_OUTSIDE = Kind("scenario-cut-outside")
CONTRADICTION = Kind("scenario-contradiction")

CODES = "a code of `tpharness list findings`"


class Problems:
    """The findings of one load."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self.findings: list[Finding] = []

    def add(
        self, kind: Kind, position: Position | None, message: str, *, got: Any = None, expected: Any = None
    ) -> None:
        """Add a finding at a position of the scenario file; None is the file as a whole."""
        line, column = (position.line, position.column) if position is not None else (None, None)
        place = Place(file=self._file, line=line, column=column)
        self.findings.append(kind.at(place, message, got=got, expected=expected))

    def sorted_findings(self) -> tuple[Finding, ...]:
        """Return the findings in the order of their positions."""
        return tuple(sorted(self.findings, key=lambda f: (f.place.line or 0, f.place.column or 0)))


def suggest_name(got: str, allowed: Iterable[str]) -> str:
    """Return the end of a message, `; did you mean 'x'?`, or "" if no allowed name is similar."""
    near = get_close_matches(got, list(allowed), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def describe_unknown_code(code: str) -> str:
    """Return the message for a code that no finding has, "" for one that there is."""
    return "" if code in load_kinds() else f"no finding has this code{suggest_name(code, load_kinds())}"
