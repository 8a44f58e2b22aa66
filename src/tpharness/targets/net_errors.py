"""Errors between a request and its answer, in words: what was requested, what came, what to do.

In: the errors of the HTTP library, and unexpected answers. Out: TargetErrors,
`UnreachableError` where nothing answered. Nothing here is raised. The only I/O is a test whether a server speaks TLS.
"""

from __future__ import annotations

import asyncio
import os
import ssl

import aiohttp
import orjson
from yarl import URL

from tpharness.errors import TargetError
from tpharness.findings import quote, shorten
from tpharness.targets.endpoint import TOKEN_VARIABLE, Endpoint
from tpharness.targets.remote import (
    CannotPlayError,
    GoneError,
    LostConnectionError,
    Patience,
    RefusedError,
    UnreachableError,
)

__all__ = [
    "content_type_of",
    "error_text",
    "explain_error",
    "gone_while_asked",
    "is_gone",
    "quote_start",
    "status_error",
]

_SILENT = "is it blocked, or does it wait for the end of the body before it sends its headers?"


async def explain_error(error: Exception, what: str, endpoint: Endpoint, patience: Patience) -> TargetError:
    """Return the TargetError for an error of the HTTP library, in words."""
    found = _connection_error(error, what, endpoint, patience)
    if found is not None:
        return found
    if await is_gone(endpoint, patience):
        return gone_while_asked(error, what, endpoint)
    if not endpoint.alone and isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return LostConnectionError(f"{what}: the connection is closed without an answer: {error_text(error)}")
    if endpoint.base.startswith("http:") and not endpoint.relay and await _speaks_tls(endpoint, patience):
        return UnreachableError(
            f"{what}: the server speaks TLS", hint=f"use {endpoint.base.replace('http:', 'https:', 1)}"
        )
    return _answer_error(error, what)


def _connection_error(error: Exception, what: str, endpoint: Endpoint, patience: Patience) -> TargetError | None:
    """Return the error for a connection that was not made or on which no answer began, None for any other."""
    match error:
        case aiohttp.ClientConnectorDNSError():
            host = endpoint.url("").host
            return UnreachableError(
                f"{what}: the host {host} does not exist", hint="correct the name, or use its IP address"
            )
        case aiohttp.ClientConnectorCertificateError():
            return UnreachableError(
                f"{what}: the certificate is not trusted: {error_text(error)}",
                hint="name the certificate of its authority in SSL_CERT_FILE, or use http:// on loopback",
            )
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            return UnreachableError(
                f"{what}: the server does not speak TLS: {error_text(error)}",
                hint=f"use {endpoint.base.replace('https:', 'http:', 1)}",
            )
        case aiohttp.ClientConnectorError():
            hint = "start the server, or correct the port"
            words = f"{what}: nothing listens there: {error_text(error)}"
            return GoneError(words, hint=hint, address=endpoint.base, asked=False)
        case aiohttp.ConnectionTimeoutError() if endpoint.base.startswith("https:"):
            return UnreachableError(
                f"{what}: no connection with TLS within {patience.connect:g} s",
                hint=f"does the target speak TLS? Otherwise use {endpoint.base.replace('https:', 'http:', 1)}; "
                "or a firewall drops packets",
            )
        case aiohttp.ConnectionTimeoutError():
            return UnreachableError(
                f"{what}: no connection within {patience.connect:g} s",
                hint="does a firewall drop packets, or does the server accept no more connections?",
            )
        case aiohttp.SocketTimeoutError():
            silence = patience.silence if endpoint.silence is None else endpoint.silence
            return UnreachableError(
                f"{what}: the server accepts the connection and sends nothing for {silence:g} s", hint=_SILENT
            )
        case TimeoutError():
            return UnreachableError(
                f"{what}: no answer began within {patience.connect + patience.answer:g} s", hint=_SILENT
            )
    return None


def _answer_error(error: Exception, what: str) -> TargetError:
    """Return the error for an answer that did not come, or not whole, though the connection was made."""
    match error:
        case aiohttp.ClientResponseError():
            return TargetError(
                f"{what} does not answer with HTTP: {shorten(error.message, 120)}",
                hint="is another service on this port?",
            )
        case aiohttp.ClientPayloadError():
            return UnreachableError(
                f"{what}: the answer breaks off: {error_text(error)}", hint="does the server crash?"
            )
        case aiohttp.ServerDisconnectedError() | OSError():
            return UnreachableError(
                f"{what}: the server closes the connection before its answer is whole: {error_text(error)}",
                hint="look at the server's own log: does it crash on this request?",
            )
    return TargetError(f"{what}: {type(error).__name__}: {error_text(error)}")


