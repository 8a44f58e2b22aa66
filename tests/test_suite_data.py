"""The data of the suite keeps its own rules: clauses, rulings, scenarios, findings, schemas."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest
from tests.scenarios import load_all

from tpharness.clauses import load_clauses, load_rulings
from tpharness.resources import conformance_dir, schema_path
from tpharness.suite_yaml import load_suite_yaml

CLAUSES, RULINGS = load_clauses(), load_rulings()
SCENARIOS = list(load_all().values())
BY_HAND = [s for s in SCENARIOS if not s.id.startswith("recorded/")]


def test_clauses_fit_their_schema_and_are_enough() -> None:
    """clauses.yaml is valid, has at least 110 clauses and no id twice."""
    raw = load_suite_yaml(conformance_dir() / "clauses.yaml")
    schema = json.loads(schema_path("clauses").read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(schema).validate(raw)
    assert len(raw) == len(CLAUSES) >= 110


def test_every_ruling_has_a_section_and_a_clause() -> None:
    """Each is cited by a clause and explained, and no clause cites another one."""
    assert {r for c in CLAUSES.values() for r in c.rulings} == set(RULINGS)
    assert all(ruling.text for ruling in RULINGS.values())


def test_a_clause_says_why_no_scenario_can_exercise_it() -> None:
    """A reason and its mark come together; `tests/test_clauses.py` looks at what the reason names."""
    assert all(bool(clause.why) == bool(clause.exercised_by) for clause in CLAUSES.values())


def test_there_are_enough_scenarios() -> None:
    """At least 80 by hand, and the 98 recordings."""
    assert len(BY_HAND) >= 80
    assert len(SCENARIOS) - len(BY_HAND) == 98


def test_a_scenario_says_what_it_is() -> None:
    """A description in the present tense, an id in kebab-case, clauses that exist."""
    for one in SCENARIOS:
        assert not re.search(r"\b(should|must|tests? that)\b", one.description, re.IGNORECASE), one.id
        assert 10 <= len(one.description) <= 200, one.id
        assert re.fullmatch(r"[a-z0-9-]+(/[a-z0-9-]+)+", one.id)
        assert one.clauses, one.id
        assert set(one.clauses) <= set(CLAUSES), one.id
        assert set(one.rulings) <= set(RULINGS), one.id


def test_descriptions_are_unique() -> None:
    """No two scenarios say the same of themselves."""
    seen = [s.description for s in SCENARIOS]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("path", sorted((conformance_dir() / "schemas").glob("*.json")), ids=lambda p: p.name)
def test_schemas_are_schemas(path: Path) -> None:
    """Each published schema is valid JSON Schema 2020-12."""
    schema = json.loads(path.read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    others = [json.loads(other.read_text("utf-8")) for other in path.parent.glob("*.json")]
    registry = jsonschema_rs.Registry([(other["$id"], other) for other in others])
    jsonschema_rs.Draft202012Validator(schema, registry=registry)
    assert jsonschema_rs.meta.is_valid(schema)
