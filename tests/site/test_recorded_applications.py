"""The traces of `examples/apps/traces`: each is of what the table of applications says, and the site shows them."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run_in_process

from tpharness.picture import applications_of_trace
from tpharness.resources import conformance_dir
from tpharness.site.applications import application_files
from tpharness.site.documents import Documents
from tpharness.trace.read import Trace

ROOT = conformance_dir().parent
TRACES = sorted((ROOT / "examples" / "apps" / "traces").glob("*.zip"))
PLAYED = json.loads((conformance_dir() / "apps.json").read_text("utf-8"))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_recorded_case_is_what_the_table_says_of_it(path: Path) -> None:
    """The outcome and every finding; a table that was played again needs its traces recorded again."""
    cases = PLAYED[path.stem]["cases"]
    found = applications_of_trace(Trace.open(path))
    assert {case.entry.server.partition(" (")[0] for case, _ in found.values()} == {path.stem}
    for name, (case, _) in found.items():
        codes = {code for level in ("must", "should", "may") for code in cases[name].get(level, ())}
        assert (case.about["outcome"], set(case.entry.codes)) == (cases[name]["outcome"], codes)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_recorded_trace_is_small_and_names_no_folder_of_whoever_recorded_it(path: Path) -> None:
    """Stack traces of an application that fails have the folder that it stands in."""
    assert path.stat().st_size <= 80_000
    with zipfile.ZipFile(path) as packed:
        text = b"".join(map(packed.read, packed.namelist()))
    assert not re.search(rb"/(?:tmp|home|root|work)/", text)


def test_their_pages_are_a_tenth_of_what_the_site_may_weigh() -> None:
    """Each case stands there with both of its requests to the model."""
    pages, shown = application_files([Trace.open(path) for path in TRACES])
    assert set(shown) == {path.stem for path in TRACES}
    assert sum(len(page.encode()) for page in pages.values()) <= 1_900_000
    for app, page in zip(shown, pages.values(), strict=True):
        assert page.count('<details class="result" open>') == len(shown[app])
        assert page.count("request 1 to the model") >= 2 * sum("user-leaves" in case for case in shown[app])


def test_the_site_of_a_checkout_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to name them."""
    given: list[Documents] = []

    def build(output: Path, documents: Documents, *_: Any) -> int:
        given.append(documents)
        output.mkdir()
        return 0

    monkeypatch.setattr("tpharness.cli.site.build_site", build)
    assert run_in_process("site", "-o", str(tmp_path / "public")) == 0
    assert [trace.name for trace in given[0].traces] == [str(path) for path in TRACES]
    assert TRACES
