"""Files that are not ours, that somebody moves while they are open, and that a disk has changed."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from benchmarks import corrupt_store
from tests.reference_app.peer import HELLO, Serve, run_body, user_turn
from tests.reference_app.test_serve import serving

from tpharness.errors import InputError
from tpharness.reference_app import Settings
from tpharness.reference_app.acknowledged import Acknowledged, TransactionsLostError
from tpharness.reference_app.files import Files
from tpharness.reference_app.store import DamagedLogError, SqliteStore
from tpharness.reference_app.store_file import _digest_of

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
        "PRAGMA user_version = 5",
    ],
)
async def test_a_file_with_more_than_a_store_has_is_not_opened(tmp_path: Path, statement: str) -> None:
    """A trigger ran at each append, and deleted what was acknowledged."""
    path = tmp_path / "s.db"
    await make(path)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(InputError, match="is not a store of format 4, or has more in it than one"):
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


def left_by_a_kill(path: Path, folder: Path) -> Path:
    """Copy a store that is open to a folder, as a SIGKILL would leave it there."""
    folder.mkdir()
    for ending in ("", "-wal", ".acknowledged"):
        shutil.copyfile(f"{path}{ending}", folder / f"s.db{ending}")
    return folder / "s.db"


def cut_off(log: Path) -> None:
    """Take the last page away."""
    log.write_bytes(log.read_bytes()[:-100])


def flip(log: Path) -> None:
    """Change a byte of the last page, as rot does."""
    data = bytearray(log.read_bytes())
    data[-100] ^= 1
    log.write_bytes(data)


@pytest.mark.parametrize("harm", [cut_off, flip, Path.unlink, lambda log: log.write_bytes(b"")])
async def test_a_store_whose_log_lost_its_end_is_not_opened(tmp_path: Path, harm: Callable[[Path], Any]) -> None:
    """SQLite ends the log at a frame that is torn, and opens without what was acknowledged after it."""
    store = SqliteStore(tmp_path / "s.db")
    for n in range(5):
        await store.append("t", [{"kind": "held", "n": n}])
    path = left_by_a_kill(tmp_path / "s.db", tmp_path / "left")
    await store.close()
    harm(path.with_name("s.db-wal"))
    left = path.with_name("s.db-wal").read_bytes() if path.with_name("s.db-wal").exists() else None
    for _ in range(2):
        with pytest.raises(InputError, match="and transaction 5 was acknowledged") as refused:
            SqliteStore(path)
        assert f"remove {path}.acknowledged" in str(refused.value.hint)
    if left:
        assert path.with_name("s.db-wal.lost").read_bytes() == left
    path.with_name("s.db.acknowledged").unlink()  # somebody decides to go on without it
    store = SqliteStore(path)
    log = await store.load("t") or []
    await store.append("t", [{"kind": "held", "n": 9}])
    await store.close()
    assert log == [{"kind": "held", "n": n} for n in range(len(log))]
    assert len(log) < 5
    await SqliteStore(path).close()


async def test_what_a_kill_leaves_is_opened(tmp_path: Path) -> None:
    """Its log has all that was acknowledged, and the number beside it may be older."""
    store = SqliteStore(tmp_path / "s.db")
    old = (tmp_path / "s.db.acknowledged").read_bytes()
    await store.append("t", ENTRIES)
    path = left_by_a_kill(tmp_path / "s.db", tmp_path / "left")
    await store.close()
    for beside in (None, old):
        if beside is not None:
            path.with_name("s.db.acknowledged").write_bytes(beside)
        store = SqliteStore(path)
        assert await store.load("t") == ENTRIES
        await store.close()


async def test_an_older_copy_of_a_store_is_not_opened(tmp_path: Path) -> None:
    """Nor one that was removed: `rm s.db` alone would lose what somebody was promised, without a word."""
    path = tmp_path / "s.db"
    await make(path)
    old = path.read_bytes()
    await make(path)
    for harm in (lambda: path.write_bytes(old), path.unlink):
        harm()
        with pytest.raises(InputError, match="transaction 2 was acknowledged"):
            SqliteStore(path)


@pytest.mark.parametrize(
    ("first", "second", "number", "opened"),
    [
        (7, 6, 7, True),
        (7, 6, 6, False),
        (None, 6, 7, True),  # 7 was being written, and is in the database
        (None, 6, 6, False),
        (7, None, 8, True),
        (None, None, 9, False),
    ],
)
async def test_the_number_that_is_required(
    tmp_path: Path, first: int | None, second: int | None, number: int, *, opened: bool
) -> None:
    """One of two places can be torn, by a loss of power while it is written."""
    beside = Acknowledged(tmp_path / "a", Files(), sync=False)
    beside.begin(0)
    for place, kept in ((0, first), (4096, second)):
        Files().write_at(tmp_path / "a", place, b"torn" if kept is None else record(kept))
    with nullcontext() if opened else pytest.raises(TransactionsLostError):
        Acknowledged(tmp_path / "a", Files(), sync=False).require(number)


def record(number: int) -> bytes:
    """Return a place with a number, by hand."""
    digits = f"{number:020d}"
    return f"{digits} {hashlib.blake2b(digits.encode(), digest_size=16).hexdigest()}".ljust(63).encode() + b"\n"


async def test_a_place_that_could_not_be_written_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append fails, and its thread is loaded before the next; the other place keeps the number before."""
    store = SqliteStore(tmp_path / "s.db")
    await store.append("t", ENTRIES[:1])

    def full(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Files, "write_at", full)
        with pytest.raises(sqlite3.OperationalError, match=r"s\.db\.acknowledged: the disk is full"):
            await store.append("t", ENTRIES[1:2])
    with pytest.raises(sqlite3.OperationalError, match="an earlier append"):
        await store.append("t", ENTRIES[1:2])
    log = await store.load("t")
    assert log == ENTRIES[:2]  # it is there, and nobody was promised that it is or is not
    await store.append("t", ENTRIES[2:])
    path = left_by_a_kill(tmp_path / "s.db", tmp_path / "left")
    await store.close()
    again = SqliteStore(path)
    assert await again.load("t") == ENTRIES
    await again.close()


async def test_a_database_that_changes_while_it_is_open_is_noticed(tmp_path: Path) -> None:
    """What is read is what was committed, or an error."""
    store = SqliteStore(tmp_path / "s.db")
    await store.append("t", ENTRIES)
    store._connection.execute("UPDATE acknowledged SET number = 0, digest = ?", (_digest_of(0),))
    with pytest.raises(sqlite3.OperationalError, match="ends with transaction 0, and 1 was committed"):
        await store.load("t")
    assert "was committed" in await store.until_lost()
    await store.close()


async def test_the_number_is_synced_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After 64 transactions; a wait after each would cost as much as the commit."""
    store = SqliteStore(tmp_path / "s.db")
    synced: list[Path] = []
    monkeypatch.setattr(Files, "sync", lambda _, path: synced.append(path))
    for n in range(130):
        await store.append("t", [{"kind": "held", "n": n}])
    assert len(synced) >= 2
    await store.close()
    assert set(synced) == {tmp_path / "s.db.acknowledged"}


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
