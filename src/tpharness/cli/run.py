"""`tpharness run`: play scenarios and give a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tpharness.cli.files import version_option
from tpharness.errors import UsageError
from tpharness.report import ConsoleReport, Report, parse_reports
from tpharness.run import RunOptions, run_suite
from tpharness.scenario import Compare

__all__ = ["run"]


def run(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Scenario ids, themes or patterns with *; all when none.")
    ] = None,
    server: Annotated[str, typer.Option(help="The server to play: reference or python:MODULE:OBJECT.")] = "reference",
    client: Annotated[str, typer.Option(help="The client to play: reference or python:MODULE:OBJECT.")] = "reference",
    dialect: Annotated[list[str] | None, typer.Option(help="Only this version; may be given again.")] = None,
    compare: Annotated[str | None, typer.Option(help="exact or content, instead of what each scenario says.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    report: Annotated[
        list[str] | None, typer.Option(help="console, json:PATH or junit:PATH; may be given again.")
    ] = None,
    baseline: Annotated[Path | None, typer.Option(help="Known failures, a YAML file.")] = None,
    scenarios: Annotated[list[Path] | None, typer.Option(help="Folders or files with your own scenarios.")] = None,
) -> None:
    """Play scenarios on a server and a client, and check that both end up with the same canonical thread."""
    wants_console, destinations = parse_reports(report or [])
    if compare not in (None, "exact", "content"):
        raise UsageError(f"--compare takes exact or content, not {compare!r}")
    options = RunOptions(
        ids=tuple(ids or ()),
        roots=tuple(scenarios or ()),
        server=server,
        client=client,
        versions=tuple(map(version_option, dialect)) if dialect else None,
        compare=None if compare is None else Compare(compare),
        jobs=jobs,
        baseline=baseline,
    )
    model = Report()
    pipe = any(destination.path == "-" for destination in destinations)
    console = ConsoleReport(stderr=pipe, roots=options.roots) if wants_console else None
    try:
        for event in run_suite(options):
            model.feed(event)
            if console is not None:
                console.feed(event)
    finally:
        if console is not None:
            console.close()
    for destination in destinations:
        destination.write(model)
    raise typer.Exit(0 if model.passed else 1)
