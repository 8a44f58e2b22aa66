"""Every way in which a server under test can be bad that we know of, and the outcome that each has to have.

`test_bad_targets.py` plays each of them; `python -m tests.targets.bad_targets` prints them, and the clients of
`bad_clients.py`, as a Markdown table.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import socket
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tests.scenarios import load_builtin
from tests.targets.servers import ALL, Connection, ContractServer, RawServer, Request, in_thread

from tpharness.errors import TargetError
from tpharness.run.session import Session
from tpharness.targets.remote import Patience

CERTIFICATE = Path(__file__).parent / "self_signed.pem"
CALM = Patience(connect=10.0, answer=10.0, silence=10.0, total=30.0, settle=2.0, limit=0.05)
"""Nothing of this is ever waited for where the outcome is not about time: a machine may stop for a second."""


def waiting(**seconds: float) -> Patience:
    """Make the wait short that the outcome is about, and no other."""
    return replace(CALM, **seconds)


@dataclass(frozen=True)
class Outcome:
    """What a bad target comes to: an outcome and what it says; `refused` before anything is played."""

    outcome: str
    text: str
    seconds: float


@dataclass(frozen=True)
class Bad:
    """One bad target: how it is made, what it is played on, and the outcome it has to have, with words of it."""

    name: str
    make: Callable[[], RawServer] | None
    outcome: str
    words: str
    scenario: str = "tools/metadata"
    url: Callable[[str], str] = lambda url: url
    patience: Patience = CALM
    role: Literal["server", "client"] = "server"


def play(bad: Bad) -> Outcome:
    """Play a scenario on a bad target through the engine."""
    scenario = load_builtin(bad.scenario)
    begun = time.perf_counter()
    with _running(bad) as url:
        try:
            sides = {"server": "reference", "client": "reference", bad.role: bad.url(url)}
            with Session(server=sides["server"], client=sides["client"], patience=bad.patience) as stage:
                (result, *_) = stage.run(stage.play(scenario))
        except TargetError as error:
            return Outcome("refused", _unlinked(f"{error}. {error.hint}", url), time.perf_counter() - begun)
    told = [f"{finding.code}: {finding.message}" for finding in result.findings if finding.code != "identity-differs"]
    text = result.reason or "; ".join(told) or ", ".join(sorted(result.failing_codes))
    return Outcome(result.outcome.value, _unlinked(text, url), time.perf_counter() - begun)


@contextmanager
def _running(bad: Bad) -> Iterator[str]:
    if bad.make is None:
        with socket.socket() as taken:  # bound and not listening: nobody else gets the port meanwhile
            taken.bind(("127.0.0.1", 0))
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        return
    with in_thread(bad.make()) as server:
        yield server.url


def _unlinked(text: str, url: str) -> str:
    """Leave out the port, which is another one each time."""
    port = url.rpartition(":")[2]
    return text.replace(f":{port}", ":PORT")


# ---------------------------------------------------------------------------------------------------- how they are made


def guarded() -> RawServer:
    """Want a token."""
    return RawServer(ContractServer(token="t"))  # noqa: S106  # nobody's


def silent() -> RawServer:
    """Accept, read, and say nothing."""

    async def raw(connection: Connection) -> None:
        while await connection.reader.read(1 << 16):
            pass

    return RawServer(raw=raw)


def dripping() -> RawServer:
    """Begin a head, and add to it for ever."""

    async def raw(connection: Connection) -> None:
        await connection.send(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            await connection.send(b"x")
            await asyncio.sleep(0.05)

    return RawServer(raw=raw)


def closing() -> RawServer:
    """Close at once."""

    async def raw(connection: Connection) -> None:
        del connection

    return RawServer(raw=raw)


def saying(data: bytes) -> RawServer:
    """Say the same to everybody and close."""

    async def raw(connection: Connection) -> None:
        await connection.reader.read(1 << 16)
        await connection.send(data)

    return RawServer(raw=raw)


def secret() -> RawServer:
    """Speak TLS, with a certificate that nobody trusts."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return RawServer(ContractServer(), tls=context)


def everything(status: str, body: bytes = b"", kind: str = "text/plain", more: str = "") -> Callable[[], RawServer]:
    """Answer everything alike."""

    async def handler(request: Request, connection: Connection) -> None:
        del request
        await connection.answer(status, body, kind, more)

    return lambda: RawServer(handler)


def declaring(value: Any) -> Callable[[], RawServer]:
    """Answer to /capabilities with this."""
    return everything("200 OK", json.dumps(value).encode(), "application/json")


