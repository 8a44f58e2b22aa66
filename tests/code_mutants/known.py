"""What is known of mutants: which are equivalent to the original, and which scenario fails one.

In: `equivalent.yaml` and `killers.json` beside this file. Out: both as maps by the mutants' names, and what in them no
longer fits the sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tpharness.suite_yaml import load_suite_yaml

__all__ = ["SAMPLE", "choose_sample", "load_equivalents", "load_killers", "save_killers", "stale"]

SAMPLE = 60
"""How many mutants are always played, besides those that once survived."""

_HERE = Path(__file__).parent


def load_equivalents() -> dict[str, str]:
    """Return the reasons why mutants are equivalent, by name. ValueError if one is listed twice."""
    found: dict[str, str] = {}
    for entry in load_suite_yaml(_HERE / "equivalent.yaml"):
        for name in entry["mutants"]:
            if name in found:
                raise ValueError(f"equivalent.yaml lists a mutant twice: {name}")
            found[name] = entry["reason"]
    return found


def load_killers() -> dict[str, dict[str, str]]:
    """Return the mutants that are played in CI, each with the scenario that fails it: `sample` and `survived`."""
    found: dict[str, dict[str, str]] = json.loads((_HERE / "killers.json").read_text("utf-8"))
    return found


def save_killers(sample: Mapping[str, str], survived: Mapping[str, str]) -> None:
    """Write `killers.json`."""
    table = {"sample": dict(sorted(sample.items())), "survived": dict(sorted(survived.items()))}
    (_HERE / "killers.json").write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", "utf-8")


def choose_sample(names: Iterable[str]) -> list[str]:
    """Return the mutants of the sample: the same ones for the same names, from all files."""
    return sorted(names, key=lambda name: hashlib.sha256(f"sample {name}".encode()).hexdigest())[:SAMPLE]


def stale(names: Collection[str]) -> list[str]:
    """Return the listed mutants that are not among all mutants of today."""
    killers = load_killers()
    listed = [*load_equivalents(), *killers["sample"], *killers["survived"]]
    return [name for name in listed if name not in names]
