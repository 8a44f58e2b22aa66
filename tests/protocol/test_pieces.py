"""Large documents are checked in pieces, and found wrong in the same places as in one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.protocol.test_thread_schemas import with_version

from tpharness.protocol import misfits, pieces
from tpharness.protocol.pieces import Piece, split
from tpharness.protocol.rules import check_thread
from tpharness.protocol.schema import schema_findings
from tpharness.protocol.versions import Version
from tpharness.resources import schema_path

NAMES = ("turns", "id")
VALUES = st.recursive(
    st.integers(0, 9) | st.text(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=8) | st.dictionaries(st.sampled_from([*NAMES, *"abcdef"]), inner, max_size=8)
    ),
    max_leaves=60,
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Return what is not a list or an object, with its path."""
    if isinstance(value, dict | list):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, step))
    else:
        yield path, value


@settings(max_examples=50)
@given(VALUES)
def test_the_pieces_have_everything_at_its_place_and_nothing_else(value: Any) -> None:
    """A leaf of a piece is that of the whole at the path that the piece says; no leaf is missing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_LARGEST", 6)
        parts = list(split(value, NAMES))
    found = {(tuple(part.path(path)), leaf) for part in parts for path, leaf in leaves(part.value)}
    assert found == set(leaves(value))


def documents() -> Iterator[Any]:
    """Return threads that do not fit their schema in ways of all kinds, in several places at once."""
    for version in Version:
        whole = with_version(version.value)
        for name in ("turns", "agents", "created_at"):
            yield {**whole, name: 7}
        for turn in whole["turns"]:
            for path, _ in leaves(turn):
                wrong = json.loads(json.dumps(turn))
                holder = wrong
                for step in path[:-1]:
                    holder = holder[step]
                holder[path[-1]] = {"not": ["what", "was", "expected"]}
                yield {**whole, "turns": [wrong, turn, wrong, {}, wrong]}


def test_what_does_not_fit_is_found_in_pieces_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings do not depend on the size of the pieces."""
    monkeypatch.setattr(misfits, "MOST_OF_A_KIND", 10_000)
    wrong = list(documents())
    assert len(wrong) > 100
    in_one = [{(f.code, f.place.pointer, f.message) for f in schema_findings(document)} for document in wrong]
    monkeypatch.setattr(pieces, "_LARGEST", 12)
    in_pieces = [{(f.code, f.place.pointer, f.message) for f in schema_findings(document)} for document in wrong]
    assert in_pieces == in_one
    assert all(in_one)


@pytest.mark.parametrize("version", Version)
def test_the_schemas_ask_for_no_number_of_items(version: Version) -> None:
    """A piece has fewer items than the whole, so a schema that counts them could not be checked in pieces."""
    text = schema_path(f"thread-{version.value}").read_text("utf-8")
    counting = {"minItems", "maxItems", "minContains", "contains", "uniqueItems", "minProperties", "maxProperties"}
    assert not [word for word in counting if f'"{word}"' in text]


def test_a_large_wrong_document_is_read_only_as_far_as_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """The validator keeps 2 kB for each misfit: it gets a thousand values, and not the 200,000 turns."""
    given_out: list[Piece] = []

    def counted(value: Any, names: Any) -> Iterator[Piece]:
        for piece in split(value, names):
            given_out.append(piece)
            yield piece

    monkeypatch.setattr(misfits, "split", counted)
    found = schema_findings(with_version("2.0.0") | {"turns": [{}] * 200_000})
    assert len(found) == 51
    assert len(given_out) <= 2
    assert all(len(piece.value["turns"]) <= 1000 for piece in given_out)


def test_many_broken_rules_are_counted() -> None:
    """Twenty thousand returns without a call: fifty with their places, the others as a number, at the same level."""
    document = with_version("2.0.0")
    orphan = {
        "part_kind": "tool-return",
        "tool_name": "t",
        "tool_call_id": "none",
        "content": "x",
        "status": "success",
        "timestamp": document["turns"][0]["submitted_at"],
    }
    document["turns"] = [{**document["turns"][0], "parts": [orphan] * 20_000}]
    found = [f for f in check_thread(document) if f.code == "return-without-call"]
    assert len(found) == 51
    assert found[-1].message == "and 19,950 more, the first of them here"
    assert found[-1].place.pointer == "/turns/0/parts/50"
