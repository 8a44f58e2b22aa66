"""The options `--install-completion` and `--show-completion`, which every command knows; their code comes later."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

__all__ = ["THIS_SHELL", "completion_options"]

THIS_SHELL = "this"
"""The value of an option that names no shell: the one of the environment is meant."""


def completion_options() -> list[click.Parameter]:
    """Return both options. Each takes the name of a shell, by default the one of the environment."""
    facts: dict[str, Any] = {
        "is_flag": False,
        "flag_value": THIS_SHELL,
        "is_eager": True,
        "expose_value": False,
        "metavar": "[SHELL]",
    }
    return [
        click.Option(
            ["--install-completion"],
            help="Install completion for the current shell, or for the one that is named.",
            callback=_install,
            **facts,
        ),
        click.Option(
            ["--show-completion"],
            help="Show completion for the current shell, to copy it or customize the installation.",
            callback=_show,
            **facts,
        ),
    ]


def _install(ctx: click.Context, param: click.Parameter, wanted: str | None) -> None:
    if wanted is not None:
        import_module("tpharness.cli.completion").install(ctx, param, wanted)


def _show(ctx: click.Context, param: click.Parameter, wanted: str | None) -> None:
    if wanted is not None:
        import_module("tpharness.cli.completion").show(ctx, param, wanted)
