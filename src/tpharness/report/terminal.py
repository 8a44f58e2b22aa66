"""The console of every command that prints with styles."""

from __future__ import annotations

from rich.console import Console

__all__ = ["make_console"]


def make_console(
    *, stderr: bool = False, soft_wrap: bool = False, markup: bool = True, width: int | None = None
) -> Console:
    """Return a console that prints text of others as it is: neither `:x:` as its sign, nor numbers in colours."""
    return Console(emoji=False, highlight=False, stderr=stderr, soft_wrap=soft_wrap, markup=markup, width=width)
