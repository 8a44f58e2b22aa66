"""`tpharness mutate`: play the suite on wrong implementations and say which of them it lets through."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Exit, Option
from tpharness.cli.reports import EarlyEnd
from tpharness.errors import UsageError
from tpharness.explore.mutation import (
    Changes,
    Defect,
    Matrix,
    Row,
    killers,
    load_changes,
    load_selected,
    play_module,
    record_selected,
    smoke,
    unharmed,
    worth_recording,
)
from tpharness.output import write_atomically
from tpharness.printable import counted, say
from tpharness.report.progress import watch_items

__all__ = ["mutate"]


def mutate(
    module: Annotated[str, Argument(help="Module that defines DEFECTS, such as tests.seeded_defects.")],
    ids: Annotated[list[str] | None, Argument(help="Scenario ids, themes or patterns with * [default: all].")] = None,
    defect: Annotated[
        list[str] | None, Option(metavar="NAME", help="Only this defect, or a pattern with *; repeatable.")
    ] = None,
    scenarios: Annotated[
        list[Path] | None, Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Worker processes.")] = 1,
    all_kills: Annotated[
        bool,
        Option("--all-kills", help="Find every scenario that fails a defect, also when its verdict is settled."),
    ] = False,
    whole: Annotated[
        bool,
        Option("--whole", help="Play everything, also what a defect cannot have reached: slower, and as --all-kills."),
    ] = False,
    names: Annotated[bool, Option("--list", help="List the defects and play nothing.")] = False,
    update: Annotated[
        bool,
        Option("--update", help="Write killers.json beside the module: a few scenarios that find each defect."),
    ] = False,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say which wrong implementations the scenarios find.

    Scenarios are played on the reference with one defect at a time.
    """
    changes = load_changes(module)
    chosen = _chosen(changes, defect or [])
    if names:
        for one in map(changes.named, chosen):
            say(f"{one.name:<48}  {one.side:<6}  {one.sentence}")
        return
    if update and (ids or scenarios or defect):
        raise UsageError("--update plays everything", hint="leave out the scenarios and --defect")
    roots = tuple(scenarios or ())
    recorded = not whole and worth_recording(chosen)
    all_kills = all_kills or whole or update
    rows = []
    ended = EarlyEnd(len(chosen))
    found = play_module(module, chosen, ids or (), roots, jobs=jobs, all_kills=all_kills, recorded=recorded)
    for row in ended.until_stopped(watch_items(found, len(chosen), "defect", printed=True)):
        rows.append(row)
        if not json:
            say(_line(row, all_kills=all_kills), flush=True)
    complete = changes.complete and not (defect or ids or ended.signal)
    loaded = load_selected(tuple(ids or ()), roots)
    matrix = Matrix(
        rows=tuple(rows), scenarios=loaded, elsewhere=changes.elsewhere, complete=complete, all_kills=all_kills
    )
    if update and not ended.signal:
        cases = record_selected((), ()).cases if recorded else unharmed(loaded)
        _write_killers(matrix, cases, changes.folder / "killers.json")
    early = ended.as_json("defects")
    if json:
        print_json(matrix.as_json() | ({} if early is None else {"passed": False, "incomplete": early}))
    else:
        _print_summary(matrix, whole=not defect and early is None)
        if early is not None:
            say("", f"INCOMPLETE {ended.taken} of {counted(ended.wanted, 'defect')}, interrupted by {ended.signal}")
    ended.interrupt_again()
    raise Exit(0 if matrix.passed else 1)


def _chosen(changes: Changes, patterns: Sequence[str]) -> list[str]:
    known = [one.name for one in changes.all()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            changes.named(pattern)  # says that there is none
    return [name for name in known if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)]


def _line(row: Row, *, all_kills: bool) -> str:
    change = row.change
    if not isinstance(change, Defect):
        verdict = f"accused by {', '.join(kill.case for kill in row.kills[:3])}" if row.killed else "harmless"
        return f"{verdict:<10}  {change.name}: {change.sentence}"
    if not row.killed:
        return f"SURVIVES    {change.name}: {change.sentence}"
    right = tuple(filter(row.is_right, row.kills))
    verdict = "killed" if right else "MISJUDGED"
    first = (right or row.kills)[0]
    broken = sorted(first.cites & {*change.clauses, *change.rulings})
    cited = ", ".join(broken or sorted(first.named or first.cites)[:3]) or "nothing"
    if all_kills:
        found = f"by {counted(len(row.kills), 'scenario')}, {len(right) or 'none'} for right clause"
        by = f"{found}, first {first.case} ({cited})"
    else:
        by = f"by {first.case} for {'right' if right else 'another'} clause ({cited})"
    return f"{verdict:<10}  {change.name}: {by}"


def _print_summary(matrix: Matrix, *, whole: bool) -> None:
    found, defects = sum(row.right for row in matrix.defects), len(matrix.defects)
    at_once = sum(bool(row.kills) and row.is_right(row.kills[0]) for row in matrix.defects)
    first = f", {at_once} of them in the first scenario that fails" if matrix.all_kills else ""
    say("", f"{found} of {defects} defects fail for a clause that they break ({matrix.score:.0%}){first}")
    for title, rows in (
        ("survivors", matrix.survivors),
        ("failed for other clauses only", matrix.misjudged),
        ("harmless, and accused", matrix.accused),
    ):
        _print_list(title, [f"{row.change.name}: {row.change.sentence}" for row in rows])
    unconfirmed = [f"{name}: {', '.join(clauses)}" for name, clauses in matrix.unconfirmed.items()]
    _print_list("clauses that a defect breaks and no failure cites", unconfirmed)
    if matrix.complete:
        _print_list("MUST clauses that scenarios exercise and no defect breaks", matrix.unbroken)
    elif whole and matrix.unbroken:
        left = counted(len(matrix.unbroken), "MUST clause")
        say("", f"no defect breaks {left} that scenarios exercise (--json has them)")
    if whole and matrix.all_kills:
        _print_list("scenarios that find no defect", matrix.idle)
        _print_list("scenarios that find only what one in ten finds", matrix.blunt)
    if matrix.all_kills:
        chosen = smoke(matrix.defects)
        _print_list(f"a set of {counted(len(chosen), 'scenario')} that finds every killed defect", chosen)


def _print_list(title: str, items: Sequence[str]) -> None:
    if items:
        say("", f"{title}:")
        for item in items:
            say(f"  {item}")


def _write_killers(matrix: Matrix, cases: Mapping[str, int], path: Path) -> None:
    table = {row.change.name: list(killers(row, cases)) for row in matrix.defects if row.killed}
    write_atomically(str(path), jsonlib.dumps(table, indent=1) + "\n")
    say(f"wrote {path}", err=True)
