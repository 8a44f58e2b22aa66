"""httpx for tests of a chat: an ASGI transport that streams, and clients that record the streams that they receive.

    async with AsyncRecordingClient(transport=ASGITransport(app), base_url="http://test") as client:
        async with client.stream("POST", "/chat", json={"text": "Hi"}) as response:
            async for piece in response.aiter_bytes():
                break  # Stop: the application gets `http.disconnect`
        await client.application_ended()
    thread = fold("Hi", client.received[-1].data, interrupted="user_cancelled")

httpx's own ASGI transport (0.28.1) runs the application to its end before it returns the response, so that nothing can
be left in the middle. Needs the extra `pytest`, and asyncio.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from tpharness.errors import TargetError, UsageError
from tpharness.extras import install_command

try:
    import httpx
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"{error.name} is not installed: the clients need it; type {install_command('pytest')}", name=error.name
    ) from error

__all__ = ["ASGITransport", "AsyncRecordingClient", "ReceivedStream", "RecordingClient"]

_Message = MutableMapping[str, Any]
_Application = Callable[
    [Any, Callable[[], Awaitable[_Message]], Callable[[_Message], Awaitable[None]]], Awaitable[None]
]


class ASGITransport(httpx.AsyncBaseTransport):
    """Calls an ASGI application for an `httpx.AsyncClient`, and hands on each piece of its answer as it is sent.

    The application goes on to its next piece once the reader has taken the last one, so that where a reader stops is
    where the application is. A reader that closes the response gives it `http.disconnect`; what it sends after that
    goes nowhere, as with uvicorn. Entering the client runs the application's lifespan, if it has one.

    What the application raises is raised where the client waits: by the request before its answer has begun, by the
    reading of the body afterwards. An application that ends its answer in the middle is an `httpx.RemoteProtocolError`.
    """

    def __init__(
        self, app: _Application, *, root_path: str = "", client: tuple[str, int] = ("127.0.0.1", 50000)
    ) -> None:
        self._app = app
        self._root_path = root_path
        self._client = client
        self._calls: list[_Call] = []
        self._lifespan: _Lifespan | None = None

    async def __aenter__(self) -> Self:
        """Run the start of the application's lifespan. TargetError where the application says that it failed."""
        self._lifespan = _Lifespan(self._app)
        await self._lifespan.start()
        return self

    async def aclose(self) -> None:
        """Wait until the application has ended every answer, then run the end of its lifespan."""
        await self.application_ended()
        if self._lifespan is not None:
            lifespan, self._lifespan = self._lifespan, None
            await lifespan.stop()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def application_ended(self) -> None:
        """Wait until no call of the application runs any more: what it does after a disconnect is then done.

        What it raised where nobody waited any more, after its answer or after a disconnect, is raised here.
        """
        while self._calls:
            await asyncio.wait([call.task for call in self._calls])
            ended, self._calls = self._calls, []
            for call in ended:
                call.raise_unseen()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response once it has begun; its body is read while the application sends it."""
        call = _Call(self._app, self._scope(request), request)
        self._calls.append(call)
        status, headers = await call.begun()
        return httpx.Response(status, headers=headers, stream=_Body(call))

    def _scope(self, request: httpx.Request) -> dict[str, Any]:
        path = request.url.raw_path.partition(b"?")[0]
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},  # as uvicorn: a send after a disconnect raises nothing
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": path,
            "query_string": request.url.query,
            "root_path": self._root_path,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "server": (request.url.host, request.url.port),
            "client": self._client,
            "extensions": {},
        }


class _Call:
    """One call of the application: what it receives, and what it has sent so far."""

    def __init__(self, app: _Application, scope: dict[str, Any], request: httpx.Request) -> None:
        self._request: AsyncIterator[bytes] | None = request.stream.__aiter__()  # type: ignore[union-attr]
        self._left = asyncio.Event()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._taken = asyncio.Event()
        self._begun: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = asyncio.get_running_loop().create_future()
        self._start: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._complete = False
        self._seen = False
        self.task = asyncio.create_task(self._run(app, scope))

    async def begun(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Return status and headers. What the application raised before it sent them is raised."""
        try:
            return await self._begun
        except asyncio.CancelledError:
            self.leave()
            raise

    def leave(self) -> None:
        """Disconnect: the application is given `http.disconnect`, and what it sends is dropped."""
        self._left.set()
        self._taken.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the pieces of the body as they are sent."""
        while (piece := await self._pieces.get()) is not None:
            yield piece
            self._taken.set()
        if not self._complete:
            await asyncio.wait([self.task])
            self.raise_unseen()
            raise httpx.RemoteProtocolError("the application ended in the middle of its answer")

    def raise_unseen(self) -> None:
        """Raise what the ended application raised, unless somebody was given it before."""
        raised = self.task.exception()
        if raised is not None and not self._seen:
            self._seen = True
            raise raised

    async def _run(self, app: _Application, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        except Exception as raised:
            if not self._begun.done():
                self._seen = True
                self._begun.set_exception(raised)
            raise
        finally:
            self._pieces.put_nowait(None)
        if not self._begun.done():
            self._begun.set_exception(httpx.RemoteProtocolError("the application ended without an answer"))

    async def _receive(self) -> _Message:
        if self._request is not None and not self._left.is_set():
            try:
                return {"type": "http.request", "body": await anext(self._request), "more_body": True}
            except StopAsyncIteration:
                self._request = None
                return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: _Message) -> None:
        if message["type"] == "http.response.start":
            self._start = (message["status"], list(message.get("headers", ())))
            return
        if message["type"] != "http.response.body" or self._complete:
            raise TargetError(
                f"the application sent {message['type']} after its answer was complete"
                if self._complete
                else f"the application sent {message['type']}, which this transport does not know",
                hint="an HTTP answer is http.response.start, then http.response.body until more_body is false",
            )
        if self._start is None:
            raise TargetError(
                "the application sent http.response.body before http.response.start",
                hint="send the status and the headers first",
            )
        if not self._begun.done():
            self._begun.set_result(self._start)
        self._complete = not message.get("more_body", False)
        body = message.get("body", b"")
        if body and not self._left.is_set():
            self._taken.clear()
            self._pieces.put_nowait(bytes(body))
            if self._complete:
                self._pieces.put_nowait(None)
            await self._taken.wait()
            return
        if self._complete:
            self._pieces.put_nowait(None)


class _Body(httpx.AsyncByteStream):
    """The body of a response; closing it before its end is leaving."""

    def __init__(self, call: _Call) -> None:
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._call.pieces():
            yield piece

    async def aclose(self) -> None:
        self._call.leave()


class _Lifespan:
    """The lifespan of an application, which runs in a task of its own; one that does not know it has none."""

    def __init__(self, app: _Application) -> None:
        self._app = app
        self._to_app: asyncio.Queue[_Message] = asyncio.Queue()
        self._from_app: asyncio.Queue[_Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}

        async def run() -> None:
            with contextlib.suppress(Exception):  # by the specification: an application without lifespan raises
                await self._app(scope, self._to_app.get, self._from_app.put)
            await self._from_app.put({"type": "ended"})

        self._task = asyncio.create_task(run())
        await self._step("startup")

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            await self._step("shutdown")
            await self._task

    async def _step(self, name: str) -> None:
        self._to_app.put_nowait({"type": f"lifespan.{name}"})
        answer = await self._from_app.get()
        if answer["type"] == f"lifespan.{name}.failed":
            raise TargetError(
                f"the {name} of the application failed: {answer.get('message') or 'it does not say why'}",
                hint="what it raised is in its log",
            )


@dataclass(slots=True)
class ReceivedStream:
    """What a recording client received of one response: `fold("Hi", received.data)` takes it as it is.

    `ended` says how it ended: `complete`, `left` (the test closed it), `broken` (reading it raised), "" while it runs.
    """

    url: str
    status: int
    pieces: list[bytes] = field(default_factory=list)
    ended: str = ""
    encoding: str = ""

    @property
    def data(self) -> bytes:
        """The bytes of the body so far. UsageError for one that is compressed."""
        if self.encoding:
            raise UsageError(
                f"the answer of {self.url} is compressed ({self.encoding}), although the client did not ask for that",
                hint="turn compression off for streams: it holds back what has been written",
            )
        return b"".join(self.pieces)


def _record(received: list[ReceivedStream], response: httpx.Response) -> ReceivedStream:
    encoding = response.headers.get("content-encoding", "identity")
    one = ReceivedStream(
        url=str(response.request.url),
        status=response.status_code,
        encoding="" if encoding == "identity" else encoding,
    )
    received.append(one)
    return one


class _Recorded(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, into: ReceivedStream) -> None:
        self._stream = stream
        self._into = into

    def __iter__(self) -> Iterator[bytes]:
        with _ending(self._into):
            for piece in self._stream:
                self._into.pieces.append(piece)
                yield piece

    def close(self) -> None:
        self._into.ended = self._into.ended or "left"
        self._stream.close()


class _RecordedAsync(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, into: ReceivedStream) -> None:
        self._stream = stream
        self._into = into

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _ending(self._into):
            async for piece in self._stream:
                self._into.pieces.append(piece)
                yield piece

    async def aclose(self) -> None:
        self._into.ended = self._into.ended or "left"
        await self._stream.aclose()


@contextlib.contextmanager
def _ending(into: ReceivedStream) -> Iterator[None]:
    try:
        yield
    except GeneratorExit:
        raise  # the reader left, which `close` notes
    except BaseException:
        into.ended = "broken"
        raise
    into.ended = "complete"


class RecordingClient(httpx.Client):
    """An `httpx.Client` that keeps in `received` what it received of each response, in the order of the responses."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.headers["accept-encoding"] = "identity"
        self.received: list[ReceivedStream] = []

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request as `httpx.Client` does, and record what comes back while it is read."""
        response = super().send(request, stream=True, **options)
        response.stream = _Recorded(cast("httpx.SyncByteStream", response.stream), _record(self.received, response))
        if not stream:
            try:
                response.read()
            finally:
                response.close()
        return response


class AsyncRecordingClient(httpx.AsyncClient):
    """An `httpx.AsyncClient` that keeps in `received` what it received of each response."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.headers["accept-encoding"] = "identity"
        self.received: list[ReceivedStream] = []

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Send a request as `httpx.AsyncClient` does, and record what comes back while it is read."""
        response = await super().send(request, stream=True, **options)
        into = _record(self.received, response)
        response.stream = _RecordedAsync(cast("httpx.AsyncByteStream", response.stream), into)
        if not stream:
            try:
                await response.aread()
            finally:
                await response.aclose()
        return response

    async def application_ended(self) -> None:
        """Wait until the application behind an `ASGITransport` has ended all that it was doing."""
        if not isinstance(self._transport, ASGITransport):
            raise UsageError(
                "application_ended() needs an ASGITransport: a server over HTTP does not say when it has ended",
                hint="AsyncRecordingClient(transport=tpharness.http_clients.ASGITransport(app), …)",
            )
        await self._transport.application_ended()
