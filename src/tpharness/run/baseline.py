"""Baselines: cases that are known to fail for one implementation, each with the reason.

A known failure has to fail, and with the findings that the baseline names. If it passes, has other findings, or matches
no case, the run fails, so that a baseline cannot become stale unnoticed. An entry may also name a pattern of ids, or a
cause: it explains every failure that fits, and one at least has to fit. What a run has not played, by its options or
because it could not, says nothing of an entry. When both the server and the client have a baseline, an entry of either
explains a failure, but is allowed to pass.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from tpharness.causes import leading_cause
from tpharness.errors import InputError, UsageError
from tpharness.faults import FAULTS
from tpharness.findings import Finding, Kind, Place
from tpharness.resources import conformance_dir
from tpharness.run.fault_cases import fault_name
from tpharness.run.judge import Outcome, Result
from tpharness.scenario.problems import CODES, Problems, describe_unknown_code
from tpharness.scenario.yaml_nodes import ListNode, plain, read_yaml
from tpharness.targets.releases import is_tested_release

__all__ = ["OUTDATED", "Baseline", "BaselineEntry", "load_baseline", "parse_item", "read_items"]

STALE = Kind("baseline-stale")
UNMATCHED = Kind("baseline-unmatched")
OUTDATED = (STALE, UNMATCHED)
"""What is wrong with an entry that explains nothing any more. The place of the finding has the name of the entry."""

_JUDGED = (Outcome.PASSED, Outcome.FAILED, Outcome.EXPECTED, Outcome.STALE)
"""The outcomes of cases that were judged."""
_PLACE = re.compile(r"([^@]+)@(?:turn-\d+-)?(event|byte)-(\d+)(?::.+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineEntry:
    """One known failure: the case, the codes of its findings at MUST, the clauses and the reason in words.

    `id` may be a pattern with `*`; `cause` is the cause of the failures, as reports have it. Either may be empty then.
    """

    id: str
    findings: frozenset[str]
    clauses: tuple[str, ...]
    reason: str
    rulings: tuple[str, ...] = ()
    departure: str = ""
    """The name of the departure that the case shows, where a baseline groups its cases."""
    rules: tuple[str, ...] = ()
    """The rules of model APIs that a history breaks, such as `A5`."""
    may_pass: bool = False
    """Whether the case may also pass, or have only some of the findings.

    Another client may accept what a recorded stream gets wrong, and so may a run that judges less of it.
    """
    cause: str = ""

    @property
    def many(self) -> bool:
        """Whether the entry may explain several cases, and cases that it fits may also pass."""
        return bool(self.cause) or "*" in self.id

    @property
    def name(self) -> str:
        """What a finding calls the entry: its id, its cause, or both."""
        return f"{self.cause} in {self.id}" if self.cause and self.id else self.cause or self.id

    def fits(self, case: str) -> bool:
        """Whether an entry for many cases may explain the case with this id."""
        return fnmatchcase(case, self.id or "*")

    def explains(self, result: Result) -> bool:
        """Whether an entry for many cases explains a failure."""
        failed = result.outcome in (Outcome.FAILED, Outcome.EXPECTED)
        if not failed or not self.fits(result.id):
            return False
        if self.findings and result.failing_codes != self.findings:
            return False
        cause = leading_cause(result.findings)
        return not self.cause or (cause is not None and cause.is_called(self.cause))


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Known failures by case id.

    If `strict`, each case has to fail with exactly the findings of its entry; otherwise it may also pass.
    """

    entries: Mapping[str, BaselineEntry]
    path: str = ""
    strict: bool = True
    many: tuple[BaselineEntry, ...] = ()
    """Entries with a pattern or a cause, which explain what no entry of a case does."""

    def apply(self, result: Result) -> Result:
        """Return the result with the outcome that the baseline gives it: expected, stale, or as it was."""
        base, fault, _ = result.id.partition("@fault-")
        entry = self.entries.get(result.id)
        if entry is None and fault:  # a fault that loses nothing leaves a known failure as it was
            entry = self.entries.get(base)
            if result.outcome is not Outcome.FAILED or (entry is not None and result.failing_codes != entry.findings):
                return result
        if entry is None:
            entry = next((one for one in self.many if one.explains(result)), None)
            return result if entry is None else replace(result, outcome=Outcome.EXPECTED, reason=entry.reason)
        if result.outcome not in _JUDGED:
            return result
        if not self.strict:
            failed = result.outcome is Outcome.FAILED
            return replace(result, outcome=Outcome.EXPECTED, reason=entry.reason) if failed else result
        if entry.may_pass and result.outcome is Outcome.PASSED:
            return result
        known = result.failing_codes <= entry.findings if entry.may_pass else result.failing_codes == entry.findings
        if result.outcome is Outcome.FAILED and known:
            return replace(result, outcome=Outcome.EXPECTED, reason=entry.reason)
        if entry.may_pass:  # it has failed in ways of its own, which are what its author wants to read
            return result
        finding = self._describe_stale(entry, ", ".join(sorted(result.failing_codes)) or result.outcome.value)
        return replace(result, outcome=Outcome.STALE, findings=(finding, *result.findings), reason=entry.reason)

    def _describe_stale(self, entry: BaselineEntry, got: str) -> Finding:
        return STALE.at(Place(case=entry.id, file=self.path), got=got, expected=", ".join(sorted(entry.findings)))

    def find_outdated(
        self, played: Iterable[Result], *, complete: bool = True, elsewhere: Iterable[str] = ()
    ) -> list[Finding]:
        """Return a finding for each entry that explains nothing, where `apply` has not found that itself.

        The entry of a place is judged where its scenario was played, with all of its places. What fits no case, and
        patterns and causes, are judged only if the run is `complete`: of every scenario, and without faults. Ids that a
        run with other options may play are `elsewhere`.
        """
        if not self.strict:
            return []
        results = list(played)
        seen = {result.id for result in results}
        judged = {result.id for result in results if result.outcome in _JUDGED}
        others = set(elsewhere)
        possible = _name_cases(seen | others) | others if complete else frozenset()
        played_through = {case.partition("@")[0] for case in judged} if complete else judged
        found: list[Finding] = []
        for entry in self.entries.values():
            if entry.id in seen:
                continue
            case = entry.id if "@fault-" in entry.id else entry.id.partition("@")[0]
            if _passed_in_sweep(entry.id, results):
                found += [] if entry.may_pass else [self._describe_stale(entry, Outcome.PASSED.value)]
            elif case in played_through or (complete and case not in possible):
                found.append(self._describe_unmatched(entry))
        for one in self.many if complete else ():
            fits = [result for result in results if one.fits(result.id)]
            owed = not judged.isdisjoint(r.id for r in fits) if fits else not any(map(one.fits, possible))
            if owed and not any(map(one.explains, fits)):
                found.append(self._describe_unmatched(one))
        return found

    def _describe_unmatched(self, entry: BaselineEntry) -> Finding:
        return UNMATCHED.at(Place(file=self.path, case=entry.name), got=entry.name)


