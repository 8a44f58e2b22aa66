"""`tpharness list`: scenarios, clauses, rulings, profiles, targets, faults or findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from tpharness import scenario, targets
from tpharness.clauses import AppClause, Clause, load_app_clauses, load_clauses, load_rulings, load_violations
from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError, did_you_mean
from tpharness.faults.catalogue import FAULTS
from tpharness.findings import load_kinds
from tpharness.printable import counted, say
from tpharness.profiles import find_profiles, load_profiles
from tpharness.resources import scenarios_dir
from tpharness.run.citing import choose_citing
from tpharness.run.requests import parse_clauses
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario_files import read_clauses, read_description

__all__ = ["LISTS", "list_"]

Rows = list[tuple[str, str, dict[str, Any]]]


def list_(
    what: Annotated[str, Argument(help="scenarios, clauses, rulings, profiles, targets, faults or findings")],
    clause: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Only scenarios that cite this clause; may be given again."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    scenarios: Annotated[list[Path] | None, Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """List scenarios, clauses, rulings, profiles, targets, faults or findings."""
    if what not in LISTS:
        hint = f"{did_you_mean(what, LISTS, '')} there are lists of {', '.join(LISTS)}".strip()
        raise UsageError(f"there is no list of {what!r}", hint=hint)
    if clause and what != "scenarios":
        raise UsageError("--clause is for the list of scenarios", hint=f"tpharness list scenarios --clause {clause[0]}")
    rows = LISTS[what](scenarios, json)
    if clause:
        citing = {one.id for one in choose_citing(_select(scenarios), parse_clauses(clause))}
        rows = [row for row in rows if row[0] in citing]
    if json:
        print_json([data for _, _, data in rows])
        return
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, text, _ in rows:
        say(f"{name:<{width}}  {text}")


def _select(roots: list[Path] | None) -> list[SelectedScenario]:
    return select_scenarios((), tuple(roots) if roots else (scenarios_dir(),))


def _descriptions(roots: list[Path] | None) -> Rows:
    """Each scenario with its description; a file is loaded only if that does not stand plainly at its beginning."""
    return [
        (one.id, read_description(one.path) or scenario.load_scenario(one.path, root=one.root).description, {})
        for one in _select(roots)
    ]


def _scenarios(roots: list[Path] | None) -> Rows:
    rows: Rows = []
    for one in _select(roots):
        loaded = scenario.load_scenario(one.path, root=one.root)
        data = {
            "id": loaded.id,
            "description": loaded.description,
            "clauses": list(loaded.clauses),
            "rulings": list(loaded.rulings),
            "tags": list(loaded.tags),
            "versions": [str(v.value) for v in loaded.versions],
        }
        rows.append((loaded.id, loaded.description, data))
    return rows


def _cited(one: SelectedScenario) -> tuple[str, ...]:
    """Return the clauses that a scenario cites; it is loaded only if they do not stand plainly at its beginning."""
    found = read_clauses(one.path)
    return scenario.load_scenario(one.path, root=one.root).clauses if found is None else found


def _clauses(roots: list[Path] | None) -> Rows:
    """Each clause with the scenarios that exercise it, and with what violates it and is found."""
    exercised: dict[str, list[str]] = {}
    for one in _select(roots):
        for name in _cited(one):
            exercised.setdefault(name, []).append(one.id)
    clauses: list[Clause | AppClause] = [*load_clauses().values(), *load_app_clauses().values()]
    rows: Rows = []
    for clause in clauses:
        scenarios, found = exercised.get(clause.id, []), load_violations().get(clause.id, ())
        kinds = Counter(violation.kind for violation in found)
        counts = ", ".join(counted(number, kind) for kind, number in kinds.items()) or "nothing"
        text = f"{clause.level:<6} {_exercised(clause, scenarios):>13}  violated by {counts}: {clause.text}"
        shown = [{key: value for key, value in asdict(v).items() if key != "clauses"} for v in found]
        rows.append((clause.id, text, {**asdict(clause), "scenarios": scenarios, "violations": shown}))
    return rows


def _exercised(clause: Clause | AppClause, scenarios: Sequence[str]) -> str:
    """Return by what a clause is exercised: scenarios, the tools that read documents, or `tpharness app`."""
    if isinstance(clause, AppClause):
        return "app"
    return counted(len(scenarios), "scenario") if scenarios or not clause.exercised_by else clause.exercised_by


def _rulings() -> Rows:
    return [(r.id, r.title, asdict(r)) for r in load_rulings().values()]


def _profiles(roots: list[Path] | None) -> Rows:
    """Each profile with the scenarios and clauses that belong to it, in the order in which to take them on."""
    found: dict[str, list[str]] = {}
    for one in _select(roots):
        for profile in find_profiles(one.id, _cited(one)):
            found.setdefault(profile.name, []).append(one.id)
    rows: Rows = []
    for profile in load_profiles().values():
        scenarios = found.get(profile.name, [])
        clauses = [clause for clause in load_clauses() if profile.has_clause(clause)]
        faults = [fault for fault in FAULTS if profile.has_fault(fault)]
        counts = [counted(len(scenarios), "scenario"), counted(len(clauses), "clause")]
        counts += [counted(len(faults), "fault")] if faults else []
        data = {"name": profile.name, "title": profile.title, "for": profile.reader, "core": profile.core}
        data |= {"scenarios": scenarios, "clauses": clauses, "faults": faults}
        rows.append((profile.name, f"{', '.join(counts)}: {profile.title}. {profile.reader}", data))
    return rows


def _faults() -> Rows:
    return [
        (
            f.name,
            f.title,
            {"name": f.name, "title": f.title, "guarantee": f.guarantee.value, "rulings": list(f.rulings)},
        )
        for f in FAULTS.values()
    ]


def _findings() -> Rows:
    return [
        (kind.code, f"{kind.level.name:<6} {kind.title}", {**asdict(kind), "level": kind.level.value})
        for kind in sorted(load_kinds().values(), key=lambda kind: kind.code)
    ]


LISTS: dict[str, Callable[[list[Path] | None, bool], Rows]] = {
    "scenarios": lambda roots, json: _scenarios(roots) if json else _descriptions(roots),
    "clauses": lambda roots, _: _clauses(roots),
    "rulings": lambda *_: _rulings(),
    "profiles": lambda roots, _: _profiles(roots),
    "targets": lambda *_: [(name, text, {"target": name, "meaning": text}) for name, text in targets.TARGETS.items()],
    "faults": lambda *_: _faults(),
    "findings": lambda *_: _findings(),
}
"""What makes each list, of the folders with scenarios and of whether JSON is wanted."""
