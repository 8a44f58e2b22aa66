"""Shards: split one run over several machines, and merge the reports without a gap.

In: `2/5`. Out: every fifth of the selected scenarios, beginning with the second. Reports are merged only if they are
the shards of one selection, each exactly once: only then have all cases been tried.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from tpharness.clauses import load_clauses
from tpharness.errors import InputError, UsageError
from tpharness.findings import Finding, parse_finding, shorten
from tpharness.run.baselines import load_baseline
from tpharness.run.select import SelectedScenario
from tpharness.verdict.case_run import finish_run
from tpharness.verdict.events import RunFinished
from tpharness.verdict.grouping import group_failures, groups_json
from tpharness.verdict.profile_tally import tallies_json, tally_profiles
from tpharness.verdict.result import Outage, Outcome, Result
from tpharness.verdict.tally import tally_json
from tpharness.verdict.traceability import count_as_played, find_unexercised_clauses, map_exercised_clauses

__all__ = ["Merged", "Shard", "check_shards", "merge_incomplete", "merge_reports"]

_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Shard `index` of `of`, counted from 1."""

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `INDEX/OF`. UsageError if it is not a shard."""
        match = _SHARD.fullmatch(text)
        if match is None or int(match[1]) > int(match[2]):
            raise UsageError(f"{text!r} is not a shard", hint="write --shard 2/5 for the second of five")
        return cls(index=int(match[1]), of=int(match[2]))

    def select_from(self, selected: Sequence[SelectedScenario]) -> list[SelectedScenario]:
        """Return the scenarios of this shard. Neighbours, which take similar time, go to different shards."""
        return list(selected[self.index - 1 :: self.of])

    def is_spared(self, everything: Sequence[SelectedScenario]) -> bool:
        """Whether this shard has no scenario though others have: there may be more shards than scenarios."""
        return 0 < len(everything) < self.index

    def as_json(self, everything: Sequence[SelectedScenario], settings: Mapping[str, object]) -> dict[str, Any]:
        """Return what a report says of the shard; `settings` are the options with which it is played, by name."""
        played_with = _describe_settings(everything, settings)
        return {
            "index": self.index,
            "of": self.of,
            "selection": _digest(json.dumps(played_with).encode()),
            "settings": played_with,
            "scenarios": len(everything),
        }

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Merged shards: the verdict on the whole run, and the results of all shards by id."""

    shards: int
    scenarios: int
    finished: RunFinished
    results: tuple[Result, ...]
    report: Mapping[str, Any]


def _describe_settings(selected: Sequence[SelectedScenario], settings: Mapping[str, object]) -> dict[str, str]:
    """Return what has to be the same for all shards of a run, as words: what is long by its digest."""
    files = b"".join(f"{one.id}\0{one.place}\0".encode() + one.path.read_bytes() + b"\0" for one in selected)
    words = {name: _setting_words(value) for name, value in settings.items()}
    return {"tpharness": version("tpharness"), **words, "scenario files": _digest(files)}


def _setting_words(value: object) -> str:
    if isinstance(value, bytes):
        return _digest(value)
    several = isinstance(value, list | tuple)
    return ", ".join(map(str, value)) if several else "" if value is None else str(value)  # type: ignore[call-overload]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def merge_reports(reports: Mapping[str, Mapping[str, Any]]) -> Merged:
    """Merge the JSON reports of shards, given by the names of their files.

    InputError for a file that is not the report of a shard, for shards of different selections, and for a shard that
    occurs twice or is missing.
    """
    begun = time.perf_counter()
    shards = check_shards(reports, "tpharness-report/1", what="run", write="--report json:PATH")
    first = next(iter(shards))
    results = sorted((r for report in reports.values() for r in report["results"]), key=lambda r: str(r["id"]))
    try:
        played = [_parse_result(result) for result in results]
    except (KeyError, TypeError, ValueError) as error:
        said = f"a result of {', '.join(reports)} cannot be read: {type(error).__name__}: {error}"
        raise InputError(said, hint="merge with the version of tpharness that wrote the reports") from error
    errors = [str(report["error"]) for report in reports.values() if report.get("error")]
    problems: list[Finding] = []
    scenarios = int(shards[first]["scenarios"])
    played_scenarios = sum(_count_played(report, shards[name]) for name, report in reports.items())
    incomplete = merge_incomplete(reports, played_scenarios, scenarios)
    if shards[first]["whole_suite"] and incomplete is None:
        problems += load_baseline(server=shards[first]["spec"][0], client=shards[first]["spec"][1]).find_outdated(
            played
        )
        problems += find_unexercised_clauses(load_clauses(), map_exercised_clauses(map(count_as_played, played)))
    finished = finish_run(
        played,
        problems,
        sum(float(report.get("seconds") or 0) for report in reports.values()),
        exercised=map_exercised_clauses(played),
        clause_count=len(load_clauses()),
    )
    if errors or incomplete:
        finished = replace(finished, passed=False)
    whole = {key: value for key, value in reports[first].items() if key not in ("shard", "error", "incomplete")}
    whole |= {
        "passed": finished.passed,
        **({} if incomplete is None else {"incomplete": incomplete}),
        "seconds": round(finished.seconds + time.perf_counter() - begun, 3),
        "counts": {outcome.value: count for outcome, count in finished.counts.items()},
        **tally_json(played),
        **tallies_json(tally_profiles(played)),
        "causes": groups_json(group_failures(played)),
        "results": results,
        "problems": [finding.as_json() for finding in problems],
        "exercised": {clause: list(ids) for clause, ids in finished.exercised.items()},
        **({"error": "; ".join(errors)} if errors else {}),
    }
    return Merged(shards=len(shards), scenarios=scenarios, finished=finished, results=tuple(played), report=whole)


