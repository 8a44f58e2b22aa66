"""What is canonical survives: logs, folding them again, and what becomes of a run whose server died."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import apsw
import pytest
from benchmarks.failing_disk import PATH
from benchmarks.played_disk import Connection, Disk, File, FileSystem, PlayedFiles
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, Serve, run_body, user_turn
from tests.reference_app.test_content import LARGE, TEXT, returning

from tpharness.errors import InputError
from tpharness.reference_app import Settings, store
from tpharness.reference_app.store import SqliteStore, connect_file

pytestmark = pytest.mark.asyncio


def log_of(path: Path, thread: str) -> list[Any]:
    """Return the kinds of a thread's entries, read by another connection."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT entry FROM entries WHERE thread_id = ? ORDER BY number", (thread,)).fetchall()
    connection.close()
    return [json.loads(row[0])["kind"] for row in rows]


@pytest.mark.parametrize(("sync", "level"), [(True, 2), (False, 0)])
async def test_a_commit_waits_for_the_disk_if_it_is_to(tmp_path: Path, *, sync: bool, level: int) -> None:
    """SQLite's levels: 2 syncs the log with every transaction, 0 never does."""
    made: list[sqlite3.Connection] = []

    def connect(path: Path) -> sqlite3.Connection:
        made.append(connect_file(path))
        return made[-1]

    store = SqliteStore(tmp_path / "s.db", connect, sync=sync)
    assert await store.run(lambda: made[0].execute("PRAGMA synchronous").fetchone()) == (level,)
    await store.close()


async def test_threads_come_back_as_they_were(serve: Serve, tmp_path: Path) -> None:
    """Documents in every version, the stream of the latest run with its ids, and the thread goes on."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        assert (await peer.answer("GET", "/capabilities"))[1]["durable"] is True
        await peer.play("t", run_body(TOOL_CALL, user=[user_turn("Hi")], turn={"interruption": cut()}))
        stream = await peer.play("t", run_body(HELLO, user=[user_turn("Again", 5)], marks=True, carriers=True))
        await peer.answer("POST", "/threads/t/user-turns", user_turn("Bye", 9))
        before = [await peer.thread("t", version) for version in ("0.0.4", "0.0.3", "2.0.0")]
    async with serve(settings) as peer:
        assert [await peer.thread("t", version) for version in ("0.0.4", "0.0.3", "2.0.0")] == before
        async with peer.get("/threads/t/stream") as answer:
            assert await peer.rest(answer) == stream
        async with peer.get("/threads/t/stream", headers={"Last-Event-ID": "2.4"}) as answer:
            assert stream.endswith(await peer.rest(answer))
        assert b"id: 3.0\n" in await peer.play("t", run_body(HELLO))
        await peer.answer("DELETE", "/threads/t")
    async with serve(settings) as peer:
        assert (await peer.answer("GET", "/threads/t"))[0] == 404


def cut(reason: str = "user_cancelled") -> dict[str, str]:
    """Return an interruption."""
    return {"reason": reason, "at": AT.format(4)}


async def test_a_seed_comes_back(serve: Serve, tmp_path: Path) -> None:
    """The thread so far is part of the log."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        await peer.play("t", run_body(HELLO, user=[user_turn("Hi")]))
        seed = {**await peer.thread("t"), "thread_id": "u"}
        await peer.play("u", run_body(HELLO, seed=seed))
        before = await peer.thread("u")
    async with serve(settings) as peer:
        assert await peer.thread("u") == before
        assert before["turns"][:2] == seed["turns"]


