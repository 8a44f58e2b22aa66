"""The files of a trace in a folder or a `.zip` that somebody else may have made: read by name, never unpacked.

In: a path. Out: the bytes of a member. InputError for what is not a trace, for members with other names, links, more
bytes than a trace has, and an archive that says one size and holds another. Nothing is ever written.
"""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from tpharness.errors import InputError
from tpharness.trace.format import INDEX, MAX_TRACE, MEMBER

__all__ = ["Container"]

_MOST_FILES = 200_000
_LARGEST = MAX_TRACE + 1_000_000
_LARGEST_ARCHIVE = _LARGEST + (64 << 20)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HINT = "a trace is what `tpharness run --trace failed` writes: a .zip, or a folder with index.jsonl"


class Container:
    """A trace's files. `name` is the path as it was given; `data` are the bytes of an archive that was read already."""

    def __init__(self, path: Path, data: bytes | None = None) -> None:
        self.name = str(path)
        self._archive: zipfile.ZipFile | None = None
        if data is None:
            self._open(path)
        else:
            self._archive = _open_archive(path, io.BytesIO(data), len(data))
            self._sizes = _list_archive(path, self._archive)
        if INDEX not in self._sizes:
            raise InputError(f"{path} is not a trace: it has no {INDEX}", hint=_HINT)

    def _open(self, path: Path) -> None:
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                self._folder = path
                self._sizes = _list_folder(path)
            elif stat.S_ISREG(mode):
                self._archive = _open_archive(path, path, path.stat().st_size)
                self._sizes = _list_archive(path, self._archive)
            else:
                raise InputError(f"{path} is neither a file nor a folder", hint=_HINT)
        except OSError as error:
            hint = _HINT
            drafts = sorted(path.parent.glob(f"{path.name}.*.part")) if path.parent.is_dir() else []
            if isinstance(error, FileNotFoundError) and drafts:
                hint = f"the run was killed before it packed it: {drafts[-1]} has what it had written"
            raise InputError(f"cannot read {path}: {error.strerror}", hint=hint) from error

    def __contains__(self, name: str) -> bool:
        return name in self._sizes

    def read(self, name: str) -> bytes:
        """Return the bytes of a member. InputError if it is not there or cannot be read."""
        size = self._sizes.get(name)
        if size is None:
            raise InputError(f"{self.name} has no {name}", hint="the trace was cut off, or changed")
        try:
            if self._archive is None:
                with (self._folder / name).open("rb") as file:
                    data = file.read(_LARGEST + 1)
            else:
                with self._archive.open(name) as member:
                    data = member.read(size + 1)
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise InputError(f"{self.name}: {name} cannot be read: {error}", hint="the file is damaged") from error
        if len(data) > (_LARGEST if self._archive is None else size):
            raise InputError(f"{self.name}: {name} holds more than it says", hint="do not trust this file")
        return data


def _list_folder(path: Path) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for folder in (path, path / "cases", path / "wire"):
        if folder.is_symlink() and folder != path:
            raise InputError(f"{folder} is a link, and a trace has none", hint="do not trust this folder")
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = file.relative_to(path).as_posix()
            if MEMBER.fullmatch(name):
                found = file.lstat()
                if not stat.S_ISREG(found.st_mode):
                    raise InputError(f"{file} is not a regular file, and a trace has no others", hint=_HINT)
                sizes[name] = found.st_size
    _check_sizes(str(path), sizes)
    return sizes


def _open_archive(path: Path, file: Path | io.BytesIO, size: int) -> zipfile.ZipFile:
    if size > _LARGEST_ARCHIVE:
        raise InputError(f"{path} is larger than a trace can be", hint=_HINT)
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise InputError(f"{path} is not a .zip, or a damaged one: {error}", hint=_HINT) from error


def _list_archive(path: Path, archive: zipfile.ZipFile) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for member in archive.infolist():
        name = member.filename
        if member.is_dir() and name in ("cases/", "wire/"):
            continue
        if not MEMBER.fullmatch(name):
            raise InputError(f"{path} is not a trace: it has a member {name[:80]!r}", hint=_HINT)
        if name in sizes:
            raise InputError(f"{path} has {name} twice", hint="do not trust this file")
        if member.flag_bits & 1:
            raise InputError(f"{path} is encrypted", hint="unpack it, and show the folder")
        if member.compress_type not in _METHODS:
            raise InputError(f"{path}: {name} is compressed in another way than deflate", hint=_HINT)
        sizes[name] = member.file_size
    _check_sizes(str(path), sizes)
    return sizes


def _check_sizes(name: str, sizes: Mapping[str, int]) -> None:
    if len(sizes) > _MOST_FILES:
        raise InputError(f"{name} has {len(sizes)} files, which no trace has", hint="do not trust it")
    total = sum(sizes.values())
    if total > _LARGEST:
        raise InputError(f"{name} would be {total} bytes, and a trace has at most {MAX_TRACE}", hint="do not trust it")
