"""Files that are not ours, that somebody moves while they are open, and that a disk has changed."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks import corrupt_store
from tests.reference_app.peer import HELLO, Serve, run_body, user_turn
from tests.reference_app.test_serve import serving

from tpharness.errors import InputError
from tpharness.reference_app import Settings
from tpharness.reference_app.store import DamagedLogError, SqliteStore

pytestmark = pytest.mark.asyncio

ENTRIES: list[dict[str, Any]] = [{"kind": "held", "n": n} for n in range(3)]


async def make(path: Path) -> None:
    """Make a store with a log."""
    store = SqliteStore(path)
    await store.append("t", ENTRIES)
    await store.close()


def change(path: Path, *statements: str) -> None:
    """Change a file as somebody else would."""
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER x AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "CREATE VIEW x AS SELECT * FROM entries",
        "CREATE TABLE mine (x)",
        "CREATE INDEX x ON entries (entry)",
        "ALTER TABLE entries ADD COLUMN x",
        "DROP TABLE heads",
        "PRAGMA user_version = 4",
    ],
)
async def test_a_file_with_more_than_a_store_has_is_not_opened(tmp_path: Path, statement: str) -> None:
    """A trigger ran at each append, and deleted what was acknowledged."""
    path = tmp_path / "s.db"
    await make(path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a store of format 3, or has more in it than one"):
        SqliteStore(path)
    assert path.read_bytes() == before


async def test_a_database_of_somebody_else_stays_as_it_is(tmp_path: Path) -> None:
    """It was made one with a write-ahead log before anybody looked whose it is."""
    path = tmp_path / "other.db"
    change(path, "CREATE TABLE mine (x)", "INSERT INTO mine VALUES (1)")
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"other\.db"):
        SqliteStore(path)
    assert (path.read_bytes(), path.with_name("other.db-wal").exists()) == (before, False)


def remove_log(path: Path) -> None:
    """Remove the write-ahead log."""
    path.with_name("s.db-wal").unlink()


def move(path: Path) -> None:
    """Rename the file."""
    path.rename(path.with_name("moved.db"))


def replace(path: Path) -> None:
    """Put another file in its place."""
    path.rename(path.with_name("moved.db"))
    path.write_bytes(b"")


@pytest.mark.parametrize("lose", [remove_log, move, replace])
async def test_a_store_that_lost_its_file_says_so_and_takes_nothing_more(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    """It went on acknowledging what nobody would find again; what it had taken is in the file that was opened."""
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    await store.append("t", ENTRIES)
    lose(path)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="was removed, moved or replaced while it was open"):
            await store.append("t", [{"kind": "held", "n": 3}])
    with pytest.raises(sqlite3.OperationalError, match="was removed, moved or replaced"):
        await store.load("t")
    assert "was removed, moved" in await store.until_lost()
    moved, left = path.with_name("moved.db"), path.with_name("left.db")
    left.write_bytes((moved if moved.exists() else path).read_bytes())  # as a SIGKILL would leave it
    with sqlite3.connect(left) as connection:
        numbers = [n for (n,) in connection.execute("SELECT number FROM entries WHERE thread_id = 't'")]
    connection.close()
    assert numbers[:3] == [1, 2, 3]
    await store.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there a file that is open cannot be moved")
async def test_a_server_that_lost_its_store_ends(tmp_path: Path) -> None:
    """With exit code 2 and what to do, so that whoever started it knows."""
    path = tmp_path / "s.db"
    async with serving("--store", str(path)) as server:
        body = run_body(HELLO, user=[user_turn("Hi")])
        assert (await server.answer("POST", "/threads/t/user-turns", user_turn("Hi")))[0] == 404
        path.with_name("s.db-wal").unlink()
        status, told = await server.answer("POST", "/threads/t/runs", body)
        assert status == 503
        assert "the store cannot write" in told["error"]["message"]
        _, err = await server.process.communicate()
        assert server.process.returncode == 2
        assert "s.db-wal was removed, moved or replaced while it was open" in err.decode()
        assert "put the file back where it was" in err.decode()


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        ("UPDATE entries SET entry = replace(entry, '1', '7') WHERE number = 2", 2),
        ("DELETE FROM entries WHERE number = 3", 3),
        ("DELETE FROM entries", 1),
        ("DELETE FROM heads", 1),
        ("UPDATE entries SET thread_id = 'u'", 1),
        ("UPDATE heads SET number = 4", 4),
        ("UPDATE entries SET digest = x'00' WHERE number = 1", 1),
    ],
)
async def test_a_log_that_is_not_what_was_appended_is_not_given_out(tmp_path: Path, damage: str, number: int) -> None:
    """Of each change of a value, and of each loss, the end included."""
    path = tmp_path / "s.db"
    await make(path)
    change(path, damage)
    store = SqliteStore(path)
    with pytest.raises(DamagedLogError) as damaged:
        await store.load("t")
    await store.close()
    assert damaged.value.number == number


async def test_a_changed_text_is_not_told_as_what_was_said(serve: Serve, tmp_path: Path) -> None:
    """The entry is JSON as before, with another word in it."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        await peer.play("t", run_body(HELLO, user=[user_turn("one hundred")]))
    change(tmp_path / "s.db", "UPDATE entries SET entry = CAST(replace(entry, 'hundred', 'million') AS BLOB)")
    async with serve(settings) as peer:
        assert (await peer.answer("GET", "/threads/t"))[0] == 410


async def test_a_store_without_memory_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python raises MemoryError for what SQLite calls out of memory: the thread of the store died of it."""
    store = SqliteStore(tmp_path / "s.db")
    await store.append("t", ENTRIES)

    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("tpharness.reference_app.store.append_entries", full)
        with pytest.raises(sqlite3.OperationalError, match="out of memory"):
            await store.append("t", ENTRIES)
    assert await store.load("t") == ENTRIES
    await store.close()
    with monkeypatch.context() as patch:
        patch.setattr("tpharness.reference_app.store.open_file", full)
        with pytest.raises(InputError, match="out of memory"):
            SqliteStore(tmp_path / "s.db")


async def test_a_corrupt_file_gives_an_error_or_the_truth(tmp_path: Path) -> None:
    """300 of the 10,000 files of `python -m benchmarks.corrupt_store`."""
    told = await asyncio.to_thread(corrupt_store.play_files, tmp_path, 300, 5)
    assert {one for one in told if one.startswith("WRONG")} == set()
    assert len(set(told)) >= 3


async def test_little_memory_gives_an_error_or_the_truth(tmp_path: Path) -> None:
    """50 of its 1,000 limits."""
    told = await asyncio.to_thread(corrupt_store.play_limits, tmp_path, range(20_000, 520_000, 10_000))
    assert {one for one in told if one.startswith("WRONG")} == set()
    assert {"the truth"} < set(told)
