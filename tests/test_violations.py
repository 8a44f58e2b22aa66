"""Every clause is violated by something that is found: no clause is a promise that nobody keeps an eye on."""

from __future__ import annotations

import json
import re
from collections import Counter

import jsonschema_rs
import pytest
from tests.violations import PATH, collect, text

from tpharness.clauses import clause_texts, load_app_clauses, load_clauses, load_violations
from tpharness.resources import schema_path

LEVELS = {clause.id: clause.level for clause in load_clauses().values()}
LEVELS |= {clause.id: clause.level for clause in load_app_clauses().values()}
UNVIOLATED = {
    "stream.guide-events": "a permission for readers of events",
    "interrupt.client-timeout": "a recommended default; tests/reference_app/test_receive.py holds ours",
}
"""Clauses below MUST that nothing violates: why."""


def test_the_published_table_is_what_is_played() -> None:
    """A violation that nothing shows is no longer in the table, and a new one is; scripts/violations.py writes it."""
    assert PATH.read_text("utf-8") == text(collect()), "run python scripts/violations.py and read the difference"


def test_every_clause_is_violated_by_something_that_is_found() -> None:
    """A MUST that nothing violates is not one: give it a violation, or another level."""
    unviolated = set(LEVELS) - set(load_violations())
    assert {clause for clause in unviolated if LEVELS[clause] == "MUST"} == set()
    assert unviolated == set(UNVIOLATED)


def test_every_violation_shows_something() -> None:
    """It breaks a clause that exists, and something finds it."""
    for one in collect():
        assert one.found_by, one.name
        assert one.clauses, one.name
        assert set(one.clauses) <= set(clause_texts()), one.name
        assert re.fullmatch(r"[^\n]{10,200}\.", one.sentence), one.name


def test_names_of_violations_are_unique() -> None:
    """A name with its kind and clauses means one thing."""
    named = Counter((one.kind, one.name, one.clauses) for one in collect())
    assert [key for key, times in named.items() if times > 1] == []


@pytest.mark.parametrize(
    ("kind", "least"), [("defect", 200), ("document", 30), ("stream", 30), ("target", 4), ("application", 25)]
)
def test_there_is_evidence_of_every_kind(kind: str, least: int) -> None:
    """A kind that has gone is noticed."""
    assert len([one for one in collect() if one.kind == kind]) >= least


def test_the_published_table_fits_its_schema() -> None:
    """For readers in any language."""
    schema = jsonschema_rs.Draft202012Validator(json.loads(schema_path("violations").read_text("utf-8")))
    assert [error.message for error in schema.iter_errors(json.loads(PATH.read_text("utf-8")))] == []
