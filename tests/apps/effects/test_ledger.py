"""The ledger knows when a tool started, had its effect, ended or was cancelled, however it was called."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tpharness.apps.effects import (
    DEFAULT_TOOLS,
    URL_VARIABLE,
    EffectLedger,
    EffectsEndpoint,
    LedgerRun,
    LedgerRunState,
    ToolAnswer,
    ToolFailure,
    ToolSpec,
    ToolWaitError,
)
from tpharness.apps.effects import __main__ as program
from tpharness.errors import TargetError, UsageError

if TYPE_CHECKING:
    from mcp import Client

    from tpharness.apps.effects.mcp_server import McpEndpoint

FAILING = ToolSpec(name="fail", description="Fail.", input_schema={"type": "object"}, failure="no room")
PARIS = {"city": "Paris"}
Run = Callable[[str, Any], Awaitable[Any]]


def mcp_endpoint(ledger: EffectLedger) -> McpEndpoint:
    """Return the ledger's MCP server; the package takes a second to import, which collecting the tests does not."""
    from tpharness.apps.effects.mcp_server import McpEndpoint

    return McpEndpoint(ledger)


def mcp_client(server: Any) -> Client:
    """Return the official MCP client."""
    from mcp import Client  # as above

    return Client(server)


class Caller:
    """A ledger and a way to call its tools, as an application would."""

    def __init__(self, ledger: EffectLedger, call: Run) -> None:
        self.ledger = ledger
        self.call = call

    async def called(self, tool: str = "book_hotel") -> tuple[asyncio.Task[Any], LedgerRun]:
        """Call a tool in the background, and return the task and the run."""
        task = asyncio.ensure_future(self.call(tool, PARIS))
        return task, await self.ledger.next_run(20)


@asynccontextmanager
async def in_process(ledger: EffectLedger) -> AsyncIterator[Run]:
    """The ledger itself."""

    async def call(tool: str, arguments: Any) -> Any:
        return await ledger.perform(tool, arguments, "http")

    yield call


@asynccontextmanager
async def over_http(ledger: EffectLedger) -> AsyncIterator[Run]:
    """A request to the endpoint, as a tool of an application without MCP makes it."""
    async with EffectsEndpoint(ledger) as endpoint, aiohttp.ClientSession() as session:

        async def call(tool: str, arguments: Any) -> Any:
            async with session.post(f"{endpoint.url}/tools/{tool}", json=arguments) as answer:
                told = await answer.json()
                if answer.status != 200:
                    raise ToolFailure(told["error"])
                return told["result"]

        yield call


def _result(answer: Any) -> str:
    (content,) = answer.content
    if answer.is_error:
        raise ToolFailure(content.text)
    return str(content.text)


@asynccontextmanager
async def over_mcp(ledger: EffectLedger) -> AsyncIterator[Run]:
    """The official MCP client over streamable HTTP."""
    async with mcp_endpoint(ledger) as endpoint, mcp_client(endpoint.url) as client:

        async def call(tool: str, arguments: Any) -> Any:
            return _result(await client.call_tool(tool, arguments))

        yield call


@asynccontextmanager
async def over_stdio(endpoint: EffectsEndpoint) -> AsyncIterator[Run]:
    """The official MCP client, which starts the server as a program of its own."""
    from mcp import StdioServerParameters  # as above

    async with endpoint:
        arguments = ["-m", "tpharness.apps.effects", endpoint.url]
        # The client hands on only a few variables by itself.
        program = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with mcp_client(program) as client:

            async def call(tool: str, arguments: Any) -> Any:
                return _result(await client.call_tool(tool, arguments))

            yield call


WAYS = {"in process": in_process, "http": over_http, "mcp": over_mcp}


def fresh() -> EffectLedger:
    """Return a ledger with a tool that works and one that fails."""
    return EffectLedger((*DEFAULT_TOOLS, FAILING))


async def has_its_times(caller: Caller) -> None:
    """Start, effect and end, in this order; the result reaches the caller."""
    result = await caller.call("book_hotel", PARIS)
    assert "TP-1" in str(result)
    (one,) = caller.ledger.runs
    assert (one.tool, one.arguments, one.state) == ("book_hotel", PARIS, LedgerRunState.COMPLETED)
    assert one.effect_at is not None
    assert one.ended_at is not None
    assert one.started_at <= one.effect_at <= one.ended_at
    assert (caller.ledger.effects(), caller.ledger.effects("fail")) == (1, 0)


async def waits_until_it_is_released(caller: Caller, *, before_effect: bool) -> None:
    """For as long as a case needs; others go through."""
    caller.ledger.hold("book_hotel", before_effect=before_effect)
    task, held = await caller.called()
    await held.held(5)
    assert caller.ledger.effects() == (0 if before_effect else 1)
    assert not task.done()
    caller.ledger.stop_holding("book_hotel")
    await caller.call("book_hotel", PARIS)
    assert not task.done()
    held.release()
    assert "TP-1" in str(await task)
    assert await held.ended(5) is LedgerRunState.COMPLETED
    assert caller.ledger.effects() == 2


