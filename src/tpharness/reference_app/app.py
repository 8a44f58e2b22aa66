"""The control contract over HTTP: Starlette routes, each a few lines round `Threads` and `Receiver`.

In: requests. Out: what conformance/control.openapi.yaml says. Beside the contract: GET /openapi.json, the contract
itself, and GET /content/{sha256}, the content of large returns.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from importlib.metadata import version as package_version
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from tpharness.errors import TpharnessError
from tpharness.findings import shorten
from tpharness.output import json_bytes
from tpharness.protocol.versions import Version, newest_version, version_names
from tpharness.reference_app import refusal
from tpharness.reference_app.content import DamagedContentError
from tpharness.reference_app.gate import Gate
from tpharness.reference_app.memory_store import MemoryStore
from tpharness.reference_app.openapi import openapi_document
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.replay_buffer import UnknownFrameError
from tpharness.reference_app.requests import check_time, parse_run_request, read_request, require_valid, thread_id_from
from tpharness.reference_app.settings import Settings
from tpharness.reference_app.store import SqliteStore, Store
from tpharness.reference_app.stream import STREAM_HEADERS, ReplayResponse
from tpharness.reference_app.threads import Threads
from tpharness.targets import forms
from tpharness.targets.answering import answer_question, own_questions
from tpharness.targets.contract import QUESTIONS, Capabilities
from tpharness.wires.registry import WIRES, default_wire

if TYPE_CHECKING:
    from tpharness.reference_app.receive import Receiver

__all__ = ["ReferenceApp", "declared_capabilities"]

_NOBODY_ASKS = Response(status_code=499)
_T = TypeVar("_T")
_DIGEST = re.compile("[0-9a-f]{64}")


def declared_capabilities(settings: Settings) -> Capabilities:
    """Return all capabilities; durable only with a store."""
    return Capabilities(
        name="tpharness reference",
        implementation_version=package_version("tpharness"),
        marks=True,
        cancel=True,
        disconnect=("stop", "continue"),
        limits=True,
        resume=True,
        seed=True,
        integrity=True,
        answers=own_questions(),
        durable=settings.store is not None,
        detects=("network_failure", "timeout", "user_cancelled"),
        wires=tuple(WIRES),
    )


def _open_store(settings: Settings) -> Store:
    return MemoryStore() if settings.store is None else SqliteStore(settings.store, sync=settings.sync)


class ReferenceApp:
    """The application. Its threads and connections are made when it starts and ended by `stop` or at shutdown.

    `open_store` opens the store that the settings name, once the application starts.
    """

    def __init__(self, settings: Settings, *, open_store: Callable[[Settings], Store] = _open_store) -> None:
        self.settings = settings
        self._open_store = open_store
        self._threads: Threads | None = None
        self._receiver: Receiver | None = None
        thread = "/threads/{thread_id}"
        self._app = Starlette(
            routes=[
                Route("/capabilities", self._capabilities, methods=["GET"]),
                Route(f"{thread}/runs", self._start_run, methods=["POST"]),
                Route(f"{thread}/user-turns", self._add_user_turn, methods=["POST"]),
                Route(f"{thread}/cancel", self._cancel, methods=["POST"]),
                Route(f"{thread}/stream", self._stream, methods=["GET"]),
                Route(thread, self._thread, methods=["GET", "DELETE"]),
                Route("/receive", self._receive, methods=["POST"]),
                Route("/adopt", self._adopt, methods=["POST"]),
                Route("/resolve", self._resolve, methods=["POST"]),
                *(Route(f"/{question}", self._answer, methods=["POST"]) for question in QUESTIONS),
                Route("/keep", self._keep, methods=["POST"]),
                Route("/content/{digest}", self._content, methods=["GET"]),
                Route("/openapi.json", self._openapi, methods=["GET"]),
            ],
            exception_handlers={
                Refusal: refusal.on_refusal,
                HTTPException: refusal.on_http_exception,
                sqlite3.Error: _on_store_failure,
                Exception: refusal.on_failure,
            },
            lifespan=lambda _: self.alive(),
        )
        self._app.router.redirect_slashes = False
        self._gate = Gate(self._app, settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await self._gate(scope, receive, send)

    async def stop(self) -> None:
        """End all runs, so that their streams end; later requests are refused."""
        if self._threads is not None:
            await self._threads.stop()

    async def until_lost(self) -> str:
        """Wait until the store is lost; return why."""
        return await self._store.until_lost()

    @contextlib.asynccontextmanager
    async def alive(self) -> AsyncIterator[None]:
        """Run while the context is open; an ASGI server's lifespan does the same. InputError as for `SqliteStore`."""
        store = self._open_store(self.settings)
        self._threads = Threads(self.settings, store)
        self._store = store
        try:
            yield
        finally:
            await self._threads.stop()
            if self._receiver is not None:
                await self._receiver.close()
            await store.close()

    @property
    def threads(self) -> Threads:
        """The threads, while the application lives."""
        if self._threads is None:
            raise RuntimeError("the application has not started: serve it with its lifespan")
        return self._threads

    @property
    def receiver(self) -> Receiver:
        """The client's role, loaded on first use: its HTTP client is a third of the time in which a server starts."""
        if self._receiver is None:
            self._receiver = resolve_name("tpharness.reference_app.receive:Receiver")(self.settings)
        return self._receiver

    # ------------------------------------------------------------------- both

    async def _capabilities(self, request: Request) -> Response:
        del request
        return _json(forms.capabilities_json(declared_capabilities(self.settings), ("server", "client")))

    async def _openapi(self, request: Request) -> Response:
        del request
        return _json(openapi_document())

    # ----------------------------------------------------------------- server

    async def _start_run(self, request: Request) -> Response:
        thread_id = thread_id_from(request)
        asked = await read_request(
            request, self.settings, lambda value: parse_run_request(value, thread_id, self.settings)
        )
        thread = await self.threads.begin(thread_id, asked)
        if thread.fold.buffer is None:
            raise RuntimeError("a run that has begun has a buffer")
        return ReplayResponse(thread.fold.buffer, thread.run)

    async def _add_user_turn(self, request: Request) -> Response:
        thread_id = thread_id_from(request)
        turn = await read_request(request, self.settings, partial(require_valid, "userTurn"))
        check_time(turn["submitted_at"], "/submitted_at")
        await self.threads.add_user(thread_id, turn)
        return Response(status_code=204)

    async def _cancel(self, request: Request) -> Response:
        thread_id = thread_id_from(request)
        asked = await read_request(request, self.settings, partial(require_valid, "cancelRequest"))
        return _json({"cancelled": await self.threads.cancel(thread_id, asked["reason"])})

    async def _stream(self, request: Request) -> Response:
        thread = await self.threads.find(thread_id_from(request))
        buffer = thread.fold.buffer
        if buffer is None:
            return Response(status_code=204)
        last = request.headers.get("last-event-id", "")
        try:
            place = buffer.after(last)
        except UnknownFrameError:
            hint = "send the id of a frame of this thread, or leave the header out for the whole stream"
            raise Refusal(
                400, f"this thread does not have a frame with the id {shorten(last, 60)}", hint=hint
            ) from None
        if buffer.at_end(place):
            return Response(status_code=204)
        if request.method == "HEAD":
            return Response(headers={**STREAM_HEADERS, **default_wire().headers})
        return ReplayResponse(buffer, thread.run, place)

    async def _thread(self, request: Request) -> Response:
        thread_id = thread_id_from(request)
        if request.method == "DELETE":
            await self.threads.delete(thread_id)
            return Response(status_code=204)
        asked = request.query_params.get("version", newest_version().value)
        try:
            version = Version(asked)
        except ValueError:
            hint = f"versions are {version_names()}"
            raise Refusal(400, f"{shorten(asked, 40)} is not a version of ThreadProtocol", hint=hint) from None
        return _json(await self.threads.document(thread_id, version))

    async def _content(self, request: Request) -> Response:
        digest = request.path_params["digest"]
        if not _DIGEST.fullmatch(digest):
            raise Refusal(404, "contents are named by their SHA-256, 64 hex digits in lower case")
        try:
            data = await self._store.run(lambda: self._store.contents.get(digest))
        except DamagedContentError:
            raise Refusal(410, f"the content {digest} is damaged: its bytes have another hash") from None
        if data is None:
            raise Refusal(404, f"there is no content {digest}")
        headers = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
        return Response(data, headers=headers, media_type="application/octet-stream")

    # ----------------------------------------------------------------- client

    async def _receive(self, request: Request) -> Response:
        value = await read_request(request, self.settings, partial(require_valid, "receiveRequest"))
        received = await _while_asked(request, self.receiver.receive(value))
        return _NOBODY_ASKS if received is None else _json(received)

    async def _adopt(self, request: Request) -> Response:
        value = await read_request(request, self.settings, partial(require_valid, "adoptRequest"))
        return _json({"threads": value["threads"]})

    async def _answer(self, request: Request) -> Response:
        question = request.url.path.removeprefix("/")
        value = await read_request(request, self.settings, partial(require_valid, f"{question}Request"))
        try:
            return _json(answer_question(question, value))
        except TpharnessError as error:
            raise Refusal(422, str(error), hint=error.hint) from None

    async def _keep(self, request: Request) -> Response:
        value = await read_request(request, self.settings, partial(require_valid, "keepRequest"))
        raise Refusal(422, f"this server does not keep the history {value['history']}", hint="it declares no histories")

    async def _resolve(self, request: Request) -> Response:
        value = await read_request(request, self.settings, partial(require_valid, "resolveRequest"))
        return _json(self.receiver.resolve(value))


async def _while_asked(request: Request, work: Coroutine[Any, Any, _T]) -> _T | None:
    """Return the result of the work, whose request has been read; None if its client has disconnected before."""
    working = asyncio.create_task(work)
    left = asyncio.create_task(_until_left(request))
    try:
        await asyncio.wait((working, left), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, left):
            task.cancel()
        await asyncio.gather(working, left, return_exceptions=True)


async def _until_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _on_store_failure(request: Request, error: Exception) -> Response:
    del request
    hint = "check the disk of --store"
    return refusal.problem(503, f"the store cannot write: {shorten(str(error), 120)}", hint)


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type="application/json")
