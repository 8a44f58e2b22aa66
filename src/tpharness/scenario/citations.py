"""The ids that a scenario may cite."""

from __future__ import annotations

import re
from functools import cache

import yaml

from tpharness.resources import conformance_dir

__all__ = ["known_clauses", "known_rulings"]


@cache
def known_clauses() -> frozenset[str]:
    """Return the ids of `conformance/clauses.yaml`."""
    text = (conformance_dir() / "clauses.yaml").read_text(encoding="utf-8")
    return frozenset(str(clause["id"]) for clause in yaml.safe_load(text))


@cache
def known_rulings() -> frozenset[str]:
    """Return the ids of `conformance/rulings.md`."""
    text = (conformance_dir() / "rulings.md").read_text(encoding="utf-8")
    return frozenset(re.findall(r"^## (R\d+)\b", text, re.MULTILINE))