async def says_whether_it_had_its_effect(caller: Caller, *, before_effect: bool) -> None:
    """That is what an application forgets: the room is booked, and nobody was told."""
    caller.ledger.hold(before_effect=before_effect)
    task, held = await caller.called()
    await held.held(5)
    task.cancel()
    assert await held.ended(10) is LedgerRunState.CANCELLED
    assert (held.effect_at is None) is before_effect
    assert held.ended_at is not None


async def fails_without_effect(caller: Caller) -> None:
    """Its text reaches the caller as an error."""
    with pytest.raises(ToolFailure, match="no room"):
        await caller.call("fail", {})
    (one,) = caller.ledger.runs
    assert (one.state, one.effect_at) == (LedgerRunState.FAILED, None)


async def is_not_offered(caller: Caller) -> None:
    """An error with the names of those that are, and no run."""
    with pytest.raises((ToolFailure, UsageError), match="no tool is called 'book_flight'"):
        await caller.call("book_flight", {})
    assert caller.ledger.runs == []


STORIES: list[Callable[[Caller], Awaitable[None]]] = [
    has_its_times,
    partial(waits_until_it_is_released, before_effect=True),
    partial(waits_until_it_is_released, before_effect=False),
    partial(says_whether_it_had_its_effect, before_effect=True),
    partial(says_whether_it_had_its_effect, before_effect=False),
    fails_without_effect,
    is_not_offered,
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "story", STORIES, ids=lambda s: getattr(s, "__name__", "") or f"{s.func.__name__} {s.keywords}"
)
def test_a_run_of_a_tool(way: str, story: Callable[[Caller], Awaitable[None]]) -> None:
    """However it is called."""

    async def played() -> None:
        ledger = fresh()
        async with asyncio.timeout(30), WAYS[way](ledger) as call:
            await story(Caller(ledger, call))
            assert {one.via for one in ledger.runs} <= {"mcp" if way == "mcp" else "http"}

    asyncio.run(played())


def test_a_run_of_a_tool_over_stdio() -> None:
    """All stories with one program, since it takes seconds to start."""

    async def played() -> None:
        endpoint = EffectsEndpoint(fresh())
        async with asyncio.timeout(60), over_stdio(endpoint) as call:
            for story in STORIES:
                endpoint.ledger = fresh()
                await story(Caller(endpoint.ledger, call))
                assert {one.via for one in endpoint.ledger.runs} <= {"stdio"}

    asyncio.run(played())


def test_mcp_lists_the_tools_with_their_schemas() -> None:
    """From these an application's model makes its arguments."""

    async def asked() -> None:
        async with mcp_endpoint(EffectLedger()) as endpoint, mcp_client(endpoint.url) as client:
            (tool,) = (await client.list_tools()).tools
            assert (tool.name, tool.input_schema["required"]) == ("book_hotel", ["city"])

    asyncio.run(asyncio.wait_for(asked(), 20))


PLAIN_PROGRAM = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1] + "/tools/book_hotel", b"{}").read()
"""
MCP_PROGRAM = """
import asyncio, sys
from mcp import Client

async def main():
    async with Client(sys.argv[1]) as client:
        await client.call_tool("book_hotel", {})

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("serve", "script"), [(EffectsEndpoint, PLAIN_PROGRAM), (mcp_endpoint, MCP_PROGRAM)], ids=["http", "mcp"]
)
def test_a_program_that_is_killed_cancels_its_runs(
    serve: Callable[[EffectLedger], EffectsEndpoint | McpEndpoint], script: str
) -> None:
    """An application that dies says nothing; its connection does."""

    async def asked() -> None:
        ledger = EffectLedger()
        async with serve(ledger) as endpoint:
            ledger.hold()
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, endpoint.url)
            one = await ledger.next_run(30)
            await one.held(5)
            process.kill()
            await process.wait()
            assert await one.ended(5) is LedgerRunState.CANCELLED

    asyncio.run(asyncio.wait_for(asked(), 60))


def test_leaving_the_mcp_endpoint_cancels_what_is_open() -> None:
    """At once, and without a word on standard error."""

    async def asked() -> LedgerRun:
        ledger = EffectLedger()
        ledger.hold()
        endpoint = mcp_endpoint(ledger)
        await endpoint.__aenter__()
        async with mcp_client(endpoint.url) as client:
            task = asyncio.create_task(client.call_tool("book_hotel", {}))
            one = await ledger.next_run(10)
            await one.held(5)
            await asyncio.wait_for(endpoint.__aexit__(), 5)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return one

    assert asyncio.run(asyncio.wait_for(asked(), 30)).state is LedgerRunState.CANCELLED


