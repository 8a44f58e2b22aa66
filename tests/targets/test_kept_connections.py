"""Connections that a server closes without having said so, as HTTP/1.1 allows it to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.scenarios import load_builtin
from tests.targets.bad_targets import CALM
from tests.targets.clients import ContractClient
from tests.targets.running import bounded
from tests.targets.servers import Connection, ContractServer, RawServer, Request

from tpharness.journal import UserTurn
from tpharness.run.plan import base_case, make_script
from tpharness.targets import Reference
from tpharness.targets.contract import Script, TargetOutput
from tpharness.targets.http_client import HttpClient
from tpharness.targets.http_server import HttpServer
from tpharness.targets.remote import UnreachableError
from tpharness.trace.tape import recording

SCRIPT = make_script(base_case(load_builtin("interruptions/mid-text")))
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


def test_a_client_is_asked_on_a_connection_of_its_own_each_time() -> None:
    """Its requests are all POST, of which none may come twice."""

    async def run() -> int:
        async with RawServer(ContractClient()) as raw:
            target = HttpClient(raw.url, patience=CALM)
            try:
                await target.open()
                await target.adopt((await Reference().serve(SCRIPT)).threads)
            finally:
                await target.close()
            return raw.connections

    assert bounded(run()) == 2
