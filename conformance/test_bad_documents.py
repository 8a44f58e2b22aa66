"""Each bad document is found out: by its finding alone, at its place, for the clauses that it breaks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from conformance.bad_documents import (
    BadDocument,
    apply_patch,
    find_difference,
    judge,
    load_bad_documents,
    load_good_threads,
    read_documents,
)

from tpharness.clauses import load_clauses
from tpharness.findings import load_kinds
from tpharness.resources import conformance_dir, schema_path

FILES = sorted((conformance_dir() / "documents" / "bad").glob("*.yaml"))


@pytest.mark.parametrize("name", load_good_threads())
def test_nothing_is_found_in_a_good_thread(name: str) -> None:
    """What is found in a bad document is then due to its patch."""
    assert judge(load_good_threads()[name]) == []


@pytest.mark.parametrize("entry", load_bad_documents(), ids=lambda entry: entry["name"])
def test_a_bad_document_is_found_out(entry: BadDocument) -> None:
    """One finding, at the place, which cites each clause that the document breaks; nothing that is not announced."""
    assert find_difference(entry) == ""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_files_fit_their_schema(path: Path) -> None:
    """Nothing is unknown to the schema, and nothing is missing."""
    schema = jsonschema_rs.Draft202012Validator(json.loads(schema_path("bad-documents").read_text("utf-8")))
    raw = read_documents(f"bad/{path.name}")
    assert [f"{list(error.instance_path)}: {error.message}" for error in schema.iter_errors(raw)] == []


def test_the_documents_name_what_exists() -> None:
    """Names are unique; findings, clauses and threads resolve; every good thread is used."""
    entries = load_bad_documents()
    assert [name for name, times in Counter(entry["name"] for entry in entries).items() if times > 1] == []
    assert {entry["finding"] for entry in entries} <= set(load_kinds())
    assert {clause for entry in entries for clause in entry["clauses"]} <= set(load_clauses())
    assert {entry["thread"] for entry in entries if "thread" in entry} == set(load_good_threads())


def test_patches_are_those_of_the_standard() -> None:
    """RFC 6902: add inserts in a list and appends at `-`, replace needs what it replaces, paths are escaped."""
    given = {"a": [1, 3], "b/c": {"~": 1}}
    patch: list[dict[str, Any]] = [
        {"op": "add", "path": "/a/1", "value": 2},
        {"op": "add", "path": "/a/-", "value": 4},
        {"op": "replace", "path": "/b~1c/~0", "value": None},
        {"op": "remove", "path": "/a/0"},
    ]
    assert apply_patch(given, patch) == {"a": [2, 3, 4], "b/c": {"~": None}}
    assert given == {"a": [1, 3], "b/c": {"~": 1}}
    assert apply_patch(given, [{"op": "replace", "path": "", "value": 5}]) == 5
    with pytest.raises(KeyError):
        apply_patch(given, [{"op": "replace", "path": "/x", "value": 1}])
