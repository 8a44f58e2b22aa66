"""docs/INTEROP.md says what is so: it is made from the baselines and from what was played, and its reports run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scripts import interop
from tests.distribution import Sample
from tests.prerequisites import PEERS

from tpharness.targets.node_packages import node_program
from tpharness.targets.python_packages import released_python
from tpharness.targets.releases import default_release


def test_the_page_is_what_was_played() -> None:
    """`python scripts/interop.py --render` changes nothing."""
    data = json.loads(interop.DATA.read_text("utf-8"))
    assert interop.render(data) == interop.PAGE.read_text("utf-8")


def test_every_departure_of_a_baseline_has_a_name_a_title_and_a_reason() -> None:
    """And its cases are found by the loader under that name."""
    for one in interop.departures():
        assert one["departure"]
        assert one["title"]
        assert len(one["reason"]) > 40
        assert one["clauses"]
        assert one["rulings"]


def test_every_departure_is_shown_without_tpharness() -> None:
    """A departure that only our adapter shows may be the adapter's; a report names no departure that there is not."""
    published = {(one["target"], one["departure"]) for one in interop.departures()}
    assert set(interop.files_without_us()) == published


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [".py", pytest.param(".mjs", marks=pytest.mark.node)])
def test_the_reports_print_what_the_page_says(kind: str, request: pytest.FixtureRequest, sample: Sample[Any]) -> None:
    """Each report is run as its reader would run it."""
    reports = [report for report in interop.reports() if report["file"].endswith(kind)]
    assert reports
    for report in sample(reports):
        path = interop.REPRODUCTIONS / report["file"]
        release = default_release(report.get("packages", ""))
        python = sys.executable if release is None else released_python(release.requirements)
        command = [str(python), str(path)]
        if kind == ".mjs":
            program = node_program(PEERS / report.get("packages", "ai_sdk"))
            copy = program.scripts / f"report-{uuid4().hex}-{path.stem}.mjs"  # other checkouts have the same folder
            shutil.copy(path, copy)
            request.addfinalizer(copy.unlink)
            command = [str(program.node), str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.stdout.strip() == report["got"].strip(), done.stderr


def test_every_report_is_run() -> None:
    """No report is in a language that the test before does not know."""
    assert {Path(report["file"]).suffix for report in interop.reports()} == {".py", ".mjs"}
