"""`tpharness explain`: what a clause, a ruling, a scenario, a finding or a fault means."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from tpharness.clauses import clause_texts, load_app_clauses, load_clauses, load_rulings, load_violations
from tpharness.errors import UsageError
from tpharness.faults import FAULTS
from tpharness.faults.catalogue import Guarantee
from tpharness.findings import load_kinds
from tpharness.resources import scenarios_dir
from tpharness.run.select import select_scenarios
from tpharness.scenario import Scenario, load_scenario

__all__ = ["explain"]


_GUARANTEES = {
    Guarantee.IDENTITY: "nothing is lost, so both threads are as they would have been without the fault",
    Guarantee.PREFIX: "the client holds a prefix of the server's thread, and the same thread after a fetch",
    Guarantee.CONTENT: "nothing is lost, so both threads are as they would have been, but for times",
    Guarantee.AGREEMENT: "whichever came first, both sides hold the same thread",
}


def explain(
    name: Annotated[str, typer.Argument(help="A clause id, a ruling (R20), a scenario id, a finding code or a fault.")],
    scenarios: Annotated[list[Path] | None, typer.Option(help="Folders with your own scenarios.")] = None,
) -> None:
    """Explain a clause, a ruling, a scenario, a finding or a fault."""
    clauses, rulings, kinds, app_clauses = load_clauses(), load_rulings(), load_kinds(), load_app_clauses()
    if name in clauses:
        clause = clauses[name]
        print(f"{clause.id} ({clause.level}, {', '.join(clause.versions)})\n  {clause.text}")
        print(
            f"  from {clause.document}, {clause.section}"
            + (f"; decided by {', '.join(clause.rulings)}" if clause.rulings else "")
        )
        if clause.exercised_by:
            print(f"  exercised by {clause.exercised_by}: {clause.why}")
        users = [s.id for s in _scenarios(scenarios) if name in s.clauses]
        print(f"  scenarios: {', '.join(users) or 'none'}")
        _print_violations(name)
    elif name in app_clauses:
        about = app_clauses[name]
        print(f"{about.id} ({about.level}, applications)\n  {about.text}\n  why: {about.reason}")
        print(f"  to do: {about.remedy}\n  judged by the check {about.check} of tpharness app")
        _print_violations(name)
    elif name in rulings:
        print(f"{name}: {rulings[name].title}\n\n{rulings[name].text}")
    elif name in kinds:
        kind = kinds[name]
        print(f"{kind.code} ({kind.level.name})\n  {kind.title}")
        if kind.meaning:
            print(f"  {kind.meaning}")
        print(f"  to do: {kind.remedy}")
        texts = clause_texts()
        for clause_id in kind.clauses:
            print(f"  {clause_id}: {texts.get(clause_id, '')}")
        for ruling in kind.rulings:
            print(f"  {ruling}: {rulings[ruling].title} (tpharness explain {ruling})")
    elif name in FAULTS:
        fault = FAULTS[name]
        print(f"{fault.name}\n  {fault.title}\n  guarantee: {_GUARANTEES[fault.guarantee]}")
        for ruling in fault.rulings:
            print(f"  {ruling}: {rulings[ruling].title} (tpharness explain {ruling})")
        print(f"  play it: tpharness run --server http://HOST:PORT --fault {fault.name}")
    else:
        _scenario(name, scenarios)


def _print_violations(clause: str) -> None:
    found = load_violations().get(clause, ())
    print(f"  violated and found:{'' if found else ' nothing'}")
    for one in found:
        print(f"    {one.kind} {one.name}: {one.sentence} Found by {', '.join(one.found_by)}.")


def _scenario(name: str, roots: list[Path] | None) -> None:
    known = {s.id: s for s in _scenarios(roots)}
    scenario = known.get(name.partition("@")[0])
    if scenario is None:
        every = [*load_clauses(), *load_app_clauses(), *load_rulings(), *load_kinds(), *FAULTS, *known]
        near = difflib.get_close_matches(name, every, n=3)
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else "see tpharness list clauses, rulings, findings, faults or scenarios"
        )
        if "/" in name:
            hint += "\n  --scenarios FOLDER finds your own; `tpharness app --list` has the cases of applications"
        raise UsageError(f"nothing is called {name!r}", hint=hint)
    clauses = load_clauses()
    print(f"{scenario.id} ({', '.join(str(v.value) for v in scenario.versions)})\n  {scenario.description}")
    print(f"  file: {scenario.path}")
    for clause in scenario.clauses:
        print(f"  {clause}: {clauses[clause].text}" if clause in clauses else f"  {clause}")
    if scenario.rulings:
        print(f"  decided by {', '.join(scenario.rulings)}")


def _scenarios(roots: list[Path] | None) -> list[Scenario]:
    return [load_scenario(one.path, root=one.root) for one in select_scenarios((), tuple(roots or (scenarios_dir(),)))]
