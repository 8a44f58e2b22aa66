"""`tpharness convert`: convert a thread to another version."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tpharness.cli.files import read_thread
from tpharness.protocol.migrate import convert as migrate
from tpharness.protocol.versions import parse_version
from tpharness.report import json_text, write_atomically

__all__ = ["convert"]


def convert(
    file: Annotated[str, typer.Argument(help="A thread; - is standard input.")],
    to: Annotated[str, typer.Option("--to", help="2.0.0, 0.0.3 or 0.0.4.")],
    output: Annotated[str, typer.Option("-o", "--output", help="Where to write; - is standard output.")] = "-",
) -> None:
    """Convert a thread to another version.

    What is dropped on the way is reported on standard error (R1).
    """
    version = parse_version(to)
    migration = migrate(read_thread(file), version)
    for dropped in migration.dropped:
        print(f"dropped {dropped.pointer}: {dropped.what}; {dropped.why}", file=sys.stderr)
    write_atomically(output, json_text(migration.thread) + "\n")
