"""`tpharness hash`: the canonical hash of a thread."""

from __future__ import annotations

import sys
from typing import Annotated

from tpharness.cli.files import read_thread
from tpharness.cli.options import Argument, Exit, Option
from tpharness.printable import say
from tpharness.protocol.canonical import canonical_thread, thread_hash
from tpharness.protocol.jcs import CanonicalError, jcs
from tpharness.protocol.migrate import version_of

__all__ = ["hash_"]


def hash_(
    file: Annotated[str, Argument(help="A thread; - is standard input.")],
    canonical: Annotated[bool, Option("--canonical", help="Print the canonical bytes instead.")] = False,
) -> None:
    """Print the canonical hash of a thread.

    It is the sha256 over RFC 8785 of version and turns (R37).
    """
    thread = read_thread(file)
    version_of(thread)
    try:
        if canonical:
            sys.stdout.buffer.write(jcs(canonical_thread(thread)))
            sys.stdout.buffer.flush()
        else:
            say(thread_hash(thread))
    except CanonicalError as error:
        say(f"{file} has no canonical form: {error}", f"  {error.hint}", err=True)
        raise Exit(1) from None
