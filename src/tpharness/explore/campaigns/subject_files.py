"""Failures of a campaign as files, and back: each kind of subject in the form that a person reads.

A scenario becomes a scenario file, which `tpharness run` plays as well; the text of a scenario file stays what it is; a
document becomes JSON beside what is wrong with it. `tpharness fuzz --replay FILE` judges any of them again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, ScenarioError, UsageError
from tpharness.explore.generate.kinds import FuzzKind, Subject
from tpharness.findings import Finding, Level
from tpharness.output import write_atomically
from tpharness.protocol.parse import parse_json
from tpharness.run.play import play
from tpharness.run.session import Session
from tpharness.run.sweeps.failures import describe_failure, make_failure_file
from tpharness.scenario import Expectation, Scenario, load_scenario
from tpharness.verdict.causes import Cause

__all__ = ["load_subject", "save_subject"]

_KIND = re.compile(r"^# Kind: ([a-z]+)$", re.MULTILINE)


def save_subject(
    subject: Subject,
    kind: FuzzKind,
    cause: Cause,
    findings: Sequence[Finding],
    folder: Path,
    *,
    found_by: str,
    sides: Sequence[str],
    session: Session,
) -> tuple[Path, str]:
    """Write the subject into the folder; return the file and the command that judges it again."""
    if isinstance(subject, Scenario):
        path = folder / f"{cause.slug}.yaml"
        command = _command(path, sides)
        named = _reporting(subject, session) if kind is not FuzzKind.PROGRAMS else subject
        what = f"A generated case of {kind.value}"
        try:
            file = make_failure_file(named, cause, findings, folder, what=what, found_by=found_by, sides=sides)
        except UsageError:  # text that YAML cannot say
            document = {"description": describe_failure(what, findings), "replay": command, "scenario": repr(subject)}
            return _json(folder / f"{cause.slug}.json", document), command
        head = f"# Kind: {kind.value}\n# Judge it again: {command}\n"
        write_atomically(str(file.path), head + file.text)
        return file.path, command
    if isinstance(subject, str):
        path = folder / f"{cause.slug}.yaml"
        command = _command(path, sides)
        said = describe_failure("A generated scenario file", findings)
        lines = (said, f"Fails with {cause}.", f"Kind: {kind.value}", f"Found by: {found_by}", f"Replay: {command}")
        write_atomically(str(path), "".join(f"# {line}\n" for line in lines) + subject)
        return path, command
    path = folder / f"{cause.slug}.json"
    command = _command(path, sides)
    about = {
        "description": describe_failure("A generated document", findings),
        "kind": kind.value,
        "codes": list(cause.codes),
        "clauses": list(cause.clauses),
        "rulings": list(cause.rulings),
        "found_by": found_by,
        "replay": command,
        "document": subject,
    }
    return _json(path, about), command


def load_subject(path: Path) -> tuple[FuzzKind, Subject]:
    """Return what was saved in a file. InputError for a file that a campaign has not written."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint="name a file that a campaign saved") from error
    hint = "name a file that a campaign saved in its folder failures"
    if path.suffix == ".json":
        parsed = parse_json(data, file=str(path))
        held: Any = parsed.value
        if not isinstance(held, dict) or not isinstance(held.get("document"), dict):
            raise InputError(f"{path} is not a document of a campaign", hint=hint)
        return _kind(held.get("kind"), path), held["document"]
    text = data.decode("utf-8", "replace")
    found = _KIND.search(text)
    kind = _kind(found[1] if found else None, path)
    if kind is FuzzKind.SCENARIOS:
        return kind, text
    try:
        return kind, load_scenario(path, root=path.parent)
    except ScenarioError as error:
        raise InputError(f"{path}: {error}", hint=hint) from error


def _kind(word: Any, path: Path) -> FuzzKind:
    try:
        return FuzzKind(word)
    except ValueError:
        raise InputError(
            f"{path} does not say what kind of case it is",
            hint="name a file that a campaign saved in its folder failures",
        ) from None


def _command(path: Path, sides: Sequence[str]) -> str:
    return shlex.join(["tpharness", "fuzz", "--replay", str(path), *sides])


def _json(path: Path, document: dict[str, Any]) -> Path:
    write_atomically(str(path), json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    return path


def _reporting(scenario: Scenario, session: Session) -> Scenario:
    """Pin what folding the streams reports, so that nothing but the failure itself fails."""
    try:
        case, _ = session.run(session.adapt(scenario))
        evidence = session.run(play(case, session.players, thorough=False))
    except Exception:  # noqa: BLE001  # a crash is the failure itself
        return scenario
    reported = Counter(
        finding.code
        for side in (evidence[-1].server, evidence[-1].client)
        if side is not None
        for finding in side.findings
        if finding.level is not Level.MAY
    )
    return replace(scenario, expect=Expectation(findings=tuple(sorted(reported.elements()))))
