"""A lock between processes that is given back when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tpharness.errors import InputError

__all__ = ["hold_lock"]


@contextlib.contextmanager
def hold_lock(path: Path, *, seconds: float) -> Iterator[bool]:
    """Wait at most so many seconds for the lock of a file; yield whether it is held. The file is made and stays.

    SQLite's lock is the one of the standard library that works on every system and ends with its process. InputError
    when the file cannot be made or opened, or holds something else.
    """
    with contextlib.ExitStack() as opened:
        try:
            lock = opened.enter_context(
                contextlib.closing(sqlite3.connect(path, timeout=seconds, isolation_level=None))
            )
            lock.execute("BEGIN EXCLUSIVE")
            held = True
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                hint = "remove it, if it is there, and see that its folder can be written"
                raise InputError(f"cannot lock {path}: {error}", hint=hint) from error
            held = False
        yield held
