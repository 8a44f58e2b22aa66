"""A mistake in tpharness that one document of many brings to light: it is named and counted, and the others go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_batch_by_hand import numbers
from tests.cli.test_batch_killed import store

__all__ = ["store"]  # a fixture


PLANTED = """
from tpharness.cli import {module}

real = {module}.{work}.__call__

def planted(self, document):
    if document.name.endswith((":3", ":50")):
        raise KeyError("planted")
    return real(self, document)

{module}.{work}.__call__ = planted
"""


def call_with_mistake(folder: Path, module: str, work: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a command in which the work raises for two documents what nobody expects, in whatever process it is done.

    Whether workers are forks depends on the threads of the process, so that a change of ours there may not reach them.
    """
    planted = folder / "planted"
    planted.mkdir()
    (planted / "sitecustomize.py").write_text(PLANTED.format(module=module, work=work), "utf-8")
    path = os.pathsep.join(filter(None, (str(planted), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "tpharness", *args]
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("output", ["out", "out.jsonl"], ids=["folder", "lines"])
def test_a_mistake_of_ours_stops_no_batch(jobs: str, output: str, store: Path, tmp_path: Path, call: Any) -> None:
    """The document is kept as one of which nothing was made, and is done with --resume once the mistake is mended."""
    target, by_hand = tmp_path / output, tmp_path / "by-hand"
    args = ["repair", str(store), "-o", str(target), "--rejected", str(by_hand), "--jobs", jobs]
    called = call_with_mistake(tmp_path, "repair", "RepairIn", *args)
    assert called.returncode == 2
    for line in (3, 50):
        assert f"internal error in {store}:{line}: KeyError: 'planted'\n" in called.stderr
        assert (by_hand / "store" / f"{line}.json").read_bytes() == store.read_bytes().splitlines()[line - 1]
    assert called.stderr.count("Traceback (most recent call last):") == 1
    assert "in planted\n" in called.stderr
    assert "not in the document; send the lines above to the authors of tpharness" in called.stderr
    assert "70 documents: 2 internal error, " in called.stdout + called.stderr
    assert numbers(target) == [n for n in range(70) if n % 7 and n not in (2, 49)]
    resumed = call(*args, "--resume")
    assert (resumed.code, "Traceback" in resumed.err) == (1, False)
    assert numbers(target) == [n for n in range(70) if n % 7]


def test_a_mistake_of_ours_is_in_the_report(store: Path, tmp_path: Path) -> None:
    """With the exit code of a document that could not be judged, whatever is wrong with the others."""
    called = call_with_mistake(tmp_path, "check", "CheckAs", "check", str(store), "--json")
    assert called.returncode == 2
    lines = [json.loads(line) for line in called.stdout.splitlines()]
    assert [(one["document"], one["error"]) for one in lines if one["outcome"] == "internal error"] == [
        (f"{store}:{n}", f"internal error in {store}:{n}: KeyError: 'planted'") for n in (3, 50)
    ]
    assert len(lines) == 70
