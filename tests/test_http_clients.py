"""The ASGI transport that streams, and the clients that record what they receive."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from tpharness import UsageError, assert_same_thread, fold
from tpharness.errors import TargetError
from tpharness.http_clients import ASGITransport, AsyncRecordingClient, ReceivedStream, RecordingClient

PIECES = [
    b'data: {"type":"start"}\n\ndata: {"type":"start-step"}\n\n',
    b'data: {"type":"text-start","id":"1"}\n\n',
    b'data: {"type":"text-delta","id":"1","delta":"It is "}\n\n',
    b'data: {"type":"text-delta","id":"1","delta":"warm."}\n\n',
    b'data: {"type":"text-end","id":"1"}\n\n',
    b'data: {"type":"finish-step"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n',
]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Chat:
    """A chat that writes down which pieces it has made, and how each answer ended."""

    def __init__(self) -> None:
        self.made: list[bytes] = []
        self.ends: list[str] = []
        self.app = Starlette(routes=[Route("/chat", self.chat, methods=["POST"]), Route("/state", self.state)])

    async def chat(self, request: Request) -> StreamingResponse:
        text = (await request.json())["text"]

        async def answer() -> Any:
            whole = False
            try:
                for piece in PIECES:
                    await asyncio.sleep(0)  # for the model
                    self.made.append(piece)
                    yield piece
                whole = True
            finally:
                self.ends.append(f"{text}: {'whole' if whole else 'stopped'}")

        return StreamingResponse(answer(), media_type="text/event-stream")

    async def state(self, _: Request) -> JSONResponse:
        return JSONResponse({"ends": self.ends})


def client_of(app: Any, **options: Any) -> AsyncRecordingClient:
    """Return a client of an ASGI application."""
    return AsyncRecordingClient(transport=ASGITransport(app), base_url="http://test", **options)


@pytest.mark.asyncio
async def test_a_reader_that_leaves_stops_the_application_there() -> None:
    """The application is asked for no more than one piece beyond what the reader took, and hears of the leave."""
    chat = Chat()
    async with client_of(chat.app) as client:
        async with client.stream("POST", "/chat", json={"text": "Hi"}) as response:
            received = []
            async for piece in response.aiter_raw():
                received.append(piece)
                if len(received) == 3:
                    break
        await client.application_ended()
        assert received == PIECES[:3]
        assert chat.made == PIECES[: len(chat.made)]
        assert len(chat.made) in (3, 4)
        assert chat.ends == ["Hi: stopped"]
        assert (await client.get("/state")).json() == {"ends": ["Hi: stopped"]}
    assert client.received[0].ended == "left"
    left = fold("Hi", client.received[0].data, interrupted="user_cancelled")
    assert [turn["turn_type"] for turn in left.thread["turns"]] == ["user"]


@pytest.mark.asyncio
async def test_a_whole_answer_folds_as_its_bytes_do() -> None:
    """What the client recorded is what was sent, byte by byte."""
    async with client_of(Chat().app) as client:
        answer = await client.post("/chat", json={"text": "Hi"})
    one = client.received[0]
    assert (one.url, one.status, one.ended, one.data) == ("http://test/chat", 200, "complete", b"".join(PIECES))
    assert answer.content == one.data
    assert_same_thread(fold("Hi", one.data), fold("Hi", b"".join(PIECES)))


@pytest.mark.asyncio
async def test_the_lifespan_runs_around_the_client() -> None:
    """Start before the first request, end after the last answer."""
    said = []

    async def app(scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Send) -> None:
        if scope["type"] == "lifespan":
            while (message := (await receive())["type"]) in ("lifespan.startup", "lifespan.shutdown"):
                said.append(message)
                await send({"type": f"{message}.complete"})
                if message == "lifespan.shutdown":
                    return
        said.append("request")
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    async with client_of(app) as client:
        assert (await client.get("/")).status_code == 204
    assert said == ["lifespan.startup", "request", "lifespan.shutdown"]


@pytest.mark.asyncio
async def test_a_start_that_fails_is_reported() -> None:
    """With the application's own words."""

    async def app(_: dict[str, Any], receive: Any, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(TargetError, match="the startup of the application failed: no database"):
        async with client_of(app):
            pass


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("sent", "raised", "words"),
    [
        (0, ValueError, "broken"),
        (1, ValueError, "broken"),
        (None, httpx.RemoteProtocolError, "without an answer"),
        (-1, httpx.RemoteProtocolError, "in the middle of its answer"),
        (-2, TargetError, "before http.response.start"),
        (-3, TargetError, "after its answer was complete"),
        (-4, TargetError, "websocket.send, which this transport does not know"),
    ],
)
async def test_what_the_application_does_wrong_is_raised(sent: int | None, raised: type[Exception], words: str) -> None:
    """An error before the answer by the request, one within it by its reading; nothing hangs."""

    async def app(scope: dict[str, Any], _: Any, send: Send) -> None:
        if scope["type"] == "lifespan":
            raise NotImplementedError
        if sent is None:
            return
        if sent == -4:
            await send({"type": "websocket.send"})
        if sent not in (-2, 0):
            await send({"type": "http.response.start", "status": 200})
        if sent != 0:
            await send({"type": "http.response.body", "body": b"x", "more_body": sent in (1, -1)})
        if sent == -3:
            await send({"type": "http.response.body", "body": b"y"})
        if sent in (0, 1):
            raise ValueError("broken")

    client = client_of(app)
    with pytest.raises(raised, match=words):  # by the request, its reading, or the end of the client
        async with client:
            await client.get("/")
    assert [one.ended for one in client.received] in ([], ["broken"], ["complete"])


