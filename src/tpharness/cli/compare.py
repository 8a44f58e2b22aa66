"""`tpharness compare`: what each history loses of an interrupted turn, and which model APIs accept it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError, did_you_mean
from tpharness.histories.compare import DEFAULT_IDS
from tpharness.histories.compare import compare as compare_histories
from tpharness.histories.page import render_comparison
from tpharness.histories.projections import HistoryDialect
from tpharness.histories.registry import HISTORIES, all_names, find_histories
from tpharness.histories.report import compare_json, compare_markdown, print_comparison
from tpharness.histories.tracks import history_tracks
from tpharness.output import check_writable, write_atomically
from tpharness.printable import say
from tpharness.report.progress import watch_items
from tpharness.report.terminal import make_console
from tpharness.resources import scenarios_dir
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario

__all__ = ["compare"]

_PIPED_WIDTH = 100


def compare(
    ids: Annotated[
        list[str] | None,
        Argument(help=f"Scenario ids, themes or patterns with *; {', '.join(DEFAULT_IDS)} when none."),
    ] = None,
    dialect: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Only this history, such as 0.0.4 or langchain; may be given again."),
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[bool, Option("--markdown", help="Print Markdown, as on the page HISTORIES.")] = False,
    html: Annotated[
        str | None,
        Option("--html", metavar="PATH", help="Write a page: drag the cut, and see what each history loses."),
    ] = None,
    scenarios: Annotated[
        list[Path] | None, Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
) -> None:
    """Compare what histories keep of an interrupted turn.

    Scenarios are cut wherever a user can cut them. The output shows what each history keeps, and which model APIs
    accept it.
    """
    roots = tuple(scenarios) if scenarios else (scenarios_dir(),)
    wanted = tuple(ids or (() if scenarios else DEFAULT_IDS))
    at = next((one for one in wanted if "@" in one), None)
    if at is not None:
        raise UsageError(f"{at!r} names one place, and compare cuts everywhere", hint=f"compare {at.partition('@')[0]}")
    if json and markdown:
        raise UsageError("--json and --markdown are two forms of one output", hint="leave one of them away")
    if html == "-" and (json or markdown):
        raise UsageError("--html - and the tables would go to the same output", hint="give the page a file")
    histories = _histories(dialect or list(HISTORIES))
    loaded = [load_scenario(one.path, root=one.root) for one in select_scenarios(wanted, roots)]
    if html is not None and html != "-":
        check_writable(Path(html), "the page")
    comparison = compare_histories(watch_items(loaded, len(loaded)), histories)
    if html is not None:
        drawn = watch_items(loaded, len(loaded))
        tracked = ((scenario, history_tracks(scenario, histories)) for scenario in drawn)
        write_atomically(html, render_comparison(comparison, tracked))
        if html == "-":
            return
    if json:
        print_json(compare_json(comparison))
        return
    if markdown:
        say(*compare_markdown(comparison).splitlines())
        return
    console = make_console()
    if not console.is_terminal:
        console = make_console(width=_PIPED_WIDTH)
    print_comparison(console, comparison)
    if html is not None:
        say(f"written to {html}")


def _histories(wanted: list[str]) -> list[HistoryDialect]:
    found: dict[str, HistoryDialect] = {}
    for name in wanted:
        matching = find_histories(name)
        if not matching:
            hint = did_you_mean(name, all_names(), f"there are {', '.join(all_names())}")
            raise UsageError(f"no history is called {name!r}", hint=hint)
        found.update((history.name, history) for history in matching)
    return list(found.values())
