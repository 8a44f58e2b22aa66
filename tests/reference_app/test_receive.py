"""The client's role: streams from hand-written servers, each end told by the client itself."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from tests.reference_app.peer import AGENTS, AT, Peer, Serve, user_turn

from tpharness.reference_app import Settings

pytestmark = pytest.mark.asyncio

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
CYCLE = (
    b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\n'
    b'data: {"type":"tool-input-start","toolCallId":"c1","toolName":"get"}\n\n'
    b'data: {"type":"tool-input-available","toolCallId":"c1","toolName":"get","input":{"q":1}}\n\n'
    b'data: {"type":"tool-output-available","toolCallId":"c1","output":"sunny"}\n\ndata: {"type":"finish-step"}\n\n'
)
HALF = b'data: {"type":"start-step"}\n\ndata: {"type":"text-start","id":"1"}\n\n'
HELLO = (
    b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\ndata: {"type":"text-start","id":"1"}\n\n'
    b'data: {"type":"text-delta","id":"1","delta":"Hello"}\n\ndata: {"type":"text-end","id":"1"}\n\n'
    b'data: {"type":"finish-step"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
)

Answer = Callable[[bytes, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@contextlib.asynccontextmanager
async def streaming(*answers: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve raw answers, one for each connection, the last for all that follow; give the URL and the requests."""
    requests: list[bytes] = []
    over: list[asyncio.Task[Any]] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        over.append(task)
        try:
            request = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        requests.append(request)
        answer = answers[min(len(requests), len(answers)) - 1]
        try:
            with contextlib.suppress(ConnectionError):
                await answer(request, writer)
                await writer.drain()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/s", requests
    finally:
        server.close()
        for task in over:
            task.cancel()
        await asyncio.gather(*over, return_exceptions=True)


def sends(*pieces: bytes, then: Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]] | None = None) -> Answer:
    """Return an answer that sends pieces and ends, or does something else then."""

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        del request
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if then is not None:
            await then(writer)

    return answer


async def forever(writer: asyncio.StreamWriter) -> None:
    """Say nothing more and do not close."""
    del writer
    await asyncio.Event().wait()


async def comments(writer: asyncio.StreamWriter) -> None:
    """Send heartbeats for three limits of 0.1 seconds, and then nothing."""
    for _ in range(30):
        writer.write(b": keep-alive\n\n")
        await writer.drain()
        await asyncio.sleep(0.01)
    await forever(writer)


async def comments_and_the_rest(writer: asyncio.StreamWriter) -> None:
    """Send heartbeats for three limits of 0.1 seconds, and then the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.3):
            await comments(writer)
    writer.write(HELLO)
    await writer.drain()


async def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection with RST."""
    writer.transport.abort()


