"""`tpharness.toml`: the file in which a repository says what tpharness is to play.

It names commands that are run. So, as git does with a repository, a file that belongs to another user is refused: it
may lie in a folder above, such as /tmp, where anybody can put one. TPHARNESS_TRUST names those that may be read.

It has the tables `[run]`, `[peers.NAME]` and `[apps.NAME]`, each read by the module that uses it. In: a folder. Out:
the file in it or in the nearest folder above, and its tables. InputError for a file that cannot be read; UsageError
with the nearest known name for an unknown one, and for a file of another owner.
"""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, UsageError, did_you_mean

__all__ = ["PROJECT_FILE", "TRUST_VARIABLE", "check_keys", "find_project_file", "read_project_file"]

PROJECT_FILE = "tpharness.toml"
TRUST_VARIABLE = "TPHARNESS_TRUST"
"""Names the files of other users that may be read, separated as in PATH."""
_TABLES = ("run", "peers", "apps")


def find_project_file(folder: Path) -> Path | None:
    """Return the nearest one, in the folder or above it; None if there is none."""
    here = folder.resolve()
    return next((file for place in (here, *here.parents) if (file := place / PROJECT_FILE).is_file()), None)


def read_project_file(file: Path) -> Mapping[str, Any]:
    """Return its tables by name. InputError for a file that cannot be read, UsageError for an unknown table."""
    try:
        with file.open("rb") as opened:
            _require_owner(file, {os.fstat(opened.fileno()).st_uid, file.lstat().st_uid})
            tables = tomllib.loads(opened.read().decode("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}", hint="it is TOML, in UTF-8") from error
    check_keys(tables, _TABLES, str(file))
    return tables


def _require_owner(file: Path, owners: set[int]) -> None:
    """Raise UsageError for a file, or a link to one, of another user, unless the environment names it.

    Who runs this by sudo is the user as well, as for git.
    """
    if not hasattr(os, "getuid"):  # Windows
        return
    user = os.getuid()
    sudo = os.environ.get("SUDO_UID", "")
    known = {user, int(sudo)} if user == 0 and sudo.isdecimal() else {user}
    trusted = os.environ.get(TRUST_VARIABLE, "").split(os.pathsep)
    if owners <= known or str(file.absolute()) in trusted:
        return
    other = min(owners - known)
    raise UsageError(
        f"{file} belongs to another user ({other}, you are {user}), and it can name commands that are run",
        hint=f"read it; if it may run on your account: export {TRUST_VARIABLE}={shlex.quote(str(file.absolute()))}",
    )


def check_keys(table: Collection[str], known: Collection[str], where: str) -> None:
    """UsageError for a key that is not known, with the nearest one that is."""
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known, f"known are {', '.join(known)}")
            raise UsageError(f"{where} has an unknown key {key!r}", hint=hint)
