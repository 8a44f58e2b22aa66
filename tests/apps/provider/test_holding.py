"""Answers that wait, that fail and that are left: what the exchange says is what happened on the connection."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import aiohttp
import pytest
from tests.apps.provider.asking import APIS, Asker, asking, body_of, events, user

from tpharness.apps.provider.exchange import Exchange, ExchangeOutcome, WaitError
from tpharness.errors import TargetError, UsageError
from tpharness.model_apis.plan import Break, Call, Plan, Text, Thinking
from tpharness.model_apis.registry import ApiName

PIECES = ("One ", "two ", "three ", "four")
ANSWER = (Text(pieces=PIECES),)


def run(asked: Any, **options: Any) -> None:
    """Run a test on a provider of its own, for at most 20 seconds."""

    async def limited() -> None:
        async with asyncio.timeout(20), asking(**options) as asker:
            await asked(asker)

    asyncio.run(limited())


async def started(asker: Asker, api: ApiName, plan: Plan) -> tuple[asyncio.Task[tuple[int, bytes]], Exchange]:
    """Ask in the background, and return the task with the exchange."""
    asker.conversation.plans([plan])
    task = asyncio.create_task(asker.read(api, body_of(api, [user(api)])))
    return task, await asker.conversation.next_exchange(5)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", range(5))
def test_a_held_answer_has_written_its_pieces_and_goes_on_when_released(api: ApiName, place: int) -> None:
    """What was written has left us: it can be read while the answer waits."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, hold_at=place)])
        async with asker.post(api, body_of(api, [user(api)])) as answer:
            exchange = await asker.conversation.next_exchange(5)
            await exchange.held(5)
            assert (exchange.outcome, exchange.pieces_written, exchange.ended_at) == (ExchangeOutcome.HELD, place, None)
            seen = b""
            while len(seen) < exchange.bytes_written:
                seen += await answer.content.readany()
            assert len(seen) == exchange.bytes_written
            for piece in PIECES[:place]:
                assert piece.encode() in seen
            for piece in PIECES[place:]:
                assert piece.encode() not in seen
            exchange.release()
            rest = await answer.read()
            assert await exchange.ended(5) is ExchangeOutcome.COMPLETED
            assert len(seen) + len(rest) == exchange.bytes_written
            for piece in PIECES[place:]:
                assert piece.encode() in rest

    run(asked)


def test_an_answer_may_hold_again_where_it_is_released_to() -> None:
    """So that a case can walk through an answer piece by piece."""

    async def asked(asker: Asker) -> None:
        task, exchange = await started(asker, "openai-chat", Plan(items=ANSWER, hold_at=0))
        for place in range(1, 5):
            await exchange.held(5)
            exchange.release(hold_at=place)
            await asyncio.sleep(0)
            await exchange.held(5)
            assert exchange.pieces_written == place
        exchange.release()
        await task
        assert exchange.outcome is ExchangeOutcome.COMPLETED

    run(asked)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_an_application_that_leaves_is_noticed_at_once(api: ApiName, place: int) -> None:
    """While the answer holds, nothing is written that would show it."""

    async def asked(asker: Asker) -> None:
        task, exchange = await started(asker, api, Plan(items=ANSWER, hold_at=place))
        await exchange.held(5)
        left = asyncio.get_running_loop().time()
        task.cancel()
        assert await exchange.ended(5) is ExchangeOutcome.DISCONNECTED
        assert exchange.ended_at is not None
        assert 0 <= exchange.ended_at - left < 1
        assert exchange.pieces_written == place

    run(asked)


def test_an_application_that_leaves_while_pieces_are_written_is_noticed_too() -> None:
    """Long before the end of a long answer that nobody reads."""

    async def asked(asker: Asker) -> None:
        pieces = ("x" * 10_000,) * 3000
        asker.conversation.plans([Plan(items=(Text(pieces=pieces),))])
        answer = await asker.post("openai-chat", body_of("openai-chat", [user("openai-chat")]))
        exchange = await asker.conversation.next_exchange(5)
        await answer.content.readany()
        answer.close()
        assert await exchange.ended(5) is ExchangeOutcome.DISCONNECTED
        assert 0 < exchange.pieces_written < 3000

    run(asked)


def request_bytes() -> bytes:
    """Return a request as it is sent through a socket."""
    body = json.dumps(body_of("openai-chat", [user("openai-chat")])).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def test_an_application_that_leaves_between_two_pieces_is_not_reported_as_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The connection closes during the first piece, and the second is written before the request is cancelled."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, hold_at=0)])
        with socket.create_connection(("127.0.0.1", asker.provider.port)) as connection:
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_sendall(connection, request_bytes())
            exchange = await asker.conversation.next_exchange(5)
            await exchange.held(5)
            connection.shutdown(socket.SHUT_WR)
            exchange.release()
            assert await exchange.ended(5) is ExchangeOutcome.DISCONNECTED

    run(asked)
    assert caplog.records == []


