"""The wheel has the data that the package reads, and neither tests nor what tests compare with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
INCLUDED: dict[str, str] = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
_READ = re.compile(r'conformance_dir\(\) / "([\w.-]+)"')


def test_what_the_package_reads_is_in_the_wheel() -> None:
    """Every file or folder of the suite's data that the code names; in a checkout all of them are there."""
    sources = [file.read_text("utf-8") for file in (TOP / "src").rglob("*.py")]
    read = {name for source in sources for name in _READ.findall(source)} | {"baselines"}
    assert len(read) > 6
    assert {f"conformance/{name}" for name in read} | {"README.md", "docs", "scenarios"} == set(INCLUDED)
    for source, target in INCLUDED.items():
        assert (TOP / source).exists()
        assert target == f"tpharness/_data/{source}"


def test_no_test_and_no_golden_is_in_the_wheel() -> None:
    """They are for whoever changes tpharness. The programs of docs/reproductions belong to the pages that name them."""
    for source in INCLUDED:
        path = TOP / source
        files = [path] if path.is_file() else [file for file in path.rglob("*") if "__pycache__" not in file.parts]
        files = [file for file in files if file.parent.name != "reproductions"]
        assert not [file for file in files if file.suffix == ".py" or "golden" in file.parts]


def test_the_version_is_written_once() -> None:
    """In pyproject.toml; whoever wants it asks the installed package."""
    version = PYPROJECT["project"]["version"]
    written = [file for file in (TOP / "src").rglob("*.py") if f'"{version}"' in file.read_text("utf-8")]
    assert written == []
