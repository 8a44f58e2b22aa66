"""What the suite is, as digests: every scenario, clause, ruling and profile, the baselines, and all else that decides.

In: the data files and the modules of this installation. Out: the SHA-256 of each piece by kind and name, and where two
suites differ. A certificate contains them, so that the results of one suite cannot pass for those of another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import tpharness
from tpharness.clauses import load_rulings
from tpharness.printable import counted
from tpharness.protocol.jcs import jcs
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = ["describe_suite", "find_earlier_suite", "find_suite_differences", "sha256"]

_PACKAGE = Path(tpharness.__file__).parent
_MOST_NAMES = 5
_DECIDING = (
    *("app-clauses.yaml", "control.openapi.yaml", "findings.yaml", "fixes.yaml", "schema-places.yaml", "suites.yaml"),
    *("requirements", "schemas", "statements", "streams"),
)
"""What decides a verdict beside the items that are named one by one, in `conformance/`."""

_MADE = {"__pycache__", "node_modules"}
"""Folders with what was made of files that are digested."""


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@cache
def describe_suite() -> Mapping[str, Any]:
    """Return the installed suite as `suite` of `conformance/schemas/certificate.schema.json` has it."""
    folder = conformance_dir()
    baselines = sorted((folder / "baselines").rglob("*.yaml"))
    parts = {
        "scenarios": {_name(file, scenarios_dir()): sha256(file.read_bytes()) for file in _scenario_files()},
        "clauses": _digest_items(folder / "clauses.yaml", "id"),
        "rulings": {name: sha256(f"{one.title}\n{one.text}".encode()) for name, one in load_rulings().items()},
        "profiles": _digest_items(folder / "profiles.yaml", "name"),
        "baselines": {_name(file, folder): sha256(file.read_bytes()) for file in baselines},
        "files": {name: sha256(file.read_bytes()) for name, file in _other_files()},
        "modules": {_name(file, _PACKAGE): sha256(file.read_bytes()) for file in sorted(_PACKAGE.rglob("*.py"))},
    }
    return {"version": version("tpharness"), "digest": sha256(jcs(parts)), "parts": parts}


def find_suite_differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words where the suite of a certificate is not the one that it is compared with."""
    for kind, mine in ours["parts"].items():
        other = theirs["parts"].get(kind, {})
        for word, names in (
            ("changed", sorted(name for name in mine.keys() & other.keys() if mine[name] != other[name])),
            ("in the certificate only", sorted(other.keys() - mine.keys())),
            ("not in the certificate", sorted(mine.keys() - other.keys())),
        ):
            if names:
                more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
                count = counted(len(names), kind.removesuffix("s"))
                yield f"{count} {word}: {', '.join(names[:_MOST_NAMES])}{more}"
    if theirs["digest"] != sha256(jcs(theirs["parts"])):
        yield "the digest of the whole suite is not that of its parts"
    if theirs["version"] != ours["version"]:
        yield f"it is tpharness {theirs['version']}, and {ours['version']} is installed"


def find_earlier_suite(theirs: Mapping[str, Any]) -> str:
    """Return when a suite that is not the installed one was the suite of tpharness; "" for one that nobody knows.

    Its parts have to make its digest, so that no part of it can be another one.
    """
    if theirs["digest"] != sha256(jcs(theirs["parts"])):
        return ""
    known = {one["digest"]: one for one in load_suite_yaml(conformance_dir() / "suites.yaml")}
    found = known.get(theirs["digest"])
    return found["date"] if found is not None and found["tpharness"] == theirs["version"] else ""


def _scenario_files() -> list[Path]:
    return sorted(scenarios_dir().rglob("*.yaml"))


def _other_files() -> Iterator[tuple[str, Path]]:
    """Yield the other files that decide: of `conformance/`, what scenarios name, and what the package has but modules.

    Peers in other languages are such files, with the versions of what they import.
    """
    for one in _DECIDING:
        path = conformance_dir() / one
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                yield f"conformance/{file.relative_to(conformance_dir()).as_posix()}", file
    for file in sorted(scenarios_dir().rglob("*")):
        if file.is_file() and file.suffix != ".yaml":
            yield f"scenarios/{file.relative_to(scenarios_dir()).as_posix()}", file
    for file in sorted(_PACKAGE.rglob("*")):
        if file.is_file() and file.suffix != ".py" and not _MADE & set(file.relative_to(_PACKAGE).parts):
            yield f"tpharness/{file.relative_to(_PACKAGE).as_posix()}", file


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).with_suffix("").as_posix()


def _digest_items(file: Path, key: str) -> dict[str, str]:
    return {item[key]: sha256(jcs(item)) for item in load_suite_yaml(file)}
