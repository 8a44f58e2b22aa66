"""The console of every command that prints with styles."""

from __future__ import annotations

import re
import textwrap

from rich.console import Console

__all__ = ["make_console", "wrap_line"]

_LABEL = re.compile(r" *(?:\S+(?: \S+)? {2,})?")
_COMMAND = re.compile(r": tpharness ")


def make_console(
    *, stderr: bool = False, soft_wrap: bool = False, markup: bool = True, width: int | None = None
) -> Console:
    """Return a console that prints text of others as it is: neither `:x:` as its sign, nor numbers in colours."""
    return Console(emoji=False, highlight=False, stderr=stderr, soft_wrap=soft_wrap, markup=markup, width=width)


def wrap_line(line: str, width: int) -> list[str]:
    """Return a line as lines of whole words; what does not fit stands below its text, or two columns further in.

    A line that ends in a command to copy stays one line, and so does a word that is longer than the width.
    """
    found = _LABEL.match(line)
    lead = "" if found is None else found[0]
    below = " " * (len(lead) if lead.strip() else len(lead) + 2)
    if len(line) <= width or _COMMAND.search(line) or len(below) > width // 2:
        return [line]
    return textwrap.wrap(
        line[len(lead) :],
        width,
        initial_indent=lead,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )
