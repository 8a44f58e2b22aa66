"""What a sweep found as JSON, and the shards of a sweep put together again.

In: what was found in each scenario. Out: one document, `tpharness-sweep/1`. Shards are put together as those of a run
are: a gap, an overlap and another selection are refused, so that *tried N of N* is true of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tpharness.errors import InputError
from tpharness.printable import counted
from tpharness.run.shard import check_shards, merge_incomplete
from tpharness.run.sweeps.scenarios import ScenarioReport

__all__ = ["FORMAT", "merge_sweeps", "sweep_document"]

FORMAT = "tpharness-sweep/1"


def sweep_document(
    found: Iterable[ScenarioReport],
    *,
    counts: str,
    seed: int,
    incomplete: Mapping[str, Any] | None = None,
    **about: Any,
) -> dict[str, Any]:
    """Return the document of a sweep. `counts` is what was tried, places or orders; `about` is added unchanged.

    `incomplete` says how far a sweep came that was ended early; it has not passed.
    """
    scenarios = [_scenario(one) for one in found]
    verdict = _verdict(scenarios, incomplete)
    return {"format": FORMAT, **verdict, "seed": seed, "counts": counts, **about, "scenarios": scenarios}


def merge_sweeps(reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the document of the whole sweep from those of its shards, by the names of their files.

    InputError for what is not a document of a shard, for shards of different sweeps, one that is there twice, one that
    is missing, and shards that leave out a scenario of theirs.
    """
    shards = check_shards(reports, FORMAT, what="sweep", write="tpharness sweep --shard INDEX/OF --json > FILE")
    first = next(iter(reports))
    scenarios = sorted((one for report in reports.values() for one in report["scenarios"]), key=lambda s: str(s["id"]))
    wanted = int(shards[first]["scenarios"])
    incomplete = merge_incomplete(reports, len(scenarios), wanted)
    if incomplete is None and (len(scenarios) != wanted or len({str(one["id"]) for one in scenarios}) != wanted):
        raise InputError(
            f"the shards have {counted(len(scenarios), 'scenario')} together, the sweep has {wanted}",
            hint="was a file cut off or changed? sweep that shard again",
        )
    whole = {key: value for key, value in reports[first].items() if key not in ("shard", "scenarios", "incomplete")}
    return {**whole, **_verdict(scenarios, incomplete), "scenarios": scenarios}


def _verdict(scenarios: list[dict[str, Any]], incomplete: Mapping[str, Any] | None) -> dict[str, Any]:
    total, tried, passed, refused = (
        sum(int(one.get(key, 0)) for one in scenarios) for key in ("total", "tried", "passed", "refused")
    )
    good = bool(tried) and tried == passed and not any(one.get("failures") for one in scenarios)
    early = {} if incomplete is None else {"incomplete": dict(incomplete)}
    return {"passed": good and incomplete is None, **early, "total": total, "tried": tried, "refused": refused}


def _scenario(one: ScenarioReport) -> dict[str, Any]:
    document: dict[str, Any] = {"id": one.id, "total": one.places, "tried": one.tried, "passed": one.passed}
    document.update({k: v for k, v in (("refused", one.refused), ("note", one.note), ("detail", one.detail)) if v})
    if one.failures:
        document["failures"] = [
            {
                "id": failure.id,
                "codes": list(failure.cause.codes),
                "clauses": list(failure.cause.clauses),
                "rulings": list(failure.cause.rulings),
                "places": failure.count,
                "command": failure.command,
                **({"file": str(failure.file)} if failure.file else {}),
                **({"reason": failure.result.reason} if failure.result.reason else {}),
                "findings": [finding.as_json() for finding in failure.result.findings],
            }
            for failure in one.failures
        ]
    return document
