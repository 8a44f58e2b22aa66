"""An earlier report of the same cases, such as that of the main branch: what is new, what is gone, what still fails.

In: the JSON report of `--compare-to`, read before the run. Out: for each code of a finding at MUST or SHOULD the cases.
What this run has not judged is not gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tpharness.errors import InputError
from tpharness.findings import Level, load_kinds
from tpharness.printable import counted
from tpharness.report.summary import Report
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import OUTDATED
from tpharness.verdict.grouping import Group, group_failures

__all__ = ["Comparison", "Earlier", "failure_groups", "is_advice", "read_earlier"]

_JUDGED = frozenset({Outcome.PASSED, Outcome.FAILED, Outcome.EXPECTED, Outcome.STALE})
_OF_A_BASELINE = frozenset(kind.code for kind in OUTDATED)
_LEVELS = frozenset({Level.MUST.value, Level.SHOULD.value})
_HINT = "give a file that `--report json:FILE` has written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """By code of a finding, the ids of the cases that have it: only now, no longer, and in both runs."""

    new: Mapping[str, tuple[str, ...]]
    gone: Mapping[str, tuple[str, ...]]
    still: Mapping[str, tuple[str, ...]]
    unjudged: int = 0
    """How many cases failed in the earlier run and were not judged in this one."""

    def is_new(self, results: Iterable[Result], codes: Iterable[str]) -> bool:
        """Whether none of these cases had any of these findings before."""
        return all(result.id in self.new.get(code, ()) for result in results for code in codes)

    def count(self, kind: Mapping[str, tuple[str, ...]]) -> int:
        """Return how many findings there are: one for each code in each case."""
        return sum(map(len, kind.values()))

    @property
    def line(self) -> str:
        """How many findings are new, gone and still there."""
        kinds = (("new", self.new), ("gone", self.gone), ("still there", self.still))
        words = ", ".join(f"{self.count(kind)} {word}{_of_advice(kind)}" for word, kind in kinds)
        failed = counted(self.unjudged, "case")
        return f"{words}; not judged now: {failed} that failed" if self.unjudged else words


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What an earlier report says of its cases: by id, of those that were judged, the codes at MUST and SHOULD.

    `failed` are the ids of those with a finding at MUST.
    """

    name: str
    server: str
    codes: Mapping[str, frozenset[str]] = field(repr=False)
    failed: frozenset[str] = field(repr=False)
    incomplete: bool = False

    def compare(self, results: Iterable[Result]) -> Comparison:
        """Return what has changed up to these results."""
        now = {r.id: _of_levels((f.code, f.level.value) for f in r.findings) for r in results if r.outcome in _JUDGED}
        new: dict[str, list[str]] = {}
        still: dict[str, list[str]] = {}
        gone: dict[str, list[str]] = {}
        for case, codes in now.items():
            before = self.codes.get(case, frozenset())
            for code in sorted(codes):
                (still if code in before else new).setdefault(code, []).append(case)
            for code in sorted(before - codes):
                gone.setdefault(code, []).append(case)
        unjudged = sum(case not in now for case in self.failed)
        return Comparison(new=_frozen(new), gone=_frozen(gone), still=_frozen(still), unjudged=unjudged)

    def words(self, server: str) -> str:
        """Say what a run on this server was compared with."""
        other = "" if self.server == server else f", which is the report on {self.server}"
        return f"{self.name}{other}{', which is incomplete' if self.incomplete else ''}"


def failure_groups(report: Report) -> list[tuple[Group, bool]]:
    """Return what is not green by its cause, and whether it is new; what is new comes first.

    Nothing is called new without an earlier report.
    """
    groups = group_failures(report.results)
    if report.earlier is None:
        return [(group, False) for group in groups]
    compared = report.earlier.compare(report.results)
    found = [(one, one.smallest.fails_now and compared.is_new(one.results, one.cause.codes)) for one in groups]
    return sorted(found, key=lambda pair: not pair[1])


def read_earlier(path: Path) -> Earlier:
    """Read a JSON report. InputError if it cannot be read, or is not one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"--compare-to {path}: {error.strerror}", hint=_HINT) from error
    try:
        report = json.loads(data)
    except (ValueError, RecursionError):
        report = None
    if not isinstance(report, dict) or report.get("format") != "tpharness-report/1":
        raise InputError(f"--compare-to {path} is not a JSON report of tpharness", hint=_HINT)
    try:
        levels = {
            str(result["id"]): [(str(one["code"]), str(one["level"])) for one in result["findings"]]
            for result in report["results"]
            if Outcome(result["outcome"]) in _JUDGED
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"--compare-to {path}: its results cannot be read: {error!r}", hint=_HINT) from error
    server = str(report.get("server", ""))
    return Earlier(
        name=path.name if path.is_absolute() else path.as_posix(),
        server=server,
        codes={case: _of_levels(found) for case, found in levels.items()},
        failed=frozenset(
            case
            for case, found in levels.items()
            if any(level == Level.MUST.value and code not in _OF_A_BASELINE for code, level in found)
        ),
        incomplete="incomplete" in report,
    )


def is_advice(code: str) -> bool:
    """Whether findings of a code are not at MUST. A code that only an earlier tpharness knew counts as one that is."""
    kinds = load_kinds()
    return code in kinds and kinds[code].level is not Level.MUST


def _of_advice(kind: Mapping[str, Sequence[str]]) -> str:
    advised = sum(len(cases) for code, cases in kind.items() if is_advice(code))
    return f" ({advised} at SHOULD)" if advised else ""


def _of_levels(found: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the codes that are compared, of codes with their levels."""
    return frozenset(code for code, level in found if level in _LEVELS) - _OF_A_BASELINE


def _frozen(found: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Return the codes at MUST with the most cases first, then those at SHOULD."""
    return {
        code: tuple(cases)
        for code, cases in sorted(found.items(), key=lambda item: (is_advice(item[0]), -len(item[1])))
    }
