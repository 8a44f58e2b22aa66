"""How runs end from outside: cancel, disconnect, limits, and what each side is told; and heartbeats meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.reference_app.peer import AT, HELLO, TOOL_CALL, Peer, Serve, run_body

from tpharness.reference_app import Settings

pytestmark = pytest.mark.asyncio

HELD: dict[str, Any] = {"hold": {"at": AT.format(7)}, "marks": True}


def aborted(reason: str) -> bytes:
    """Return the frames by which the first run of a thread is ended from outside."""
    return b'id: 1.end.0\ndata: {"type":"abort","reason":"%b"}\n\nid: 1.end.1\ndata: [DONE]\n\n' % reason.encode()


async def interruption(peer: Peer, thread: str = "t") -> Any:
    """Return how the last turn of a thread was interrupted, once it was."""
    async with asyncio.timeout(5):
        while True:
            status, document = await peer.answer("GET", f"/threads/{thread}")
            assert status == 200
            if document["turns"]:
                return document["turns"][-1]["interruption"]
            await asyncio.sleep(0.005)


async def test_a_cancelled_run_tells_its_client_and_its_thread(serve: Serve) -> None:
    """The answer comes when the thread shows it; what was cancelled happened at the time of the hold."""
    async with serve() as peer, peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD)) as answer:
        await peer.until(answer, b": tp 3\n\n")
        assert await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}) == (
            200,
            {"cancelled": True},
        )
        turn = (await peer.thread("t"))["turns"][0]
        assert turn["interruption"] == {"reason": "user_cancelled", "interrupted_at": AT.format(7)}
        assert [m["message_type"] for m in turn["messages"]] == ["response", "request"]
        assert await peer.rest(answer) == aborted("user_cancelled")


async def test_cancelling_what_does_not_run_changes_nothing(serve: Serve) -> None:
    """404 for no thread, false for a run that has ended (R26)."""
    async with serve() as peer:
        assert (await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}))[0] == 404
        await peer.play("t", run_body(HELLO, hold={"at": AT.format(7)}))
        before = await peer.thread("t")
        assert await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}) == (
            200,
            {"cancelled": False},
        )
        assert await peer.thread("t") == before


async def test_two_cancels_at_once_end_a_run_once(serve: Serve) -> None:
    """The first reason stands (R26)."""
    async with serve() as peer, peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD)) as answer:
        await peer.until(answer, b": tp 3\n\n")
        reasons = ("user_cancelled", "safety_halt")
        await asyncio.gather(*(peer.answer("POST", "/threads/t/cancel", {"reason": r}) for r in reasons))
        rest = await peer.rest(answer)
        assert rest.count(b"abort") == 1
        assert (await interruption(peer))["reason"].encode() in rest


async def test_a_cancel_during_a_stall_ends_it(serve: Serve) -> None:
    """The model's silence is not waited out, and its later events never happen."""
    events = [*TOOL_CALL, {"event_kind": "stall", "seconds": 3600, "at": AT.format(4)}, *HELLO]
    async with serve() as peer, peer.post("/threads/t/runs", run_body(events, marks=True, time_scale=1)) as answer:
        await peer.until(answer, b": tp 3\n\n")
        assert (await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}))[1] == {"cancelled": True}
        assert await peer.rest(answer) == aborted("user_cancelled")
        assert (await interruption(peer))["interrupted_at"] == AT.format(3)


async def test_a_stall_takes_its_seconds_times_the_scale(serve: Serve) -> None:
    """With no scale it takes none; the stream is the same."""
    events = [HELLO[0], {"event_kind": "stall", "seconds": 10, "at": AT.format(2)}, *HELLO[1:]]
    async with serve() as peer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        slow = await peer.play("t", run_body(events, time_scale=0.01))
        assert loop.time() - began >= 0.1
        assert await peer.play("u", run_body(events)) == slow


async def test_a_run_stops_when_its_client_goes_away(serve: Serve) -> None:
    """`on_disconnect: stop` interrupts with network_failure, at the time of the hold."""
    async with serve() as peer:
        async with peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD, on_disconnect="stop")) as answer:
            await peer.until(answer, b": tp 3\n\n")
            answer.close()
        assert await interruption(peer) == {"reason": "network_failure", "interrupted_at": AT.format(7)}


async def test_the_default_for_disconnects_is_the_servers(serve: Serve) -> None:
    """What a request does not say is as the server was started."""
    async with serve(Settings(continues=False)) as peer:
        async with peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD)) as answer:
            await peer.until(answer, b": tp 3\n\n")
            answer.close()
        assert (await interruption(peer))["reason"] == "network_failure"


async def test_a_run_stops_only_when_its_last_reader_goes(serve: Serve) -> None:
    """Another connection that reads the stream keeps the run alive."""
    body = run_body(TOOL_CALL, **HELD, on_disconnect="stop")
    async with serve() as peer, peer.post("/threads/t/runs", body) as first:
        await peer.until(first, b": tp 3\n\n")
        async with peer.get("/threads/t/stream") as second:
            await peer.until(second, b": tp 3\n\n")
            run = peer.app.threads._live["t"].run
            assert run is not None
            first.close()
            async with asyncio.timeout(5):
                while run.readers > 1:  # noqa: ASYNC110  # the server tells nobody when a reader goes
                    await asyncio.sleep(0)
            _, told = await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"})
            assert told == {"cancelled": True}
            assert await peer.rest(second) == aborted("user_cancelled")


