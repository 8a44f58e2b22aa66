"""`tpharness convert`: convert a thread to another version."""

from __future__ import annotations

from typing import Annotated

from tpharness.cli.files import read_thread
from tpharness.cli.options import Argument, Option
from tpharness.output import json_text, write_atomically
from tpharness.printable import say
from tpharness.protocol.migrate import convert as migrate
from tpharness.protocol.versions import parse_version

__all__ = ["convert"]


def convert(
    file: Annotated[str, Argument(help="A thread; - is standard input.")],
    to: Annotated[str, Option("--to", help="2.0.0, 0.0.3 or 0.0.4.")],
    output: Annotated[str, Option("-o", "--output", help="Where to write; - is standard output.")] = "-",
) -> None:
    """Convert a thread to another version.

    What the version cannot say is reported on standard error (R1). The thread has to keep the rules of its version.
    """
    version = parse_version(to)
    migration = migrate(read_thread(file), version)
    for heading, losses in (("dropped", migration.dropped), ("not understood", migration.unsaid)):
        for loss in losses:
            say(f"{heading} {loss.pointer}: {loss.what}; {loss.why}", err=True)
    write_atomically(output, json_text(migration.thread) + "\n")
