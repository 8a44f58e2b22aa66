"""Every way in which a client under test can be bad that we know of, and the outcome that each has to have."""

from __future__ import annotations

import json
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tests.targets.bad_targets import CERTIFICATE, Bad, declaring, everything, waiting
from tests.targets.clients import CLIENT, ContractClient
from tests.targets.servers import Connection, RawServer, Request

BadClient = partial(Bad, role="client")
LOST = "basics/client-loses-the-end"
STORED = "tools/content-ref"


def breaking(*promises: str) -> Callable[[], RawServer]:
    """Declare everything, and break these promises."""
    return lambda: RawServer(ContractClient(breaks=frozenset(promises)))


def receiving(answer: Callable[[Request, Connection], Awaitable[None]]) -> Callable[[], RawServer]:
    """Keep the contract but for the answer to /receive."""
    client = ContractClient()

    async def handler(request: Request, connection: Connection) -> None:
        await (answer if request.path == "/receive" else client)(request, connection)

    return lambda: RawServer(handler)


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[], RawServer]:
    """Keep the contract, and change the threads of the answer."""
    client = ContractClient()

    async def answer(request: Request, connection: Connection) -> None:
        await connection.json({"threads": change(await client.receive(request.value))})

    return receiving(answer)


def saying(status: str, body: bytes, kind: str = "application/json") -> Callable[[], RawServer]:
    """Answer /receive so."""

    async def answer(request: Request, connection: Connection) -> None:
        del request
        await connection.answer(status, body, kind)

    return receiving(answer)


