"""One stream of any application, byte for byte: for recording, not for judging.

In: a URL, a body to post to it (GET without one), and where to break off. Out: the bytes of the response, and how it
ended. TargetError for an answer that is not a stream.

The other end is not trusted: no answer is read beyond its limit, whatever it expands to, and what is sent to one origin
(headers, the body, a name and password in the URL) is never sent to another, so such a redirect is an error.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from yarl import URL

from tpharness.errors import TargetError, UsageError
from tpharness.findings import shorten
from tpharness.printable import without_credentials
from tpharness.protocol.parse import parse_json
from tpharness.targets.net_errors import error_text
from tpharness.targets.news import News

__all__ = ["MAX_STREAM", "MAX_THREAD", "THREAD_HINT", "CapturedStream", "capture", "fetch_json"]

MAX_STREAM = 8 << 20
"""Bytes of a stream that are recorded: as base64, with a thread beside them, they fit into a scenario's 16 MiB."""
MAX_THREAD = 4 << 20
"""Bytes of a thread that are recorded."""

THREAD_HINT = "--thread takes the URL of the thread"
_SILENCE = 60.0
_MAX_QUOTED = 300
_MAX_REDIRECTS = 5
_METHOD_KEPT = (307, 308)
_REDIRECTS = (301, 302, 303, *_METHOD_KEPT)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedStream:
    """A response body as received. `end` is None for a plain end, else the reason that a client would record (R27).

    `fault` says how the stream broke off by itself, "" if it did not. `cut` is whether it was cut where its reader
    wanted.
    """

    data: bytes
    end: str | None
    server: str
    fault: str = ""
    cut: bool = False


async def capture(
    url: str,
    body: Any,
    *,
    headers: Mapping[str, str],
    cut_after: int | None = None,
    cut_at: bytes | None = None,
    silence: float = _SILENCE,
    into: bytearray | None = None,
) -> CapturedStream:
    """Read a stream to its end, to a number of bytes, or to the first place of `cut_at`, its last byte included.

    A stream that is cut there, or at MAX_STREAM bytes, ends as if the client had closed the connection:
    `network_failure` (R27). `into` receives the bytes while they come, for a caller that may be interrupted.
    """
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence)
    data = bytearray() if into is None else into
    shown = without_credentials(url)
    most = MAX_STREAM if cut_after is None else min(cut_after, MAX_STREAM)
    server = ""
    try:
        async with _request(url, body, {"accept": "text/event-stream", **headers}, timeout) as response:
            if response.status != 200 or response.content_type != "text/event-stream":
                said = shorten(await _read(response, _MAX_QUOTED), 200)
                raise TargetError(
                    f"{shown} answers {response.status} with {response.content_type or 'no media type'}: {said}",
                    hint="a stream is 200 with text/event-stream; --body FILE says what is posted",
                )
            server = response.headers.get("server", "")
            clock = asyncio.get_running_loop().time
            news = News(clock())
            while piece := await response.content.readany():
                begun = max(0, len(data) - len(cut_at or b""))
                data += piece
                if len(data) >= most:
                    del data[most:]
                found = data.find(cut_at, begun) if cut_at else -1
                if found >= 0:
                    del data[found + len(cut_at or b"") :]
                if news.quiet(piece, clock()) > silence:  # heartbeats keep it open, and nothing else comes
                    response.close()
                    return _silent(data, server, silence)
                if found >= 0 or len(data) >= most:
                    response.close()
                    cut = found >= 0 or len(data) == cut_after
                    return CapturedStream(data=bytes(data), end="network_failure", server=server, cut=cut)
            return CapturedStream(data=bytes(data), end=None, server=server)
    except TimeoutError:
        if not data:
            raise TargetError(f"{shown} sends nothing for {silence:g} s", hint="is this the right address?") from None
        return _silent(data, server, silence)
    except (aiohttp.ClientError, OSError, ValueError) as error:
        if not data:
            raise TargetError(_said(shown, error), hint="is the server there?") from error
        fault = f"the connection was lost: {error_text(error)}"
        return CapturedStream(data=bytes(data), end="network_failure", server=server, fault=fault)


