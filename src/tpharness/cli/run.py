"""`tpharness run`: play scenarios and give a verdict."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tpharness.cli.files import version_option
from tpharness.errors import TargetError, UsageError
from tpharness.faults import FAULTS
from tpharness.protocol.versions import Version
from tpharness.report import ConsoleReport, Pair, Report, parse_reports, print_matrix
from tpharness.rooms import histories_room
from tpharness.run import RunEvent, RunOptions, run_suite
from tpharness.run.cluster import check_address
from tpharness.run.shard import Shard
from tpharness.scenario import Compare

__all__ = ["run"]

_SIDE = "may be given again: every server then plays every client. `tpharness list targets` says what there is."


def run(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Scenario ids, themes or patterns with *; all when none.")
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
    compare: Annotated[str | None, typer.Option(help="exact or content, instead of what each scenario says.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Play on Dask workers: local, local:N, or a scheduler's tcp://HOST:PORT."),
    ] = None,
    report: Annotated[
        list[str] | None, typer.Option(help="console, json:PATH or junit:PATH; may be given again.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Known failures, a YAML file.")] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Play with this fault on the wire, or all; may be given again. `tpharness list faults`.",
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only part I of N; `tpharness merge` puts the reports together.")
    ] = None,
    scenarios: Annotated[
        list[Path] | None, typer.Option(help="Folders or files with your own scenarios, in place of the built-in ones.")
    ] = None,
) -> None:
    """Play scenarios on a server and a client, and check that both end up with the same canonical thread."""
    wants_console, destinations = parse_reports(report or [])
    if compare not in (None, "exact", "content"):
        raise UsageError(f"--compare takes exact or content, not {compare!r}")
    versions, histories = _dialects(dialect or [])
    if histories and (server or client or fault or compare):
        raise UsageError(
            "histories are kept by the reference in this process, by themselves and without faults",
            hint="leave --server, --client, --fault and --compare away, or name a version: --dialect 0.0.4",
        )
    options = RunOptions(
        ids=tuple(ids or ()),
        roots=tuple(scenarios or ()),
        versions=versions or None,
        compare=None if compare is None else Compare(compare),
        jobs=jobs,
        baseline=baseline,
        faults=_faults(fault or []),
        shard=None if shard is None else Shard.parse(shard),
        cluster="" if cluster is None else check_address(cluster),
    )
    if shard is not None and (histories or len(server or ()) > 1 or len(client or ()) > 1):
        raise UsageError("a shard is a part of one run on one pair", hint="run the pairs, or histories, one by one")
    pairs = [Pair(server=s, client=c) for s, c in product(server or ["reference"], client or ["reference"])]
    plays = {
        pair: replace(options, server=pair.server, client=pair.client) for pair in pairs if versions or not histories
    }
    for name in histories:
        plays[Pair(server="reference", client=f"history {name}")] = replace(options, history=name)
    pipe = any(destination.path == "-" for destination in destinations)
    if len(plays) == 1:
        played = _play(*plays.values(), wants_console=wants_console, stderr=pipe)
        for destination in destinations:
            destination.write(played)
        raise typer.Exit(0 if played.passed else 1)
    reports = {
        pair: _play_of_several(pair, one, wants_console=wants_console, stderr=pipe) for pair, one in plays.items()
    }
    if wants_console:
        print_matrix(Console(highlight=False, stderr=pipe), reports)
    for destination in destinations:
        destination.write_matrix({str(pair): played for pair, played in reports.items()})
    raise typer.Exit(0 if all(played.passed for played in reports.values()) else 1)


def _dialects(names: list[str]) -> tuple[tuple[Version, ...], list[str]]:
    """Return the versions that are named, and the histories, those without a variant with all of theirs."""
    versions: list[Version] = []
    histories: list[str] = []
    room = histories_room()
    for name in names:
        named = [] if room is None else room.named(name)
        histories += named
        if not named:
            versions.append(version_option(name, others=[] if room is None else room.names()))
    return tuple(dict.fromkeys(versions)), list(dict.fromkeys(histories))


def _faults(names: list[str]) -> tuple[str, ...]:
    """Return the faults that are named, each once, in the order of the catalogue."""
    wanted = {name for given in names for name in given.split(",")}
    unknown = sorted(wanted - set(FAULTS) - {"all"})
    if unknown:
        near = difflib.get_close_matches(unknown[0], FAULTS, n=1)
        hint = f"did you mean {near[0]}?" if near else "`tpharness list faults` names them"
        raise UsageError(f"no fault is called {unknown[0]!r}", hint=hint)
    return tuple(name for name in FAULTS if name in wanted or "all" in wanted)


def _play(options: RunOptions, *, wants_console: bool, stderr: bool, one_of_several: bool = False) -> Report:
    console = (
        ConsoleReport(stderr=stderr, roots=options.roots, one_of_several=one_of_several) if wants_console else None
    )
    model = Report()
    try:
        for event in _events(options):
            model.feed(event)
            if console is not None:
                console.feed(event)
    finally:
        if console is not None:
            console.close()
    return model


def _events(options: RunOptions) -> Iterator[RunEvent]:
    room = histories_room()
    return room.run_history(options) if options.history and room is not None else run_suite(options)


def _play_of_several(pair: Pair, options: RunOptions, *, wants_console: bool, stderr: bool) -> Report:
    """Play one pair; a target that cannot be had leaves the other pairs alone."""
    try:
        return _play(options, wants_console=wants_console, stderr=stderr, one_of_several=True)
    except TargetError as error:
        if wants_console:
            out = Console(highlight=False, stderr=stderr, markup=False, soft_wrap=True)
            out.print(f"\nCOULD NOT RUN {pair}\n  {error}\n  {error.hint}")
        return Report(error=f"{error} {error.hint}".strip())
