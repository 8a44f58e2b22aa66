"""What the suite is, as digests: every scenario, clause, ruling and profile, and the baselines that belong to it.

In: the data files of this installation. Out: the SHA-256 of each piece by kind and name, and where two suites differ.
A certificate contains them, so that the results of one suite cannot pass for those of another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tpharness.clauses import load_rulings
from tpharness.printable import counted
from tpharness.protocol.jcs import jcs
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = ["describe_suite", "find_suite_differences", "sha256"]

_MOST_NAMES = 5


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


def _scenario_files() -> list[Path]:
    return sorted(scenarios_dir().rglob("*.yaml"))


def _name(file: Path, folder: Path) -> str:
    return file.relative_to(folder).with_suffix("").as_posix()


def _digest_items(file: Path, key: str) -> dict[str, str]:
    return {item[key]: sha256(jcs(item)) for item in load_suite_yaml(file)}
