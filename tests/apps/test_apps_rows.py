"""The rows of conformance/apps.json: what comes of an application today is what stands there.

The recipes of Pydantic AI and of the AI SDK are played here, in part (`--whole` plays all of it). The others need
releases beside which the tests cannot be installed, or a build: CI plays each in a job of its own.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts import apps_page
from tests.distribution import Sample

from tpharness.apps.config import load_config
from tpharness.targets.node_packages import installed_packages
from tpharness.targets.nodejs import find_node

TOP = Path(__file__).parents[2]
DATA: dict[str, dict[str, Any]] = json.loads(apps_page.DATA.read_text("utf-8"))
FOLDERS = {name: apps_page.folder_of(table) for name, table in apps_page.tables().items()}
OF_GEMINI = "pydantic-ai-quickstart-gemini"
"""Its lock file has google-genai 2, beside which the types of the tests, 3, cannot be installed."""
OF_PYTHON = [name for name, folder in FOLDERS.items() if folder == "pydantic-ai" and name != OF_GEMINI]
OF_NODE = [name for name, folder in FOLDERS.items() if folder == "ai-sdk"]


@pytest.mark.parametrize("name", DATA)
def test_a_row_has_every_case_that_there_is(name: str) -> None:
    """`python scripts/apps_page.py --missing` plays what is new."""
    assert set(DATA[name]["cases"]) == apps_page.all_ids(name)


def test_a_row_that_is_stale_is_named_with_its_case() -> None:
    """A finding at MUST or SHOULD that the row does not have, one that is gone, another outcome, and a new case."""
    passed: dict[str, Any] = {"outcome": "passed"}
    flaw = {**passed, "should": ["runs-on"]}
    failed = {"outcome": "failed", "must": ["answer-lost"]}
    row = {"cases": {"a": passed, "b": flaw, "c": failed, "d": passed}}
    assert apps_page.differences(row, {"cases": dict(row["cases"])}) == []
    found = apps_page.differences(row, {"cases": {"a": flaw, "b": passed, "c": passed, "e": passed}})
    assert [line.partition(":")[0] for line in found] == ["a", "b", "c", "e"]
    policy = {**passed, "may": ["told-more-than-seen"]}
    assert apps_page.differences(row, {"cases": {"a": policy, "d": policy}}) == []


def stale(name: str, cases: tuple[str, ...], folder: Path, interpreter: str) -> list[str]:
    """Play cases of an application that stands in a copy; return where its row is something else."""
    config = load_config(name, apps_page.CONFIG)
    command = (interpreter, *config.command[1:])
    config = replace(config, command=command, folder=folder, answer=120.0)  # for a busy machine
    return apps_page.differences(DATA[name], apps_page.play(name, cases, config=config))


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("name", OF_PYTHON)
def test_a_row_of_pydantic_ai_is_what_comes_of_it_today(name: str, sample: Sample[str], tmp_path: Path) -> None:
    """Where the releases of its lock file are installed, as constraints.txt has them."""
    pins = dict(
        line.split("==")
        for line in (apps_page.APPS / "pydantic-ai" / "requirements.txt").read_text("utf-8").splitlines()
        if not line.startswith("google-genai")
    )
    others = [f"{one} {metadata.version(one)}" for one, pin in pins.items() if metadata.version(one) != pin]
    if others:
        pytest.skip(f"the row is of other releases than {', '.join(others)}")
    apps_page.copy_application(name, tmp_path)
    cases = sample(sorted(apps_page.all_ids(name)))
    assert stale(name, cases, tmp_path, sys.executable) == []


@pytest.mark.long
@pytest.mark.node
@pytest.mark.sampled
def test_a_row_of_the_ai_sdk_is_what_comes_of_it_today(sample: Sample[tuple[str, str]], tmp_path: Path) -> None:
    """With the packages of its lock file."""
    node = find_node()
    copied = apps_page.copy_application(OF_NODE[0], tmp_path)
    packages = installed_packages(apps_page.APPS / copied.name, node)
    (copied / "node_modules").symlink_to(packages / "node_modules")
    played: dict[str, list[str]] = {}
    for name, case in sample([(one, case) for one in OF_NODE for case in sorted(apps_page.all_ids(one))]):
        played.setdefault(name, []).append(case)
    for name, cases in played.items():
        assert stale(name, tuple(cases), tmp_path, str(node.executable)) == [], name


def test_ci_plays_the_folders_whose_rows_the_tests_do_not_play() -> None:
    """Each in a job that compares, installed as its README says."""
    jobs = yaml.safe_load((TOP / ".github" / "workflows" / "applications.yml").read_text("utf-8"))["jobs"]
    played = [one for job in jobs.values() for one in job["strategy"]["matrix"]["folder"]]
    assert sorted(played) == sorted({folder for name, folder in FOLDERS.items() if name not in (*OF_PYTHON, *OF_NODE)})
    for job in jobs.values():
        assert "python scripts/apps_page.py --check --folder ${{ matrix.folder }}" in json.dumps(job)
