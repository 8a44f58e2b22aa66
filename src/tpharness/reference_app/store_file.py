"""The file of a store: its format, whether it is ours, and the logs in it with what shows that they are whole.

In: a path, or a connection to the file. Out: a connection; entries as bytes. Entries are numbered, each has a digest of
itself and of all before it, and which one is the last stands in another table: a log that a disk has changed, or of
which it lacks something, is damaged. So has the number of the last transaction that changed anything, which shows that
the end is there (`acknowledged`). Contents that stand beside the file have the threads that refer to them; what no
thread refers to any more has the thread "" until it is removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from tpharness.reference_app.content import contents_of

__all__ = [
    "FORMAT",
    "DamagedLogError",
    "append_entries",
    "check_log",
    "connect_file",
    "delete_log",
    "drop_removed",
    "find_removable",
    "identify_files",
    "last_transaction",
    "number_transaction",
    "open_file",
    "read_log",
    "refer",
]

FORMAT = 4
_SCHEMA = (
    """CREATE TABLE entries (
        thread_id TEXT NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL, digest BLOB NOT NULL,
        PRIMARY KEY (thread_id, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE heads (
        thread_id TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL, digest BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE contents (
        thread_id TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (thread_id, digest)
    ) WITHOUT ROWID""",
    "CREATE INDEX threads_of_content ON contents (digest)",
    "CREATE TABLE acknowledged (number INTEGER NOT NULL, digest BLOB NOT NULL)",
)
_SCHEMA_3 = _SCHEMA[:2]
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
_REMOVABLE = ""
_LOGS_1 = "SELECT thread_id, entry FROM log ORDER BY thread_id, id"
_LOGS_2 = "SELECT thread_id, entry FROM entries_2 ORDER BY thread_id, number"
_LOGS_3 = "SELECT thread_id, entry FROM entries ORDER BY thread_id, number"


class DamagedLogError(Exception):
    """A log without its entry `number`, or with one that cannot be read."""

    def __init__(self, number: int) -> None:
        super().__init__(f"its entry {number} cannot be read")
        self.number = number


def connect_file(path: Path) -> sqlite3.Connection:
    """Open a file for the store's thread."""
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.2)


def open_file(
    path: Path, connect: Callable[[Path], sqlite3.Connection], *, sync: bool, require: Callable[[int], None]
) -> sqlite3.Connection:
    """Open the file of a store, or make one, for this process alone; sqlite3.Error if it is locked or not a store.

    `require` gets the number of its last transaction, and raises if that is not enough.
    """
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
        require(last_transaction(connection))
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
    for number, schema in ((FORMAT, _SCHEMA), (3, _SCHEMA_3), (2, _SCHEMA_2), (1, _SCHEMA_1), (0, ())):
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
    for step in _SCHEMA[2:] if found == 3 else _SCHEMA:
        connection.execute(step)
    logs = connection.execute({1: _LOGS_1, 2: _LOGS_2, 3: _LOGS_3}[found]).fetchall() if found else []
    for thread_id, rows in groupby(logs, key=lambda row: row[0]):
        entries = [entry for _, entry in rows]
        if found != 3:
            append_entries(connection, thread_id, entries)
        for entry in entries:
            with contextlib.suppress(DamagedLogError, KeyError, TypeError, AttributeError):  # answered with 410 later
                refer(connection, thread_id, contents_of(_value(0, entry)))
    if found in (1, 2):
        connection.execute(f"DROP TABLE {'log' if found == 1 else 'entries_2'}")
    connection.execute("INSERT INTO acknowledged VALUES (0, ?)", (_digest_of(0),))
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def last_transaction(connection: sqlite3.Connection) -> int:
    """Return the number of the last transaction. sqlite3.DatabaseError if it cannot be read."""
    rows = connection.execute("SELECT number, digest FROM acknowledged").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][1] != _digest_of(rows[0][0]):
        raise sqlite3.DatabaseError("the number of its last transaction is damaged")
    number: int = rows[0][0]
    return number


def number_transaction(connection: sqlite3.Connection, number: int) -> None:
    """Write down that this transaction has this number."""
    connection.execute("UPDATE acknowledged SET number = ?, digest = ?", (number, _digest_of(number)))


def refer(connection: sqlite3.Connection, thread_id: str, digests: Iterable[str]) -> None:
    """Write down that a thread refers to contents."""
    for digest in digests:
        connection.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (thread_id, digest))


def find_removable(connection: sqlite3.Connection, more: Iterable[str]) -> list[str]:
    """Return the contents that only threads referred to which were deleted, and of `more` those that none refers to."""
    query = (
        "SELECT digest FROM contents WHERE thread_id = ? AND digest NOT IN"
        " (SELECT digest FROM contents WHERE thread_id <> ?)"
    )
    found = [digest for (digest,) in connection.execute(query, (_REMOVABLE, _REMOVABLE)).fetchall()]
    query = "SELECT 1 FROM contents WHERE digest = ?"
    return [*found, *(digest for digest in more if not connection.execute(query, (digest,)).fetchall())]


def drop_removed(connection: sqlite3.Connection, digests: Iterable[str]) -> None:
    """Write down that contents were removed."""
    for digest in digests:
        connection.execute("DELETE FROM contents WHERE thread_id = ? AND digest = ?", (_REMOVABLE, digest))


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
    for number, (found, data, stored_digest) in enumerate(rows, 1):
        digest = _chain(digest, thread_id, data)
        if found != number or stored_digest != digest:
            raise DamagedLogError(number)
    if (len(rows), digest) != head:
        raise DamagedLogError(min(len(rows), head[0]) + 1)
    return [_value(number, data) for number, data, _ in rows]


def delete_log(connection: sqlite3.Connection, thread_id: str) -> None:
    """Delete what there is of a log."""
    connection.execute("DELETE FROM entries WHERE thread_id = ?", (thread_id,))
    connection.execute("DELETE FROM heads WHERE thread_id = ?", (thread_id,))
    connection.execute("UPDATE OR REPLACE contents SET thread_id = ? WHERE thread_id = ?", (_REMOVABLE, thread_id))


def _head(connection: sqlite3.Connection, thread_id: str) -> tuple[int, bytes]:
    """Return the number and the digest of the last entry."""
    rows = connection.execute("SELECT number, digest FROM heads WHERE thread_id = ?", (thread_id,)).fetchall()
    return rows[0] if rows else (0, _NO_ENTRY)


def _chain(before: bytes, thread_id: str, entry: Any) -> bytes:
    """Return the digest of an entry, the ones before it and their thread, for what a disk may do to them."""
    data = entry if isinstance(entry, bytes) else str(entry).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(before + thread_id.encode("utf-8", "surrogatepass") + b"\0" + data, digest_size=16).digest()


def _digest_of(number: int) -> bytes:
    return hashlib.blake2b(b"%d" % number, digest_size=16).digest()


def identify_files(path: Path, *more: Path) -> dict[str, tuple[int, int]]:
    """Return which files the database, its log and others are, by name; none for a database that is not on a disk."""
    found = {}
    for name in (str(path), f"{path}-wal", *map(str, more)):
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
