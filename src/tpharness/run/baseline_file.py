"""The failures of a run as the text of a baseline, for `--write-baseline`: who adopts it fills in the reasons.

In: results. Out: YAML with an entry for each cause, its reason empty, so that reading it back is refused until somebody
has said why. What is known already keeps its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tpharness.errors import UsageError
from tpharness.output import check_writable
from tpharness.run.baseline import Baseline, load_baseline
from tpharness.run.grouping import group_failures
from tpharness.run.judge import Outcome, Result
from tpharness.run.options import RunOptions
from tpharness.run.selection import choose_scenarios

__all__ = ["baseline_text", "check_new_baseline"]

_HEAD = """\
# Known failures, an entry for each cause. Write into each reason why it is known to fail, and who corrects it when:
# a baseline with an empty reason is refused. An entry that does not fail any more fails the run.
"""


def check_new_baseline(path: Path, options: RunOptions) -> None:
    """Check before a run that a baseline can be written. UsageError also for a file with reasons that would be lost."""
    check_writable(path, "the baseline")
    if not path.exists():
        return
    known = options.baseline
    if known is None or known.resolve() != path.resolve():
        raise UsageError(
            f"{path} exists, and may have reasons that somebody wrote",
            hint=f"read it as well, so that its reasons are kept: --baseline {path}; or name another file",
        )
    if options.restricted or options.faults:
        lost = next(_find_lost(load_baseline(path), options), None)
        if lost is not None:
            raise UsageError(
                f"{path} would lose the reason for {lost}",
                hint="play all scenarios that it names, or name another file",
            )


def _find_lost(known: Baseline, options: RunOptions) -> Iterator[str]:
    """Yield the entries of which a run of some scenarios, or with faults alone, does not play all that they explain."""
    played = set(map(str, choose_scenarios(options)))
    for case in known.entries:
        place, _, fault = case.partition("@fault-")
        if played.isdisjoint((place, place.partition("@")[0])) or (options.faults and fault not in options.faults):
            yield f"{case}, which this run does not play"
    for entry in known.many:
        yield f"{entry.cause or entry.id}, which may explain what this run does not play"


def baseline_text(results: Iterable[Result]) -> str:
    """Return the baseline of a run that explains everything that failed in it."""
    results = list(results)
    entries = [
        {
            "departure": group.cause.slug,
            "title": str(group.cause),
            "reason": "",
            **({"clauses": list(group.cause.clauses)} if group.cause.clauses else {}),
            "cases": _by_findings(group.results),
        }
        for group in group_failures(result for result in results if result.outcome is Outcome.FAILED)
    ]
    known: dict[str, list[Result]] = {}
    for result in results:
        if result.outcome is Outcome.EXPECTED:
            known.setdefault(result.reason, []).append(result)
    entries += [{"reason": reason, "cases": _by_findings(found)} for reason, found in known.items()]
    return _HEAD + "".join(
        "\n" + yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=110) for entry in entries
    )


def _by_findings(results: Sequence[Result]) -> dict[str, Any]:
    cases: dict[str, list[str]] = {}
    for result in results:
        cases.setdefault(" ".join(sorted(result.failing_codes)), []).append(result.id)
    return cases
