"""What a store does with plain files: whole files, a few bytes in place, names in folders, and waits for the disk.

Each is an operation of its own, so that a disk that fails at any of them can be played (`benchmarks/failing_disk.py`).
All raise OSError.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Files"]


class Files:
    """The files of this machine."""

    def read(self, path: Path) -> bytes:
        """Return what a file has. FileNotFoundError if it does not exist."""
        return path.read_bytes()

    def write(self, path: Path, data: bytes, *, sync: bool) -> None:
        """Write a whole file; with `sync`, return when the disk has it. Its name is another matter: `sync_folder`."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())

    def write_at(self, path: Path, offset: int, data: bytes) -> None:
        """Write over a few bytes of a file that exists, in one write."""
        with path.open("r+b", buffering=0) as file:
            file.seek(offset)
            file.write(data)

    def sync(self, path: Path) -> None:
        """Return when the disk has what was written to a file."""
        with path.open("r+b", buffering=0) as file:
            os.fsync(file.fileno())

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name, also one that another file has: it is this file then, at no time none."""
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make a folder, unless it exists."""
        path.mkdir(parents=True, exist_ok=True)

    def sync_folder(self, path: Path) -> None:
        """Return when the disk has the names in a folder, which no `sync` of a file does; Windows cannot be asked."""
        if os.name != "posix":
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
