"""docs/APPS.md says what was played: it is made from conformance/apps.json, and its applications are there."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from tpharness.findings import Level, load_kinds

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def apps() -> ModuleType:
    """Return scripts/apps.py as a module."""
    spec = importlib.util.spec_from_file_location("apps_page", ROOT / "scripts" / "apps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_was_played(apps: ModuleType) -> None:
    """`python scripts/apps.py --render` changes nothing."""
    data = json.loads(apps.DATA.read_text("utf-8"))
    assert apps.render(data) == apps.PAGE.read_text("utf-8")


def test_every_application_was_played_in_every_basic_case(apps: ModuleType) -> None:
    """None is missing, and none is an example no more."""
    data = json.loads(apps.DATA.read_text("utf-8"))
    assert [one["name"] for one in data] == apps.names()
    for one in data:
        assert set(one["cases"]) == {case for case, _ in apps.BASIC}, one["name"]
        assert one["api"], one["name"]


def test_the_levels_are_those_of_the_catalogue(apps: ModuleType) -> None:
    """A code that was renamed or got another level has to be played again."""
    for one in json.loads(apps.DATA.read_text("utf-8")):
        for name, case in one["cases"].items():
            assert {code: load_kinds()[code].level.value for code in case["codes"]} == case["codes"], name
            failed = Level.MUST.value in case["codes"].values()
            assert (case["outcome"] == "failed") is failed, f"{one['name']} {name}"


@pytest.mark.parametrize(
    ("case", "cell"),
    [
        (None, "not played"),
        ({"outcome": "passed", "codes": {}}, "ok"),
        ({"outcome": "passed", "codes": {"told-more-than-seen": "may"}}, "policy"),
        ({"outcome": "passed", "codes": {"runs-on": "should", "told-more-than-seen": "may"}}, "runs-on"),
        ({"outcome": "failed", "codes": {"chat-bricked": "must", "runs-on": "should"}}, "**chat-bricked**, runs-on"),
        ({"outcome": "not-applicable", "codes": {}}, "n/a"),
    ],
)
def test_a_cell_says_the_worst_first(apps: ModuleType, case: dict[str, object] | None, cell: str) -> None:
    """What fails is in bold."""
    assert apps._cell(case) == cell