async def test_a_cycle_is_durable_before_its_bytes_are_seen(serve: Serve, tmp_path: Path) -> None:
    """When the mark after the last return has come, the log has the cycle; deltas alone write nothing."""
    settings = Settings(store=tmp_path / "s.db")
    written: list[list[str]] = []
    append = SqliteStore.append

    def recorded(self: SqliteStore, thread_id: str, entries: Any) -> Any:
        written.append([e["kind"] for e in entries])
        return append(self, thread_id, entries)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "append", recorded)
        async with serve(settings) as peer:
            await peer.play("t", run_body([*TOOL_CALL, *HELLO], user=[user_turn("Hi")]))
    assert written == [
        ["thread", "user", "begin"],
        ["events"],  # the call, complete at the end of its response
        ["events"],  # its return: the cycle is canonical
        ["events"],  # the text, at the end of its response
        ["events", "end"],
    ]


async def test_a_failing_disk_ends_the_run_and_not_the_server(serve: Serve, tmp_path: Path) -> None:
    """What could not be stored is not shown: the cycle's bytes never reach the client."""
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        await peer.play("u", run_body(HELLO))

        def full(self: SqliteStore, thread_id: str, entries: Any) -> Any:
            del self, thread_id
            failed = asyncio.get_running_loop().create_future()
            if any(e["kind"] != "end" for e in entries) and entries[0]["kind"] == "events":
                failed.set_exception(sqlite3.OperationalError("database or disk is full"))
            else:
                failed.set_result(None)
            return failed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SqliteStore, "append", full)
            data = await peer.play("t", run_body([*TOOL_CALL, *HELLO]))
        assert b'{"type":"abort","reason":"error"}' in data
        assert b"tool-output-available" not in data
        assert (await peer.answer("GET", "/threads/t"))[0] == 404  # not even its beginning was stored
        assert (await peer.thread("u"))["turns"]


async def test_a_store_belongs_to_one_server(serve: Serve, tmp_path: Path) -> None:
    """A second one is refused with a reason, and so is a file that is no store."""
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        await peer.play("t", run_body(HELLO))
        with pytest.raises(InputError, match=r"s\.db.*locked"):
            SqliteStore(tmp_path / "s.db")
    (tmp_path / "text").write_text("This is no database, and it is longer than a header. " * 20)
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for name in ("text", "other.db", "no/such/folder"):
        with pytest.raises(InputError, match=name):
            SqliteStore(tmp_path / name)


async def test_idle_threads_make_room(serve: Serve, tmp_path: Path) -> None:
    """With a store memory holds only some threads; the others are there all the same."""
    async with serve(Settings(store=tmp_path / "s.db", max_threads=3)) as peer:
        for number in range(8):
            await peer.play(f"t{number}", run_body(HELLO))
        assert len(peer.app.threads._live) <= 3
        documents = await asyncio.gather(*(peer.thread(f"t{number % 8}") for number in range(40)))
        assert {d["thread_id"] for d in documents} == {f"t{n}" for n in range(8)}
        assert all(len(d["turns"]) == 1 for d in documents)


async def test_appends_of_many_threads_are_kept_in_order(tmp_path: Path) -> None:
    """They share transactions, and each log keeps its order."""
    store = SqliteStore(tmp_path / "s.db")
    try:
        waits = [store.append(f"t{n % 10}", [{"kind": "held", "n": n}]) for n in range(500)]
        await asyncio.wait_for(asyncio.gather(*waits), 60)
        log = await store.load("t3")
        assert log is not None
        assert [e["n"] for e in log] == list(range(3, 500, 10))
    finally:
        await store.close()
    assert len(log_of(tmp_path / "s.db", "t3")) == 50