def case(url: str, *, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a `receiveRequest` with one stream."""
    end = {"at": AT.format(8), **({"reason": reason} if reason else {})}
    stream = {"turn_type": "agent", "agent_id": "a", "begun_at": AT.format(1), "url": url, "end": end, **more}
    return {
        "thread_id": "t",
        "created_at": AT.format(0),
        "agents": AGENTS,
        "versions": ["0.0.4"],
        "turns": [user_turn("Hi"), stream],
    }


async def received(peer: Peer, body: dict[str, Any]) -> Any:
    """Receive and return the 0.0.4 thread's turns after the user's."""
    status, told = await peer.answer("POST", "/receive", body)
    assert status == 200, told
    assert list(told) == ["threads"]
    turns = told["threads"]["0.0.4"]["turns"]
    assert turns[0] == user_turn("Hi")
    return turns[1:]


async def test_a_whole_stream_becomes_a_complete_turn(serve: Serve) -> None:
    """What arrives has the time of the stream's beginning, since nothing says better."""
    async with serve() as peer, streaming(sends(HEAD, HELLO)) as (url, requests):
        turns = await received(peer, case(url))
    assert turns == [
        {
            "turn_type": "agent",
            "agent_id": "a",
            "started_at": AT.format(1),
            "completed_at": AT.format(1),
            "completion_status": "complete",
            "messages": [
                {
                    "message_type": "response",
                    "timestamp": AT.format(1),
                    "agent_id": "a",
                    "parts": [{"part_kind": "text", "content": "Hello"}],
                }
            ],
        }
    ]
    assert requests[0].startswith(b"GET /s HTTP/1.1\r\n")
    assert b"accept: text/event-stream" in requests[0].lower()


async def test_cookies_of_one_case_are_not_sent_in_the_next(serve: Serve) -> None:
    """Each case begins alike; what a server remembers of the one before must not decide this one."""
    head = HEAD[:-2] + b"Set-Cookie: chat=of-the-first; Path=/\r\n\r\n"
    async with serve() as peer, streaming(sends(head, HELLO)) as (url, requests):
        for _ in range(2):
            await received(peer, case(url.replace("127.0.0.1", "localhost")))
    assert len(requests) == 2
    assert not [request for request in requests if b"cookie" in request.lower()]


async def test_a_client_waits_a_little_longer_than_the_guide_lets_a_server_be_silent() -> None:
    """35 seconds against 30, so that it is told of a timeout of the server; heartbeats come every 15."""
    defaults = Settings()
    assert (defaults.client_seconds, defaults.heartbeat) == (35.0, 15.0)


async def test_a_silent_stream_is_kept_while_heartbeats_arrive(serve: Serve) -> None:
    """R55: the limit is for a stream on which nothing arrives, so a tool may take its time."""
    async with serve() as peer, streaming(sends(HEAD, then=comments_and_the_rest)) as (url, _):
        turns = await received(peer, case(url, limits={"stream_seconds": 0.1}))
    assert [turn["completion_status"] for turn in turns] == ["complete"]


async def test_a_stream_is_left_when_its_asker_has_left(serve: Serve) -> None:
    """It was read for as long as heartbeats came, for nobody."""
    opened, closed = asyncio.Event(), asyncio.Event()

    async def beat(request: bytes, writer: asyncio.StreamWriter) -> None:
        del request
        writer.write(HEAD + HALF)
        opened.set()
        try:
            while True:
                writer.write(b": keep-alive\n\n")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            closed.set()

    async with streaming(beat) as (url, requests), serve() as peer:
        asking = asyncio.create_task(peer.answer("POST", "/receive", case(url)))
        async with asyncio.timeout(5):
            await opened.wait()
        asking.cancel()
        async with asyncio.timeout(5):
            await closed.wait()
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("answer", "more", "reason", "at"),
    [
        (sends(HEAD, CYCLE, HALF), {}, "network_failure", AT.format(8)),
        (sends(HEAD, CYCLE, HALF, then=reset), {}, "network_failure", AT.format(8)),
        (sends(HEAD, CYCLE, HALF, b'data: {"type":"fin'), {}, "network_failure", AT.format(8)),
        (sends(HEAD, CYCLE, HALF, b": tp stop\n\n", then=forever), {}, "user_cancelled", AT.format(8)),
        (
            sends(HEAD, CYCLE, HALF, b": tp", b" st", b"op\r\n\r\n" + HELLO, then=forever),
            {},
            "user_cancelled",
            AT.format(8),
        ),
        (sends(HEAD, CYCLE, HALF, then=forever), {"limits": {"stream_seconds": 0.3}}, "timeout", AT.format(8)),
        (sends(HEAD, CYCLE, HALF, then=comments), {"limits": {"stream_seconds": 0.3}}, "timeout", AT.format(8)),
        (sends(HEAD, CYCLE, HALF), {"reason": "safety_halt"}, "safety_halt", AT.format(8)),
        (
            sends(HEAD, CYCLE, b'data: {"type":"abort","reason":"timeout"}\n\n', then=forever),
            {"limits": {"stream_seconds": 0.3}},
            "timeout",
            AT.format(1),
        ),
    ],
    ids=["fin", "reset", "inside-a-chunk", "stop", "stop-in-pieces", "silence", "heartbeats", "told", "abort"],
)
async def test_the_client_tells_each_end_by_itself(
    serve: Serve, answer: Answer, more: dict[str, Any], reason: str, at: str
) -> None:
    """The cycle stays, the half response goes, and the interruption is as observed, at the time that counts."""
    async with serve() as peer, streaming(answer) as (url, _):
        turns = await received(peer, case(url, **{"limits": {"stream_seconds": 30}, **more}))
    assert len(turns) == 1
    assert turns[0]["completion_status"] == "interrupted"
    assert turns[0]["interruption"]["reason"] == reason
    assert [m["message_type"] for m in turns[0]["messages"]] == ["response", "request"]
    assert turns[0]["interruption"]["interrupted_at"] == at


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"",
    ],
)
async def test_what_is_no_stream_begins_no_turn(serve: Serve, head: bytes) -> None:
    """Statuses, redirections and other protocols: the thread has what the user said."""
    async with serve() as peer, streaming(sends(head)) as (url, requests):
        assert await received(peer, case(url)) == []
        assert len(requests) == 1 or not head  # aiohttp asks again by itself where it gets no byte


