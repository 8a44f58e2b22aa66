"""docs/reproductions/applications.yaml: what it says of applications is seen without tpharness, in 30 lines."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.distribution import Sample

import tpharness
from tpharness.suite_yaml import load_suite_yaml
from tpharness.targets.node_packages import node_program

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reproductions"
REPORTS: list[dict[str, Any]] = load_suite_yaml(FOLDER / "applications.yaml")
TABLES = tomllib.loads((ROOT / "examples" / "apps" / "tpharness.toml").read_text("utf-8"))["apps"]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["file"])
def test_a_reproduction_is_short_and_needs_nothing_of_ours(report: dict[str, Any]) -> None:
    """Its reader sends it to somebody who has never heard of us."""
    code = (FOLDER / report["file"]).read_text("utf-8")
    assert len(code.splitlines()) <= 30
    assert "tpharness" not in code
    assert set(report["applications"]) <= set(TABLES)


def printed(*command: str) -> str:
    """Return what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


@pytest.mark.sampled
def test_a_reproduction_in_python_prints_what_the_report_says(sample: Sample[dict[str, Any]]) -> None:
    """Run as its reader would run it."""
    for report in sample([report for report in REPORTS if report["file"].endswith(".py")]):
        assert printed(sys.executable, str(FOLDER / report["file"])) == report["got"].strip(), report["file"]


@pytest.mark.node
@pytest.mark.sampled
def test_a_reproduction_for_node_prints_what_the_report_says(
    request: pytest.FixtureRequest, sample: Sample[dict[str, Any]]
) -> None:
    """Run as its reader would run it, beside the packages that it imports."""
    program = node_program(Path(tpharness.__file__).parent / "peers" / "ai_sdk")
    for report in sample([report for report in REPORTS if report["file"].endswith(".mjs")]):
        copy = program.scripts / f"report-{uuid4().hex}-{report['file']}"  # other checkouts have the same folder
        shutil.copy(FOLDER / report["file"], copy)
        request.addfinalizer(copy.unlink)
        assert printed(str(program.node), str(copy)) == report["got"].strip(), report["file"]