def speaking_tls() -> RawServer:
    """Have a certificate that nobody trusts."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATE)
    return RawServer(ContractClient(), tls=context)


async def _endless(request: Request, connection: Connection) -> None:
    del request
    await connection.stream("application/json")
    while True:
        await connection.chunk(b" " * (1 << 20))


async def _never(request: Request, connection: Connection) -> None:
    del request
    await connection.reader.read(1)


async def _half(request: Request, connection: Connection) -> None:
    del request
    await connection.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"threads":')
    connection.writer.close()


BAD_CLIENTS = (
    BadClient("a client where nobody listens", None, "refused", "nothing listens there: .*refused.*start the server"),
    BadClient(
        "a client that speaks TLS, asked without",
        speaking_tls,
        "refused",
        "the server speaks TLS.*use https://",
        url=lambda url: url.replace("https:", "http:"),
    ),
    BadClient(
        "a client asked with TLS that speaks none",
        lambda: RawServer(ContractClient()),
        "refused",
        "no connection with TLS within 0.25 s. does the target speak TLS. Otherwise use http://",
        url=lambda url: url.replace("http:", "https:"),
        patience=waiting(connect=0.25),
    ),
    BadClient(
        "a client with a certificate of its own", speaking_tls, "refused", "the certificate is not trusted: .*self"
    ),
    BadClient(
        "a client with 404 for everything",
        everything("404 Not Found"),
        "refused",
        "/capabilities answers 404 Not Found",
    ),
    BadClient(
        "only a server",
        declaring({**CLIENT, "roles": ["server"]}),
        "refused",
        "does not declare the role client, only server",
    ),
    BadClient(
        "a client of another contract",
        declaring({**CLIENT, "contract": "2.0"}),
        "refused",
        "has version 2.0 of the contract",
    ),
    BadClient(
        "detects what nobody can",
        declaring({**CLIENT, "detects": ["earthquakes"]}),
        "refused",
        "/detects/0: .*earthquakes",
    ),
    BadClient(
        "404 for /receive",
        saying("404 Not Found", b'{"error": {"message": "no such path"}}'),
        "errored",
        "/receive answers 404 Not Found: no such path",
    ),
    BadClient(
        "500 for /receive",
        saying("500 Internal Server Error", b"Traceback", "text/plain"),
        "errored",
        "/receive answers 500 Internal Server Error: 'Traceback'",
    ),
    BadClient(
        "HTML instead of threads",
        saying("200 OK", b"<!doctype html>", "text/html"),
        "errored",
        "/receive answers with text/html, not application/json",
    ),
    BadClient(
        "threads that are not JSON", saying("200 OK", b"{'threads'"), "errored", "/receive does not answer with JSON"
    ),
    BadClient(
        "threads nested 2,000 deep",
        saying("200 OK", b'{"threads":' + b"[" * 2000 + b"]" * 2000 + b"}"),
        "errored",
        "/receive does not answer with JSON; MUST json-too-deep|does not fit the contract: /threads",
    ),
    BadClient(
        "an answer without an end", receiving(_endless), "errored", "/receive answers with more than 67108864 bytes"
    ),
    BadClient(
        "an answer that never comes",
        receiving(_never),
        "errored",
        "/receive: .*nothing for 0.25 s; stream 0 was never requested. read each stream to its end",
        patience=waiting(silence=0.25),
    ),
    BadClient("an answer that breaks off", receiving(_half), "errored", "/receive: .*breaks off after 11 bytes"),
    BadClient(
        "no threads in the answer",
        saying("200 OK", json.dumps({"ok": True}).encode()),
        "errored",
        "/receive: the answer does not fit the contract: .*threads.* is a required property",
    ),
    BadClient(
        "a version is missing",
        changed(lambda threads: {v: t for v, t in threads.items() if v != "0.0.3"}),
        "failed",
        "versions-not-kept: .*/receive: the answer does not have a thread of version 0.0.3",
    ),
    BadClient(
        "threads with another id",
        changed(lambda threads: {v: {**t, "thread_id": "mine"} for v, t in threads.items()}),
        "errored",
        "has the thread_id mine, asked for was",
    ),
    BadClient(
        "every thread of one version",
        changed(lambda threads: dict.fromkeys(threads, threads["0.0.4"])),
        "errored",
        "/receive: the answer: the thread for .* has the version 0.0.4",
    ),
    BadClient(
        "threads with turns of their own kind",
        changed(lambda threads: {v: {**t, "turns": [{}]} for v, t in threads.items()}),
        "failed",
        "",
    ),
    BadClient("never fetches its stream", breaking("fetch"), "failed", "stream-not-fetched: .*stream 0 of the case"),
    BadClient(
        "fetches its stream and leaves",
        breaking("leave"),
        "failed",
        "repeat-matters|identity-differs|expected-thread-differs",
    ),
    BadClient(
        "fetches its stream and never reads it",
        breaking("read"),
        "errored",
        "/receive: .*nothing for 0.25 s; stream 0 was requested once and sent whole. read each stream",
        patience=waiting(silence=0.25),
    ),
    BadClient(
        "claims resume, does not come back",
        breaking("resume"),
        "failed",
        "reconnect-not-kept: .*broke off and was not requested again",
    ),
    BadClient(
        "claims resume, begins anew",
        breaking("name"),
        "failed",
        "reconnect-not-kept: .*broke off and was requested again without the id of a frame",
    ),
    BadClient(
        "claims user_cancelled, reads on",
        breaking("user_cancelled"),
        "failed",
        "detects-not-kept: .*0.08 s after `: tp stop` it is still connected",
        "interruptions/stopped-by-its-client",
        patience=waiting(settle=0.08),
    ),
    BadClient(
        "says user_cancelled, keeps listening",
        breaking("close"),
        "failed",
        "^detects-not-kept: .*0.08 s after `: tp stop` it is still connected to stream 0$",
        "interruptions/stopped-by-its-client",
        patience=waiting(settle=0.08),
    ),
    BadClient(
        "claims timeout, waits for ever",
        breaking("timeout"),
        "failed",
        "detects-not-kept: .*0.08 s after its limit of 0.05 s it is still connected to stream 0",
        "interruptions/timeout-while-a-tool-hangs",
        patience=waiting(settle=0.08),
    ),
    BadClient(
        "claims timeout, waits for ever whatever happens",
        breaking("timeout", "silence"),
        "failed",
        "detects-not-kept: .*0.08 s after its limit of 0.05 s it is still connected to stream 0",
        "interruptions/timeout-while-a-tool-hangs",
        patience=waiting(silence=1.0, settle=0.08),
    ),
    BadClient(
        "claims timeout, has no patience",
        breaking("patience"),
        "failed",
        "detects-not-kept: .*it disconnected from stream 0 before its limit of 0.5 s",
        "interruptions/timeout-while-a-tool-hangs",
    ),
    BadClient(
        "claims timeout, takes no heartbeat for life",
        breaking("heartbeat"),
        "failed",
        "heartbeat-ignored: .*it disconnected from stream 0 within its limit of 0.2 s",
        "interruptions/timeout-while-a-tool-hangs",
        patience=waiting(limit=0.02),
    ),
    BadClient(
        "claims network_failure, calls it complete",
        breaking("network_failure"),
        "failed",
        "detects-not-kept: .*stream 0 broke off, and its turn is complete in the thread",
        "interruptions/between-steps",
    ),
    BadClient(
        "claims network_failure, makes a turn of nothing",
        breaking("network_failure"),
        "failed",
        "detects-not-kept: .*stream 0 broke off, and the thread ends with one complete turn more than the streams have",
        "interruptions/before-first-chunk-network",
    ),
    BadClient(
        "claims integrity, gives out tampered bytes",
        breaking("hash"),
        "failed",
        "content-not-verified: .*one byte is another one",
        STORED,
    ),
    BadClient(
        "claims integrity, compares the hash alone",
        breaking("size"),
        "failed",
        "content-not-verified: .*the reference names another size_bytes",
        STORED,
    ),
    BadClient(
        "claims integrity, takes any algorithm for SHA-256",
        breaking("algorithm"),
        "failed",
        "content-not-verified: .*the reference names another algorithm",
        STORED,
    ),
    BadClient(
        "claims integrity, gives out what it has made of the bytes",
        breaking("bytes"),
        "failed",
        "content-not-verified: .*the bytes are those that the reference names",
        STORED,
    ),
    BadClient(
        "claims integrity, reads no bare digits",
        breaking("bare"),
        "failed",
        "content-refused: .*the hash is in bare digits",
        STORED,
    ),
    BadClient(
        "decodes each read by itself",
        breaking("characters"),
        "failed",
        # A busy machine hands on several bytes in one read: then the first character that is split is in an id.
        "chunking-matters: reads of 1 byte: .*(content differs at character|is only on the client side)",
        "sse/characters-of-every-length",
    ),
    BadClient("adopts nothing", breaking("adopt"), "errored", "/adopt answers 404 Not Found: no such path", LOST),
)
