"""What `tpharness COMMAND --help` shows: arguments and options with names that people read, and examples.

A name is that of the option where nothing better is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

__all__ = ["ReadableCommand", "option_metavar"]

_BY_TYPE = {"integer": "N", "float": "SECONDS", "path": "FILE"}
_BY_NAME = {
    "after": "N",
    "api": "API",
    "agent": "ID",
    "allow-content": "HOST",
    "allow-host": "HOST",
    "at": "TIME",
    "body": "FILE",
    "content": "URI=FILE",
    "content-url": "URL",
    "cut-at": "TEXT",
    "cut-after": "BYTES",
    "cuts": "events|bytes",
    "compare": "exact|content",
    "dialect": "VERSION",
    "for": "FORMAT",
    "from": "FORMAT",
    "header": "'NAME: VALUE'",
    "interrupt": "REASON@TIME",
    "model": "NAME",
    "output": "FILE",
    "prompt": "TEXT",
    "reasons": "REASONS",
    "receive-from": "HOST",
    "scenarios": "PATH",
    "side": "SIDE",
    "store": "FILE",
    "system-prompt": "TEXT",
    "to": "VERSION",
}


class ReadableCommand(click.Command):
    """A command whose help has examples at its end, and which suggests what its help shows."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; an option that does not exist is refused without the hidden ones that are like it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._explain_unknown(error, ctx) from None

    def _explain_unknown(self, error: click.NoSuchOption, ctx: click.Context) -> click.NoSuchOption:
        options = [one for one in self.params if isinstance(one, click.Option)]
        if error.option_name == "--json" and any(one.name == "report" and one.multiple for one in options):
            return click.NoSuchOption("--json", "No such option '--json': --report json:- prints JSON.", ctx=ctx)
        hidden = {name for one in options if one.hidden for name in one.opts}
        shown = [name for name in error.possibilities or () if name not in hidden]
        return click.NoSuchOption(error.option_name, possibilities=shown, ctx=ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples as they are."""
        from tpharness.cli.examples import EXAMPLES  # noqa: PLC0415

        del ctx
        lines = [line.strip() for line in EXAMPLES.get(self.name or "", "").strip().splitlines()]
        if lines:
            with formatter.section("Examples"):
                for line in lines:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def option_metavar(names: Sequence[str], type_: click.ParamType[Any]) -> str:
    """Return what an option takes, in a word: its own, that of its type, or its name."""
    if isinstance(type_, click.Choice):
        return "|".join(type_.choices)
    option = max((one.lstrip("-") for one in names), key=len)
    return _BY_NAME.get(option) or _BY_TYPE.get(type_.name) or option.upper()