@pytest.mark.parametrize("api", APIS)
def test_a_stalled_answer_is_silent_until_it_is_released(api: ApiName) -> None:
    """Then it ends without the API's last events."""

    async def asked(asker: Asker) -> None:
        plan = Plan(items=ANSWER, breaks=Break.STALL, break_at=2)
        task, exchange = await started(asker, api, plan)
        await exchange.held(5)
        assert exchange.pieces_written == 2
        assert not task.done()
        exchange.release()
        _, data = await task
        assert exchange.outcome is ExchangeOutcome.BROKEN
        assert b"two" in data
        assert b"three" not in data
        task, exchange = await started(asker, api, plan)
        await exchange.held(5)
        task.cancel()
        assert await exchange.ended(5) is ExchangeOutcome.DISCONNECTED

    run(asked)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", range(5))
def test_a_reset_comes_after_everything_that_was_written(api: ApiName, place: int) -> None:
    """A client that reads gets every byte, and then an error of its connection."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, breaks=Break.RESET, break_at=place)])
        seen = b""
        answer = await asker.post(api, body_of(api, [user(api)]))
        error: Exception | None = None
        try:
            while piece := await answer.content.readany():
                seen += piece
        except aiohttp.ClientError as failure:
            error = failure
        answer.close()
        assert error is not None, "the body came to an end"
        exchange = await asker.conversation.next_exchange(5)
        assert await exchange.ended(5) is ExchangeOutcome.BROKEN
        assert len(seen) == exchange.bytes_written
        assert (exchange.pieces_written, [p for p in PIECES if p.encode() in seen]) == (place, list(PIECES[:place]))

    run(asked)


async def read_to_end(connection: socket.socket, seen: bytearray) -> None:
    """Read a socket until it ends or fails."""
    while piece := await asyncio.get_running_loop().sock_recv(connection, 1 << 16):
        seen += piece


def test_a_reset_waits_for_an_application_that_reads_late() -> None:
    """What the system still holds for it would be lost with the connection."""

    async def asked(asker: Asker) -> None:
        pieces = (*("x" * 100_000 for _ in range(9)), "the last piece")
        asker.conversation.plans([Plan(items=(Text(pieces=pieces),), hold_at=10, breaks=Break.RESET, break_at=10)])
        with socket.create_connection(("127.0.0.1", asker.provider.port)) as connection:
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_sendall(connection, request_bytes())
            exchange = await asker.conversation.next_exchange(5)
            await exchange.held(5)
            exchange.release()
            await asyncio.sleep(0.05)  # it would have been reset by now
            seen = bytearray()
            with pytest.raises(ConnectionResetError):
                await read_to_end(connection, seen)
        assert b"the last piece" in seen
        assert seen.count(b"x" * 100_000) == 9
        assert exchange.outcome is ExchangeOutcome.BROKEN

    run(asked)


LAST = {
    "openai-chat": "[DONE]",
    "openai-responses": "response.completed",
    "anthropic": "message_stop",
    "ollama": "done_reason",
    "gemini": "STOP",
    "bedrock": "messageStop",
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", range(5))
def test_an_end_is_an_ordinary_end_of_the_body_without_the_last_events(api: ApiName, place: int) -> None:
    """As a proxy leaves a stream that it gives up; every event that is there is whole."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, breaks=Break.END, break_at=place), Plan(items=ANSWER)])
        status, data = await asker.read(api, body_of(api, [user(api)]))
        assert status == 200
        assert LAST[api] not in str(events(data))
        assert asker.conversation.exchanges[0].outcome is ExchangeOutcome.BROKEN
        _, whole = await asker.read(api, body_of(api, [user(api, "[tp:m1] again")]))
        assert LAST[api] in str(events(whole))

    run(asked)