def _silent(data: bytearray, server: str, silence: float) -> CapturedStream:
    return CapturedStream(data=bytes(data), end="timeout", server=server, fault=f"nothing new came for {silence:g} s")


async def fetch_json(url: str, headers: Mapping[str, str]) -> Any:
    """Return the JSON at a URL. TargetError for anything else, and for more than MAX_THREAD bytes."""
    shown, hint = without_credentials(url), THREAD_HINT
    try:
        async with (
            asyncio.timeout(30),
            _request(url, None, {"accept": "application/json", **headers}, aiohttp.ClientTimeout()) as response,
        ):
            if response.status != 200:
                raise TargetError(f"{shown} answers {response.status}", hint=hint)
            data = await _read(response, MAX_THREAD + 1)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        raise TargetError(_said(shown, error), hint=hint) from error
    if len(data) > MAX_THREAD:
        raise TargetError(
            f"{shown} answers with more than {MAX_THREAD >> 20} MiB",
            hint="record without --thread, or a shorter thread",
        )
    parsed = parse_json(data)
    if not parsed.ok:
        raise TargetError(f"{shown} does not answer with JSON: {parsed.findings[-1].message}", hint=hint)
    return parsed.value


@asynccontextmanager
async def _request(
    url: str, body: Any, headers: Mapping[str, str], patience: aiohttp.ClientTimeout
) -> AsyncIterator[aiohttp.ClientResponse]:
    """Request a URL. Redirects are followed within its origin; TargetError for one to another origin."""
    first = _parse(url)
    place, method = first.with_user(None), "GET" if body is None else "POST"
    asked = {"accept-encoding": "identity", **_login(first), **headers}
    async with aiohttp.ClientSession(timeout=patience, cookie_jar=aiohttp.DummyCookieJar()) as session:
        for _ in range(_MAX_REDIRECTS + 1):
            sent = body if method == "POST" else None
            async with session.request(method, place, json=sent, headers=asked, allow_redirects=False) as response:
                to = response.headers.get("location", "")
                if response.status not in _REDIRECTS or not to:
                    yield response
                    return
                there, origin = _find_redirected(place, to)
                if origin != place.origin():
                    raise TargetError(
                        f"{place} redirects to another origin, {shorten(str(origin))}, which is not followed",
                        hint="it would be sent your headers and the prompt; if you trust it, record from there",
                    )
                place, method = there, method if response.status in _METHOD_KEPT else "GET"
    raise TargetError(f"{place} redirects more than {_MAX_REDIRECTS} times", hint="give the final address")


def _find_redirected(place: URL, to: str) -> tuple[URL, URL]:
    """Return the address to which a server redirects, and its origin. TargetError if it is not an address."""
    try:
        there = place.join(URL(to)).with_user(None)
        return there, there.origin()
    except ValueError as error:
        said = shorten(without_credentials(to))
        raise TargetError(
            f"{place} redirects to {said}, which is not a URL: {error}",
            hint="correct the header Location of the server",
        ) from None


def _parse(url: str) -> URL:
    try:
        return URL(url)
    except ValueError as error:
        raise UsageError(f"{shorten(without_credentials(url))} is not a URL: {error}") from None


def _login(url: URL) -> dict[str, str]:
    """Return the header for the name and password in a URL, as browsers and curl send it."""
    if not (url.user or url.password):
        return {}
    pair = f"{url.user or ''}:{url.password or ''}"
    return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Return the first `most` bytes of a body, and read little more: what it expands to does not matter."""
    data = bytearray()
    while len(data) < most and (piece := await response.content.readany()):
        data += piece
    return bytes(data[:most])


def _said(shown: str, error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        what = "there is no such host"
    elif isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        what = f"nothing listens there: {error_text(error)}"
    else:
        what = f"{type(error).__name__}: {error}"
    return without_credentials(f"{shown}: {what}")