@pytest.mark.asyncio
async def test_the_request_reaches_the_application() -> None:
    """Path, query, headers, body."""
    seen: dict[str, Any] = {}

    async def echo(request: Request) -> JSONResponse:
        seen.update(
            path=request.url.path, query=dict(request.query_params), header=request.headers["x-user"],
            body=await request.body(), encoding=request.headers["accept-encoding"],
        )  # fmt: skip
        return JSONResponse({})

    app = Starlette(routes=[Route("/a b", echo, methods=["PUT"])])
    async with client_of(app) as client:
        await client.put("/a%20b", params={"q": "1"}, headers={"x-user": "u"}, content=b"hello")
    assert seen == {"path": "/a b", "query": {"q": "1"}, "header": "u", "body": b"hello", "encoding": "identity"}


def test_the_plain_client_records_too() -> None:
    """Whole, left, broken and compressed answers are told apart."""

    def answer(request: httpx.Request) -> httpx.Response:
        def broken() -> Any:
            yield b"a"
            raise httpx.ReadError("connection reset")

        headers = {"content-encoding": "br"} if request.url.path == "/packed" else {}
        content = broken() if request.url.path == "/broken" else iter([b"a", b"b"])
        return httpx.Response(200, content=content, headers=headers)

    with RecordingClient(transport=httpx.MockTransport(answer), base_url="http://test") as client:
        assert client.get("/whole").content == b"ab"
        with client.stream("GET", "/left") as response:
            assert next(response.iter_raw()) == b"a"
        with pytest.raises(httpx.ReadError):
            client.get("/broken")
        with client.stream("GET", "/packed") as response:
            list(response.iter_raw())
    whole, left, broken, packed = client.received
    assert [(one.ended, one.data) for one in (whole, left, broken)] == [
        ("complete", b"ab"),
        ("left", b"a"),
        ("broken", b"a"),
    ]
    with pytest.raises(UsageError, match="is compressed"):
        _ = packed.data


@pytest.mark.asyncio
async def test_a_server_over_http_does_not_say_when_it_has_ended() -> None:
    """The hint names the transport that does."""
    async with AsyncRecordingClient(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as client:
        with pytest.raises(UsageError, match="needs an ASGITransport"):
            await client.application_ended()
    assert ReceivedStream(url="", status=200).data == b""