async def test_a_run_that_could_not_be_stored_leaves_no_thread(serve: Serve, tmp_path: Path) -> None:
    """503, and the thread is not there: neither now nor after a restart, whatever is stored later."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "json_bytes", lambda _: None)  # violates NOT NULL: the disk does not take it
            assert (await peer.answer("POST", "/threads/t/runs", run_body(HELLO)))[0] == 503
            assert (await peer.answer("GET", "/threads/t"))[0] == 404
        await peer.play("t", run_body(TOOL_CALL))
        kept = await peer.thread("t")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "json_bytes", lambda _: None)
            assert (await peer.answer("POST", "/threads/t/user-turns", user_turn("lost")))[0] == 503
        assert await peer.thread("t") == kept
    async with serve(settings) as peer:
        assert await peer.thread("t") == kept


@pytest.mark.parametrize(
    ("damage", "number"),
    [
        ("DELETE FROM entries WHERE number = 1", 1),
        ("DELETE FROM entries WHERE number = 3", 3),
        ("UPDATE entries SET entry = '{' WHERE number = 2", 2),
        ("UPDATE entries SET entry = '{}' WHERE number = 2", 2),
        ("UPDATE entries SET entry = '[1]' WHERE number = 2", 2),
    ],
)
async def test_a_damaged_log_is_told_and_can_be_deleted(serve: Serve, tmp_path: Path, damage: str, number: int) -> None:
    """410 with the entry, for everything that needs the thread; the others are served."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        for thread in ("t", "u"):
            await peer.play(thread, run_body(TOOL_CALL))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute(f"{damage} AND thread_id = 't'")
    connection.close()
    async with serve(settings) as peer:
        asked = [("GET", ""), ("GET", "/stream"), ("POST", "/runs"), ("POST", "/user-turns"), ("POST", "/cancel")]
        bodies = {"/runs": run_body(HELLO), "/user-turns": user_turn("Hi"), "/cancel": {"reason": "user_cancelled"}}
        for method, path in asked:
            status, told = await peer.answer(method, f"/threads/t{path}", bodies.get(path))
            assert (path, status) == (path, 410)
            assert f"entry {number}" in told["error"]["message"]
            assert "DELETE" in told["error"]["hint"]
        assert (await peer.thread("u"))["turns"]
        assert (await peer.answer("DELETE", "/threads/t"))[0] == 204
        assert (await peer.answer("GET", "/threads/t"))[0] == 404
        await peer.play("t", run_body(HELLO))


def drop_what_format_3_had_not(connection: sqlite3.Connection) -> None:
    """Make of a store one as it was before transactions were numbered."""
    connection.executescript("DROP TABLE contents; DROP TABLE acknowledged;")


async def test_a_store_of_format_3_is_read(serve: Serve, tmp_path: Path) -> None:
    """Its transactions did not have numbers, and nobody knew which contents a thread refers to."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        await peer.play("t", run_body(returning(LARGE)))
        kept = await peer.thread("t")
        await peer.play("u", run_body(HELLO, seed={**kept, "thread_id": "u"}))
    with sqlite3.connect(tmp_path / "s.db") as connection:
        drop_what_format_3_had_not(connection)
        connection.execute("PRAGMA user_version = 3")
    connection.close()
    (tmp_path / "s.db.acknowledged").unlink()
    place = f"/content/{hashlib.sha256(TEXT).hexdigest()}"
    async with serve(settings) as peer:
        assert await peer.thread("t") == kept
        for thread, left in (("t", 200), ("u", 404)):
            assert (await peer.answer("DELETE", f"/threads/{thread}"))[0] == 204
            async with asyncio.timeout(15), peer.get(place) as answer:
                assert answer.status == left


async def test_a_store_of_format_1_is_read(serve: Serve, tmp_path: Path) -> None:
    """Threads that an earlier version of the server stored, their entries in between each other's."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        for thread in ("t", "u"):
            await peer.play(thread, run_body(TOOL_CALL))
        kept = [await peer.thread(thread) for thread in ("t", "u")]
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.executescript(
            "CREATE TABLE log (id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL, entry BLOB NOT NULL);"
            "CREATE INDEX log_of_thread ON log (thread_id, id);"
            "INSERT INTO log (thread_id, entry) SELECT thread_id, entry FROM entries ORDER BY number, thread_id;"
            "DROP TABLE entries; DROP TABLE heads; PRAGMA user_version = 1;"
        )
        drop_what_format_3_had_not(connection)
    connection.close()
    (tmp_path / "s.db.acknowledged").unlink()
    async with serve(settings) as peer:
        assert [await peer.thread(thread) for thread in ("t", "u")] == kept