def _name_cases(seen: Iterable[str]) -> frozenset[str]:
    """Return the ids of the scenarios that were seen, as they are and with each fault, which another run may play."""
    scenarios = {case.partition("@")[0] for case in seen}
    return frozenset(scenarios.union(fault_name(scenario, fault) for scenario in scenarios for fault in FAULTS))


def _passed_in_sweep(case: str, results: Iterable[Result]) -> bool:
    """Whether the case is one of the places of a sweep that have passed, which share a result.

    The number is compared with that of all places, also where they are those of several turns or reasons.
    """
    place = _PLACE.fullmatch(case)
    if place is None:
        return False
    scenario, unit, number = place.groups()
    places = [result for result in results if result.id.startswith(f"{scenario}@") and "@fault-" not in result.id]
    swept = any(r.id == f"{scenario}@{unit}-*" and r.outcome is Outcome.PASSED for r in places)
    return swept and int(number) < sum(result.cases for result in places)


_SAME_BEHAVIOUR = {"ai-sdk-browser": "ai-sdk-client"}
"""Peers that share another peer's baseline: the same package, with and without a browser."""


def load_baseline(
    path: Path | None = None, *, server: str = "reference", client: str = "reference", judges_less: bool = False
) -> Baseline:
    """Read a baseline file, or the built-in ones if `path` is None. InputError or UsageError names file and entry.

    The built-in ones cover the recorded streams and the peers that `server` and `client` name, in the release that is
    tested: another one departs otherwise. They were written for every version and exact comparison; a run that
    `judges_less` need not find everything that they name.
    """
    if path is not None:
        return _read_file(path)
    folder = conformance_dir() / "baselines"
    entries: dict[str, BaselineEntry] = {}
    many: list[BaselineEntry] = []
    for file in sorted(folder.glob("*.yaml")):
        found = _read_file(file).entries
        others = {server, client} != {"reference"}
        entries.update({case: replace(entry, may_pass=others or judges_less) for case, entry in found.items()})
    for role, spec in (("server", server), ("client", client)):
        kind, _, name = spec.partition(":")
        name, _, release = name.partition("@")
        if release and not is_tested_release(name, release):
            continue
        file = folder / "peers" / f"{role}-{_SAME_BEHAVIOUR.get(name, name)}.yaml"
        if kind == "peer" and file.is_file():
            peers = _read_file(file)
            entries.update({case: replace(entry, may_pass=judges_less) for case, entry in peers.entries.items()})
            many += peers.many
    alone = "reference" in (server, client)
    return Baseline(entries=entries, path=str(folder), strict=alone, many=tuple(many))


