"""`tpharness list`: scenarios, clauses, rulings, targets, faults or findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from tpharness.clauses import load_clauses, load_rulings
from tpharness.cli.files import print_json
from tpharness.errors import UsageError
from tpharness.faults import FAULTS
from tpharness.findings import load_kinds
from tpharness.resources import scenarios_dir
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.targets import TARGETS

__all__ = ["list_"]

Rows = list[tuple[str, str, dict[str, Any]]]


def list_(
    what: Annotated[str, typer.Argument(help="scenarios, clauses, rulings, targets, faults or findings")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    scenarios: Annotated[list[Path] | None, typer.Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """List scenarios, clauses, rulings, targets, faults or findings."""
    kinds: dict[str, Callable[[], Rows]] = {
        "scenarios": lambda: _scenarios(scenarios),
        "clauses": _clauses,
        "rulings": _rulings,
        "targets": lambda: [(name, text, {"target": name, "meaning": text}) for name, text in TARGETS.items()],
        "faults": _faults,
        "findings": _findings,
    }
    if what not in kinds:
        raise UsageError(f"there is no list of {what!r}", hint=f"there are lists of {', '.join(kinds)}")
    rows = kinds[what]()
    if json:
        print_json([data for _, _, data in rows])
        return
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, text, _ in rows:
        print(f"{name:<{width}}  {text}")


def _scenarios(roots: list[Path] | None) -> Rows:
    rows: Rows = []
    for one in select_scenarios((), tuple(roots) if roots else (scenarios_dir(),)):
        scenario = load_scenario(one.path, root=one.root)
        data = {
            "id": scenario.id,
            "description": scenario.description,
            "clauses": list(scenario.clauses),
            "rulings": list(scenario.rulings),
            "tags": list(scenario.tags),
            "versions": [str(v.value) for v in scenario.versions],
        }
        rows.append((scenario.id, scenario.description, data))
    return rows


def _clauses() -> Rows:
    return [(c.id, f"{c.level:<6} {c.text}", asdict(c)) for c in load_clauses().values()]


def _rulings() -> Rows:
    return [(r.id, r.title, asdict(r)) for r in load_rulings().values()]


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