def gone_while_asked(error: Exception, what: str, endpoint: Endpoint) -> GoneError:
    """Return the error for a target that broke its answer off, and at which nothing listens any more."""
    return GoneError(
        f"{what}: the server closes the connection before its answer is whole, and then nothing listens there any more:"
        f" {error_text(error)}",
        hint="look at the server's own log: does it crash on this request?",
        address=endpoint.base,
        asked=True,
    )


async def is_gone(endpoint: Endpoint, patience: Patience) -> bool:
    """Whether nothing listens there any more. A relay listens whatever is behind it, so it is not asked.

    When a process ends, the system may close its connections before the socket on which it listens. A connection that
    is made in between is reset when that socket is closed, so the second attempt is decisive.
    """
    if endpoint.relay:
        return False
    url = endpoint.url("")
    try:
        async with asyncio.timeout(min(patience.connect, 1.0)):
            return await _is_refused(url) or await _is_refused(url)
    except TimeoutError:
        return False


async def _is_refused(url: URL) -> bool:
    """Whether a connection is refused. One that is made is ended at once, and this waits until the other end agrees."""
    try:
        reader, writer = await asyncio.open_connection(url.host, url.port)
    except OSError as error:
        return isinstance(error, ConnectionRefusedError)
    try:
        writer.write_eof()
        await reader.read(1)
    except OSError:
        pass  # it was reset
    finally:
        writer.transport.abort()
    return False


async def _speaks_tls(endpoint: Endpoint, patience: Patience) -> bool:
    """Whether the other end completes a TLS handshake; its certificate is not verified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without the certificates that nothing is verified with
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    url = endpoint.url("")
    try:
        async with asyncio.timeout(min(patience.connect, 1.0)):
            _, writer = await asyncio.open_connection(url.host, url.port, ssl=context)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def status_error(what: str, response: aiohttp.ClientResponse, body: bytes, hint: str) -> TargetError:
    """Return the error for an unexpected status."""
    status = response.status
    answered = f"{what} answers {status} {response.reason or ''}".rstrip()
    if 300 <= status < 400:
        to = response.headers.get("Location", "")
        loop = bool(to) and _leads_to_itself(response.url, to)
        return TargetError(
            f"{answered}, a redirect {'to itself' if loop else f'to {shorten(to)}' if to else 'to nowhere'}",
            hint="correct the server: it redirects endlessly"
            if loop
            else "redirects are not followed: give the final address",
        )
    said, advice = _problem(body)
    if status == 501:
        return CannotPlayError(said or f"{what} answers 501 and does not say what it cannot play")
    if status in (401, 403):
        hint = f"give the token in {TOKEN_VARIABLE}, or as http://TOKEN@HOST"
    elif status >= 500:
        hint = "look at the server's own log: this is an error of the server"
    return RefusedError(
        f"{answered}{f': {said}' if said else ''}",
        hint=advice or hint or "tpharness docs CONTROL has the paths",
        status=status,
    )


def _leads_to_itself(url: URL, to: str) -> bool:
    try:
        return url.join(URL(to)) == url
    except ValueError:  # not an address at all
        return False


def _problem(body: bytes) -> tuple[str, str]:
    """Return the message and the hint of a `problem`, or how the body begins if it is not a `problem`."""
    try:
        error = orjson.loads(body)["error"]
        return shorten(str(error["message"]), 200), shorten(str(error.get("hint", "")), 200)
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return (quote_start(body) if body else ""), ""


def quote_start(body: bytes) -> str:
    """Return how a body begins, quoted."""
    return quote(body[:200].decode("utf-8", "backslashreplace"), 80) if body else "an empty body"


def content_type_of(response: aiohttp.ClientResponse) -> str:
    """Return the content type of an answer."""
    return response.content_type if "Content-Type" in response.headers else "no content type"


def error_text(error: BaseException) -> str:
    """Return the text of an error, on one line."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "no answer" if isinstance(error.message, str) else "its head is not whole"
    if isinstance(error, aiohttp.ClientOSError) and error.errno is None and error.__cause__ is not None:
        return error_text(error.__cause__)  # its own words are the address, which the request is named with
    number = getattr(error, "errno", None)
    text = os.strerror(number) if number and not isinstance(error, aiohttp.ClientSSLError) else ""
    text = text or getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shorten(" ".join(str(text).split()), 160)
