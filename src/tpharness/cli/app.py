"""The application: every command, and what they share."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from tpharness.cli import (
    check,
    compare,
    convert,
    diff,
    explain,
    fold,
    fuzz,
    hash,  # noqa: A004
    listing,
    merge,
    mutate,
    record,
    replay,
    run,
    serve,
    sweep,
)

__all__ = ["app"]

app = typer.Typer(
    name="tpharness",
    help="Conformance test suite and stream-replay harness for ThreadProtocol.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tpharness {version('tpharness')}")
        raise typer.Exit


@app.callback()
def _root(
    show: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Conformance test suite and stream-replay harness for ThreadProtocol."""
    del show


app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("fuzz")(fuzz.fuzz)
app.command("list")(listing.list_)
app.command("explain")(explain.explain)
app.command("check")(check.check)
app.command("compare")(compare.compare)
app.command("hash")(hash.hash_)
app.command("diff")(diff.diff)
app.command("convert")(convert.convert)
app.command("fold")(fold.fold)
app.command("record")(record.record)
app.command("replay")(replay.replay)
app.command("merge")(merge.merge)
app.command("mutate")(mutate.mutate)
app.command("serve")(serve.serve)
