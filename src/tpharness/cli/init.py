"""`tpharness init`: a folder in which `tpharness run` passes, to be changed from there.

In: a folder and a language. Out: tpharness.toml, a first scenario, a server that plays it, and a workflow for CI. Where
one of them is there already, nothing is written, unless it is to be replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.printable import say
from tpharness.project_file import PROJECT_FILE

__all__ = ["init"]

_STARTER = Path(__file__).parent / "starter"
_TARGETS: Mapping[str, tuple[str, str]] = {"python": ("target.py", "python"), "node": ("target.mjs", "node")}
"""Language → the file of its server, and the program that runs it."""

_CONFIG = """\
# What `tpharness run` plays in this folder. Options on the command line take the place of a line;
# `tpharness run --scenarios built-in` plays the whole suite on the same server.
[run]
server = "stdio:{program} {target}"    # or "http://HOST:PORT", "peer:NAME"
scenarios = ["scenarios"]
# baseline = "known.yaml"            # what is known to fail: tpharness run --write-baseline known.yaml
"""


def init(
    folder: Annotated[Path, Argument(help="The folder; it is made if its parent is there.")] = Path(),
    language: Annotated[Literal["python", "node"], Option(help="The language of the first server.")] = "python",
    force: Annotated[bool, Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write what a first run needs into a folder.

    tpharness.toml, a scenario, a server that plays it, and a workflow for GitHub. Then `tpharness run` passes there.
    """
    target, program = _TARGETS[language]
    texts = {
        PROJECT_FILE: _CONFIG.format(program=program, target=target),
        "scenarios/chat/greeting.yaml": _starter("greeting.yaml"),
        target: _starter(target),
        ".github/workflows/tpharness.yml": _starter("workflow.yml"),
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
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
        say(f"{'replaced' if name in there else 'wrote'} {folder / name}")
    enter = "" if folder == Path() else f"cd {folder} && "
    say("", f"now: {enter}tpharness run")
    say("then the whole suite, beginning where it is easiest: tpharness run --scenarios built-in --profile documents")


def _starter(name: str) -> str:
    return (_STARTER / name).read_text("utf-8")
