"""A lock between processes that is given back when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

__all__ = ["hold_lock"]


@contextlib.contextmanager
def hold_lock(path: Path, *, seconds: float) -> Iterator[bool]:
    """Wait at most so many seconds for the lock of a file; yield whether it is held. The file is made and stays.

    SQLite's lock is the one of the standard library that works on every system and ends with its process.
    """
    with contextlib.closing(sqlite3.connect(path, timeout=seconds, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            yield False
        else:
            yield True
