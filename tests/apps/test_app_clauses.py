"""The clauses about applications, the checks and the findings fit together."""

from __future__ import annotations

import json
import re

import jsonschema_rs
import pytest
import yaml

from tpharness.apps.checks import APP_CHECKS
from tpharness.clauses import load_app_clauses
from tpharness.findings import Level, load_kinds
from tpharness.resources import conformance_dir, schema_path

CLAUSES = load_app_clauses()


def test_the_file_fits_its_schema() -> None:
    """Nothing is unknown to the schema, and nothing is missing."""
    schema = jsonschema_rs.Draft202012Validator(json.loads(schema_path("app-clauses").read_text("utf-8")))
    raw = yaml.safe_load((conformance_dir() / "app-clauses.yaml").read_text("utf-8"))
    assert [error.message for error in schema.iter_errors(raw)] == []
    assert len(raw) == len(CLAUSES)
    assert not schema.is_valid([*raw, {**raw[0], "id": "alive"}])


def test_each_clause_has_one_check_and_each_check_its_clause() -> None:
    """Neither a promise that nobody looks after, nor a check without a promise."""
    assert [(check.clause, check.name) for check in sorted(APP_CHECKS, key=lambda c: c.clause)] == sorted(
        (clause.id, clause.check) for clause in CLAUSES.values()
    )


@pytest.mark.parametrize("check", APP_CHECKS, ids=lambda check: check.name)
def test_the_findings_of_a_check_are_not_stronger_than_its_clause(check: object) -> None:
    """A finding at MUST needs a clause at MUST; those of model APIs are their own."""
    known = next(one for one in APP_CHECKS if one is check)
    strongest = Level[CLAUSES[known.clause].level]
    own = [kind for kind in known.kinds if kind.entry.clauses == (known.clause,)]
    assert all(kind.level.rank >= strongest.rank for kind in own)
    assert own or known.name == "accepted"


def test_clauses_state_facts() -> None:
    """What is so, with a full stop, and no word of a tester."""
    for clause in CLAUSES.values():
        assert clause.text.endswith(".")
        assert not re.search(r"\b(should|must|shall|tests?)\b", clause.text, re.IGNORECASE), clause.id
        assert clause.reason.endswith(".")
        assert clause.remedy.endswith(".")


def test_the_findings_of_applications_cite_their_clauses() -> None:
    """Those of the checks cite the clause of their check, those of trouble none: the application was not judged."""
    kinds = [kind for kind in load_kinds().values() if any(clause.startswith("app.") for clause in kind.clauses)]
    cited = {(kind.code, kind.clauses) for kind in kinds}
    checked = {(kind.code, (check.clause,)) for check in APP_CHECKS for kind in check.kinds if check.name != "accepted"}
    assert checked | {("app-exited", ("app.alive",))} == cited
    assert all(kind.room == "apps" for kind in kinds)
    assert set(CLAUSES) == {clause for _, clauses in cited for clause in clauses} | {"app.accepted"}
