"""The failures of a run as the text of a baseline, for `--write-baseline`: who adopts it fills in the reasons.

In: results, and the baseline that the run has read. Out: YAML with an entry for each new cause, its reason empty, so
that reading it back is refused until somebody has said why. What is known already stays as somebody has written it,
but for the entries that the run has reported as outdated: what it does not play it cannot judge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tpharness.errors import UsageError
from tpharness.findings import Finding
from tpharness.output import check_writable
from tpharness.verdict.baseline import OUTDATED
from tpharness.verdict.baseline_read import parse_item, read_items
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.result import Outcome, Result

__all__ = ["baseline_text", "check_new_baseline"]

_HEAD = """\
# Known failures, an entry for each cause. Write into each reason why it is known to fail, and who corrects it when:
# a baseline with an empty reason is refused. An entry that does not fail any more fails the run.
"""


def check_new_baseline(path: Path, known: Path | None) -> None:
    """Check before a run that a baseline can be written. UsageError for a file other than the baseline it reads."""
    check_writable(path, "the baseline")
    if path.exists() and (known is None or known.resolve() != path.resolve()):
        raise UsageError(
            f"{path} exists, and may have reasons that somebody wrote",
            hint=f"read it as well, so that its reasons are kept: --baseline {path}; or name another file",
        )


def baseline_text(results: Iterable[Result], problems: Iterable[Finding] = (), known: Path | None = None) -> str:
    """Return the baseline after a run: what has failed in it, and what was known and is not outdated.

    A case that fails otherwise than its entry says has a new one in place of it. `problems` are those of the run,
    `known` is the file that it has read. Without one, what was expected has been explained by a built-in baseline, and
    is written with its reason.
    """
    results = list(results)
    entries = [
        {
            "departure": group.cause.slug,
            "title": str(group.cause),
            "reason": "",
            **({"clauses": list(group.cause.clauses)} if group.cause.clauses else {}),
            "cases": _by_findings(group.results),
        }
        for group in group_failures(result for result in results if result.fails_now)
    ]
    if known is None:
        entries += _list_expected(results)
    else:
        found = (*problems, *(finding for result in results for finding in result.findings))
        outdated = {str(finding.place.case) for finding in found if finding.kind in OUTDATED}
        entries += _without(outdated, read_items(known))
    return _HEAD + "".join(
        "\n" + yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=110) for entry in entries
    )


def _list_expected(results: Iterable[Result]) -> list[dict[str, Any]]:
    known: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is Outcome.EXPECTED:
            known.setdefault(result.reason, []).append(result)
    return [{"reason": reason, "cases": _by_findings(found)} for reason, found in known.items()]


def _without(outdated: Collection[str], items: Iterable[tuple[str, Any, int]]) -> Iterator[dict[str, Any]]:
    """Yield the items of a baseline file without the entries of these names."""
    for where, item, _ in items:
        left = {entry.name for entry in parse_item(item, where)}.difference(outdated)
        if "cases" in item and left:
            cases = {codes: [case for case in ids if case in left] for codes, ids in item["cases"].items()}
            yield {**item, "cases": {codes: ids for codes, ids in cases.items() if ids}}
        elif left:
            yield item


def _by_findings(results: Sequence[Result]) -> dict[str, Any]:
    cases: dict[str, list[str]] = {}
    for result in results:
        codes = result.failing_codes.difference(kind.code for kind in OUTDATED)  # of the entry that this one replaces
        cases.setdefault(" ".join(sorted(codes)), []).append(result.id)
    return cases
