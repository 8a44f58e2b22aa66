"""Typed view of `conformance/clauses.yaml`, `conformance/app-clauses.yaml` and `conformance/rulings.md`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import yaml

from tpharness.resources import conformance_dir

__all__ = ["AppClause", "Clause", "Ruling", "clause_texts", "load_app_clauses", "load_clauses", "load_rulings"]

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
class AppClause:
    """One statement about an application as it runs: how strong it is, which check judges it, why, and what to do."""

    id: str
    level: str
    check: str
    text: str
    reason: str
    remedy: str


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
def load_app_clauses() -> Mapping[str, AppClause]:
    """Return every clause about applications by id, in the order of the file."""
    raw = yaml.safe_load((conformance_dir() / "app-clauses.yaml").read_text("utf-8"))
    return {item["id"]: AppClause(**item) for item in raw}


def clause_texts() -> Mapping[str, str]:
    """Return the texts of all clauses, those about applications too, by id."""
    texts = {clause.id: clause.text for clause in load_clauses().values()}
    return texts | {clause.id: clause.text for clause in load_app_clauses().values()}


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
