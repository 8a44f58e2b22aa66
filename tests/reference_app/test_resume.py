"""Streams can be read again, by several readers, and from any frame on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, Serve, run_body

from tpharness.reference_app.replay_buffer import ReplayBuffer, UnknownFrameError

HELD: dict[str, Any] = {"hold": {"at": AT.format(7)}, "marks": True}


@pytest.mark.asyncio
async def test_the_rest_of_a_stream_follows_the_frame_that_was_seen_last(serve: Serve) -> None:
    """Whatever frame it was, what was seen and what comes are the whole."""
    async with serve() as peer:
        whole = await peer.play("t", run_body(HELLO))
        frames = [frame + b"\n\n" for frame in whole.split(b"\n\n")[:-1]]
        assert len(frames) == 9
        for number in range(8):
            async with peer.get("/threads/t/stream", headers={"Last-Event-ID": f"1.{number}"}) as answer:
                assert answer.headers["content-type"] == "text/event-stream"
                assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
                assert await peer.rest(answer) == b"".join(frames[number + 1 :])
        async with peer.get("/threads/t/stream") as answer:
            assert await peer.rest(answer) == whole


@pytest.mark.asyncio
async def test_nothing_left_and_nothing_there_are_204(serve: Serve) -> None:
    """204 after the last frame; 404 for no thread."""
    async with serve() as peer:
        assert (await peer.answer("GET", "/threads/t/stream"))[0] == 404
        await peer.play("t", run_body(HELLO))
        assert await peer.answer("GET", "/threads/t/stream", headers={"Last-Event-ID": "1.8"}) == (204, None)


@pytest.mark.asyncio
async def test_a_reader_follows_a_run_that_goes_on(serve: Serve) -> None:
    """Two readers at once, one from the middle: both get the end."""
    async with serve() as peer, peer.post("/threads/t/runs", run_body(HELLO[:2], **HELD)) as first:
        seen = await peer.until(first, b": tp 2\n\n")
        async with peer.get("/threads/t/stream", headers={"Last-Event-ID": "1.3"}) as second:
            assert await peer.until(second, b": tp 2\n\n") == seen[seen.index(b": tp 1\n\n") :]
            await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"})
            assert await peer.rest(first) == await peer.rest(second)


@pytest.mark.asyncio
async def test_frames_that_never_were_are_refused(serve: Serve) -> None:
    """A frame of an earlier run is not an error: its reader missed the whole of the latest one."""
    async with serve() as peer:
        await peer.play("t", run_body(HELLO))
        latest = await peer.play("t", run_body(TOOL_CALL))
        async with peer.get("/threads/t/stream", headers={"Last-Event-ID": "1.4"}) as answer:
            assert await peer.rest(answer) == latest
        for wrong in ("3.0", "2.99", "x", "2.end.7", "2", "-1.0"):
            status, told = await peer.answer("GET", "/threads/t/stream", headers={"Last-Event-ID": wrong})
            assert status == 400
            assert wrong in told["error"]["message"]


@pytest.mark.asyncio
async def test_a_head_of_a_stream_does_not_wait(serve: Serve) -> None:
    """HEAD answers at once, though the run goes on."""
    async with serve() as peer, peer.post("/threads/t/runs", run_body(HELLO[:2], **HELD)) as answer:
        await peer.until(answer, b": tp 2\n\n")
        async with asyncio.timeout(5), peer.session.head(f"{peer.url}/threads/t/stream") as head:
            assert head.status == 200


def test_a_tape_names_frames_by_run_and_number() -> None:
    """Events that say nothing take no number, marks are no frames."""
    buffer = ReplayBuffer(3, marks=True)
    buffer.write(b"data: a\n\n", 0)
    buffer.write(b"", 1)
    buffer.write(b"data: b\n\ndata: c\n\n", 2)
    buffer.finish(b"data: [DONE]\n\n", outside=False)
    whole = b"id: 3.0\ndata: a\n\n: tp 0\n\n: tp 1\n\nid: 3.1\ndata: b\n\nid: 3.2\ndata: c\n\n: tp 2\n\n"
    assert buffer.read((0, 0))[0] == whole + b"id: 3.3\ndata: [DONE]\n\n"
    assert buffer.read(buffer.after("3.1"))[0] == b"id: 3.2\ndata: c\n\n: tp 2\n\nid: 3.3\ndata: [DONE]\n\n"
    assert buffer.at_end(buffer.after("3.3"))
    assert not buffer.at_end(buffer.after("3.2"))


def test_a_tape_that_came_back_gives_the_end_to_who_saw_more() -> None:
    """After a crash some readers have seen frames that nobody remembers: for them only the end is new."""
    buffer = ReplayBuffer(1, marks=False)
    buffer.write(b"data: a\n\n", 0)
    buffer.finish(b"data: abort\n\ndata: [DONE]\n\n", outside=True)
    with pytest.raises(UnknownFrameError):
        buffer.after("1.5")
    buffer.restored = True
    assert buffer.read(buffer.after("1.5"))[0] == b"id: 1.end.0\ndata: abort\n\nid: 1.end.1\ndata: [DONE]\n\n"
    assert buffer.read(buffer.after("1.end.0"))[0] == b"id: 1.end.1\ndata: [DONE]\n\n"
