"""Typed view of the clauses, the rulings, and what was seen to violate the clauses and was found.

In: `conformance/clauses.yaml`, `app-clauses.yaml`, `statements/*.yaml`, `rulings.md` and `violations.json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tpharness.resources import conformance_dir
from tpharness.suite_yaml import load_suite_yaml

__all__ = [
    "AppClause",
    "Clause",
    "Ruling",
    "Violation",
    "WireRule",
    "clause_texts",
    "load_app_clauses",
    "load_clauses",
    "load_rulings",
    "load_violations",
    "load_wire_rules",
]

_HEADING = re.compile(r"^## (R\d+) — (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One normative statement: where it holds, how strong it is, where it comes from, which rulings decide it.

    `exercised_by` is `tools` for a statement that no stream can exercise; `why` then names the test that does. `asks`
    is what a target has to answer before it counts, "" for nothing.
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
    asks: str = ""


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
class WireRule:
    """One rule of another protocol: whom it binds, how strong it is, where it stands, by what it is judged.

    `judged` is `wire` (the stream alone), `input` (the stream and the input that it answers), `posts` (what is posted
    to a server that runs, and answered) or `nowhere`, and `why` then says why not. `verdict` is what has to be seen for
    one on a server: `wire`, `input`, `model` (the wire and what the model was given) or `none`. `findings` name its
    violations; `violated_by` are streams in which they are found, or servers.
    """

    id: str
    binds: str
    level: str
    text: str
    pages: tuple[str, ...]
    judged: str
    verdict: str
    findings: tuple[str, ...] = ()
    violated_by: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """One ruling: its title, and its section in Markdown without the heading."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something that breaks clauses and is found: a test of tpharness plays it and sees the findings.

    `kind` is `defect` (the reference, made wrong in one place), `document`, `stream`, `target` or `application`;
    `sentence` says what is wrong; `found_by` names the scenarios or vectors that fail, or the codes of the findings.
    """

    kind: str
    name: str
    sentence: str
    clauses: tuple[str, ...]
    found_by: tuple[str, ...]


@cache
def load_clauses() -> Mapping[str, Clause]:
    """Return every clause by id, in the order of the file."""
    return {item["id"]: _clause(**item) for item in load_suite_yaml(conformance_dir() / "clauses.yaml")}


def _clause(source: Mapping[str, str], versions: list[str], rulings: list[str], **plain: str) -> Clause:
    return Clause(**source, **plain, versions=tuple(versions), rulings=tuple(rulings))


@cache
def load_app_clauses() -> Mapping[str, AppClause]:
    """Return every clause about applications by id, in the order of the file."""
    raw = load_suite_yaml(conformance_dir() / "app-clauses.yaml")
    return {item["id"]: AppClause(**item) for item in raw}


@cache
def load_wire_rules() -> Mapping[str, WireRule]:
    """Return every rule of AG-UI by id, in the order of the file."""
    raw = load_suite_yaml(conformance_dir() / "statements" / "ag-ui-1.0.yaml")
    lists = ("pages", "findings", "violated_by")
    return {item["id"]: WireRule(**{**item, **{name: tuple(item.get(name, ())) for name in lists}}) for item in raw}


@cache
def load_violations() -> Mapping[str, tuple[Violation, ...]]:
    """Return what violates each clause and is found, by the clause's id; clauses that nothing violates are missing."""
    found: dict[str, list[Violation]] = {}
    for item in json.loads((conformance_dir() / "violations.json").read_text("utf-8")):
        lists = {name: tuple(item[name]) for name in ("clauses", "found_by")}
        for clause in lists["clauses"]:
            found.setdefault(clause, []).append(Violation(**{**item, **lists}))
    return {clause: tuple(violations) for clause, violations in found.items()}


def clause_texts() -> Mapping[str, str]:
    """Return the texts of all clauses, those about applications and the rules of AG-UI too, by id."""
    sources = (load_clauses(), load_app_clauses(), load_wire_rules())
    return {one.id: one.text for source in sources for one in source.values()}


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
