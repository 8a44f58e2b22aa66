"""Failures as scenario files that a person reads, that load, and that fail for the same reason.

In: a scenario that fails, and why. Out: a YAML file named by its cause, with a sentence that says what goes wrong, the
clauses and rulings that decide, and above it, as a comment, the command that plays it again.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpharness.causes import Cause
from tpharness.clauses import load_clauses
from tpharness.errors import InputError
from tpharness.findings import Finding, Level, shorten
from tpharness.scenario import Scenario, dump

__all__ = ["MOST_WORDS", "FailureFile", "failure_file", "folder_for", "sentence", "write_text"]

MOST_WORDS = 200
"""The longest description of a scenario."""


def sentence(what: str, findings: Sequence[Finding]) -> str:
    """Return one sentence on what goes wrong, with what decides it, as long as a description may be."""
    broken = [f for f in findings if f.level is Level.MUST]
    if not broken:
        return what[:MOST_WORDS]
    kind = broken[0].kind
    cites = ", ".join((*kind.clauses[:2], *kind.rulings[:2]))
    tail = f" ({cites})." if cites else "."
    said = shorten(broken[0].message, MOST_WORDS - len(what) - len(tail) - 2)
    return " ".join(f"{what}: {said}{tail}".split())[:MOST_WORDS]


def folder_for(path: Path) -> Path:
    """Make the folder for failures when it is not there. InputError when it cannot be made."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}", hint="name another one") from error
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureFile:
    """A scenario file of a failure: where it goes, its text, and the command that plays it again."""

    path: Path
    text: str
    command: str

    def write(self) -> None:
        """Write the file, and its folder when that is not there. InputError when that cannot be done."""
        folder_for(self.path.parent)
        write_text(self.path, self.text)


def failure_file(
    scenario: Scenario,
    cause: Cause,
    findings: Sequence[Finding],
    folder: Path,
    *,
    what: str,
    found_by: str,
    name: str = "",
    sides: Sequence[str] = (),
) -> FailureFile:
    """Return the scenario as the file `CAUSE-NAME.yaml` of the folder. Nothing is written.

    `sides` are the command line's options that name targets.
    """
    known = load_clauses()
    clauses = tuple(clause for clause in cause.clauses if clause in known) or scenario.clauses or ("sync.identity",)
    path = folder / f"{cause.slug}{f'-{_slug(name)}' if name else ''}.yaml"
    command = shlex.join(["tpharness", "run", "--scenarios", str(path), *sides])
    named = replace(
        scenario,
        description=sentence(what, findings),
        clauses=clauses,
        rulings=tuple(sorted({*cause.rulings}, key=lambda ruling: int(ruling[1:]))),
        recorded=None,
        tags=(),
    )
    head = f"# Fails with {cause}.\n# Found by: {found_by}\n# Play it again: {command}\n"
    return FailureFile(path=path, text=head + dump(named), command=command)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. InputError when the place cannot be written."""
    draft = None
    try:
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except OSError as error:
        if draft is not None:
            Path(draft).unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {error.strerror}", hint="name a folder that you may write") from error
