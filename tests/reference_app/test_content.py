"""Large returns: stored beside the thread, referred to in it, equal on both sides, verified when they are read."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from tests.reference_app.peer import AGENTS, AT, HELLO, TOOL_CALL, Peer, Serve, run_body

from tpharness.protocol.compare import same_exact
from tpharness.reference_app import Settings, store
from tpharness.reference_app.content import ContentStore, DamagedContentError
from tpharness.reference_app.files import Files

LARGE = "ü" * 60_000
TEXT = LARGE.encode("utf-8")
ROWS = [{"n": 1.0, "b": "x" * 120_000, "a": None}]
JSON = b'[{"a":null,"b":"' + b"x" * 120_000 + b'","n":1}]'


def returning(content: Any, **more: Any) -> list[dict[str, Any]]:
    """Return a run whose tool returns a content."""
    part = {**TOOL_CALL[2]["part"], "content": content, **more}
    return [*TOOL_CALL[:2], {**TOOL_CALL[2], "part": part}, *({**event, "at": AT.format(5)} for event in HELLO)]


async def part_of(peer: Peer, version: str = "0.0.4") -> Any:
    """Return the tool return of thread t."""
    return (await peer.thread("t", version))["turns"][0]["messages"][1]["parts"][0]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("content", "data", "media_type"),
    [(LARGE, TEXT, "text/plain; charset=utf-8"), (ROWS, JSON, "application/json")],
    ids=["text", "json"],
)
async def test_a_large_return_is_stored_and_referred_to(
    serve: Serve, tmp_path: Path, content: Any, data: bytes, media_type: str
) -> None:
    """The thread holds hash, size and kind; the bytes are text as UTF-8, or canonical JSON."""
    digest = hashlib.sha256(data).hexdigest()
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        stream = await peer.play("t", run_body(returning(content)))
        part = await part_of(peer)
        assert part == {
            "part_kind": "tool-return",
            "tool_name": "get",
            "tool_call_id": "c1",
            "status": "success",
            "content_ref": {
                "uri": f"tpharness:content/{digest}",
                "size_bytes": len(data),
                "hash": f"sha256:{digest}",
                "media_type": media_type,
            },
        }
        assert (await part_of(peer, "2.0.0"))["content"] == content  # 2.0.0 has no references
        assert "content_ref" not in await part_of(peer, "2.0.0")
        assert (tmp_path / "s.db.content" / digest).read_bytes() == data
        async with asyncio.timeout(5), peer.get(f"/content/{digest}") as answer:
            assert await answer.read() == data
    assert b'"output":' in stream
    assert len(stream) > len(data)


@pytest.mark.asyncio
async def test_both_sides_are_equal_with_carriers(serve: Serve) -> None:
    """The carrier tells the client the reference, so it holds what the server holds."""
    async with serve() as peer:
        stream = await peer.play("t", run_body(returning(LARGE), carriers=True))
        turn = {
            "turn_type": "agent",
            "agent_id": "a",
            "begun_at": AT.format(1),
            "packets": [{"data": stream.decode(), "at": AT.format(1)}],
            "end": {"at": AT.format(9)},
        }
        body = {
            "thread_id": "t",
            "created_at": AT.format(0),
            "agents": AGENTS,
            "versions": ["0.0.4", "0.0.3"],
            "carriers": True,
            "turns": [turn],
        }
        _, told = await peer.answer("POST", "/receive", body)
        for version in ("0.0.4", "0.0.3"):
            assert same_exact(await peer.thread("t", version), told["threads"][version])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "events",
    [
        returning("x" * 102_398),  # with its quotes exactly 100 KiB
        returning(LARGE, outcome="failed"),
        returning("short", content_ref={"uri": "s3://b/k"}),
        [*TOOL_CALL[:2], {"event_kind": "system_event", "event_type": "data-app-x", "event_data": LARGE}, *HELLO],
    ],
    ids=["at-the-limit", "failed", "referred-to-already", "no-return"],
)
async def test_everything_else_stays_in_the_thread(serve: Serve, events: list[dict[str, Any]]) -> None:
    """Only successful returns beyond the limit, without a reference of their own, are stored elsewhere."""
    async with serve() as peer:
        await peer.play("t", run_body(events))
        assert "tpharness:content" not in json.dumps(await peer.thread("t"))


@pytest.mark.asyncio
async def test_damaged_content_is_not_served(serve: Serve, tmp_path: Path) -> None:
    """The hash is verified on every read: 410, and 2.0.0 keeps the reference."""
    digest = hashlib.sha256(TEXT).hexdigest()
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        await peer.play("t", run_body(returning(LARGE)))
        (tmp_path / "s.db.content" / digest).write_bytes(TEXT[:-1] + b"?")
        status, told = await peer.answer("GET", f"/content/{digest}")
        assert (status, digest in told["error"]["message"]) == (410, True)
        assert "content_ref" in await part_of(peer, "2.0.0")
        assert (await peer.answer("GET", f"/content/{'0' * 64}"))[0] == 404
        for odd in ("..%2F..%2Fetc%2Fpasswd", digest.upper(), "x"):
            assert (await peer.answer("GET", f"/content/{odd}"))[0] == 404


def test_a_content_is_written_once_and_whole(tmp_path: Path) -> None:
    """Nothing is left beside it, and another process's draft is no content."""
    store = ContentStore(tmp_path / "c")
    digest = store.put(b"data")
    assert store.put(b"data") == digest == hashlib.sha256(b"data").hexdigest()
    assert [p.name for p in (tmp_path / "c").iterdir()] == [digest]
    assert store.get(digest) == b"data"
    assert store.get("0" * 64) is None
    (tmp_path / "c" / digest).write_bytes(b"dat")
    with pytest.raises(DamagedContentError):
        store.get(digest)


