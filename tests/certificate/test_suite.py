"""A suite that somebody has changed, in any file, is another suite."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tpharness.certificate import suite
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.suite_yaml import load_suite_yaml

DECIDE_NOTHING = {"documents", "golden", "probes"}
"""What tests compare with, in a checkout: no command reads it."""


def test_each_file_that_decides_changes_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules, peers in other languages with their locks, schemas, recordings, requirements: a byte in each."""
    copies = {"_PACKAGE": suite._PACKAGE, "conformance_dir": conformance_dir(), "scenarios_dir": scenarios_dir()}
    before = suite.describe_suite.__wrapped__()
    changed = set()
    for name, folder in copies.items():
        ignored = shutil.ignore_patterns("__pycache__", "node_modules", *DECIDE_NOTHING)
        copy = shutil.copytree(folder, tmp_path / name, ignore=ignored)
        monkeypatch.setattr(suite, name, copy if name == "_PACKAGE" else lambda copy=copy: copy)
        for file in copy.rglob("*"):
            in_tests = name == "conformance_dir" and file.suffix in (".py", ".md", ".json") and file.parent == copy
            if file.is_file() and not in_tests:
                file.write_bytes(file.read_bytes() + b"\n# changed\n")
                changed.add(str(file.relative_to(tmp_path)))
    after = suite.describe_suite.__wrapped__()
    same = {
        f"{kind} {name}"
        for kind in ("scenarios", "baselines", "files", "modules")
        for name, digest in after["parts"][kind].items()
        if before["parts"][kind].get(name) == digest
    }
    assert same == set()
    by_item = {"clauses.yaml", "profiles.yaml", "app-clauses.yaml"}  # the digest is of what they say, a clause each
    counted = sum(len(after["parts"][kind]) for kind in ("scenarios", "baselines", "files", "modules"))
    assert counted == len([name for name in changed if Path(name).name not in by_item - {"app-clauses.yaml"}])
    assert before["digest"] != after["digest"]
    differences = " ".join(suite.find_suite_differences(before, after))
    assert "baselines changed" in differences
    assert "modules changed" in differences


@pytest.mark.parametrize("item", ["clauses", "profiles"])
def test_each_clause_and_profile_has_a_digest_of_its_own(item: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The difference names it."""
    before = suite.describe_suite.__wrapped__()
    changed = []

    def change_first(file: Path) -> list[dict[str, object]]:
        loaded = [dict(one) for one in load_suite_yaml(file)]
        if file.stem == item:
            changed.append(loaded[0]["id" if item == "clauses" else "name"])
            loaded[0]["why"] = "somebody wants it"
        return loaded

    monkeypatch.setattr(suite, "load_suite_yaml", change_first)
    after = suite.describe_suite.__wrapped__()
    assert list(suite.find_suite_differences(before, after)) == [f"1 {item.removesuffix('s')} changed: {changed[0]}"]