async def test_a_store_of_format_2_is_read(serve: Serve, tmp_path: Path) -> None:
    """Its entries did not have digests; more is appended to its logs."""
    settings = Settings(store=tmp_path / "s.db")
    async with serve(settings) as peer:
        for thread in ("t", "u"):
            await peer.play(thread, run_body(TOOL_CALL))
        kept = [await peer.thread(thread) for thread in ("t", "u")]
    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.executescript(
            "ALTER TABLE entries RENAME TO other;"
            "CREATE TABLE entries (thread_id TEXT NOT NULL, number INTEGER NOT NULL, entry BLOB NOT NULL,"
            " PRIMARY KEY (thread_id, number)) WITHOUT ROWID;"
            "INSERT INTO entries SELECT thread_id, number, entry FROM other;"
            "DROP TABLE other; DROP TABLE heads; PRAGMA user_version = 2;"
        )
        drop_what_format_3_had_not(connection)
    connection.close()
    (tmp_path / "s.db.acknowledged").unlink()
    for _ in range(2):
        async with serve(settings) as peer:
            assert [await peer.thread(thread) for thread in ("t", "u")] == kept
            await peer.play("u", run_body(HELLO))
            kept[1] = await peer.thread("u")


class UnsyncedDisk(Disk):
    """A disk that takes writes, and whose next syncs fail."""

    syncs_failing = 0

    def operate(self, file: File, offset: int, data: bytes | None) -> None:
        """Fail a sync without doing it."""
        if offset < 0 and self.syncs_failing:
            self.syncs_failing -= 1
            raise apsw.IOError("the disk does not sync")
        super().operate(file, offset, data)


@pytest.mark.parametrize("failing", [1, 2])
async def test_what_failed_does_not_come_back_after_a_loss_of_power(failing: int) -> None:
    """Its pages may be on the disk, with the mark of a commit, and SQLite would take them for committed."""
    disk = UnsyncedDisk()
    system = FileSystem(disk)

    def connect(path: Path) -> sqlite3.Connection:
        return Connection(path, system)  # type: ignore[return-value]

    try:
        store = SqliteStore(PATH, connect, files=PlayedFiles(disk))
        await store.append("t", [{"n": 1}])
        disk.syncs_failing = failing
        with pytest.raises(sqlite3.OperationalError, match="does not sync"):
            await store.append("t", [{"n": 2}])
        if failing == 2:  # then it is written over before anybody is told what is stored
            assert await store.load("t") == [{"n": 1}]
        assert disk.syncs_failing == 0
        disk.files = {name: File(bytearray(f.seen), bytearray(f.seen)) for name, f in disk.files.items()}
        again = SqliteStore(PATH, connect, files=PlayedFiles(disk))
        assert await again.load("t") == [{"n": 1}]
        await again.close()
        await store.close()  # its thread would go on waiting
    finally:
        system.unregister()


async def test_nobody_is_told_what_is_stored_while_it_is_not_known() -> None:
    """After a failed commit the log is read when the disk takes something again, not before."""
    disk = UnsyncedDisk()
    system = FileSystem(disk)
    try:
        store = SqliteStore(PATH, lambda path: Connection(path, system), files=PlayedFiles(disk))  # type: ignore[arg-type,return-value]
        await store.append("t", [{"n": 1}])
        disk.syncs_failing = 4
        for ask in (lambda: store.append("t", [{"n": 2}]), lambda: store.load("t")):
            with pytest.raises(sqlite3.OperationalError, match="does not sync"):
                await ask()
        assert await store.load("t") == [{"n": 1}]
        await store.close()
    finally:
        system.unregister()
