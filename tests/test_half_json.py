"""The table of half JSON is what its script writes, and counts as it says it does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.modules import load_module

from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json

TOP = Path(__file__).parents[1]
SECTION = (TOP / "docs" / "HISTORIES.md").read_text("utf-8").partition("<!-- half JSON: generated -->\n")[2]
TABLE = SECTION.partition("<!-- half JSON: end -->")[0]


half_json = load_module(TOP / "scripts" / "half_json.py")


@pytest.mark.parametrize(
    ("shown", "meant", "found"),
    [
        ({}, {"a": 1}, []),
        ({"a": 1}, {"a": 12}, ["number"]),
        ({"a": 12}, {"a": 12.0}, []),
        ({"a": "Par"}, {"a": "Paris"}, []),
        ({"a": "Pax"}, {"a": "Paris"}, ["other"]),
        ({"amo": None}, {"amount": 1}, ["other"]),
        ({"a": None}, {"a": 1}, ["other"]),
        ({"a": True}, {"a": 1}, ["other"]),
        ([1, 2], [1, 22], ["number"]),
        ([1, 2, 3], [1, 2], ["other"]),
        (["a"], {"a": 1}, ["other"]),
        ({"a": [{"b": -1}]}, {"a": [{"b": -12}, 3]}, ["number"]),
    ],
)
def test_what_was_not_meant_is_a_mistake_and_what_is_missing_is_not(shown: Any, meant: Any, found: list[str]) -> None:
    """A number that is another one, apart from everything else."""
    assert list(half_json.mistakes(shown, meant)) == found


def test_every_text_is_whole_and_there_are_enough() -> None:
    """With exponents, signs, escapes and nesting; a cut is never the whole text."""
    assert len(half_json.TEXTS) >= 20
    assert all(json.loads(text) is not None for text in half_json.TEXTS)
    assert sum("e3" in text or "E-2" in text for text in half_json.TEXTS) == 2
    assert {text for text, _ in half_json.cuts()}.isdisjoint(half_json.TEXTS)


def test_the_page_has_every_reader_with_the_release_that_the_script_installs() -> None:
    """Ten readers at least."""
    rows = dict(re.findall(r"^\| (\S+) ([0-9.a-z]+)(?: \([^|]*\))? \|", TABLE, re.MULTILINE))
    assert rows == {**half_json.NODE, **half_json.PYTHON}
    assert len(rows) >= 10
    assert f"{len(half_json.TEXTS)} texts, {len(half_json.cuts())} cuts." in TABLE


def test_our_reader_counts_as_the_one_of_the_ai_sdk_that_it_is_held_to() -> None:
    """A row of the table, made again without the package."""
    values = [parse_partial_json(text) for text, _ in half_json.cuts()]
    counted = half_json.count([[] if value is NOTHING else [value] for value in values])
    (row,) = re.findall(r"^\| ai 7\.0\.173 \| (\d+) \| (\d+) \| (\d+) \|", TABLE, re.MULTILINE)
    assert counted[:3] == tuple(map(int, row))
