"""Typed view of `conformance/clauses.yaml` and `conformance/rulings.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import yaml

from tpharness.resources import conformance_dir

__all__ = ["Clause", "Ruling", "load_clauses", "load_rulings"]

_HEADING = re.compile(r"^## (R\d+) — (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One normative statement: where it holds, how strong it is, where it comes from, which rulings decide it.

    `exercised_by` is `tools` for a statement that no stream can exercise; `why` then names the test that does.
    """

    id: str
    versions: tuple[str, ...]
    level: str
    text: str
    document: str
    section: str
    rulings: tuple[str, ...] = ()
    exercised_by: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One ruling: its title, and its section in Markdown without the heading."""

    id: str
    title: str
    text: str


@cache
def load_clauses() -> Mapping[str, Clause]:
    """Return every clause by id, in the order of the file."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    raw = yaml.load((conformance_dir() / "clauses.yaml").read_text("utf-8"), Loader=loader)  # noqa: S506  # a safe loader
    clauses = (
        Clause(
            id=item["id"],
            versions=tuple(item["versions"]),
            level=item["level"],
            text=item["text"],
            document=item["source"]["document"],
            section=item["source"]["section"],
            rulings=tuple(item["rulings"]),
            exercised_by=item.get("exercised_by", ""),
            why=item.get("why", ""),
        )
        for item in raw
    )
    return {clause.id: clause for clause in clauses}


@cache
def load_rulings() -> Mapping[str, Ruling]:
    """Return every ruling by id."""
    text = (conformance_dir() / "rulings.md").read_text("utf-8")
    heads = list(_HEADING.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return {
        head[1]: Ruling(id=head[1], title=head[2].strip(), text=text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    }