def instead(
    method: str,
    end: str,
    answer: Callable[[Request, Connection], Awaitable[None]],
    contracts: list[ContractServer] | None = None,
) -> Callable[[], RawServer]:
    """Keep the contract but for the requests whose path ends so; without marks, so that nothing is played live."""

    def make() -> RawServer:
        contract = ContractServer(declares={**ALL, "marks": False, "resume": False, "carriers": False})
        if contracts is not None:
            contracts.append(contract)

        async def handler(request: Request, connection: Connection) -> None:
            wanted = request.path.count("/") == 2 if end == "thread" else request.path.endswith(end)
            if request.method == method and wanted:
                await answer(request, connection)
            else:
                await contract(request, connection)

        return RawServer(handler)

    return make


def stream(*pieces: bytes, forever: bytes = b"", last: bool = True, stay: bool = False) -> Callable[[], RawServer]:
    """Answer a run with these bytes, then with the same for ever; with the end of the body, or staying, or breaking."""

    async def answer(request: Request, connection: Connection) -> None:
        contract = contracts[-1]
        await contract.run(request.path.split("/")[2], request.value, Deaf(connection.reader, connection.writer))
        await connection.stream()
        for piece in pieces:
            await connection.chunk(piece)
        while forever:
            await connection.chunk(forever)
        if stay:
            await connection.reader.read(1)
        if last:
            await connection.send(b"0\r\n\r\n")
        else:
            connection.writer.close()

    contracts: list[ContractServer] = []
    return instead("POST", "/runs", answer, contracts)


class Deaf(Connection):
    """Takes what the contract's own server says of a run, which then has a thread, and passes nothing on."""

    async def send(self, data: bytes) -> None:
        """Say nothing."""


def breaking(*promises: str) -> Callable[[], RawServer]:
    """Declare everything, and break these promises."""
    return lambda: RawServer(ContractServer(breaks=frozenset(promises)))


async def _html(request: Request, connection: Connection) -> None:
    del request
    await connection.answer("200 OK", b"<!doctype html><title>Sign in</title>", "text/html")


async def _json_stream(request: Request, connection: Connection) -> None:
    del request
    await connection.answer("200 OK", b'{"type":"start"}', "application/json")


async def _broken(request: Request, connection: Connection) -> None:
    del request
    await connection.json({"error": {"message": "the database is away"}}, "500 Internal Server Error")


async def _nothing(request: Request, connection: Connection) -> None:
    del request
    await connection.json({"error": {"message": "no such thread"}}, "404 Not Found")


async def _half_a_head(request: Request, connection: Connection) -> None:
    del request
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-str")
    connection.writer.close()


