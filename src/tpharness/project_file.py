"""`tpharness.toml`: the file in which a repository says what tpharness is to play.

It has the tables `[run]`, `[peers.NAME]` and `[apps.NAME]`, each read by the module that uses it. In: a folder. Out:
the file in it or in the nearest folder above, and its tables. InputError for a file that cannot be read; UsageError
with the nearest known name for an unknown one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, UsageError, did_you_mean

__all__ = ["PROJECT_FILE", "check_keys", "find_project_file", "read_project_file"]

PROJECT_FILE = "tpharness.toml"
_TABLES = ("run", "peers", "apps")


def find_project_file(folder: Path) -> Path | None:
    """Return the nearest one, in the folder or above it; None if there is none."""
    here = folder.resolve()
    return next((file for place in (here, *here.parents) if (file := place / PROJECT_FILE).is_file()), None)


def read_project_file(file: Path) -> Mapping[str, Any]:
    """Return its tables by name. InputError for a file that cannot be read, UsageError for an unknown table."""
    try:
        tables = tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="it is TOML, in UTF-8") from error
    check_keys(tables, _TABLES, str(file))
    return tables


def check_keys(table: Collection[str], known: Collection[str], where: str) -> None:
    """UsageError for a key that is not known, with the nearest one that is."""
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"known are {', '.join(known)}")
            raise UsageError(f"{where} has an unknown key {key!r}", hint=hint)
