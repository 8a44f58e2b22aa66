"""What can be wrong with a scenario file, and the list in which one load collects it.

Every finding says file, line and column, the place in words (`turns[1].interrupt`), what was got, what is allowed and,
where a name is nearly right, which one was probably meant. None of this is about the protocol, so the kinds cite no
clause.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tpharness.findings import Finding, Kind, Level, Place

if TYPE_CHECKING:
    from tpharness.scenario.position import Position

__all__ = ["KINDS", "Problems", "did_you_mean"]


def _kind(code: str, title: str, remedy: str) -> Kind:
    return Kind(code=f"scenario-{code}", level=Level.MUST, title=title, remedy=remedy)


UNREADABLE = _kind("unreadable", "a file of the scenario cannot be read", "check the path and that the file is there")
TOO_LARGE = _kind("too-large", "a file of the scenario is larger than the loader accepts", "make the scenario smaller")
NOT_YAML = _kind(
    "not-yaml", "the scenario is not one UTF-8 YAML document of plain data", "correct the syntax at the place named"
)
DUPLICATE_KEY = _kind("duplicate-key", "a key stands twice in the same map", "keep one of the two")
UNKNOWN_KEY = _kind("unknown-key", "a key means nothing here", "use one of the keys that are allowed here")
MISSING_KEY = _kind("missing-key", "a required key is missing", "add the key")
BAD_VALUE = _kind("bad-value", "a value is not one that is allowed here", "write a value of the kind that is expected")
BAD_FILE = _kind(
    "bad-file", "a file that the scenario names does not hold what it should", "correct the file, or name another one"
)
UNKNOWN_CLAUSE = _kind("unknown-clause", "a clause id is not in conformance/clauses.yaml", "cite a clause that exists")
UNKNOWN_RULING = _kind("unknown-ruling", "a ruling is not in conformance/rulings.md", "cite a ruling that exists")
UNKNOWN_AGENT = _kind("unknown-agent", "an agent id is not in `agents`", "add the agent, or name one that is there")
UNKNOWN_CALL = _kind(
    "unknown-call", "a return or progress names a call that no earlier step makes", "use the id of a call made before"
)
UNKNOWN_LABEL = _kind("unknown-label", "a label is not one of this run", "name a label of a step or part of this run")
DUPLICATE_LABEL = _kind("duplicate-label", "a label stands twice in one run", "give each place its own label")
CUT_OUTSIDE = _kind("cut-outside", "a cut lies outside the stream", "count from 0 to the length of the stream")
CONTRADICTION = _kind("contradiction", "two statements of the scenario exclude each other", "take one of them back")

KINDS = (
    UNREADABLE,
    TOO_LARGE,
    NOT_YAML,
    DUPLICATE_KEY,
    UNKNOWN_KEY,
    MISSING_KEY,
    BAD_VALUE,
    BAD_FILE,
    UNKNOWN_CLAUSE,
    UNKNOWN_RULING,
    UNKNOWN_AGENT,
    UNKNOWN_CALL,
    UNKNOWN_LABEL,
    DUPLICATE_LABEL,
    CUT_OUTSIDE,
    CONTRADICTION,
)


class Problems:
    """The findings of one load, in the order in which they were met."""

    def __init__(self, file: str | None) -> None:
        self._file = file
        self.findings: list[Finding] = []

    def add(
        self, kind: Kind, position: Position | None, message: str, *, got: Any = None, expected: Any = None
    ) -> None:
        """Note one problem at a position of the scenario file, or at the file as a whole."""
        line, column = (position.line, position.column) if position is not None else (None, None)
        place = Place(file=self._file, line=line, column=column)
        self.findings.append(kind.at(place, message, got=got, expected=expected))

    def in_order(self) -> tuple[Finding, ...]:
        """Return the findings from the top of the file to its end."""
        return tuple(sorted(self.findings, key=lambda f: (f.place.line or 0, f.place.column or 0)))


def did_you_mean(got: str, allowed: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return `; did you mean 'x'?`, or nothing when no allowed name is near."""
    near = get_close_matches(got, list(allowed), n=1, cutoff=cutoff)
    return f"; did you mean {near[0]!r}?" if near else ""
