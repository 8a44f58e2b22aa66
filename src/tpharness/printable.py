"""What other people wrote, made fit to be shown: on a terminal, in the log of a CI server, in a file that is shared."""

from __future__ import annotations

import re
import sys

__all__ = ["MAX_LINE", "counted", "make_printable", "say", "without_credentials"]

MAX_LINE = 16_384
"""Characters of a printed line: more than any that tpharness writes by itself, so that nobody fills a log."""

_CREDENTIALS = re.compile(r"\b([a-z][a-z0-9+.-]*:/+)[^\s/?#\"'<>]*@", re.IGNORECASE)


_OBEYED = re.compile(r"^\s*:(?=:)|#(?=#(?:\[|vso\[|teamcity\[))", re.IGNORECASE)


def without_credentials(text: str) -> str:
    """Return a text with the name, password or token before the `@` of its URLs left out.

    Everything that names a target goes through here before it is written: a report, a saved failure or a recording is
    shown to others, and a command that is printed finds the token in TPHARNESS_TOKEN.
    """
    return _CREDENTIALS.sub(r"\1", text)


def make_printable(text: str) -> str:
    """Return text as one line of at most MAX_LINE characters that does nothing but be read.

    Characters that are not printable (escape sequences, line ends, marks that turn the direction of writing) become
    escapes, and so does what a CI server obeys when it finds it in a log: `::set-output`, `##[command]`.
    """
    if len(text) > MAX_LINE:
        half = MAX_LINE // 2
        text = f"{text[:half]} ... ({len(text) - 2 * half} characters left out) ... {text[-half:]}"
    if not text.isprintable():
        text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return _OBEYED.sub(lambda found: rf"{found[0][:-1]}\x{ord(found[0][-1]):02x}", text)


def counted(number: int, noun: str) -> str:
    """Return how many there are of something: "1 case", "2 cases". The noun's plural ends with an s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def say(*lines: str, err: bool = False, flush: bool = False) -> None:
    """Print each argument as one line, on standard output or standard error. Nothing else in tpharness prints."""
    for line in lines:
        print(make_printable(line), file=sys.stderr if err else sys.stdout, flush=flush)
