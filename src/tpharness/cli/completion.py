"""`tpharness --show-completion` and `--install-completion`: commands, options and values, completed by the shell.

The scripts are click's. Where each shell reads them from is written here; of PowerShell only PowerShell knows it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
from click.shell_completion import ShellComplete, get_completion_class

from tpharness.cli.completion_options import THIS_SHELL
from tpharness.errors import UsageError
from tpharness.printable import say

__all__ = ["install", "show"]

_NAME = "tpharness"
_VARIABLE = "_TPHARNESS_COMPLETE"


def show(ctx: click.Context, _: click.Parameter, wanted: str | None) -> None:
    """Print the script of a shell, if one is wanted."""
    if wanted is not None and not ctx.resilient_parsing:
        click.echo(_script(_shell(wanted)))  # as it is: it is a program
        ctx.exit()


def install(ctx: click.Context, _: click.Parameter, wanted: str | None) -> None:
    """Write the script to where a shell reads it, if one is wanted."""
    if wanted is None or ctx.resilient_parsing:
        return
    shell, home = _shell(wanted), Path.home()
    if shell == "powershell":
        raise UsageError(
            "only PowerShell knows where its profile is", hint=f"{_NAME} --show-completion powershell >> $PROFILE"
        )
    file = {
        "bash": home / ".bash_completions" / f"{_NAME}.sh",
        "zsh": home / ".zfunc" / f"_{_NAME}",
        "fish": home / ".config" / "fish" / "completions" / f"{_NAME}.fish",
    }[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_script(shell) + "\n", "utf-8")
    if shell == "bash":
        _add_line(home / ".bashrc", f"source '{file}'")
    elif shell == "zsh":
        _add_line(home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit")
    say(f"{shell} completion installed in {file}", "It takes effect when the shell is started again.")
    ctx.exit()


def _shell(wanted: str) -> str:
    """Return the shell that is meant: the one that is named, else that of the environment."""
    name = wanted if wanted != THIS_SHELL else Path(os.environ.get("SHELL", "")).name
    if wanted == THIS_SHELL and not name and sys.platform == "win32":
        name = "powershell"
    known = _completions()
    if name not in known:
        unknown = f"there is no completion for {name!r}" if name else "the current shell is not known"
        raise UsageError(unknown, hint=f"name one of {', '.join(known)}: {_NAME} --install-completion bash")
    return name


def _completions() -> dict[str, type[ShellComplete]]:
    """Return what click has for each shell."""
    every = {shell: get_completion_class(shell) for shell in ("bash", "zsh", "fish", "powershell")}
    return {shell: found for shell, found in every.items() if found is not None}


def _script(shell: str) -> str:
    return _completions()[shell](click.Command(_NAME), {}, _NAME, _VARIABLE).source().strip()


def _add_line(file: Path, line: str) -> None:
    """Add a line to a file of the shell, if it is not there."""
    text = file.read_text("utf-8") if file.exists() else ""
    if line not in text.splitlines():
        file.write_text(f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n", "utf-8")
