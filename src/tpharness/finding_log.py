"""What is found of one document or stream, bounded: the first findings of each kind, and how many more there were.

In: findings, one at a time. Out: a list that does not grow with the mistakes of others.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpharness.findings import Finding, Kind

__all__ = ["MOST_OF_A_KIND", "FindingLog", "keep_first"]

MOST_OF_A_KIND = 50
"""How many findings of a kind are kept of one document or stream; the others are counted (docs/SCALE.md)."""


class FindingLog:
    """The first findings of each kind in one document or stream, and how many more there were.

    What is wrong a million times is reported `MOST_OF_A_KIND` times and counted, so that memory does not grow with the
    mistakes of others. The count is a finding of the same kind, so the level of the whole does not depend on it.
    """

    __slots__ = ("_first_left_out", "_kept", "_seen", "added")

    def __init__(self) -> None:
        self.added = 0
        """How many findings were added."""
        self._kept: list[Finding] = []
        self._seen: dict[str, int] = {}
        self._first_left_out: dict[str, Finding] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def add(self, finding: Finding) -> None:
        """Keep or count a finding."""
        self.added += 1
        code = finding.kind.code
        seen = self._seen[code] = self._seen.get(code, 0) + 1
        if seen <= MOST_OF_A_KIND:
            self._kept.append(finding)
        elif seen == MOST_OF_A_KIND + 1:
            self._first_left_out[code] = finding

    def count(self, kind: Kind) -> int:
        """How many findings of a kind were added."""
        return self._seen.get(kind.code, 0)

    def findings(self) -> list[Finding]:
        """Return what was kept, in order, and for each kind with more a finding at the first that was left out."""
        return [
            *self._kept,
            *(
                first.kind.at(first.place, f"and {self._seen[code] - MOST_OF_A_KIND:,} more, the first of them here")
                for code, first in self._first_left_out.items()
            ),
        ]

    def copy(self) -> FindingLog:
        """Return an independent log with the same findings."""
        twin = FindingLog()
        twin.added = self.added
        twin._kept = list(self._kept)
        twin._seen = dict(self._seen)
        twin._first_left_out = dict(self._first_left_out)
        return twin


def keep_first(found: Iterable[Finding]) -> list[Finding]:
    """Return the first findings of each kind, and how many more there were (`FindingLog`)."""
    log = FindingLog()
    for finding in found:
        log.add(finding)
    return log.findings()
