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
from tpharness.resources import conformance_dir, scenarios_dir

__all__ = [
    "BUILT_IN",
    "SUFFIXES",
    "FoundScenario",
    "find_files",
    "find_ids",
    "find_scenarios",
    "find_skipped",
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


def find_files(roots: Iterable[Path], *, follow_links: bool = False) -> dict[str, FoundScenario]:
    """Return the scenarios below the roots by id, which begins at the root; that of a file has the name of its folder.

    What a link leads to outside of its root is left out unless links are followed. InputError if a root does not exist
    or a folder cannot be read; UsageError if there are none, or two of the same id.
    """
    roots = tuple(roots)
    known: dict[str, FoundScenario] = {}
    for root in (scenarios_dir() if is_built_in(root) else root for root in roots):
        folder = root if root.is_dir() else None
        for parts, path in find_ids(root, follow_links=follow_links).items():
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
    """Return the scenario files below the roots, or files, in order of path. InputError if one is not there."""
    return list(dict.fromkeys(path for root in map(Path, roots) for path in find_ids(root).values()))


def find_ids(root: Path, *, follow_links: bool = False) -> dict[tuple[str, ...], Path]:
    """Return the scenario files below a root by the parts of their path below it, in order; a file has its name alone.

    Nothing is read and no path but those of links is resolved: a folder may hold tens of thousands. InputError if there
    is no such root or a folder cannot be read.
    """
    if root.is_dir():
        found = _Folder(root, follow_links=follow_links).find()
        return {parts: root.joinpath(*parts) for parts, why in sorted(found) if not why}
    if root.is_file():
        return {(root.name,): root}
    raise InputError(f"no scenario file or folder at {root}", hint="check the path")


def find_skipped(roots: Iterable[Path], *, follow_links: bool = False) -> dict[Path, str]:
    """Return what looks like scenarios below the roots and is left out, each with the reason; InputError as above."""
    return {
        root.joinpath(*parts): why
        for root in roots
        if root.is_dir()
        for parts, why in sorted(_Folder(root, follow_links=follow_links).find())
        if why
    }


class _Folder:
    """A folder with scenarios. Hidden files and folders are not among them; those of ours may lie where links lead."""

    def __init__(self, root: Path, *, follow_links: bool) -> None:
        self._root = root
        self._follows = follow_links or root in (scenarios_dir(), conformance_dir() / "streams")
        self._real = ""

    def find(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield the parts of each path, and why it is left out, "" if it is not. InputError as for `find_ids`."""
        return self._below(str(self._root), (), frozenset())

    def _below(
        self, folder: str, above: tuple[str, ...], within: frozenset[str]
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.name.startswith("."):
                        yield from self._entry(entry, (*above, entry.name), within)
        except OSError as error:
            raise InputError(
                f"{error.filename or folder}: {error.strerror}",
                hint="make it readable, or name the folders and files beside it: what cannot be read cannot be played",
            ) from error

    def _entry(
        self, entry: os.DirEntry[str], parts: tuple[str, ...], within: frozenset[str]
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        named = os.path.splitext(entry.name)[1] in SUFFIXES  # noqa: PTH122  # 50,000 of them
        if entry.is_symlink():
            yield from self._link(entry, parts, within, named=named)
        elif entry.is_dir():
            yield from self._below(entry.path, parts, within)
        elif named:
            yield parts, "" if entry.is_file() else "it is a pipe, a socket or a device"

    def _link(
        self, entry: os.DirEntry[str], parts: tuple[str, ...], within: frozenset[str], *, named: bool
    ) -> Iterator[tuple[tuple[str, ...], str]]:
        """Decide about a link. What a link to a folder of the same root leads to is found where it is."""
        target = os.path.realpath(entry.path)
        inside = self._is_inside(target)
        if os.path.isdir(target):  # noqa: PTH112  # of a link to itself the entry cannot say
            if inside or target in within:
                return
            if self._follows:
                yield from self._below(entry.path, parts, within | {target})
            else:
                yield parts, "it is a link to a folder elsewhere"
        elif named and not os.path.isfile(target):  # noqa: PTH113
            yield parts, "it is a link to what is not a file" if os.path.exists(target) else "it is a link to nothing"  # noqa: PTH110
        elif named:
            yield parts, "" if inside or self._follows else "it is a link to a file elsewhere"

    def _is_inside(self, target: str) -> bool:
        self._real = self._real or os.path.join(os.path.realpath(self._root), "")  # noqa: PTH118
        return target.startswith(self._real) or target == self._real.rstrip(os.sep)


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
