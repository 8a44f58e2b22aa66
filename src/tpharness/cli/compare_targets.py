"""`tpharness compare-targets`: where several implementations make different things of the same scenarios."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Exit, Option
from tpharness.cli.wires import WireOption, over
from tpharness.errors import UsageError
from tpharness.explore.disagreement.campaign import (
    FoundDifference,
    compare_scenarios,
    generated_scenarios,
    given_scenarios,
    save_found,
)
from tpharness.explore.disagreement.panel import Panel
from tpharness.printable import counted, say, without_credentials
from tpharness.report.progress import watch_items
from tpharness.resources import scenarios_dir
from tpharness.run.options import side_options
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.wires.registry import DEFAULT_WIRE, wire_named

__all__ = ["compare_targets"]

_CASES = 200
"""Generated cases, where neither their number nor scenarios are given."""


def compare_targets(
    ids: Annotated[
        list[str] | None, Argument(help="Scenario ids, themes or patterns, in place of generated scenarios.")
    ] = None,
    server: Annotated[list[str] | None, Option(metavar="TARGET", help="A server; may be given again.")] = None,
    client: Annotated[list[str] | None, Option(metavar="TARGET", help="A client; may be given again.")] = None,
    wire: WireOption = DEFAULT_WIRE,
    cases: Annotated[
        int, Option(min=0, help=f"Generated cases to play [default: {_CASES}, none beside scenarios].")
    ] = 0,
    seed: Annotated[int, Option(min=0, help="Seed of the generated cases.")] = 0,
    shrink: Annotated[float, Option(min=0, help="Seconds to spend on making each disagreement small.")] = 10.0,
    save: Annotated[
        Path | None, Option(metavar="FOLDER", help="Folder for a scenario file of each disagreement.")
    ] = None,
    scenarios: Annotated[
        list[Path] | None, Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play the same on several servers, or several clients, over one wire, and print only where they part.

    Disagreements are grouped by cause. Exit code 1 if there are any.
    """
    servers, clients = tuple(server or ()), tuple(client or ())
    if max(len(servers), len(clients)) < 2:
        hint = "name at least two of a side: --server A --server B; `reference` is a target, too"
        raise UsageError("there is nothing to compare", hint=hint)
    roots = tuple(scenarios or ())
    given = select_scenarios(ids or (), roots or (scenarios_dir(),)) if ids or roots else []
    made = cases or (0 if given else _CASES)
    sides = tuple(chain(*(("--server", s) for s in servers), *(("--client", c) for c in clients)))
    sides = (*(without_credentials(word) for word in sides), *side_options("reference", "reference", wire))
    with Panel(
        servers if len(servers) > 1 else (), clients if len(clients) > 1 else (), wire=wire_named(wire).name
    ) as panel:
        generated = generated_scenarios(seed, made)
        loaded = (load_scenario(one.path, root=one.root) for one in given)
        everything = list(chain(given_scenarios(loaded), generated))
        watched = watch_items(everything, len(everything), "case")
        played, found = compare_scenarios(panel, watched, shrink_seconds=shrink)
        names = panel.names
    command = shlex.join(["tpharness", "compare-targets", *sides])
    if save is not None:
        for one in found:
            one.file = save_found(one, save, found_by=f"{one.case} of {command}", sides=sides)
    if as_json:
        print_json(_document(played, seed, wire, names, found))
    else:
        again = " ".join([command, *(["--cases", str(made), "--seed", str(seed)] if made else [])])
        alone = " ".join([command, *(f"--scenarios {shlex.quote(str(root))}" for root in roots)])
        _print(f"{counted(played, 'case')}{over(wire)}, seed {seed}", names, found, (command, again, alone))
    raise Exit(1 if found else 0)


def _print(
    what: str,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    found: Sequence[FoundDifference],
    commands: tuple[str, str, str],
) -> None:
    """`commands` play a saved case, the generated ones again, and a scenario that was given."""
    command, again, alone = commands
    for number, held in enumerate(found, 1):
        one = held.disagreement
        say(f"DISAGREEMENT {number}: {one.about}")
        verb = ("part" if one.tied else "depart") + ("s" if len(one.departing) == 1 else "")
        nobody = ", with no majority" if one.tied else ""
        say(f"  {', '.join(one.departing)} {verb} from {', '.join(one.majority)}{nobody}")
        say(f"  differs   {one.message}")
        if one.pointer:
            say(f"  at        {one.pointer}, in {', '.join(version.value for version in one.versions)}")
        if one.decided:
            say(f"  decided   by {', '.join(one.decided)} (tpharness explain {one.decided[0]})")
        if one.unseen:
            say(f"  unseen    no check of `tpharness run` finds {', '.join(one.unseen)} here")
        say(f"  cases     {held.count}, the first is {held.case}")
        if held.file is not None:
            say(f"  play it   {command} --scenarios {shlex.quote(str(held.file))}")
        elif " of seed " in held.case:
            say(f"  play it   {again}")
        else:
            say(f"  play it   {alone} {shlex.quote(held.case.partition('@')[0])}")
    servers, clients = names
    who = "; ".join(f"{word} {', '.join(some)}" for word, some in (("servers", servers), ("clients", clients)) if some)
    word = f"DISAGREE in {counted(len(found), 'cause')}" if found else "AGREE"
    say(f"{word}: {what}, {who}")


def _document(
    played: int,
    seed: int,
    wire: str,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    found: Sequence[FoundDifference],
) -> dict[str, Any]:
    return {
        "agree": not found,
        "cases": played,
        "seed": seed,
        "wire": wire,
        "servers": list(names[0]),
        "clients": list(names[1]),
        "disagreements": [
            {
                "about": held.disagreement.about,
                "departing": list(held.disagreement.departing),
                "majority": list(held.disagreement.majority),
                "tied": held.disagreement.tied,
                "differs": held.disagreement.message,
                "pointer": held.disagreement.pointer,
                "versions": [version.value for version in held.disagreement.versions],
                "rulings": list(held.disagreement.decided),
                "unseen": list(held.disagreement.unseen),
                "cases": held.count,
                "first": held.case,
                "file": None if held.file is None else str(held.file),
            }
            for held in found
        ],
    }
