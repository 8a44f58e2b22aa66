"""`tpharness run`: play scenarios and give a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tpharness.cli.reports import shown_on_every_way_out, take_all, written_on_every_way_out
from tpharness.cli.tracing import DEFAULT_TRACE, TraceOption, TraceToOption, tracing
from tpharness.errors import TargetError
from tpharness.printable import make_printable
from tpharness.profiles import parse_profiles
from tpharness.report import ConsoleReport, Destination, Report, parse_reports, print_matrix, report_words
from tpharness.report.trace import TraceReport
from tpharness.run import RunOptions
from tpharness.run.cluster import check_address
from tpharness.run.order import Order
from tpharness.run.pairs import Pair, parse_compare, parse_faults, plan_runs, play_run
from tpharness.run.shard import Shard
from tpharness.trace.format import Traced

__all__ = ["run"]

_SIDE = "may be given again: every server then plays every client. `tpharness list targets` lists the targets."


def run(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Scenario ids, themes or patterns with * [default: all].")
    ] = None,
    server: Annotated[
        list[str] | None, typer.Option(metavar="TARGET", help=f"The server to play [default: reference]; {_SIDE}")
    ] = None,
    client: Annotated[
        list[str] | None, typer.Option(metavar="TARGET", help=f"The client to play [default: reference]; {_SIDE}")
    ] = None,
    dialect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this version, such as 0.0.4; or a history, such as langchain; may be given again.",
        ),
    ] = None,
    compare: Annotated[str | None, typer.Option(help="exact or content, for all scenarios.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Play on Dask workers: local, local:N, or a scheduler's tcp://HOST:PORT."),
    ] = None,
    report: Annotated[
        list[str] | None, typer.Option(metavar="REPORT", help=f"One of {report_words()}; may be given again.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="A YAML file of known failures.")] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Play with this fault on the wire, or all; may be given again. `tpharness list faults`.",
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only part I of N; `tpharness merge` merges the reports.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            help="random, random:SEED, or a JSON report whose order to play again [default: by id].",
        ),
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only scenarios of this profile; may be given again. `tpharness list profiles`."
        ),
    ] = None,
    trace: TraceOption = Traced.FAILED,
    trace_to: TraceToOption = DEFAULT_TRACE,
    scenarios: Annotated[
        list[Path] | None, typer.Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
) -> None:
    """Play scenarios on a server and a client.

    Both have to end up with the same canonical thread.
    """
    wants_console, destinations = parse_reports(report or [])
    shared = RunOptions(
        ids=tuple(ids or ()),
        roots=tuple(scenarios or ()),
        compare=parse_compare(compare),
        jobs=jobs,
        baseline=baseline,
        faults=parse_faults(fault or []),
        shard=None if shard is None else Shard.parse(shard),
        cluster="" if cluster is None else check_address(cluster),
        order=None if order is None else Order.parse(order),
        profiles=parse_profiles(profile or []),
        trace=trace,
    )
    plays = plan_runs(shared, servers=server or [], clients=client or [], dialects=dialect or [])
    reports = {pair: Report() for pair in plays}
    pipe = any(destination.path == "-" for destination in destinations)
    names = tuple(name for one in plays.values() for name in (one.server, one.client))
    show_trace = partial(tracing, trace_to, trace, targets=names, quiet=not wants_console, stderr=pipe)
    if len(plays) == 1:
        (options,), (played,) = plays.values(), reports.values()
        with (
            written_on_every_way_out(destinations, lambda destination: destination.write(played)),
            show_trace() as traced,
        ):
            _play(options, played, traced, wants_console=wants_console, stderr=pipe)
        raise typer.Exit(0 if played.passed else 1)

    def show() -> None:
        if wants_console:
            print_matrix(Console(highlight=False, stderr=pipe), reports)

    def write(destination: Destination) -> None:
        destination.write_matrix(_by_name(reports))

    with (
        written_on_every_way_out(destinations, write),
        show_trace() as traced,
        shown_on_every_way_out(reports.values(), show),
    ):
        for pair, one in plays.items():
            _play_of_several(pair, one, reports[pair], traced, wants_console=wants_console, stderr=pipe)
    raise typer.Exit(0 if all(played.passed for played in reports.values()) else 1)


def _by_name(reports: Mapping[Pair, Report]) -> dict[str, Report]:
    """Return the reports by the name of their pair, numbered where pairs differ in their tokens only."""
    named: dict[str, Report] = {}
    for pair, played in reports.items():
        alike = [name for name in named if name.partition(" #")[0] == str(pair)]
        named[f"{pair} #{len(alike) + 1}" if alike else str(pair)] = played
    return named


def _play(
    options: RunOptions,
    report: Report,
    traced: TraceReport,
    *,
    wants_console: bool,
    stderr: bool,
    one_of_several: bool = False,
) -> None:
    console = None
    if wants_console:
        console = ConsoleReport(
            stderr=stderr, roots=options.roots, played_on=options.target_words, one_of_several=one_of_several
        )
    trace = partial(traced.feed, server=options.server, client=options.client)
    take_all(play_run(options), report, console, trace)


def _play_of_several(
    pair: Pair, options: RunOptions, report: Report, traced: TraceReport, *, wants_console: bool, stderr: bool
) -> None:
    """Play one pair. A target that is unavailable does not affect the other pairs."""
    try:
        _play(options, report, traced, wants_console=wants_console, stderr=stderr, one_of_several=True)
    except TargetError as error:
        if wants_console:
            out = Console(highlight=False, stderr=stderr, markup=False, soft_wrap=True)
            for line in ("", f"COULD NOT RUN {pair}", f"  {error}", f"  {error.hint}"):
                out.print(make_printable(line))
