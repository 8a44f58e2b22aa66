"""tpharness makes of each vector what the vector says, and the vectors name what exists."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from conformance.bad_documents import apply_patch, judge, load_good_threads, read_documents, write_in_version
from conformance.vectors import KINDS, load_vectors, run_vector

from tpharness.clauses import load_clauses
from tpharness.resources import schema_path


@pytest.mark.parametrize("name", load_vectors())
def test_a_vector_holds(name: str) -> None:
    """Whatever it shows."""
    assert run_vector(name) == ""


@pytest.mark.parametrize("name", [name for name, vector in load_vectors().items() if "thread" in vector])
def test_a_vector_begins_with_a_valid_thread(name: str) -> None:
    """A vector shows what becomes of a thread that keeps every rule; nothing stronger than an observation is found."""
    vector = load_vectors()[name]
    given = write_in_version(load_good_threads()[vector["thread"]], vector.get("version"))
    found = judge(apply_patch(given, vector.get("patch", [])))
    assert [finding.line() for finding in found if finding.level.name == "MUST"] == []


def test_the_files_fit_their_schema() -> None:
    """Nothing is unknown to the schema, and nothing is missing."""
    schema = jsonschema_rs.Draft202012Validator(json.loads(schema_path("vectors").read_text("utf-8")))
    for kind in KINDS:
        raw = read_documents(f"{kind}.yaml")
        found = [f"{list(error.instance_path)}: {error.message}" for error in schema.iter_errors({kind: raw})]
        assert found == []
        assert len(raw) == len([name for name in load_vectors() if name.startswith(kind)])


def test_the_vectors_cite_clauses_that_exist() -> None:
    """Each cites one at least."""
    for name, vector in load_vectors().items():
        assert set(vector["clauses"]) <= set(load_clauses()), name
