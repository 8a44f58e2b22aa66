"""Find scenario files and derive their ids."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from tpharness.errors import InputError
from tpharness.resources import scenarios_dir

__all__ = ["SUFFIXES", "find_scenarios", "read_regular", "scenario_id"]

SUFFIXES = (".yaml", ".yml")


def find_scenarios(roots: Iterable[Path | str]) -> list[Path]:
    """Return the scenario files (`*.yaml`, `*.yml`) below the roots, in order of path; a root may be a file.

    InputError if a root does not exist.
    """
    found: dict[Path, None] = {}
    for root in map(Path, roots):
        if root.is_dir():
            files = (path for path in root.rglob("*.y*ml") if path.suffix in SUFFIXES and path.is_file())
            inside = (path for path in files if not any(p.startswith(".") for p in path.relative_to(root).parts))
            found.update(dict.fromkeys(sorted(inside)))
        elif root.is_file():
            found[root] = None
        else:
            raise InputError(f"no scenario file or folder at {root}", hint="check the path")
    return list(found)


def read_regular(path: Path, most: int) -> tuple[int, bytes]:
    """Return the size of a file and its bytes, none if there are more than `most`.

    OSError for what is not a file, such as a pipe or a device, which may have no end, and for a path that cannot exist.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a pipe, a socket or a device, not a file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except ValueError as error:  # a null character in the path
        raise OSError(errno.EINVAL, str(error)) from error
    size = max(status.st_size, len(data))
    return size, data if size <= most else b""


def scenario_id(path: Path | str, root: Path | str | None = None) -> str:
    """Return `theme/kebab-name`: the path below `root` without its suffix, other characters replaced by `-`.

    Without a root, ids begin at the folder of the built-in scenarios for a file in it, else at the parent of the file's
    folder.
    """
    full, base = Path(path), Path(root) if root is not None else scenarios_dir()
    if not full.is_relative_to(base) or ".." in full.parts:
        full, base = full.resolve(), base.resolve()
    if not full.is_relative_to(base):
        base = full.parent.parent
    return "/".join(_slug(part) for part in full.relative_to(base).with_suffix("").parts)


def _slug(part: str) -> str:
    return re.sub(r"[^a-z0-9.@:]+", "-", part.lower()).strip("-") or "scenario"