def test_another_process_can_hold_release_and_count() -> None:
    """Over the same endpoint; the count alone is what an `effects` command prints."""

    async def asked() -> None:
        async with EffectsEndpoint(EffectLedger()) as endpoint, aiohttp.ClientSession(endpoint.url) as session:

            async def post(path: str, value: Any) -> Any:
                async with session.post(path, json=value) as answer:
                    return await answer.json()

            async def count() -> str:
                async with session.get("/count", params={"tool": "book_hotel"}) as answer:
                    return await answer.text()

            assert await count() == "0\n"
            assert await post("/hold", {"tool": "book_hotel", "before_effect": True}) == {"holds": True}
            task = asyncio.create_task(post("/tools/book_hotel", PARIS))
            await (await endpoint.ledger.next_run(5)).held(5)
            assert await count() == "0\n"
            assert await post("/release", {"number": 1}) == {"released": [1]}
            assert (await task)["result"]["booked"] is True
            assert await count() == "1\n"
            async with session.get("/runs") as answer:
                (told,) = await answer.json()
            assert (told["number"], told["state"], told["arguments"]) == (1, "completed", PARIS)
            assert "error" in await post("/hold", {"tool": "book_flight"})
            async with session.post("/tools/book_hotel", data=b"[") as answer:
                assert answer.status == 400

    asyncio.run(asyncio.wait_for(asked(), 20))


def test_the_next_runs_answer_what_they_are_given() -> None:
    """In the order in which they start; then each tool returns what it is described with. A failure has no effect."""

    async def asked() -> None:
        ledger = EffectLedger()
        given = (ToolAnswer(result=""), ToolAnswer(result={"terms": "long"}), ToolAnswer(failure="no room"))
        ledger.answer_next(*given)
        assert await ledger.perform("book_hotel", {}, "test") == ""
        assert await ledger.perform("book_hotel", {}, "test") == {"terms": "long", "reference": "TP-2"}
        with pytest.raises(ToolFailure, match="no room"):
            await ledger.perform("book_hotel", {}, "test")
        assert await ledger.perform("book_hotel", {}, "test") == {"booked": True, "reference": "TP-4"}
        assert [run.effect_at is not None for run in ledger.runs] == [True, True, False, True]
        assert ledger.runs[2].state is LedgerRunState.FAILED
        ledger.answer_next(ToolAnswer(result=""))
        ledger.answer_next()
        assert await ledger.perform("book_hotel", {}, "test") == {"booked": True, "reference": "TP-5"}

    asyncio.run(asyncio.wait_for(asked(), 20))


def test_leaving_the_endpoint_cancels_what_is_open() -> None:
    """No wait is left behind."""

    async def asked() -> LedgerRun:
        ledger = EffectLedger()
        async with aiohttp.ClientSession() as session:
            async with EffectsEndpoint(ledger) as endpoint:
                ledger.hold()
                task = asyncio.create_task(session.post(f"{endpoint.url}/tools/book_hotel", json={}).__aenter__())
                one = await ledger.next_run(5)
                await one.held(5)
            with pytest.raises(aiohttp.ClientError):
                await task
        return one

    assert asyncio.run(asyncio.wait_for(asked(), 20)).state is LedgerRunState.CANCELLED


def test_waits_and_ports_have_errors_that_say_what_is_wrong() -> None:
    """Nobody waits for ever."""

    async def asked() -> None:
        ledger = EffectLedger()
        with pytest.raises(ToolWaitError, match=r"waited 0.01 s for run 1 of a tool"):
            await ledger.next_run(0.01)
        ledger.hold()
        task = asyncio.create_task(ledger.perform("book_hotel", {}, "http"))
        one = await ledger.next_run(1)
        with pytest.raises(ToolWaitError, match=r"run 1 of book_hotel: waited 0.01 s .* it is held"):
            await one.ended(0.01)
        one.release()
        await task
        with pytest.raises(ToolWaitError, match="waited until it is held, but it is completed"):
            await one.held(1)
        async with EffectsEndpoint(ledger) as endpoint:
            with pytest.raises(TargetError, match=f"cannot listen on 127.0.0.1:{endpoint.port}"):
                await EffectsEndpoint(ledger, port=endpoint.port).__aenter__()

    asyncio.run(asked())


@pytest.mark.parametrize("arguments", [[], ["http://example.org"]])
def test_a_program_without_the_ledger_s_address_says_how_it_is_used(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An application shows standard error of its MCP servers at best."""
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.setattr(sys, "argv", ["effects", *arguments])
    assert program.main() == 2
    assert capsys.readouterr().err.startswith("usage: python -m tpharness.apps.effects http://127.0.0.1:PORT")


def test_a_program_whose_ledger_does_not_answer_says_so() -> None:
    """It does not wait for a request before."""
    command = [sys.executable, "-m", "tpharness.apps.effects", "http://127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1
    assert "does not answer" in done.stderr
