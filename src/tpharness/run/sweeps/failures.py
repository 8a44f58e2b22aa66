"""Failures of one scenario, grouped by cause, and the scenario files that play them again.

In: a scenario that fails, and why. Out: `Failure`s, and YAML files named by their cause, with a sentence that says what
is wrong, the clauses and rulings that decide, and above it, as a comment, the command that plays it again.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpharness.clauses import load_clauses
from tpharness.errors import InputError
from tpharness.findings import Finding, Level, shorten
from tpharness.output import write_atomically
from tpharness.scenario import Scenario, dump
from tpharness.scenario_files import slug
from tpharness.verdict.causes import Cause
from tpharness.verdict.result import Result

__all__ = [
    "Failure",
    "FailureFile",
    "describe_failure",
    "make_failure_file",
    "make_folder",
]

_LONGEST_DESCRIPTION = 200
_RIGHT_SIDE = re.compile(r", the (?:server|client) is right(?= \(R51\)$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One cause found in one scenario: the first case that showed it, how many did, and how to play it again.

    `replays` is False if the case, played alone, does not fail with the same findings.
    """

    id: str
    cause: Cause
    result: Result
    count: int
    command: str
    saved: FailureFile | None = None
    replays: bool = True

    @property
    def file(self) -> Path | None:
        """Where the scenario file is, or None if an id names the case."""
        return None if self.saved is None else self.saved.path


def describe_failure(what: str, findings: Sequence[Finding]) -> str:
    """Return one sentence that says what is wrong and what decides it, no longer than a description may be."""
    broken = [f for f in findings if f.level is Level.MUST]
    if not broken:
        return what[:_LONGEST_DESCRIPTION]
    kind = broken[0].kind
    cites = ", ".join((*kind.clauses[:2], *kind.rulings[:2]))
    tail = f" ({cites})." if cites else "."
    message = _RIGHT_SIDE.sub("", broken[0].message)  # which follows from the side that is wrong
    said = shorten(message, _LONGEST_DESCRIPTION - len(what) - len(tail) - 2)
    return " ".join(f"{what}: {said}{tail}".split())[:_LONGEST_DESCRIPTION]


def make_folder(path: Path) -> Path:
    """Make the folder if it does not exist. InputError if it cannot be made."""
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
        """Write the file, and make its folder if it does not exist. InputError if that fails."""
        make_folder(self.path.parent)
        write_atomically(str(self.path), self.text)


def make_failure_file(
    scenario: Scenario,
    cause: Cause,
    findings: Sequence[Finding],
    folder: Path,
    *,
    what: str,
    found_by: str,
    name: str = "",
    sides: Sequence[str] = (),
    played_by: str = "run",
) -> FailureFile:
    """Return the scenario as the file `CAUSE-NAME.yaml` of the folder. Nothing is written.

    `sides` are the command line's options that name targets; `played_by` is the command that shows the failure again.
    """
    known = load_clauses()
    clauses = tuple(clause for clause in cause.clauses if clause in known) or scenario.clauses or ("sync.identity",)
    path = folder / f"{cause.slug}{f'-{_slug(name)}' if name else ''}.yaml"
    command = shlex.join(["tpharness", played_by, "--scenarios", str(path), *sides])
    named = replace(
        scenario,
        description=describe_failure(what, findings),
        clauses=clauses,
        rulings=tuple(sorted({*cause.rulings}, key=lambda ruling: int(ruling[1:]))),
        recorded=None,
        tags=(),
    )
    head = f"# Fails with {cause}.\n# Found by: {found_by}\n# Play it again: {command}\n"
    return FailureFile(path=path, text=head + dump(named), command=command)


def _slug(name: str) -> str:
    return re.sub(r"[.:]+", "-", slug(name)).strip("-")
