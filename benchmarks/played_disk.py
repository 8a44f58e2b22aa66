"""A disk in memory, for SQLite (a VFS of the apsw package) and for plain files, whose every operation can go wrong.

A write, a truncation, a sync, a new name and the sync of a folder are operations. One of them does nothing and says so,
does half of its work and says so, or does nothing and says that all is well. A loss of power leaves what was synced,
and a share of what was not: of what is in files, and of the names that files and folders got.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from tpharness.reference_app.files import Files

__all__ = ["Connection", "Disk", "File", "FileSystem", "PlayedFiles"]

CHECKPOINT = 1000  # pages of the write-ahead log: SQLite's own limit


@dataclass(slots=True)
class File:
    """What programs read of a file, what a loss of power leaves for certain, and the writes in between."""

    seen: bytearray = field(default_factory=bytearray)
    synced: bytearray = field(default_factory=bytearray)
    unsynced: list[tuple[int, bytes | None]] = field(default_factory=list)

    def do(self, offset: int, data: bytes | None) -> None:
        """Write, or truncate to `offset` where there is no data."""
        _do(self.seen, offset, data)
        self.unsynced.append((offset, data))

    def sync(self, share: float = 1.0) -> None:
        """Make a share of what was written safe, the earlier part."""
        count = int(len(self.unsynced) * share)
        for offset, data in self.unsynced[:count]:
            _do(self.synced, offset, data)
        del self.unsynced[:count]

    def lose_power(self, share: float) -> None:
        """Keep a share of what was not synced, and nothing else."""
        self.sync(share)
        self.unsynced.clear()
        self.seen = bytearray(self.synced)


def _do(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


@dataclass(slots=True)
class Disk:
    """Files by name. Operation number `strikes` (from 1) goes wrong, as `failure` says."""

    strikes: int = 0
    failure: str = ""
    files: dict[str, File] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    names: list[tuple[str, Callable[[Disk], object]]] = field(default_factory=list)
    """Names of plain files and folders that are not synced: the folder that has them, and what takes them back."""
    count: int = 0
    struck: bool = False

    def operate(self, file: File, offset: int, data: bytes | None) -> None:
        """Do a write, a truncation (no data) or a sync (offset -1), unless it is the one that goes wrong."""
        self.count += 1
        if self.count != self.strikes:
            file.sync() if offset < 0 else file.do(offset, data)
            return
        self.struck = True
        if self.failure == "tears" and offset < 0:
            file.sync(0.5)
        elif self.failure == "tears" and data:
            file.do(offset, data[: len(data) // 2])
        if self.failure != "lies":
            raise apsw.IOError("the disk fails") if offset < 0 else apsw.FullError("the disk is full")

    def name(self, folder: Path, do: Callable[[], object], take_back: Callable[[Disk], object]) -> None:
        """Give something a name, or take one away: whole, or not at all."""
        self.count += 1
        if self.count != self.strikes:
            do()
            self.names.append((str(folder), take_back))
            return
        self.struck = True
        if self.failure != "lies":
            raise OSError(errno.EIO, "the disk fails")

    def sync_names(self, folder: Path) -> None:
        """Make the names in a folder safe; of a sync that tears, the earlier half."""
        self.count += 1
        mine = [at for at, (where, _) in enumerate(self.names) if where == str(folder)]
        if self.count == self.strikes:
            self.struck = True
            mine = mine[: len(mine) // 2] if self.failure == "tears" else []
        self.names = [entry for at, entry in enumerate(self.names) if at not in mine]
        if self.count == self.strikes and self.failure != "lies":
            raise OSError(errno.EIO, "the disk fails")

    def copy(self) -> Disk:
        """Return it as it is now, for what was using it to go on without harm."""
        files = {name: File(bytearray(f.seen), bytearray(f.synced), list(f.unsynced)) for name, f in self.files.items()}
        return Disk(files=files, folders=set(self.folders), names=list(self.names))

    def lose_power(self, share: float) -> None:
        """Keep a share of what was not synced: of the names, and of what is in each file."""
        kept = int(len(self.names) * share)
        for _, take_back in reversed(self.names[kept:]):
            take_back(self)
        self.names.clear()
        for file in self.files.values():
            file.lose_power(share)


class Handle:
    """An open file, as apsw wants it."""

    def __init__(self, disk: Disk, file: File) -> None:
        self._disk = disk
        self._file = file

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self._file.seen[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.operate(self._file, offset, bytes(data))

    def xTruncate(self, size: int) -> None:
        self._disk.operate(self._file, size, None)

    def xSync(self, flags: int) -> None:
        del flags
        self._disk.operate(self._file, -1, None)

    def xFileSize(self) -> int:
        return len(self._file.seen)

    def xLock(self, level: int) -> None:
        pass

    def xUnlock(self, level: int) -> None:
        pass

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, op: int, pointer: int) -> bool:
        del op, pointer
        return False

    def xSectorSize(self) -> int:
        return 4096

    def xDeviceCharacteristics(self) -> int:
        return 0

    def xClose(self) -> None:
        pass


class FileSystem(apsw.VFS):
    """A file system of SQLite whose files lie on a disk in memory."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.name = f"disk-{id(self)}"
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        """Open a file, or make it."""
        path = name if isinstance(name, str) else name.filename()
        flags[1] = flags[0]
        return Handle(self.disk, self.disk.files.setdefault(path, File()))

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Delete a file: what was there of it does not come back."""
        del syncdir
        self.disk.files.pop(filename, None)

    def xAccess(self, pathname: str, flags: int) -> bool:
        """Whether a file is there."""
        del flags
        return pathname in self.disk.files

    def xFullPathname(self, filename: str) -> str:
        """Names are full."""
        return filename


class Connection:
    """As much of `sqlite3.Connection` as the store uses, over apsw."""

    def __init__(self, path: Path, system: FileSystem) -> None:
        with _as_sqlite3():
            self._inner = apsw.Connection(str(path), vfs=system.name)
            self._inner.set_wal_hook(_checkpoint)

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Connection:
        """Do a statement; its rows are fetched at once."""
        with _as_sqlite3():
            self._rows = list(self._inner.execute(sql, values))
        return self

    def executemany(self, sql: str, rows: Sequence[Any]) -> None:
        """Do a statement for each row."""
        with _as_sqlite3():
            self._inner.executemany(sql, rows)

    def fetchone(self) -> Any:
        """Return the first row."""
        return self._rows[0]

    def fetchall(self) -> list[Any]:
        """Return all rows."""
        return self._rows

    def close(self) -> None:
        """Close the file."""
        with _as_sqlite3():
            self._inner.close(True)


def _checkpoint(connection: apsw.Connection, name: str, pages: int) -> int:
    """Do what SQLite does after a commit, whose failure is nobody's: apsw would raise it as that of the commit."""
    if pages >= CHECKPOINT:
        with suppress(apsw.Error):
            connection.wal_checkpoint(name)
    return apsw.SQLITE_OK


