"""The place in `tpharness.toml` where an application is described, for reports that point into a file."""

from __future__ import annotations

import tomllib

from tpharness.apps.config import AppConfig
from tpharness.findings import Place

__all__ = ["table_place"]


def table_place(config: AppConfig) -> Place | None:
    """Return the line of `[apps.NAME]`; the file alone for a table without a head, None for one without a file."""
    if config.file is None:
        return None
    lines = config.file.read_text("utf-8").splitlines()
    found = (number for number, line in enumerate(lines, 1) if _names(line, config.name))
    return Place(file=str(config.file), line=next(found, None))


def _names(line: str, name: str) -> bool:
    if not line.lstrip().startswith("["):
        return False
    try:
        return tomllib.loads(line) == {"apps": {name: {}}}
    except tomllib.TOMLDecodeError:  # a line of an array
        return False
