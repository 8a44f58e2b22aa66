"""docs/APPS.md says what was played, and the baselines of examples/apps say why, case by case."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from scripts import apps_page

from tpharness.apps.checks import APP_CHECKS
from tpharness.apps.config import load_config
from tpharness.findings import Level, load_kinds
from tpharness.resources import conformance_dir
from tpharness.run.baselines import load_baseline

DATA: dict[str, dict[str, Any]] = json.loads(apps_page.DATA.read_text("utf-8"))


def test_the_page_is_what_was_played() -> None:
    """`python scripts/apps_page.py --render` changes nothing."""
    assert apps_page.render(DATA) == apps_page.PAGE.read_text("utf-8")


def test_every_application_was_played_in_the_version_that_its_lock_file_has() -> None:
    """All nine basic cases at least, and none of them without a verdict."""
    assert list(DATA) == list(apps_page.tables())
    for name, one in DATA.items():
        assert one["versions"] == apps_page.versions_of(apps_page.folder_of(apps_page.tables()[name])), name
        assert set(apps_page.basic_ids()) <= set(one["cases"]), name
        assert {one["cases"][case]["outcome"] for case in apps_page.basic_ids()} <= {"passed", "failed"}, name


def test_the_levels_are_those_of_the_catalogue() -> None:
    """A code that was renamed or got another level has to be played again."""
    kinds = load_kinds()
    for name, one in DATA.items():
        for case, summary in one["cases"].items():
            for level in ("must", "should", "may"):
                assert {kinds[code].level.value for code in summary.get(level, ())} <= {level}, f"{name} {case}"
            assert (summary["outcome"] == "failed") is ("must" in summary), f"{name} {case}"


@pytest.mark.parametrize("name", DATA)
def test_a_baseline_has_just_what_failed(name: str) -> None:
    """Each entry is a case that was seen to fail with these findings, and each such case has an entry."""
    path = load_config(name, apps_page.CONFIG).baseline_path
    entries = load_baseline(path).entries if path is not None else {}
    known = {case: set(entry.findings) for case, entry in entries.items()}
    assert known == {case: set(one["must"]) for case, one in DATA[name]["cases"].items() if "must" in one}


def test_every_departure_has_a_title_a_reason_and_clauses() -> None:
    """And the scripts that show one without tpharness name it and an application that has it."""
    clauses = {one["id"] for one in yaml.safe_load((conformance_dir() / "app-clauses.yaml").read_text("utf-8"))}
    departures = apps_page.departures()
    for one in departures.values():
        assert one["title"]
        assert len(one["reason"]) > 40
        assert one["clauses"]
        assert set(one["clauses"]) <= clauses
    for report in apps_page.reproductions():
        assert set(report["applications"]) & set(departures[report["departure"]]["cases"]), report["file"]


def test_every_finding_at_must_has_a_word_of_its_own() -> None:
    """All but those of the model APIs' own rules, which are *refused*."""
    named = {code for codes, _ in apps_page._WORDS.values() for code in codes}
    own = {
        kind.code
        for check in APP_CHECKS
        if check.name != "accepted"
        for kind in check.kinds
        if kind.level is Level.MUST
    }
    assert own <= named


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ({"outcome": "passed"}, "ok"),
        ({"outcome": "passed", "may": ["told-more-than-seen"]}, "policy"),
        ({"outcome": "passed", "should": ["runs-on"], "may": ["told-more-than-seen"]}, "flaw, policy"),
        (
            {"outcome": "failed", "must": ["user-turn-lost", "chat-bricked"], "should": ["runs-on"]},
            "bricked, user's turn",
        ),
        ({"outcome": "failed", "must": ["responses-item-missing"]}, "refused"),
        ({"outcome": "errored", "must": ["app-silent"]}, "not judged"),
        ({"outcome": "not-applicable", "reason": "no stop button"}, "n/a"),
    ],
)
def test_a_cell_is_said_in_words(summary: dict[str, Any], words: str) -> None:
    """What breaks a MUST hides what breaks a SHOULD."""
    assert apps_page.verdict(summary) == words