async def test_a_server_that_does_not_listen_begins_no_turn(serve: Serve) -> None:
    """The port was free a moment ago."""
    async with streaming(sends()) as (url, _):
        pass
    async with serve() as peer:
        assert await received(peer, case(url)) == []


async def test_a_stream_with_ids_is_resumed(serve: Serve) -> None:
    """The rest is asked for after the last id; frames that come twice count once (R31)."""
    frames = [b"id: f%d\n%b\n\n" % (n, f) for n, f in enumerate(HELLO.split(b"\n\n")[:-1])]
    first = sends(HEAD, b"".join(frames[:4]), frames[4][:9], then=reset)
    second = sends(HEAD, b"".join(frames[2:]))
    async with serve() as peer, streaming(first, second) as (url, requests):
        turns = await received(peer, case(url))
    assert [b"last-event-id: f3\r\n" in r.lower() for r in requests] == [False, True]
    assert turns[0]["completion_status"] == "complete"
    assert turns[0]["messages"][0]["parts"] == [{"part_kind": "text", "content": "Hello"}]


async def test_a_stream_that_cannot_be_resumed_is_a_network_failure(serve: Serve) -> None:
    """204 says that nothing is left; a server that only breaks off is asked three times more."""
    ids = CYCLE.replace(b"data:", b"id: x\ndata:", 1) + HALF
    gone = sends(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with serve() as peer:
        for answers, asked in (((sends(HEAD, ids), gone), 2), ((sends(HEAD, ids), sends(HEAD)), 4)):
            async with streaming(*answers) as (url, requests):
                turns = await received(peer, case(url))
                assert turns[0]["interruption"]["reason"] == "network_failure"
                assert len(requests) == asked


async def test_streams_may_come_as_packets(serve: Serve) -> None:
    """Text or base64, with the times at which they arrive."""
    packets = [
        {"data": HELLO[:100].decode(), "at": AT.format(2)},
        {"data_base64": "", "at": AT.format(2)},
        {"data": HELLO[100:].decode(), "at": AT.format(4)},
    ]
    body = case("")
    del body["turns"][1]["url"]
    body["turns"][1]["packets"] = packets
    async with serve() as peer:
        turns = await received(peer, body)
        assert turns[0]["completed_at"] == AT.format(4)
        body["turns"][1]["packets"] = [{"data_base64": "%%%%a", "at": AT.format(2)}]
        status, told = await peer.answer("POST", "/receive", body)
        assert (status, "/turns/1/packets" in told["error"]["message"]) == (422, True)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/", "/relative", "http://", "http://[::1"])
async def test_only_http_urls_are_listened_to(serve: Serve, url: str) -> None:
    """422 with the place."""
    async with serve() as peer:
        status, told = await peer.answer("POST", "/receive", case(url))
        assert (status, "/turns/1/url" in told["error"]["message"]) == (422, True)


async def test_an_endless_stream_ends_at_the_limit(serve: Serve) -> None:
    """What has arrived stands; the rest is a failure of the network."""

    async def more(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b'data: {"type":"data-app-x","data":1,"transient":true}\n\n' * 100)
            await writer.drain()

    async with serve(Settings(max_stream=100_000)) as peer, streaming(sends(HEAD, CYCLE, then=more)) as (url, _):
        turns = await received(peer, case(url))
    assert turns[0]["interruption"]["reason"] == "network_failure"


async def test_adopting_takes_the_servers_threads(serve: Serve) -> None:
    """R32: after a loss the client holds what it fetched."""
    thread = {"version": "0.0.4", "thread_id": "t", "turns": [user_turn("Hi")]}
    async with serve() as peer:
        told = await peer.answer("POST", "/adopt", {"threads": {"0.0.4": thread}})
    assert told == (200, {"threads": {"0.0.4": thread}})


@pytest.mark.parametrize(
    ("changed", "sent", "refused"),
    [
        ({}, b"content", None),
        ({"hash": None, "size_bytes": None}, b"anything", None),
        ({}, b"contenT", "its bytes have the hash sha256:"),
        ({"size_bytes": 8}, b"content", "it has 7 bytes"),
        ({"hash": "md5:9a0364b9e99bb480dd25e1f0284c8555"}, b"content", "its bytes have the hash sha256:"),
    ],
)
async def test_a_content_is_given_out_if_its_reference_names_it(
    serve: Serve, changed: dict[str, Any], sent: bytes, refused: str | None
) -> None:
    """R56: hash and size are compared; what the reference does not name is not."""
    named = {"uri": "s3://b/k", "hash": hashlib.sha256(b"content").hexdigest(), "size_bytes": 7, **changed}
    data = base64.b64encode(sent).decode()
    async with serve() as peer:
        status, told = await peer.answer("POST", "/resolve", {"content_ref": named, "data_base64": data})
    assert status == 200
    if refused is None:
        assert told == {"data_base64": data}
    else:
        assert list(told) == ["refused"]
        assert told["refused"].startswith(refused)


def referring(uri: str, data: bytes) -> bytes:
    """Return a stream whose tool return is a reference."""
    ref = {"uri": uri, "hash": f"sha256:{hashlib.sha256(data).hexdigest()}", "size_bytes": len(data)}
    carrier = {"type": "data-sys-tp", "data": {"tool_return": {"content_ref": ref}}, "transient": True}
    told = b"data: " + json.dumps(carrier).encode() + b"\n\n"
    at = CYCLE.index(b'data: {"type":"tool-output')
    return CYCLE[:at] + told + CYCLE[at:] + b'data: {"type":"finish"}\n\ndata: [DONE]\n\n'


async def test_what_a_reference_names_is_not_fetched(serve: Serve) -> None:
    """Unless its host is allowed, the client does not even connect; and of http only this machine."""
    for allowed in ((), ("elsewhere.example",), ("127.0.0.1:1",)):
        async with (
            serve(Settings(allow_content=allowed)) as peer,
            streaming(sends(b"")) as (target, asked),
            streaming(sends(HEAD, referring(target, b"content"))) as (url, _),
        ):
            status, told = await peer.answer("POST", "/receive", case(url))
            assert status == 200
            part = told["threads"]["0.0.4"]["turns"][1]["messages"][1]["parts"][0]
            assert part["content_ref"]["uri"] == target
            assert "content" not in part
            assert told.get("contents", []) == []
            assert asked == []


@pytest.mark.parametrize(("sent", "verified"), [(b"content", True), (b"contenT", False), (b"content, longer", False)])
async def test_what_may_be_fetched_is_verified(serve: Serve, sent: bytes, verified: bool) -> None:
    """The bytes are held against hash and size."""
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(sent)
    async with serve(Settings(allow_content=("127.0.0.1",))) as peer, streaming(sends(head, sent)) as (target, asked):
        async with streaming(sends(HEAD, referring(target, b"content"))) as (url, _):
            _, told = await peer.answer("POST", "/receive", case(url))
        assert len(asked) == 1
    assert [(c["uri"], c["verified"]) for c in told["contents"]] == [(target, verified)]
    assert ("why" in told["contents"][0]) is not verified
