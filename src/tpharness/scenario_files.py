"""Scenario files: where they are, their ids, and what can be said of one without loading it."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpharness.errors import InputError, UsageError
from tpharness.resources import scenarios_dir

__all__ = [
    "BUILT_IN",
    "SUFFIXES",
    "FoundScenario",
    "find_files",
    "find_ids",
    "find_scenarios",
    "id_of",
    "is_built_in",
    "read_clauses",
    "read_description",
    "read_regular",
    "scenario_id",
    "slug",
]

BUILT_IN = "built-in"
"""What stands for the built-in scenarios where folders are named."""

SUFFIXES = (".yaml", ".yml")

_START = 4096
_DESCRIPTION = re.compile(r"(?:#[^\n]*\n)*description: +([A-Za-z][^\n]* [^\n]*[^\n:])\n(?=[a-z])")
_FOLDED = re.compile(r"(?:#[^\n]*\n)*description: >\n((?:  [^ \n#][^\n]*\n)+)(?=[a-z])")
_QUOTED = re.compile(r'(?:#[^\n]*\n)*description: ("[^\n]*")\n(?=[a-z])')
_CLAUSES = re.compile(r"^clauses: \[([a-z0-9., -]+)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScenario:
    """One scenario file below `root`, which is None for a file that was named itself."""

    id: str
    path: Path
    root: Path | None


def is_built_in(root: Path) -> bool:
    """Whether the built-in scenarios are meant, by the word `built-in`, and not a folder that is called so."""
    return str(root) == BUILT_IN and not root.exists()


def find_files(roots: Iterable[Path]) -> dict[str, FoundScenario]:
    """Return the scenarios below the roots by id, which begins at the root; that of a file has the name of its folder.

    InputError if a root does not exist or a folder cannot be read; UsageError if there are none, or two of the same id.
    """
    roots = tuple(roots)
    known: dict[str, FoundScenario] = {}
    for root in (scenarios_dir() if is_built_in(root) else root for root in roots):
        folder = root if root.is_dir() else None
        for parts, path in find_ids(root).items():
            one = FoundScenario(id=scenario_id(path) if folder is None else id_of(parts), path=path, root=folder)
            other = known.setdefault(one.id, one)
            if other is not one and other.path.resolve() != path.resolve():
                raise UsageError(
                    f"two scenarios are called {one.id!r}: {other.path} and {path}", hint="rename one of the files"
                )
    if not known:
        raise UsageError(
            f"no scenario files in {', '.join(str(r) for r in roots)}", hint="give a folder with .yaml scenario files"
        )
    return known


def find_scenarios(roots: Iterable[Path | str]) -> list[Path]:
    """Return the scenario files (`*.yaml`, `*.yml`) below the roots, in order of path; a root may be a file.

    InputError if a root does not exist or a folder cannot be read.
    """
    return list(dict.fromkeys(path for root in map(Path, roots) for path in find_ids(root).values()))


def find_ids(root: Path) -> dict[tuple[str, ...], Path]:
    """Return the scenario files below a root by the parts of their path below it, in order; a file has its name alone.

    Nothing is read and no path is resolved: a folder may hold tens of thousands. InputError if there is no such root or
    a folder cannot be read.
    """
    if root.is_dir():
        return {parts: root.joinpath(*parts) for parts in sorted(_parts_below(str(root), ()))}
    if root.is_file():
        return {(root.name,): root}
    raise InputError(f"no scenario file or folder at {root}", hint="check the path")


def _parts_below(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of scenario files below a folder, in parts; hidden ones, and links to folders, are left out.

    InputError if a folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from _parts_below(entry.path, (*above, entry.name))
                elif os.path.splitext(entry.name)[1] in SUFFIXES and entry.is_file():  # noqa: PTH122  # 50,000 of them
                    yield (*above, entry.name)
    except OSError as error:
        raise InputError(
            f"{error.filename or folder}: {error.strerror}",
            hint="make it readable, or name the folders and files beside it: what cannot be read cannot be played",
        ) from error


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
    return id_of(full.relative_to(base).parts)


def id_of(parts: Sequence[str]) -> str:
    """Return the id of a file, from the parts of its path below the folder in which ids begin."""
    *folders, name = parts
    return "/".join(map(slug, (*folders, os.path.splitext(name)[0])))  # noqa: PTH122


def read_description(path: Path) -> str | None:
    """Return the description at the beginning of a scenario file, None where the file has to be loaded to know it.

    Read are plain or quoted text on one line, and the lines of one folded paragraph, which is what all files of the
    suite have.
    """
    try:
        start = _read_start(path).decode("utf-8")
        if (folded := _FOLDED.match(start)) is not None:
            return " ".join(line.strip() for line in folded[1].splitlines())
        if (quoted := _QUOTED.match(start)) is not None:
            return str(json.loads(quoted[1])).strip()  # as JSON it means the same in YAML
    except (OSError, ValueError):
        return None
    found = _DESCRIPTION.match(start)
    return None if found is None or ": " in found[1] or " #" in found[1] else found[1].rstrip()


def read_clauses(path: Path) -> tuple[str, ...] | None:
    """Return the clauses that a scenario file cites, None where the file has to be loaded to know them.

    Only a plain list on one line near the beginning is read, which is what most files have.
    """
    try:
        found = _CLAUSES.search(_read_start(path).decode("utf-8"))
    except (OSError, ValueError):
        return None
    return None if found is None else tuple(found[1].replace(",", " ").split())


def _read_start(path: Path) -> bytes:
    """Return the first bytes of a file."""
    if not path.is_file():  # a pipe has no end
        return b""
    with path.open("rb", buffering=0) as file:
        return file.read(_START).rpartition(b"\n")[0]


def slug(part: str) -> str:
    """Return a name as a part of an id: letters and digits of all scripts, small, with `.` and `:`; else `-`.

    There is no `@` in it, which begins the name of a place.
    """
    kept = ""
    for character in unicodedata.normalize("NFC", part.lower()):
        kind = unicodedata.category(character)[0]
        spoken = kind in "LN" or (kind == "M" and kept[-1:] not in ("", "-"))  # a mark belongs to its letter
        if spoken or character in ".:":
            kept += character
        elif kept[-1:] != "-":
            kept += "-"
    return kept.strip("-") or "scenario"
