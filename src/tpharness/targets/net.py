"""HTTP requests from the harness to a target: one session for each event loop, a limit on everything.

In: an address and requests. Out: answers whole, or a stream read by read; a TargetError for everything that
goes wrong, with the request, the answer and what to do. `UnreachableError` if nothing answered at all.

Redirects, proxies, cookies and compression are not used: only the target is tested.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import aiohttp
import orjson

from tpharness.errors import TargetError
from tpharness.output import json_bytes
from tpharness.printable import counted
from tpharness.protocol.parse import parse_json
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.net_errors import (
    content_type_of,
    error_text,
    explain_error,
    gone_while_asked,
    is_gone,
    quote_start,
    status_error,
)
from tpharness.targets.remote import LostConnectionError, Patience, StreamLimits, UnreachableError
from tpharness.trace.tape import Tape, current_tape

__all__ = ["Http", "HttpAnswer", "OpenStream"]

_KEEP_ALIVE = 3.0  # below the 5 s after which common servers close an idle connection
_JSON = "application/json"
_EVENTS = "text/event-stream"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """An answer: its status, and its JSON if it has a body."""

    status: int
    value: Any = None


class OpenStream:
    """An event stream, requested when its context is entered. `read` returns the next bytes, b"" at the end.

    An open one does not hold a stack frame: there may be thousands.
    """

    __slots__ = ("_asked", "_content", "_response", "_run", "_tape", "_what")

    def __init__(self, what: str, asked: Coroutine[Any, Any, aiohttp.ClientResponse]) -> None:
        self._what = what
        self._asked: Coroutine[Any, Any, aiohttp.ClientResponse] | None = asked

    async def __aenter__(self) -> Self:
        asked, self._asked = self._asked, None
        if asked is None:
            raise RuntimeError("a stream is requested once")
        self._tape: Tape | None = current_tape()
        self._run = 0 if self._tape is None else self._tape.next_run()
        self._response = await asked
        self._content = self._response.content
        return self

    async def __aexit__(self, *_: object) -> None:
        _release(self._response)

    async def read(self) -> bytes:
        """Return the next bytes. ConnectionError when the connection broke, TimeoutError when it fell silent."""
        try:
            piece = await self._content.readany()
        except TimeoutError as error:
            raise TimeoutError(f"{self._what} fell silent") from error
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            raise ConnectionError(f"{self._what}: {error_text(error)}") from error
        if self._tape is not None:
            self._tape.note_bytes("read", self._what, run=self._run, data=piece)
        return piece

    def abandon(self) -> None:
        """Close the connection at once, as a client does that disconnects."""
        self._response.close()


class Http:
    """The sessions, patience and limits of requests to targets."""

    def __init__(self, *, patience: Patience | None = None, limits: StreamLimits | None = None) -> None:
        self.patience = patience or Patience()
        self.limits = limits or StreamLimits()
        self._timeout = self._read_timeout(self.patience.silence)
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[bool, aiohttp.ClientSession]]
        self._sessions = WeakKeyDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def waiting(self, seconds: float) -> Http:
        """Return the same with the same sessions, which waits so long for an answer."""
        other = Http(patience=self.patience.waiting(seconds), limits=self.limits)
        other._sessions = self._sessions
        return other

    async def close(self) -> None:
        """Close the sessions of the running loop."""
        for session in self._sessions.pop(asyncio.get_running_loop(), {}).values():
            await session.close()

    def _read_timeout(self, silence: float) -> aiohttp.ClientTimeout:
        return aiohttp.ClientTimeout(sock_connect=self.patience.connect, sock_read=silence)

    def _session(self, *, alone: bool) -> aiohttp.ClientSession:
        """Return the session of the running loop: that which keeps connections, or that in which each is used once."""
        sessions = self._sessions.setdefault(asyncio.get_running_loop(), {})
        session = sessions.get(alone)
        if session is None:
            kept: Any = {"force_close": True} if alone else {"keepalive_timeout": _KEEP_ALIVE}
            session = sessions[alone] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, **kept),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Accept-Encoding": "identity"},
                skip_auto_headers=("User-Agent",),
                read_bufsize=1 << 16,
            )
        return session

    async def ask(
        self,
        method: str,
        endpoint: Endpoint,
        path: str,
        document: Any = None,
        *,
        passes: tuple[int, ...] = (),
        hint: str = "",
    ) -> HttpAnswer:
        """Request JSON. Return the answer for status 200, 204, or one of `passes`; TargetError for any other.

        `hint` is what to do if the path does not exist.
        """
        what = _request_name(method, endpoint, path)
        response = await self._request(what, method, endpoint, path, document)
        try:
            body = await self._read_body(response, what, endpoint)
        finally:
            _release(response)
        status = response.status
        tape = current_tape()
        if tape is not None:
            tape.note("answered", what, status=status, headers=response.headers, body=body or None)
        if status == 204 or status in passes:
            return HttpAnswer(status=status)
        if status != 200:
            raise status_error(what, response, body, hint)
        if response.content_type != _JSON:
            raise TargetError(
                f"{what} answers with {content_type_of(response)}, not {_JSON}",
                detail=quote_start(body),
                hint="is this the address of the control contract? Its base path may be missing",
            )
        return HttpAnswer(status=status, value=_decode(body, what))

    async def resume(self, endpoint: Endpoint, path: str, *, after: str | None) -> bytes:
        """Read an event stream to its end, after the frame with that id; b"" if nothing is left. TargetError."""
        what = _request_name("GET", endpoint, path)
        headers = {} if after is None else {"Last-Event-ID": after}
        response = await self._request(what, "GET", endpoint, path, None, headers)
        try:
            body = await self._read_body(response, what, endpoint)
        finally:
            _release(response)
        if response.status == 204:
            return b""
        if response.status != 200:
            raise status_error(what, response, body, "a server that declares resume has this path")
        return body

    def stream(self, method: str, endpoint: Endpoint, path: str, document: Any) -> OpenStream:
        """Request an event stream when its context is entered. TargetError for any other answer."""
        what = _request_name(method, endpoint, path)
        return OpenStream(what, self._stream(what, method, endpoint, path, document))

    async def _stream(
        self, what: str, method: str, endpoint: Endpoint, path: str, document: Any
    ) -> aiohttp.ClientResponse:
        response = await self._request(what, method, endpoint, path, document)
        if response.status == 200 and response.content_type == _EVENTS:
            tape = current_tape()
            if tape is not None:
                tape.note("answered", what, status=200, headers=response.headers)
            return response
        try:
            if response.status != 200:
                raise status_error(what, response, await self._read_body(response, what, endpoint), "")
            body = await self._read_body(response, what, endpoint, most=1 << 10)
            raise TargetError(
                f"{what} answers with {content_type_of(response)}, not {_EVENTS}",
                detail=quote_start(body),
                hint=f"send the UI message stream with the header Content-Type: {_EVENTS}",
            )
        finally:
            _release(response)

    async def _request(
        self,
        what: str,
        method: str,
        endpoint: Endpoint,
        path: str,
        document: Any,
        more: Mapping[str, str] | None = None,
    ) -> aiohttp.ClientResponse:
        headers = {**endpoint.headers, **(more or {})}
        patience, timeout = self.patience, self._timeout
        if endpoint.relay:
            headers |= {"Connection": "close", "Accept-Encoding": "gzip"}
            timeout = timeout if endpoint.silence is None else self._read_timeout(endpoint.silence)
        data = None
        tape = current_tape()
        if tape is not None:
            tape.note("asked", what, headers=headers, body=document)
        if document is not None:
            data = json_bytes(document)
            headers["Content-Type"] = _JSON
        asked = self._session(alone=endpoint.alone).request(
            method,
            endpoint.url(path),
            data=data,
            headers=headers,
            allow_redirects=False,
            timeout=timeout,
        )
        try:
            async with asyncio.timeout(patience.connect + patience.answer):
                return await asked
        except (TimeoutError, aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            explained = await explain_error(error, what, endpoint, patience)
            if not isinstance(explained, LostConnectionError) or method == "POST":  # which must not be sent twice
                raise explained from error
        return await self._request(what, method, replace(endpoint, alone=True), path, document, more)

    async def _read_body(
        self, response: aiohttp.ClientResponse, what: str, endpoint: Endpoint, *, most: int | None = None
    ) -> bytes:
        """Read a body to its end; at most `most` bytes of it when given, else a body over the limit is an error."""
        pieces: list[bytes] = []
        size = 0
        limit = self.limits.body if most is None else most
        try:
            async with asyncio.timeout(self.patience.total):
                while piece := await response.content.readany():
                    pieces.append(piece)
                    size += len(piece)
                    if size > limit:
                        break
        except TimeoutError as error:
            if most is None:
                raise UnreachableError(
                    f"{what}: the answer began and did not end", hint="send Content-Length, or close the connection"
                ) from error
        except (aiohttp.ClientError, ssl.SSLError, OSError) as error:
            if most is None and await is_gone(endpoint, self.patience):
                raise gone_while_asked(error, what, endpoint) from error
            if most is None:
                raise TargetError(
                    f"{what}: the answer breaks off after {counted(size, 'byte')}: {error_text(error)}",
                    hint="does the target crash, or send a wrong Content-Length?",
                ) from error
        if most is None and size > limit:
            raise TargetError(
                f"{what} answers with more than {limit} bytes", hint="the thread of a case is never that large"
            )
        return b"".join(pieces)


def _request_name(method: str, endpoint: Endpoint, path: str) -> str:
    """Return the name of a request, the same in every run: without the id of the thread."""
    return f"{method} {endpoint.base}{_UUID.sub('{thread_id}', path)}"


def _decode(body: bytes, what: str) -> Any:
    if _LONG_NUMBER not in body.translate(_DIGITS):  # which the fast reader would round
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    parsed = parse_json(body)
    if parsed.ok:
        return parsed.value
    raise TargetError(
        f"{what} does not answer with JSON",
        detail=f"{parsed.findings[-1].line()}: {quote_start(body)}",
        hint=parsed.findings[-1].remedy,
    )


def _release(response: aiohttp.ClientResponse) -> None:
    """Keep the connection for the next request if the body was read to its end, else close it."""
    if response.content.at_eof():
        response.release()
    else:
        response.close()
