"""`tpharness init`: a folder in which `tpharness run` passes, to be changed from there.

In: a folder and a language. Out: tpharness.toml, a first scenario, a server that plays it, and a workflow for CI. Where
one of them is there already, nothing is written, unless it is to be replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tpharness.cli.options import Argument, Option
from tpharness.errors import InputError, UsageError
from tpharness.output import write_atomically
from tpharness.printable import say
from tpharness.project_file import PROJECT_FILE

__all__ = ["init"]

_STARTER = Path(__file__).parent / "starter"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The first server in a language: its file, the command that runs it, and what builds it before ("" if nothing)."""

    file: str
    command: str
    build: str = ""


_TARGETS: Mapping[str, _Target] = {
    "python": _Target(file="target.py", command="python target.py"),
    "node": _Target(file="target.mjs", command="node target.mjs"),
    "go": _Target(file="target.go", command="./target", build="go build -o target target.go"),
}

_CONFIG = """\
# What `tpharness run` plays in this folder. Options on the command line take the place of a line;
# `tpharness run --scenarios built-in` plays the whole suite on the same server.
[run]
server = "stdio:{command}"    # or "http://HOST:PORT", "peer:NAME"
scenarios = ["scenarios"]
# baseline = "known.yaml"            # what is known to fail: tpharness run --write-baseline known.yaml
"""


def init(
    folder: Annotated[Path, Argument(help="The folder; it is made if its parent is there.")] = Path(),
    language: Annotated[Literal["python", "node", "go"], Option(help="The language of the first server.")] = "python",
    force: Annotated[bool, Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write what a first run needs into a folder.

    tpharness.toml, a scenario, a server that plays it, and a workflow for GitHub. Then `tpharness run` passes there.
    """
    target = _TARGETS[language]
    texts = {
        PROJECT_FILE: _CONFIG.format(command=target.command),
        "scenarios/chat/greeting.yaml": _starter("greeting.yaml"),
        target.file: _starter(target.file),
        ".github/workflows/tpharness.yml": _workflow(target),
    }
    if not folder.absolute().parent.is_dir():
        raise UsageError(f"{folder}: there is no folder {folder.parent}", hint="make it first, or correct the path")
    there = [name for name in texts if (folder / name).exists()]
    if there and not force:
        raise UsageError(
            f"{folder / there[0]} is there already" + (f", and {', '.join(there[1:])}" if there[1:] else ""),
            hint="nothing was written; choose another folder, or replace them with --force",
        )
    for name, text in texts.items():
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot make the folder {(folder / name).parent}: {error.strerror}") from error
        write_atomically(str(folder / name), text)
        say(f"{'replaced' if name in there else 'wrote'} {folder / name}")
    enter = "" if folder == Path() else f"cd {folder} && "
    build = f"{target.build} && " if target.build else ""
    say("", f"now: {enter}{build}tpharness run")
    say("then the whole suite, beginning where it is easiest: tpharness run --scenarios built-in --profile documents")


def _workflow(target: _Target) -> str:
    """Return the workflow, which builds the server before it is played."""
    before, check, after = _starter("workflow.yml").partition("      - run: tpharness check")
    build = f"      - run: {target.build}\n" if target.build else ""
    return f"{before}{build}{check}{after}"


def _starter(name: str) -> str:
    return (_STARTER / name).read_text("utf-8")
