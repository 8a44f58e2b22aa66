"""The file of a store: its format, whether it is ours, and the logs in it with what shows that they are whole.

In: a path, or a connection to the file. Out: a connection; entries as bytes. Entries are numbered, each has a digest of
itself and of all before it, and which one is the last stands in another table: a log that a disk has changed, or of
which it lacks something, is damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

__all__ = [
    "FORMAT",
    "DamagedLogError",
    "append_entries",
    "check_log",
    "connect_file",
    "delete_log",
    "identify_files",
    "open_file",
    "read_log",
]

FORMAT = 3
_SCHEMA = (
    """CREATE TABLE entries (
        thread_id TEXT NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL, digest BLOB NOT NULL,
        PRIMARY KEY (thread_id, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE heads (
        thread_id TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL, digest BLOB NOT NULL
    ) WITHOUT ROWID""",
)
_SCHEMA_2 = (
    """CREATE TABLE entries (
        thread_id TEXT NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (thread_id, number)
    ) WITHOUT ROWID""",
)
_SCHEMA_1 = (
    "CREATE TABLE log (id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, entry BLOB NOT NULL)",
    "CREATE INDEX log_of_thread ON log (thread_id, id)",
)
_NO_ENTRY = b""
_LOGS_1 = "SELECT thread_id, entry FROM log ORDER BY thread_id, id"
_LOGS_2 = "SELECT thread_id, entry FROM entries_2 ORDER BY thread_id, number"


class DamagedLogError(Exception):
    """A log without its entry `number`, or with one that cannot be read."""

    def __init__(self, number: int) -> None:
        super().__init__(f"its entry {number} cannot be read")
        self.number = number


def connect_file(path: Path) -> sqlite3.Connection:
    """Open a file for the store's thread."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.2)


def open_file(path: Path, connect: Callable[[Path], sqlite3.Connection], *, sync: bool) -> sqlite3.Connection:
    """Open the file of a store, or make one, for this process alone; sqlite3.Error if it is locked or not a store."""
    connection = connect(path)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA trusted_schema = OFF")
        found = _find_format(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'OFF'}")
        connection.execute("BEGIN EXCLUSIVE")
        if found != FORMAT:
            _convert(connection, found)
        connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection


def _find_format(connection: sqlite3.Connection) -> int:
    """Return the format of a store, 0 for an empty file. sqlite3.DatabaseError for anything else, which stays as it is.

    A store has our tables and nothing beside them: a trigger or a view would run when it is written or read.
    """
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    held = [sql for (sql,) in connection.execute("SELECT coalesce(sql, '') FROM sqlite_master").fetchall()]
    for number, schema in ((FORMAT, _SCHEMA), (2, _SCHEMA_2), (1, _SCHEMA_1), (0, ())):
        if (found, sorted("".join(sql.split()) for sql in held)) == (
            number,
            sorted("".join(s.split()) for s in schema),
        ):
            return number
    raise sqlite3.DatabaseError(f"the file is not a store of format {FORMAT}, or has more in it than one")


def _convert(connection: sqlite3.Connection, found: int) -> None:
    """Make the tables, and bring the logs of an earlier format into them."""
    if found == 2:
        connection.execute("ALTER TABLE entries RENAME TO entries_2")
    for step in _SCHEMA:
        connection.execute(step)
    logs = connection.execute({1: _LOGS_1, 2: _LOGS_2}[found]).fetchall() if found else []
    for thread_id, rows in groupby(logs, key=lambda row: row[0]):
        append_entries(connection, thread_id, [entry for _, entry in rows])
    if found:
        connection.execute(f"DROP TABLE {'log' if found == 1 else 'entries_2'}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def append_entries(connection: sqlite3.Connection, thread_id: str, data: Sequence[bytes]) -> None:
    """Append entries, each with a digest of all that came before it, and write down which one is the last."""
    number, digest = _head(connection, thread_id)
    rows = []
    for entry in data:
        number, digest = number + 1, _chain(digest, thread_id, entry)
        rows.append((thread_id, number, entry, digest))
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
    connection.execute("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", (thread_id, number, digest))


def read_log(
    connection: sqlite3.Connection, thread_id: str
) -> tuple[list[tuple[int, bytes, bytes]], tuple[int, bytes]]:
    """Return number, bytes and digest of each entry of a thread, and number and digest of what should be the last."""
    query = "SELECT number, entry, digest FROM entries WHERE thread_id = ? ORDER BY number"
    return connection.execute(query, (thread_id,)).fetchall(), _head(connection, thread_id)


def check_log(thread_id: str, rows: Sequence[tuple[int, bytes, bytes]], head: tuple[int, bytes]) -> list[Any]:
    """Return the entries of a log. DamagedLogError for the first one that is not what was appended."""
    digest = _NO_ENTRY
    for number, (found, data, told) in enumerate(rows, 1):
        digest = _chain(digest, thread_id, data)
        if found != number or told != digest:
            raise DamagedLogError(number)
    if (len(rows), digest) != head:
        raise DamagedLogError(min(len(rows), head[0]) + 1)
    return [_value(number, data) for number, data, _ in rows]


def delete_log(connection: sqlite3.Connection, thread_id: str) -> None:
    """Delete what there is of a log."""
    connection.execute("DELETE FROM entries WHERE thread_id = ?", (thread_id,))
    connection.execute("DELETE FROM heads WHERE thread_id = ?", (thread_id,))


def _head(connection: sqlite3.Connection, thread_id: str) -> tuple[int, bytes]:
    """Return the number and the digest of the last entry."""
    rows = connection.execute("SELECT number, digest FROM heads WHERE thread_id = ?", (thread_id,)).fetchall()
    return rows[0] if rows else (0, _NO_ENTRY)


def _chain(before: bytes, thread_id: str, entry: Any) -> bytes:
    """Return the digest of an entry, the ones before it and their thread, for what a disk may do to them."""
    data = entry if isinstance(entry, bytes) else str(entry).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(before + thread_id.encode("utf-8", "surrogatepass") + b"\0" + data, digest_size=16).digest()


def identify_files(path: Path) -> dict[str, tuple[int, int]]:
    """Return which files the database and its log are, by name; none for a database that is not on a disk."""
    found = {}
    for name in (str(path), f"{path}-wal"):
        with contextlib.suppress(OSError):
            status = os.stat(name)  # noqa: PTH116  # for each transaction
            found[name] = (status.st_dev, status.st_ino)
    return found


def _value(number: int, data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        try:
            return json.loads(data)
        except ValueError as error:
            raise DamagedLogError(number) from error
