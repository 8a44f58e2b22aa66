"""Connections that a server closes without having said so, as HTTP/1.1 allows it to."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.scenarios import load_builtin
from tests.targets.bad_targets import CALM
from tests.targets.clients import ContractClient
from tests.targets.running import bounded
from tests.targets.servers import Connection, ContractServer, RawServer, Request

from tpharness.journal import UserTurn
from tpharness.run.plan import base_case, make_script, make_streams
from tpharness.targets import Reference
from tpharness.targets.contract import Script, TargetOutput
from tpharness.targets.http_client import HttpClient
from tpharness.targets.http_server import HttpServer
from tpharness.targets.remote import UnreachableError
from tpharness.trace.tape import recording

CASE = base_case(load_builtin("interruptions/mid-text"))
SCRIPT = make_script(CASE)
TWICE = make_script(base_case(load_builtin("documents/0-0-4-nested-interruptions")))


class Closing:
    """Close instead of an answer to what `closes` chooses, given the request and whether its connection is new."""

    def __init__(self, closes: Callable[[Request, bool], bool]) -> None:
        self.contract = ContractServer()
        self.asked: list[str] = []
        self._closes = closes
        self._seen: set[asyncio.StreamWriter] = set()

    async def __call__(self, request: Request, connection: Connection) -> None:
        """Answer one request, or close."""
        new = connection.writer not in self._seen
        self._seen.add(connection.writer)
        self.asked.append(f"{request.method} {request.path}")
        if self._closes(request, new):
            connection.writer.close()
        else:
            await self.contract(request, connection)


async def _served(closing: Closing, *scripts: Script) -> list[TargetOutput]:
    async with RawServer(closing) as raw:
        target = HttpServer(raw.url, patience=replace(CALM, limit=0.1))
        try:
            return [await target.serve(script) for script in scripts]
        finally:
            await target.close()


@pytest.mark.parametrize("asked", ["GET /threads/", "DELETE ", "/runs", "/cancel", "/user-turns"])
def test_a_kept_connection_that_is_closed_is_no_fault_of_the_server(asked: str) -> None:
    """Whether the request was read is unknown: what may be repeated is, any other request never comes twice."""
    turn = UserTurn(at="2025-01-20T11:00:00Z", parts=({"part_kind": "user-prompt", "content": "Still there?"},))
    script = replace(SCRIPT, turns=(*SCRIPT.turns, turn))
    closed: list[str] = []

    def closes(request: Request, new: bool) -> bool:
        line = f"{request.method} {request.path}"
        if not new and asked in line:
            closed.append(line)
        return line in closed and not new

    closing = Closing(closes)
    outcomes = bounded(_served(closing, script, script))
    assert closed, "a request came on a kept connection"
    assert [outcome.findings for outcome in outcomes] == [(), ()]
    expected = asyncio.run(Reference().serve(script)).threads
    assert [outcome.threads for outcome in outcomes] == [expected, expected]
    posts = []
    deleted: set[str] = set()
    for method, path in map(str.split, closing.asked):
        if method == "DELETE":
            deleted.add(path)
        elif method == "POST" and path.rpartition("/")[0] not in deleted:  # what is deleted is asked for again
            posts.append(path)
    assert len(set(posts)) == len(posts)
    assert closing.contract.threads == {}, "no thread is left"


def test_a_new_connection_that_is_closed_is_a_fault_of_the_server() -> None:
    """A server that crashes on a request does so on every connection."""
    closing = Closing(lambda request, _: request.path.endswith("/runs"))
    with pytest.raises(UnreachableError, match="/runs: the server closes the connection before its answer is whole"):
        bounded(_served(closing, SCRIPT))
    assert sum(line.endswith("/runs") for line in closing.asked) == 2


def test_a_tape_has_what_arrived_of_the_playing_that_counts() -> None:
    """A run that was lost, and those before it on the same thread, are not among the bytes of a case."""
    runs: list[str] = []

    def second_run(request: Request, new: bool) -> bool:
        runs.append(request.path)
        return not new and request.path.endswith("/runs") and runs.count(request.path) == 2

    async def sizes(closes: Callable[[Request, bool], bool]) -> list[int]:
        with recording() as tape:
            await _served(Closing(closes), TWICE)
        reads = [note for note in tape.notes if note.kind == "read"]
        return [sum(note.size for note in reads if note.run == run) for run in range(tape.runs)]

    lost = bounded(sizes(second_run))
    assert sum(path.endswith("/runs") for path in runs) == 4, "two runs, and both again"
    assert lost == bounded(sizes(lambda *_: False))


@pytest.mark.parametrize("asked", ["/receive", "/adopt", "/resolve"])
def test_a_kept_connection_that_is_closed_is_no_fault_of_the_client(asked: str) -> None:
    """A client begins each time anew, so it is asked again: on a connection of its own, with streams of its own."""
    served = asyncio.run(Reference().serve(SCRIPT))
    data = b"content"
    reference = {"hash": "sha256:" + hashlib.sha256(data).hexdigest()}
    client = ContractClient()
    asked_on: list[tuple[str, bool]] = []
    seen: set[asyncio.StreamWriter] = set()

    async def close_when_kept(request: Request, connection: Connection) -> None:
        new = connection.writer not in seen
        seen.add(connection.writer)
        asked_on.append((request.path, new))
        if request.path == asked and not new:
            connection.writer.close()
        else:
            await client(request, connection)

    async def run() -> None:
        async with RawServer(close_when_kept) as raw:
            target = HttpClient(raw.url, patience=CALM)
            try:
                await target.open()
                received = await target.receive(SCRIPT, make_streams(CASE, served.streams))
                assert received == TargetOutput(threads=served.threads)
                assert await target.adopt(served.threads) == served.threads
                assert await target.resolve(reference, data) == data
            finally:
                await target.close()

    bounded(run())
    assert [new for path, new in asked_on if path == asked] == [False, True]