def read_items(path: Path) -> list[tuple[str, Any]]:
    """Return the items of a baseline file as they are written, each after the words that say which one it is.

    InputError or UsageError if it is not a list.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="give a YAML file that can be read") from error
    problems = Problems(str(path))
    root = read_yaml(data, problems)
    hint = "`tpharness docs CLI` shows how a baseline is written"
    if problems.findings:
        first = problems.sorted_findings()[0]
        raise InputError(f"{first.place}: {first.message}", hint=hint)
    if root is not None and not isinstance(root, ListNode):
        raise UsageError(f"{path} is not a list of entries", hint=hint)
    nodes = [] if root is None else root.items
    items = [(node.position.line, plain(node)) for node in nodes]
    return [(f"{path}:{line}: entry {n}{_name_item(item)}", item) for n, (line, item) in enumerate(items, 1)]


def _name_item(item: Any) -> str:
    """Return what an item calls itself, in parentheses: its departure, id or cause, else the first of its cases."""
    if not isinstance(item, dict):
        return ""
    grouped = item.get("cases")
    cases = (case for ids in grouped.values() for case in ids or ()) if isinstance(grouped, dict) else iter(())
    return f" ({item.get('departure') or item.get('id') or item.get('cause') or next(cases, '?')})"


def _read_file(path: Path) -> Baseline:
    items = read_items(path)
    _refuse_empty_reasons(items)
    entries = [entry for where, item in items for entry in parse_item(item, where)]
    exact = [entry for entry in entries if not entry.many]
    twice = sorted(case for case, count in Counter(entry.id for entry in exact).items() if count > 1)
    if twice:
        raise UsageError(f"{path}: more than one entry for {', '.join(twice)}")
    many = tuple(entry for entry in entries if entry.many)
    return Baseline(entries={entry.id: entry for entry in exact}, path=str(path), many=many)


def _refuse_empty_reasons(items: Iterable[tuple[str, Any]]) -> None:
    empty = [
        where
        for where, item in items
        if isinstance(item, dict) and "reason" in item and not str(item["reason"] or "").strip()
    ]
    if empty:
        others = f", and that of {len(empty) - 1} more" if len(empty) > 1 else ""
        raise UsageError(
            f"{empty[0]}: the reason is empty{others}",
            hint="write why it is known to fail, and who corrects it when: nobody else will remember",
        )


def parse_item(item: Any, where: str) -> list[BaselineEntry]:
    """Return the entries of one item: a case, or a departure with its cases grouped by finding.

    UsageError begins with `where`, which says which item of which file it is.
    """
    if not isinstance(item, dict):
        raise UsageError(f"{where} is not a map", hint="write id, findings, reason and clauses")
    if "cases" not in item:
        if "departure" in item:
            raise UsageError(f"{where} has no key cases", hint="cases: {FINDING: [ID, …]} says what fails, and how")
        return [_parse_entry(item, where)]
    cases = item["cases"]
    if not isinstance(cases, dict) or not all(isinstance(ids, list) for ids in cases.values()):
        raise UsageError(f"{where}: cases is not a map from findings to lists of ids")
    shared = {key: value for key, value in item.items() if key not in ("cases", "departure", "title")}
    return [
        replace(
            _parse_entry({**shared, "id": case, "findings": str(findings).split()}, where),
            departure=str(item.get("departure", "")),
        )
        for findings, ids in cases.items()
        for case in ids
    ]


def _parse_entry(item: dict[str, Any], where: str) -> BaselineEntry:
    required = ("reason",) if item.get("cause") else ("id", "findings", "reason")
    missing = [key for key in required if not item.get(key)]
    unknown = sorted(set(item) - {"id", "findings", "reason", "clauses", "rulings", "rules", "cause"})
    if missing or unknown:
        words = [f"has no key {', '.join(missing)}"] if missing else []
        words += [f"has an unknown key {', '.join(unknown)}"] if unknown else []
        keys = "id or cause, findings, reason, clauses, rulings, rules"
        raise UsageError(f"{where} {' and '.join(words)}", hint=f"an entry has {keys}")
    for key in ("id", "cause", "reason"):
        if not isinstance(item.get(key) or "", str):
            raise UsageError(f"{where}: {key} is {item[key]!r}, and not a text", hint="put it in quotes")
    codes = item.get("findings") or []
    if not isinstance(codes, list):
        raise UsageError(f"{where}: findings is not a list", hint=f"write [{codes}]")
    for code in map(str, codes):
        if wrong := describe_unknown_code(code):
            raise UsageError(f"{where}: {code}: {wrong}", hint=f"each of its findings is {CODES}")
    return BaselineEntry(
        id=str(item.get("id") or ""),
        cause=str(item.get("cause") or ""),
        findings=frozenset(map(str, codes)),
        clauses=tuple(map(str, item.get("clauses") or ())),
        rulings=tuple(map(str, item.get("rulings") or ())),
        reason=str(item["reason"]),
        rules=tuple(map(str, item.get("rules") or ())),
    )