def merge_incomplete(reports: Mapping[str, Mapping[str, Any]], played: int, scenarios: int) -> dict[str, Any] | None:
    """Return what the merged document says if shards were ended early, None if each came to its end.

    `played` is how many scenarios all shards have played, of `scenarios`. The first signal is named.
    """
    early = [report["incomplete"] for report in reports.values() if report.get("incomplete") is not None]
    if not early:
        return None
    signal = next((one["signal"] for one in early if one.get("signal")), None)
    return {"played": played, "scenarios": scenarios, **({"signal": signal} if signal else {})}


def _count_played(report: Mapping[str, Any], shard: Mapping[str, Any]) -> int:
    """Return how many scenarios a shard has played: all of its own, unless it says otherwise."""
    if report.get("incomplete") is not None:
        return int(report["incomplete"]["played"])
    return len(range(int(shard["index"]) - 1, int(shard["scenarios"]), int(shard["of"])))


def check_shards(
    reports: Mapping[str, Mapping[str, Any]], form: str, *, what: str, write: str
) -> Mapping[str, Mapping[str, Any]]:
    """Check that the reports are the shards of one selection; return what each says of its shard, by file.

    InputError if they are not. `form` is the required format, `what` names what was sharded, and `write` is the option
    that writes such a report.
    """
    shards = {name: _parse_shard(name, report, form, what, write) for name, report in reports.items()}
    first = next(iter(shards), None)
    if first is None:
        raise InputError("there is nothing to merge", hint="give the JSON reports of all shards")
    for name, shard in shards.items():
        for key in ("selection", "of", "server", "client"):
            mine, theirs = _setting(reports[first], shards[first], key), _setting(reports[name], shard, key)
            if mine != theirs:
                parting = _describe_parting(shard, shards[first]) if key == "selection" else ""
                raise InputError(
                    f"{name} and {first} are not shards of one run: {parting or f'{key} is {theirs} and {mine}'}",
                    hint="run every shard with the same scenarios, options and version of tpharness",
                )
    _check_complete({name: int(shard["index"]) for name, shard in shards.items()}, int(shards[first]["of"]))
    return shards


def _parse_shard(name: str, report: Mapping[str, Any], form: str, what: str, write: str) -> Mapping[str, Any]:
    if report.get("format") != form:
        raise InputError(f"{name} is not the report of a {what}", hint=f"write one with {write}")
    shard = report.get("shard")
    if not isinstance(shard, dict) and report.get("error"):
        raise InputError(f"the shard of {name} was not played: {report['error']}", hint="run that shard again")
    if not isinstance(shard, dict):
        raise InputError(f"{name} is the report of a whole {what}, not of a shard", hint="run with --shard INDEX/OF")
    return shard


def _setting(report: Mapping[str, Any], shard: Mapping[str, Any], key: str) -> Any:
    return shard[key] if key in shard else report[key]


def _describe_parting(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return which settings of two shards differ; "" where that is not known, or where one says nothing of them."""
    a, b = one.get("settings"), other.get("settings")
    if not isinstance(a, Mapping) or not isinstance(b, Mapping):
        return ""
    names = [name for name in dict.fromkeys((*a, *b)) if a.get(name) != b.get(name)]
    differences = [f"{name} is {shorten(a.get(name) or 'none')} and {shorten(b.get(name) or 'none')}" for name in names]
    return "; ".join(differences)


def _check_complete(indices: Mapping[str, int], of: int) -> None:
    found: dict[int, str] = {}
    for name, index in indices.items():
        if index in found:
            raise InputError(f"{found[index]} and {name} are both shard {index}/{of}", hint="give each shard once")
        found[index] = name
    missing = [f"{index}/{of}" for index in range(1, of + 1) if index not in found]
    if missing:
        raise InputError(f"shard {', '.join(missing)} is missing", hint="give the reports of all shards")


def _parse_result(result: Mapping[str, Any]) -> Result:
    return Result(
        id=str(result["id"]),
        outcome=Outcome(result["outcome"]),
        cases=int(result["cases"]),
        reason=str(result["reason"]),
        symptom=str(result.get("symptom", "")),
        played_again=int(result["played_again"]),
        size=int(result.get("size", 0)),
        outage=Outage(**result["outage"]) if "outage" in result else None,
        findings=tuple(map(parse_finding, result["findings"])),
        clauses=tuple(result["clauses"]),
    )
