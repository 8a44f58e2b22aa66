"""The table `[run]` of `tpharness.toml`: what `tpharness run` plays where the command line does not say it.

    [run]
    server = "stdio:python target.py"      # one or several, as with --server
    client = ["reference", "peer:mine"]
    scenarios = ["scenarios"]              # folders or files, from the folder of tpharness.toml
    baseline = "known.yaml"                # from there too
    profile = ["stream", "cycles"]
    dialect = "langchain"

A key is the name of the option that it stands for, and an option that is given takes its place.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tpharness.errors import UsageError
from tpharness.findings import quote
from tpharness.project_file import check_keys, find_project_file, read_project_file

__all__ = ["Configured", "read_configured"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The values of `[run]`, each under the name of its option; empty where the file says nothing.

    `said` tells in a line what the file says, "" for nothing.
    """

    server: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    scenarios: tuple[Path, ...] = ()
    baseline: Path | None = None
    profile: tuple[str, ...] = ()
    dialect: tuple[str, ...] = ()
    said: str = ""


_KEYS = tuple(field.name for field in fields(Configured) if field.name != "said")


def read_configured(folder: Path | None = None) -> Configured:
    """Return what the nearest `tpharness.toml` says, nothing where there is none.

    InputError for a file that cannot be read, UsageError for a key or a value that is not of the table, or no table.
    """
    here = (folder or Path.cwd()).resolve()
    file = find_project_file(here)
    if file is None:
        return Configured()
    where = f"{file}: [run]"
    tables = read_project_file(file)
    if not tables:  # it was written for another run than that of the built-in suite on the reference
        raise UsageError(f"{file} has no table", hint="write [run], remove the file, or run with --no-config")
    table = tables.get("run", {})
    if not isinstance(table, Mapping):
        raise UsageError(f"{file}: run is not a table", hint='[run] on a line of its own, then server = "…"')
    check_keys(table, _KEYS, where)
    values: dict[str, Any] = {key: _words(where, key, value) for key, value in table.items()}
    for key in ("scenarios", "baseline"):
        if key in values:
            values[key] = tuple(Path(os.path.relpath(file.parent / word, here)) for word in values[key])
    if "baseline" in values:
        if len(values["baseline"]) != 1:
            raise UsageError(f"{where}: baseline names {len(values['baseline'])} files, expected one")
        values["baseline"] = values["baseline"][0]
    if table:
        values["said"] = f"{os.path.relpath(file, here)} says {', '.join(table)} (--no-config leaves it alone)"
    return Configured(**values)


def _words(where: str, key: str, value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) and word for word in words):
        raise UsageError(f"{where}: {key} is {quote(value)}, expected a name or a list of names", hint=f'{key} = "…"')
    return tuple(words)