async def test_a_run_goes_on_without_its_client(serve: Serve) -> None:
    """`on_disconnect: continue`: the run reaches its end, and a later reader gets the rest."""
    events = [*TOOL_CALL, {"event_kind": "stall", "seconds": 0.2, "at": AT.format(3)}, *HELLO]
    async with serve(Settings(continues=False)) as peer:
        body = run_body(events, marks=True, time_scale=1, on_disconnect="continue")
        async with peer.post("/threads/t/runs", body) as answer:
            await peer.until(answer, b": tp 3\n\n")
            answer.close()
        async with peer.get("/threads/t/stream") as answer:
            assert (await peer.rest(answer)).endswith(b'{"type":"finish"}\n\n: tp 9\n\nid: 1.13\ndata: [DONE]\n\n')
        assert (await peer.thread("t"))["turns"][0]["completion_status"] == "complete"


async def test_a_held_run_that_nobody_reads_is_given_up(serve: Serve) -> None:
    """Nothing is left behind by clients that never come back."""
    async with serve(Settings(unread_seconds=0.05)) as peer:
        async with peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD)) as answer:
            await peer.until(answer, b": tp 3\n\n")
            answer.close()
        assert await interruption(peer) == {"reason": "timeout", "interrupted_at": AT.format(7)}


async def test_silence_beyond_the_limit_is_a_timeout(serve: Serve) -> None:
    """The client is told; heartbeats do not count as something said."""
    limits = {"stream_seconds": 0.15, "heartbeat_seconds": 0.02}
    async with serve() as peer:
        async with peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD, limits=limits)) as answer:
            data = await peer.rest(answer)
        assert data.endswith(aborted("timeout"))
        assert b": keep-alive\n\n" in data
        assert await interruption(peer) == {"reason": "timeout", "interrupted_at": AT.format(7)}


async def test_a_stall_beyond_the_limit_is_a_timeout(serve: Serve) -> None:
    """It happened when the limit ran out, in the time of the script: a tenth of a second is ten at this scale."""
    events = [*TOOL_CALL, {"event_kind": "stall", "seconds": 40, "at": "2025-01-20T10:00:04Z"}, *HELLO]
    body = run_body(events, time_scale=0.01, limits={"stream_seconds": 0.1})
    async with serve() as peer:
        assert (await peer.play("t", body)).endswith(aborted("timeout"))
        assert await interruption(peer) == {"reason": "timeout", "interrupted_at": "2025-01-20T10:00:14Z"}


async def test_a_stall_within_the_limit_is_none(serve: Serve) -> None:
    """The run ends as its events say."""
    events = [*TOOL_CALL, {"event_kind": "stall", "seconds": 1, "at": AT.format(4)}, *HELLO]
    async with serve() as peer:
        data = await peer.play("t", run_body(events, time_scale=0.01, limits={"stream_seconds": 5}))
    assert b'{"type":"finish"}' in data


async def test_a_server_with_nothing_to_say_sends_comments(serve: Serve) -> None:
    """As often as it was started with, when the run does not say."""
    body = run_body(TOOL_CALL, **HELD)
    async with serve(Settings(heartbeat=0.02)) as peer, peer.post("/threads/t/runs", body) as answer:
        await peer.until(answer, b": keep-alive\n\n: keep-alive\n\n")


@pytest.mark.parametrize(("tell", "ending"), [("abort", aborted("safety_halt")), ("nothing", b"")])
async def test_a_script_may_say_how_it_is_cut(serve: Serve, tell: str, ending: bytes) -> None:
    """With `tell: nothing` the stream only ends."""
    cut = {"reason": "safety_halt", "at": AT.format(6), "tell": tell}
    async with serve() as peer:
        data = await peer.play("t", run_body(TOOL_CALL, turn={"interruption": cut}))
        last = b'{"type":"tool-output-available","toolCallId":"c1","output":"sunny"}\n\n'
        assert data.endswith(last + b'id: 1.5\ndata: {"type":"finish-step"}\n\n' + ending)
        assert await interruption(peer) == {"reason": "safety_halt", "interrupted_at": AT.format(6)}


async def test_an_interruption_after_the_end_changes_nothing(serve: Serve) -> None:
    """R26: the run had ended; its stream ends as one that was not cut."""
    cut = {"reason": "timeout", "at": AT.format(6), "tell": "abort"}
    async with serve() as peer:
        assert await peer.play("t", run_body(HELLO, turn={"interruption": cut})) == await peer.play(
            "u", run_body(HELLO)
        )
        assert (await peer.thread("t"))["turns"][0]["completion_status"] == "complete"


async def test_a_model_that_falls_silent_for_good_is_an_error(serve: Serve) -> None:
    """Events that stop without a result, a hold or an interruption: both sides have `error`."""
    async with serve() as peer:
        assert (await peer.play("t", run_body(TOOL_CALL))).endswith(aborted("error"))
        assert await interruption(peer) == {"reason": "error", "interrupted_at": AT.format(3)}


async def test_shutting_down_ends_every_run(serve: Serve) -> None:
    """Streams end with `error`, and nothing is begun any more."""
    async with serve() as peer, peer.post("/threads/t/runs", run_body(TOOL_CALL, **HELD)) as answer:
        await peer.until(answer, b": tp 3\n\n")
        await peer.app.stop()
        assert await peer.rest(answer) == aborted("error")
        assert (await peer.answer("POST", "/threads/u/runs", run_body(HELLO)))[0] == 503