def test_damaged_content_that_is_put_again_is_written_again(tmp_path: Path) -> None:
    """Else the result would be acknowledged, and stay lost."""
    store = ContentStore(tmp_path / "c")
    digest = store.put(b"data")
    (tmp_path / "c" / digest).write_bytes(b"dat")
    assert store.put(b"data") == digest
    assert store.get(digest) == b"data"


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot be synced there")
@pytest.mark.parametrize("sync", [True, False])
def test_a_content_and_the_names_of_it_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool) -> None:
    """A file that is synced is lost all the same if the folder is not, and the folder if its parent is not."""
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    digest = ContentStore(tmp_path / "c", sync=sync).put(b"data")
    places = (tmp_path / "c" / digest, tmp_path / "c", tmp_path)
    assert synced == ([place.stat().st_ino for place in places] if sync else [])


@pytest.mark.asyncio
async def test_a_store_that_is_opened_by_a_link_has_its_contents(serve: Serve, tmp_path: Path) -> None:
    """The contents stand beside the file, and not beside the link."""
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        await peer.play("t", run_body(returning(LARGE)))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "link.db").symlink_to(tmp_path / "s.db")
    place, settings = f"/content/{hashlib.sha256(TEXT).hexdigest()}", Settings(store=tmp_path / "other" / "link.db")
    async with asyncio.timeout(15), serve(settings) as peer, peer.get(place) as answer:
        assert await answer.read() == TEXT


@pytest.mark.asyncio
@pytest.mark.parametrize("stored", [True, False], ids=["on the disk", "in memory"])
async def test_a_deleted_content_is_gone_when_no_thread_has_it(serve: Serve, tmp_path: Path, *, stored: bool) -> None:
    """It went on being served, and memory grew; what another thread returned or was seeded with stays."""
    digest = hashlib.sha256(TEXT).hexdigest()
    async with serve(Settings(store=tmp_path / "s.db" if stored else None)) as peer:
        for _ in range(2):
            for thread in ("t", "u"):
                await peer.play(thread, run_body(returning(LARGE)))
            await peer.play("v", run_body(HELLO, seed={**await peer.thread("t"), "thread_id": "v"}))
            for thread, left in (("t", 200), ("u", 200), ("v", 404)):
                assert (await peer.answer("DELETE", f"/threads/{thread}"))[0] == 204
                assert await status_of(peer, digest) == left
    if stored:
        assert list((tmp_path / "s.db.content").iterdir()) == []
    else:
        assert peer.app._store.contents._held == {}


async def status_of(peer: Peer, digest: str) -> int:
    """Return how a content is answered."""
    async with asyncio.timeout(15), peer.get(f"/content/{digest}") as answer:
        return int(answer.status)


@pytest.mark.asyncio
async def test_a_content_that_could_not_be_removed_is_removed_later(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the next start, as after a SIGKILL between both; unless a thread has it again by then."""
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (LARGE, LARGE[1:])]
    settings = Settings(store=tmp_path / "s.db")

    def busy(*_: Any) -> None:
        raise OSError("the file is in use")

    async with serve(settings) as peer:
        await peer.play("t", run_body(returning(LARGE)))
        await peer.play("u", run_body(returning(LARGE[1:])))
        with monkeypatch.context() as patch:
            patch.setattr(Files, "remove", busy)
            for thread in ("t", "u"):
                assert (await peer.answer("DELETE", f"/threads/{thread}"))[0] == 204
            await peer.play("w", run_body(returning(LARGE[1:])))
    async with serve(settings) as peer:
        assert [await status_of(peer, digest) for digest in digests] == [404, 200]


@pytest.mark.asyncio
async def test_a_content_that_failed_to_be_stored_is_not_served(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are there, and the database does not take that a thread refers to them."""

    def full(_: Any, __: str, digests: Collection[str]) -> None:
        if digests:
            raise sqlite3.OperationalError("database or disk is full")

    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        with monkeypatch.context() as patch:
            patch.setattr(store, "refer", full)
            stream = await peer.play("t", run_body(returning(LARGE)))
        assert b'{"type":"abort","reason":"error"}' in stream
        assert await status_of(peer, hashlib.sha256(TEXT).hexdigest()) == 404


@pytest.mark.asyncio
async def test_a_content_that_is_written_in_part_leaves_nothing(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full in the middle of its draft."""

    def half(_: Files, path: Path, data: bytes, *, sync: bool) -> None:
        path.write_bytes(data[: len(data) // 2])
        raise OSError(f"no space left on the device, {sync}")

    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        with monkeypatch.context() as patch:
            patch.setattr(Files, "write", half)
            stream = await peer.play("t", run_body(returning(LARGE)))
        assert b'{"type":"abort","reason":"error"}' in stream
        assert list((tmp_path / "s.db.content").iterdir()) == []


@pytest.mark.asyncio
async def test_names_that_were_not_synced_are_synced_before_a_content_is_relied_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file was there after a put that failed, and the next put took that for enough."""
    contents = ContentStore(tmp_path / "c")

    def fails(*_: Any) -> None:
        raise OSError("the disk fails")

    with monkeypatch.context() as patch:
        patch.setattr(Files, "sync_folder", fails)
        for _ in range(2):
            with pytest.raises(OSError, match="the disk fails"):
                contents.put(b"data")
    digest = contents.put(b"data")
    monkeypatch.setattr(Files, "sync_folder", fails)
    assert contents.put(b"data") == digest  # now it is known to be kept