async def _no_length(request: Request, connection: Connection) -> None:
    del request
    await connection.send(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"version":')
    connection.writer.close()


async def _drip(request: Request, connection: Connection) -> None:
    del request
    await connection.stream()
    while True:
        await connection.chunk(b": still here\n\n")
        await asyncio.sleep(0.05)


def thread(value: Any) -> Callable[[], RawServer]:
    """Answer with this thread; `ID` and `VERSION` stand for what was asked for, bytes are sent as they are."""

    async def answer(request: Request, connection: Connection) -> None:
        name, version = request.path.rpartition("/")[2], request.query["version"]
        if isinstance(value, bytes):
            await connection.answer("200 OK", value)
            return
        text = json.dumps(value).replace('"ID"', f'"{name}"').replace('"VERSION"', f'"{version}"')
        await connection.answer("200 OK", text.encode())

    return instead("GET", "thread", answer)


TURN = {
    "turn_type": "agent",
    "agent_id": "assistant",
    "started_at": "2025-01-20T10:00:00Z",
    "completed_at": "2025-01-20T10:00:01Z",
    "messages": [],
}
START = b'data: {"type":"start"}\n\n'
HTML = b"<!doctype html><title>Welcome</title>"
CANCELLED = "interruptions/mid-text"
UNANSWERED = "threads/same-words-again"

BAD = (
    Bad("nobody listens", None, "refused", "nothing listens there: .*refused.*start the server"),
    Bad(
        "a host that does not exist",
        None,
        "refused",
        "the host no-such-host.invalid does not exist",
        url=lambda _: "http://no-such-host.invalid:9",
    ),
    Bad(
        "http:// to a server that speaks TLS",
        secret,
        "refused",
        "the server speaks TLS. use https:",
        url=lambda url: url.replace("https", "http"),
    ),
    Bad(
        "https:// to a server that does not",
        lambda: saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        "refused",
        "does not speak TLS: .* use http:",
        url=lambda url: url.replace("http", "https"),
    ),
    Bad("a certificate that nobody trusts", secret, "refused", "certificate is not trusted: .*SSL_CERT_FILE"),
    Bad(
        "accepts and says nothing",
        silent,
        "refused",
        "accepts the connection and sends nothing for 0.25 s",
        patience=waiting(silence=0.25),
    ),
    Bad(
        "a head that drips without an end",
        dripping,
        "refused",
        "no answer began within 0.5 s",
        patience=waiting(connect=0.25, answer=0.25),
    ),
    Bad("closes at once", closing, "refused", "closes the connection before its answer is whole"),
    Bad(
        "does not answer with HTTP", lambda: saying(b"SSH-2.0-OpenSSH_9.6\r\n"), "refused", "does not answer with HTTP"
    ),
    Bad(
        "a head without an end",
        lambda: saying(b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 20)),
        "refused",
        "does not answer with HTTP",
    ),
    Bad("404 for everything", everything("404 Not Found"), "refused", "GET .*/capabilities answers 404 Not Found"),
    Bad(
        "500 for everything",
        everything("500 Internal Server Error", b"Traceback"),
        "refused",
        "/capabilities answers 500 Internal Server Error: 'Traceback'. look at the server's own log",
    ),
    Bad(
        "wants a token",
        guarded,
        "refused",
        "answers 401 Unauthorized: no token. give the token in TPHARNESS_TOKEN",
    ),
    Bad(
        "HTML instead of capabilities",
        everything("200 OK", HTML, "text/html"),
        "refused",
        "answers with text/html, not application/json; '<!doctype",
    ),
    Bad(
        "escape sequences instead of capabilities",
        everything("200 OK", b"\x1b[31m'out'\n", "text/html"),
        "refused",
        r"not application/json; '\\x1b\[31m'out'\\n'\. is this",
    ),
    Bad(
        "redirects elsewhere",
        everything("302 Found", more="Location: http://127.0.0.1:9/x\r\n"),
        "refused",
        "a redirect to http://127.0.0.1:9/x. redirects are not followed",
    ),
    *(
        Bad(
            f"redirects to what is not an address: {to}",
            everything("302 Found", more=f"Location: {to}\r\n"),
            "refused",
            f"a redirect to {re.escape(to)}. redirects are not followed",
        )
        for to in ("http://[::1", "http://a:b", "mailto:a", "http://h:99999/", "http:///x")
    ),
    Bad(
        "redirects to itself",
        everything("307 Temporary Redirect", more="Location: /capabilities\r\n"),
        "refused",
        "a redirect to itself. .*it redirects endlessly",
    ),
    Bad(
        "no capabilities in its JSON",
        declaring({}),
        "refused",
        "its declaration does not fit the contract: .contract. is a required property",
    ),
    Bad("capabilities that are a list", declaring([1]), "refused", "is not of type .object."),
    Bad(
        "another contract",
        declaring({**ALL, "contract": "2.0"}),
        "refused",
        "has version 2.0 of the contract, tpharness has 1.2",
    ),
    Bad(
        "only a client",
        declaring({**ALL, "roles": ["client"]}),
        "refused",
        "does not declare the role server, only client",
    ),
    Bad(
        "capabilities that are not UTF-8",
        everything("200 OK", b'{"name":"\xff"}', "application/json"),
        "refused",
        "does not answer with JSON; MUST json-not-utf8",
    ),
    Bad(
        "500 for a run",
        instead("POST", "/runs", _broken),
        "errored",
        "/runs answers 500 Internal Server Error: the database is away",
    ),
    Bad("404 for a run", instead("POST", "/runs", _nothing), "errored", "/runs answers 404 Not Found: no such thread"),
    Bad(
        "HTML instead of a stream",
        instead("POST", "/runs", _html),
        "errored",
        "answers with text/html, not text/event-stream; '<!doctype",
    ),
    Bad(
        "JSON instead of a stream",
        instead("POST", "/runs", _json_stream),
        "errored",
        "answers with application/json, not text/event-stream",
    ),
    Bad(
        "a stream that ends within its head",
        instead("POST", "/runs", _half_a_head),
        "errored",
        "/runs: the server closes the connection before its answer is whole",
    ),
    Bad("a stream that breaks off", stream(START, last=False), "failed", "stream-broken"),
    Bad(
        "a stream that goes silent",
        stream(START, stay=True),
        "failed",
        "stream-stalled: .*nothing for 0.25 s after 24 bytes",
        patience=waiting(silence=0.25),
    ),
    Bad(
        "a stream without an end",
        stream(START, forever=b'data: {"type":"data-x","data":1}\n\n' * 512),
        "failed",
        "stream-endless: .*more than 67108864 bytes",
    ),
    Bad(
        "a stream that drips without an end",
        instead("POST", "/runs", _drip),
        "failed",
        "stream-endless: .*0.5 s and",
        patience=waiting(total=0.5),
    ),
    Bad(
        "heartbeats for ever",
        stream(START, forever=b": beat\n\nevent: ping\ndata: {}\n\n"),
        "failed",
        "stream-endless: .*heartbeats for more than 0.25 s and nothing else",
        patience=waiting(silence=0.25),
    ),
    Bad(
        "heartbeats after its end",
        stream(b"data: [DONE]\n\n", forever=b": beat\n\n"),
        "failed",
        r"stream-endless: .*heartbeats for more than 0.25 s after \[DONE\]",
        patience=waiting(settle=0.25),
    ),
    Bad(
        "a line of 1 GB",
        stream(START, forever=b"data: " + b"x" * (1 << 18)),
        "failed",
        "stream-line-too-long: .*more than 16777216 bytes without a newline",
    ),
    Bad(
        "a stream that is not UTF-8",
        stream(START, b'data: {"type":"text-start","id":"\xff"}\n\n'),
        "failed",
        "stream-not-utf8: a stream is not UTF-8",
    ),
    Bad("a stream that is no chunks", stream(b"data: hello\n\n"), "failed", "unexpected-finding: chunk-not-json"),
    Bad("an empty stream", stream(), "failed", "expected-thread-differs"),
    Bad(
        "a thread that never appears",
        instead("GET", "thread", _nothing),
        "errored",
        "answers 404: 0.08 s after its run ended the thread still does not exist",
        patience=waiting(settle=0.08),
    ),
    Bad(
        "a thread with another id",
        thread({"version": "0.0.4", "thread_id": "t-1", "turns": []}),
        "errored",
        "the thread has the thread_id 't-1'",
    ),
    Bad(
        "a thread of another version",
        thread({"version": "0.0.3", "thread_id": "ID", "turns": []}),
        "errored",
        "the thread has the version 0.0.3",
    ),
    Bad("a thread that is not a thread", thread({"messages": []}), "errored", "the thread does not fit the contract"),
    Bad(
        "a thread that is not JSON",
        thread(b"{'version': '0.0.4'}"),
        "errored",
        "does not answer with JSON; MUST json-invalid",
    ),
    Bad(
        "a thread that is not UTF-8",
        thread(b'{"version":"\xff"}'),
        "errored",
        "does not answer with JSON; MUST json-not-utf8",
    ),
    Bad("a thread shorter than it says", instead("GET", "thread", _no_length), "errored", "breaks off after 11 bytes"),
    Bad(
        "a thread with turns of its own kind",
        thread({"version": "VERSION", "thread_id": "ID", "turns": [{}]}),
        "failed",
        "",
    ),
    *(
        Bad(
            f"a thread with {name} where an object belongs",
            thread({"version": "VERSION", "thread_id": "ID", "turns": [{**TURN, "total_usage": number}]}),
            "failed",
            f"usage-malformed: total_usage is not an object .*value-not-interoperable: {number} is not a JSON number",
        )
        for name, number in (("nan", math.nan), ("inf", math.inf), ("minus inf", -math.inf))
    ),
    Bad("claims marks, sends none", breaking("marks"), "failed", "marks-not-kept: .*there are no marks at all"),
    Bad(
        "sends marks before the bytes of their events",
        breaking("marks-after"),
        "failed",
        "marks-not-kept: .*a delta comes after `: tp 4`, the mark of the last event of a held run",
        CANCELLED,
    ),
    Bad("claims carriers, sends none", breaking("carriers"), "failed", "carriers-not-kept"),
    Bad("claims resume, has no ids", breaking("resume"), "failed", "resume-not-kept: .*no frame of a stream has an id"),
    Bad(
        "claims a version, answers 404",
        breaking("0.0.3"),
        "failed",
        r"versions-not-kept: .*\?version=0.0.3 answers 404",
    ),
    Bad(
        "claims cancel, answers 404", breaking("cancel"), "failed", "cancel-not-kept: .*/cancel answers 404", CANCELLED
    ),
    Bad(
        "claims cancel, stops nothing",
        breaking("cancel-answer"),
        "failed",
        "cancel-not-kept: .*nothing to cancel while the run is held",
        CANCELLED,
    ),
    Bad(
        "answers a cancel, and goes on",
        breaking("cancel-effect"),
        "failed",
        "cancel-not-kept: .*it is answered, and the stream does not end: nothing for 0.25 s",
        CANCELLED,
        patience=waiting(silence=0.25),
    ),
    Bad(
        "answers a cancel before its thread shows it",
        breaking("cancel-early"),
        "failed",
        "cancel-not-kept: .*when it is answered, the thread does not show the interruption yet",
        "basics/cancelled-in-arguments",
    ),
    Bad(
        "cancels for another reason than it is asked for",
        breaking("cancel-reason"),
        "failed",
        "interruption, reason differs .*: reference '.timeout', server '.user_cancelled'",
        "interruptions/abort-with-known-reason",
    ),
    Bad(
        "starts a second run while one goes on",
        breaking("second-run"),
        "failed",
        "second-run-taken: .*it is started",
        "cycles/one-kind-of-part-alone",
    ),
    Bad(
        "refuses a second run as if it were wrong",
        breaking("second-run-400"),
        "failed",
        "second-run-taken: .*/runs answers 400 Bad Request: a run goes on",
        "cycles/one-kind-of-part-alone",
    ),
    Bad(
        "records the user's turn of a run that it refuses",
        breaking("second-run-user"),
        "failed",
        "outline-differs: the turns, messages and parts of the thread differ",
        "cycles/one-kind-of-part-alone",
    ),
    Bad(
        "cancels a run that has ended",
        breaking("cancel-late"),
        "failed",
        "cancel-after-end: .*still .cancelled: true",
        "interruptions/after-finish",
        patience=waiting(settle=0.08),
    ),
    Bad("cancels without telling the client", breaking("abort"), "failed", "cancel-not-told", CANCELLED),
    Bad(
        "claims to stop when the client goes, does not",
        breaking("disconnect"),
        "failed",
        "disconnect-not-kept: .*0.08 s after the connection was closed",
        "interruptions/between-steps",
        patience=waiting(settle=0.08),
    ),
    Bad(
        "records another reason when the client goes",
        breaking("disconnect-reason"),
        "failed",
        r"\Aoutline-differs: [^;]*\Z",
        "interruptions/between-steps",
        patience=waiting(settle=0.08),
    ),
    Bad(
        "stops when the client goes, and loses the turn",
        breaking("disconnect-lost"),
        "failed",
        r"\Aoutline-differs: [^;]*\Z",
        "interruptions/between-steps",
        patience=waiting(settle=0.08),
    ),
    Bad(
        "claims limits, keeps none",
        breaking("limits"),
        "failed",
        "limits-not-kept: .*nothing for 0.25 s",
        "interruptions/timeout-while-a-tool-hangs",
        patience=waiting(silence=0.25),
    ),
    Bad(
        "claims limits, has no heartbeat",
        breaking("heartbeat"),
        "failed",
        "heartbeat-not-kept: .*not one comment in 0.05 s of silence, one every 0.0125 s was asked for",
        "interruptions/timeout-while-a-tool-hangs",
    ),
    Bad(
        "deletes and forgets nothing",
        breaking("forget"),
        "failed",
        r"thread-not-forgotten: .*GET /threads/.thread_id.\?version=0.0.4 answers 200; .*user-turns answers 204$",
        UNANSWERED,
    ),
    Bad(
        "has every thread that is asked for",
        breaking("unknown-get"),
        "failed",
        r"^unknown-thread-taken: .*GET /threads/.thread_id.\?version=0.0.4 answers 200$",
        UNANSWERED,
    ),
    Bad(
        "creates a thread for a user turn",
        breaking("unknown-user-turn"),
        "failed",
        "^unknown-thread-taken: .*POST /threads/.thread_id./user-turns answers 204$",
        UNANSWERED,
    ),
    Bad("refuses to delete", breaking("delete"), "failed", "delete-refused: DELETE .* answers 404"),
)


def main() -> int:
    """Print the table; 1 if an outcome is not the one that it has to be."""
    from tests.targets.bad_clients import BAD_CLIENTS  # which is made of what is here

    argparse.ArgumentParser(description=__doc__).parse_args()
    rows = [(bad, play(bad)) for bad in (*BAD, *BAD_CLIENTS)]
    table = ["| target | outcome | what it says |", "|---|---|---|"]
    for bad, got in rows:
        text = got.text.replace("|", "\\|").replace("\n", " ")
        table.append(f"| {bad.name} | {got.outcome} | {text} |")
    sys.stdout.write("\n".join(table) + "\n")
    wrong = [bad.name for bad, got in rows if got.outcome != bad.outcome]
    slowest, took = max(((bad.name, got.seconds) for bad, got in rows), key=lambda row: row[1])
    sys.stderr.write(
        f"{len(rows)} bad targets; the slowest, {slowest}, took {took:.1f} s; "
        f"other outcomes than expected: {', '.join(wrong) or 'none'}\n"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