@contextmanager
def _as_sqlite3() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise sqlite3.OperationalError(str(error)) from error


class PlayedFiles(Files):
    """Plain files on the disk, by their paths. A file whose folder is not there is not there."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def read(self, path: Path) -> bytes:
        """Return what a program sees of a file."""
        return bytes(self._file(path).seen)

    def write(self, path: Path, data: bytes, *, sync: bool) -> None:
        """Write a file anew."""
        with _as_os_error():
            if str(path) not in self.disk.files:
                self._rename(path.parent, None, str(path))
            self.disk.operate(self._file(path), 0, None)
            self.disk.operate(self._file(path), 0, data)
            if sync:
                self.disk.operate(self._file(path), -1, None)

    def write_at(self, path: Path, offset: int, data: bytes) -> None:
        """Write into a file."""
        with _as_os_error():
            self.disk.operate(self._file(path), offset, data)

    def sync(self, path: Path) -> None:
        """Make the contents of a file safe."""
        with _as_os_error():
            self.disk.operate(self._file(path), -1, None)

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, which is not safe before the folder is synced."""
        self._file(old)
        self._rename(new.parent, str(old), str(new))

    def remove(self, path: Path) -> None:
        """Take a name away."""
        if str(path) in self.disk.files:
            self._rename(path.parent, str(path), None)

    def make_folder(self, path: Path) -> None:
        """Make a folder, whose name is safe when its parent is synced."""
        folders, name = self.disk.folders, str(path)
        if name in folders:
            return

        def take_back(disk: Disk) -> None:
            disk.folders.discard(name)
            for inside in [file for file in disk.files if Path(file).parent == path]:
                del disk.files[inside]

        self.disk.name(path.parent, lambda: folders.add(name), take_back)

    def sync_folder(self, path: Path) -> None:
        """Make the names in a folder safe."""
        self.disk.sync_names(path)

    def _file(self, path: Path) -> File:
        try:
            return self.disk.files[str(path)]
        except KeyError:
            raise FileNotFoundError(errno.ENOENT, "there is no such file", str(path)) from None

    def _rename(self, folder: Path, old: str | None, new: str | None) -> None:
        """Move what is at a name (None: a new file) to another (None: away)."""
        files = self.disk.files
        moved = File() if old is None else files[old]
        replaced = None if new is None else files.get(new)

        def do() -> None:
            if old is not None:
                files.pop(old, None)
            if new is not None:
                files[new] = moved

        def take_back(disk: Disk) -> None:
            back = moved if new is None else disk.files.pop(new, None)
            if new is not None and replaced is not None:
                disk.files[new] = replaced
            if old is not None and back is not None:
                disk.files[old] = back

        self.disk.name(folder, do, take_back)


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise OSError(errno.EIO, str(error)) from error
