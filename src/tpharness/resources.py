"""The only place that knows where the suite's data lies: in a checkout, or inside the installed wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["conformance_dir", "docs_dir", "readme_path", "scenarios_dir", "schema_path"]


@cache
def _root() -> Path:
    package = Path(__file__).resolve().parent
    installed = package / "_data"
    return installed if installed.is_dir() else package.parent.parent


def conformance_dir() -> Path:
    """Folder with the clauses, profiles, rulings, findings, schemas and baselines; a checkout has more."""
    return _root() / "conformance"


def docs_dir() -> Path:
    """Folder with the pages of the documentation, `<NAME>.md`."""
    return _root() / "docs"


def readme_path() -> Path:
    """Path of the README, which the documentation begins with."""
    return _root() / "README.md"


def scenarios_dir() -> Path:
    """Folder with the built-in scenarios, `<theme>/<name>.yaml`."""
    return _root() / "scenarios"


def schema_path(name: str) -> Path:
    """Path of `conformance/schemas/<name>.schema.json`."""
    return conformance_dir() / "schemas" / f"{name}.schema.json"