ERRORS: dict[ApiName, tuple[str, Any]] = {
    "openai-chat": ("", {"error": {"message": "no", "type": "server_error", "param": None, "code": None}}),
    "anthropic": ("error", {"type": "error", "error": {"type": "api_error", "message": "no"}}),
    "ollama": ("", {"error": "no"}),
    "gemini": ("", {"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}}),
    "bedrock": (
        "modelStreamErrorException",
        {"message": "no", "originalStatusCode": 500, "originalMessage": "no"},
    ),
}


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_an_error_in_the_stream_is_the_api_s_last_event(api: ApiName, place: int) -> None:
    """Responses tell it twice, as `error` and as `response.failed`."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, breaks=Break.ERROR, break_at=place, error_text="no")])
        _, data = await asker.read(api, body_of(api, [user(api)]))
        found = events(data)
        if api == "openai-responses":
            assert [name for name, _ in found[-2:]] == ["error", "response.failed"]
            assert found[-2][1]["error"]["message"] == found[-1][1]["response"]["error"]["message"] == "no"
        else:
            assert found[-1] == ERRORS[api]
        assert asker.conversation.exchanges[0].outcome is ExchangeOutcome.BROKEN

    run(asked)


@pytest.mark.parametrize("api", APIS)
def test_a_status_may_be_slow(api: ApiName) -> None:
    """Nothing comes before it, not even headers."""

    async def asked(asker: Asker) -> None:
        task, exchange = await started(asker, api, Plan(breaks=Break.STATUS, status=529, hold_at=0, error_text="no"))
        await exchange.held(5)
        assert exchange.status == 0
        exchange.release()
        status, data = await task
        assert status == exchange.status == 529
        assert (b'"error":"no"' if api == "ollama" else b'"message":"no"') in data

    run(asked)


# ------------------------------------------------------------------------------------------- without streaming


@pytest.mark.parametrize("breaks", [Break.RESET, Break.END, Break.STALL])
def test_without_streaming_a_failing_answer_has_no_body(breaks: Break) -> None:
    """The connection is closed, or nothing comes."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=ANSWER, breaks=breaks)])
        body = {**body_of("anthropic", [user("anthropic")]), "stream": False}
        task = asyncio.create_task(asker.read("anthropic", body))
        exchange = await asker.conversation.next_exchange(5)
        if breaks is Break.STALL:
            await exchange.held(5)
            exchange.release()
        with pytest.raises(aiohttp.ClientError):
            await task
        assert exchange.outcome is ExchangeOutcome.BROKEN
        assert exchange.bytes_written == 0

    run(asked)


# ------------------------------------------------------------------------------------------- waits and their limits


def test_every_wait_says_what_it_waited_for() -> None:
    """Nobody waits for ever, and nobody guesses for what."""

    async def asked(asker: Asker) -> None:
        with pytest.raises(WaitError, match=r"waited 0.01 s for request 1 of \[tp:m1\] to the model"):
            await asker.conversation.next_exchange(0.01)
        task, exchange = await started(asker, "openai-chat", Plan(items=ANSWER, hold_at=1))
        await exchange.held(5)
        with pytest.raises(WaitError, match=r"request 1 of .*waited 0.01 s .* it is held after 1 piece"):
            await exchange.ended(0.01)
        exchange.release()
        await task
        with pytest.raises(WaitError, match=r"waited until its answer holds, but it is over: completed"):
            await exchange.held(5)

    run(asked)


def test_a_request_that_was_not_counted_is_named() -> None:
    """An application without tools is taken for a title request, and that has to be found quickly."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([Plan(items=(Call(call_id="c", name="book_hotel", pieces=("{}",)),))])
        await asker.read("openai-chat", {"messages": [user("openai-chat")], "stream": True})
        with pytest.raises(WaitError, match="it has no tools, and the plan calls one"):
            await asker.conversation.next_exchange(0.01)

    run(asked)


def test_leaving_the_provider_ends_what_is_open() -> None:
    """A case that fails in between leaves no task and no wait behind."""

    async def asked() -> Exchange:
        async with asking() as asker:
            task, exchange = await started(asker, "gemini", Plan(items=ANSWER, hold_at=1))
            await exchange.held(5)
            await asker.provider.__aexit__()
            with pytest.raises(aiohttp.ClientError):
                await task
        return exchange

    exchange = asyncio.run(asyncio.wait_for(asked(), 10))
    assert exchange.outcome is ExchangeOutcome.ERRORED


def test_a_port_that_is_taken_is_an_error_with_a_hint() -> None:
    """And nothing is left open."""

    async def asked(asker: Asker) -> None:
        with pytest.raises(TargetError, match=f"cannot listen on 127.0.0.1:{asker.provider.port}"):
            async with asking(port=asker.provider.port):
                pass

    run(asked)


# ------------------------------------------------------------------------------------------------------ plans


def test_a_plan_knows_what_was_said_after_each_piece() -> None:
    """The truth that checks compare with."""
    call = Call(call_id="c", name="f", pieces=("{", "}"))
    plan = Plan(items=(Thinking(pieces=("a", "b")), Text(pieces=("c",)), call))
    said = [
        (plan.thinking_until(k), plan.text_until(k), ["".join(c.pieces) for c in plan.calls_until(k)]) for k in range(6)
    ]
    assert said == [
        ("", "", []),
        ("a", "", []),
        ("ab", "", []),
        ("ab", "c", []),
        ("ab", "c", ["{"]),
        ("ab", "c", ["{}"]),
    ]
    assert (plan.piece_count, plan.text, plan.thinking, plan.reason.value) == (5, "c", "ab", "tool_call")


WRONG: list[dict[str, Any]] = [
    {"hold_at": 5},
    {"hold_at": -1},
    {"breaks": Break.RESET, "break_at": 5},
    {"breaks": Break.END, "break_at": 1, "hold_at": 2},
    {"breaks": Break.STATUS, "status": 200},
]


@pytest.mark.parametrize("fields", WRONG)
def test_a_plan_that_cannot_be_played_is_refused(fields: dict[str, Any]) -> None:
    """When it is made, not when it is played."""
    with pytest.raises(UsageError):
        Plan(items=ANSWER, **fields)
