"""`tpharness explain`: what a clause, a ruling, a scenario, a finding or a fault means.

What plays scenarios is imported where one is asked for: most explanations are a text that is there.
"""

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
from tpharness.printable import say
from tpharness.resources import scenarios_dir

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
        say(f"{clause.id} ({clause.level}, {', '.join(clause.versions)})", f"  {clause.text}")
        say(
            f"  from {clause.document}, {clause.section}"
            + (f"; decided by {', '.join(clause.rulings)}" if clause.rulings else "")
        )
        if clause.exercised_by:
            say(f"  exercised by {clause.exercised_by}: {clause.why}")
        users = _scenarios_about(name, scenarios)
        say(f"  scenarios: {', '.join(users) or 'none'}")
        _print_violations(name)
    elif name in app_clauses:
        about = app_clauses[name]
        say(f"{about.id} ({about.level}, applications)", f"  {about.text}", f"  why: {about.reason}")
        say(f"  to do: {about.remedy}", f"  judged by the check {about.check} of tpharness app")
        _print_violations(name)
    elif name in rulings:
        say(f"{name}: {rulings[name].title}", "", *rulings[name].text.splitlines())
    elif name in kinds:
        kind = kinds[name]
        say(f"{kind.code} ({kind.level.name})", f"  {kind.title}")
        if kind.meaning:
            say(f"  {kind.meaning}")
        say(f"  to do: {kind.remedy}")
        texts = clause_texts()
        for clause_id in kind.clauses:
            say(f"  {clause_id}: {texts.get(clause_id, '')}")
        for ruling in kind.rulings:
            say(f"  {ruling}: {rulings[ruling].title} (tpharness explain {ruling})")
    elif name in FAULTS:
        fault = FAULTS[name]
        say(f"{fault.name}", f"  {fault.title}", f"  guarantee: {_GUARANTEES[fault.guarantee]}")
        for ruling in fault.rulings:
            say(f"  {ruling}: {rulings[ruling].title} (tpharness explain {ruling})")
        say(f"  play it: tpharness run --server http://HOST:PORT --fault {fault.name}")
    else:
        _scenario(name, scenarios)


def _print_violations(clause: str) -> None:
    found = load_violations().get(clause, ())
    say(f"  violated and found:{'' if found else ' nothing'}")
    for one in found:
        say(f"    {one.kind} {one.name}: {one.sentence} Found by {', '.join(one.found_by)}.")


def _scenario(name: str, roots: list[Path] | None) -> None:
    from tpharness.run.select import select_scenarios  # noqa: PLC0415
    from tpharness.scenario import load_scenario  # noqa: PLC0415

    known = {one.id: one for one in select_scenarios((), tuple(roots or (scenarios_dir(),)))}
    found = known.get(name.partition("@")[0])
    if found is None:
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
    scenario = load_scenario(found.path, root=found.root)
    clauses = load_clauses()
    say(f"{scenario.id} ({', '.join(str(v.value) for v in scenario.versions)})", f"  {scenario.description}")
    say(f"  file: {scenario.path}")
    for clause in scenario.clauses:
        say(f"  {clause}: {clauses[clause].text}" if clause in clauses else f"  {clause}")
    if scenario.rulings:
        say(f"  decided by {', '.join(scenario.rulings)}")


def _scenarios_about(clause: str, roots: list[Path] | None) -> list[str]:
    from tpharness.run.select import select_scenarios  # noqa: PLC0415
    from tpharness.scenario import load_scenario  # noqa: PLC0415

    selected = select_scenarios((), tuple(roots or (scenarios_dir(),)))
    return [one.id for one in selected if clause in load_scenario(one.path, root=one.root).clauses]
