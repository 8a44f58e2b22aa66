"""The LangGraph server's wire: what the page posts and reads is what `langgraph_sdk` posts and reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from langchain_core.messages import AIMessageChunk
from langgraph_sdk import get_client
from langgraph_sdk.sse import BytesLineDecoder, SSEDecoder
from tests.apps.chat_app import Defect
from tests.apps.langgraph_app import LangGraphApp
from tests.apps.playing import codes_of, play

from tpharness.apps.client.langgraph import LangGraphPage
from tpharness.apps.client.langgraph_stream import LangGraphStream
from tpharness.apps.client.profile import Chat, Trigger
from tpharness.apps.client.reply import End, Reply
from tpharness.apps.client.routes import Addresses, Fetched, Route
from tpharness.apps.client.session import ChatClient
from tpharness.verdict import Outcome, Result
from tpharness.wires.sse.parser import SseParser

STREAMS = Path(__file__).parent / "langgraph_streams"
RUN = "01a21da4-7b36-74a6-a891-476b3324e54f"
"""The run of `whole.sse`."""
WIRE: dict[str, Any] = {
    "history": "langgraph",
    "path": "",
    "effects": "ledger",
    "thread": "GET /threads/{id}/state",
    "stop": "POST /threads/{id}/runs/{run_id}/cancel",
}
LEAVES: dict[str, Any] = {**WIRE, "on_disconnect": "stop"}
RECONNECTS: dict[str, Any] = {
    **WIRE,
    "on_disconnect": "continue",
    "resume": "GET /threads/{id}/runs/{run_id}/stream",
    "body": {"stream_resumable": True, "on_disconnect": "continue"},
}


def found(results: list[Result]) -> dict[str, set[str]]:
    """Return the codes of every case with findings, those of a policy too."""
    return {one.id: {finding.code for finding in one.findings} for one in results if one.findings}


def test_a_right_server_is_accused_of_nothing() -> None:
    """None is left out that the page can be brought into. One policy: the store has a word until the tool has ended."""
    results = play(LangGraphApp(), **LEAVES)
    assert found(results) == {"reload/while-tool-runs": {"result-told-otherwise"}}
    assert codes_of(results) == set()
    left_out = {one.id.partition("/")[0] for one in results if one.outcome is Outcome.NOT_APPLICABLE}
    assert left_out == {"uncut", "user-leaves", "regenerate", "edit", "approval"}
    assert {one.id for one in results if one.outcome is Outcome.NOT_APPLICABLE} >= {"uncut/thinking", "edit/in-text"}
    assert sum(one.outcome is Outcome.PASSED for one in results) > 50


def test_a_page_that_reconnects_takes_its_run_up() -> None:
    """The run goes on, and the new page is sent it from its beginning: the words in front of the reload are there."""
    results = play(LangGraphApp(), "reload", "stop-button", **RECONNECTS)
    assert codes_of(results) == set()
    assert {one.outcome for one in results} == {Outcome.PASSED}


@pytest.mark.parametrize("modes", [["messages"], ["messages", "values"], ["messages-tuple"], ["updates"], ["values"]])
def test_each_mode_of_the_stream_is_read(modes: list[str]) -> None:
    """In the last two the words come when a node has ended: the model is told more of a half answer than was seen."""
    results = play(LangGraphApp(), "uncut", "user-leaves", "model-drops", body={"stream_mode": modes}, **LEAVES)
    assert codes_of(results) == set()
    said = {code for codes in found(results).values() for code in codes}
    assert said == ({"told-more-than-seen"} if modes in (["updates"], ["values"]) else set())


@pytest.mark.parametrize(
    ("defect", "code", "cases", "page"),
    [
        (Defect.HIDES_FAILURE, "failure-as-finish", "model-fails", LEAVES),
        (Defect.FINISHES_STOP, "stop-as-finish", "stop-button/in-text", LEAVES),
        (Defect.IGNORES_STOP, "stop-ignored", "stop-button/in-text", RECONNECTS),
        (Defect.RUNS_ON, "runs-on", "user-leaves/in-text", LEAVES),
        (Defect.VIEWS_TWICE, "view-differs", "uncut", LEAVES),
        (Defect.RUNS_TWICE, "tool-ran-twice", "uncut", LEAVES),
        (Defect.RUNS_HALF_CALL, "half-call-ran", "model-stops", LEAVES),
        (Defect.STOPS_ALL, "other-chat-ended", "two-chats", LEAVES),
        (Defect.REPAIRS_ARGUMENTS, "arguments-invented", "user-leaves/in-arguments", LEAVES),
    ],
)
def test_a_broken_server_is_found(defect: Defect, code: str, cases: str, page: dict[str, Any]) -> None:
    """By the same checks as on any other wire, and by nothing else."""
    assert codes_of(play(LangGraphApp(defect), cases, **page)) == {code}


def test_a_run_that_is_not_told_to_end_goes_on() -> None:
    """What the table has in `body` is posted in place of what the page would post."""
    app = LangGraphApp()
    results = play(app, "user-leaves/in-text", **{**LEAVES, "body": {"on_disconnect": "continue"}})
    assert codes_of(results) == {"runs-on"}
    assert {body["on_disconnect"] for body in app.posted} == {"continue"}


def test_a_server_without_threads_says_so() -> None:
    """The answer that refuses the thread is the one that is shown."""

    async def main() -> Reply:
        app = web.Application()
        async with serving(app) as url, aiohttp.ClientSession() as session:
            reply = ChatClient(session, Addresses(chat=url), LangGraphPage()).submit("Hi")
            await reply.ended(5)
            return reply

    reply = asyncio.run(main())
    assert (reply.status, reply.end) == (404, End.ENDED)
    assert b"Not Found" in reply.body


# ------------------------------------------------------------------------------------------------ what is read


Reading = tuple[dict[str, str], dict[str, tuple[str, Any]], dict[str, Any], str]


def read_by_us(data: bytes) -> tuple[Reading, list[str]]:
    """Return texts by message, calls and results by id, and the error; and the types of all chunks."""
    texts: dict[str, str] = {}
    calls: dict[str, tuple[str, Any]] = {}
    results: dict[str, Any] = {}
    stream, error, types = LangGraphStream(), "", []
    for frame in SseParser().feed(data):
        for chunk in stream.feed_event(frame.event or "", frame.data):
            types.append(chunk["type"])
            match chunk:
                case {"type": "text-delta"}:
                    texts[chunk["id"]] = texts.get(chunk["id"], "") + chunk["delta"]
                case {"type": "tool-input-available"}:
                    calls[chunk["toolCallId"]] = (chunk["toolName"], chunk["input"])
                case {"type": "tool-output-available"}:
                    results[chunk["toolCallId"]] = chunk["output"]
                case {"type": "error"}:
                    error = chunk["errorText"]
    return (texts, calls, results, error), types


def read_by_the_sdk(data: bytes) -> Reading:
    """Return the same of what the SDK decodes, and LangChain joins; of a run that was cut only whole calls count."""
    lines, decoder, parts = BytesLineDecoder(), SSEDecoder(), []
    for line in (*lines.decode(data), *lines.flush()):
        part = decoder.decode(bytes(line).rstrip(b"\n"))
        if part is not None:
            parts.append(part)
    joined: dict[str, AIMessageChunk] = {}
    results, error = {}, ""
    final: list[Mapping[str, Any]] = []
    for part in parts:
        if part.event == "messages":
            message = part.data[0]
            if message["type"] == "AIMessageChunk":
                piece = AIMessageChunk(**message)
                joined[message["id"]] = joined[message["id"]] + piece if message["id"] in joined else piece
        elif part.event == "messages/partial":
            (message,) = part.data
            joined[message["id"]] = AIMessageChunk(content=message["content"], id=message["id"])
        elif part.event == "values":
            final = part.data["messages"]
        elif part.event == "error":
            error = part.data["message"]
    since = max(at for at, one in enumerate(final) if one["type"] == "human") + 1
    answers = [one for one in final[since:] if one["type"] == "ai"]
    results = {one["tool_call_id"]: one["content"] for one in final[since:] if one["type"] == "tool"}
    calls = {call["id"]: (call["name"], call["args"]) for one in answers for call in one["tool_calls"]}
    texts = {key: str(one.content) for key, one in joined.items() if one.content}
    assert {one["id"]: one["content"] for one in answers if one["content"]}.items() <= texts.items()
    return texts, calls, results, error


@pytest.mark.parametrize("name", sorted(path.stem for path in STREAMS.glob("*.sse")))
def test_a_recorded_stream_is_read_as_the_sdk_reads_it(name: str) -> None:
    """Of langgraph-api 0.16.7: whole, in other modes, stopped in arguments, failed, behind a call that was cut."""
    data = (STREAMS / f"{name}.sse").read_bytes()
    ours, types = read_by_us(data)
    assert ours == read_by_the_sdk(data)
    assert ours[0], "it has words"
    assert ("error" in types) is (name == "failed")
    assert "finish" not in types, "the stream does not say how the run ended"


@pytest.mark.parametrize(
    ("status", "types"),
    [
        ("success", ["text-end", "finish-step", "finish"]),
        ("interrupted", ["abort"]),
        ("error", ["error"]),
        ("timeout", ["error"]),
        ("", ["abort"]),
    ],
)
def test_the_end_is_what_the_run_says(status: str, types: list[str]) -> None:
    """A run without a status was deleted when it was rolled back."""
    stream = LangGraphStream()
    for frame in SseParser().feed((STREAMS / "whole.sse").read_bytes()):
        list(stream.feed_event(frame.event or "", frame.data))
    assert [chunk["type"] for chunk in stream.end(status)] == types


def test_a_run_that_is_slow_to_end_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as an answer may take: its stream has ended, and how it ended is not known before."""
    monkeypatch.setattr("tpharness.apps.client.langgraph._PAUSE", 0.0001)
    states = ["running"] * 90 + ["success"]

    class Http:
        seconds = 1.0

        async def ask(self, method: str, path: str) -> Fetched:
            assert (method, path) == ("GET", f"/threads/c/runs/{RUN}")
            return Fetched(status=200, value={"status": states.pop(0)})

    reader = LangGraphStream()
    reader.run_id = RUN
    http: Any = Http()
    ends = asyncio.run(LangGraphPage().end(Chat(id="c"), http, reader))
    assert [chunk["type"] for chunk in ends] == ["start", "finish"]
    assert not states


def test_a_failure_that_was_told_is_not_told_again() -> None:
    """The status of the run says the same as the event."""
    stream = LangGraphStream()
    list(stream.feed_event("error", b'{"error": "ModelError", "message": "away"}'))
    assert list(stream.end("error")) == []


# ------------------------------------------------------------------------------------------------ what is asked


class serving:  # noqa: N801  # a context
    """Serve an application on loopback."""

    def __init__(self, app: web.Application) -> None:
        self._runner = web.AppRunner(app)

    async def __aenter__(self) -> str:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()


class Recorded:
    """Answers as the server did, and keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Any]] = []

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer any request by its path."""
        body = json.loads(await request.text() or "null")
        self.asked.append((request.method, request.path, body))
        if request.path == "/threads":
            return web.json_response({"thread_id": "t1"})
        if request.path == "/assistants/search":
            return web.json_response([{"graph_id": "agent"}])
        if request.path.endswith("/stream"):
            headers = {"content-location": f"/threads/t1/runs/{RUN}", "content-type": "text/event-stream"}
            return web.Response(body=(STREAMS / "whole.sse").read_bytes(), headers=headers)
        if request.path.endswith("/state"):
            return web.json_response({"values": {"messages": []}})
        return web.json_response({"run_id": RUN, "status": "success"})

    def since(self, begun: int) -> list[tuple[str, str, Any]]:
        """Return what was asked later."""
        return self.asked[begun:]


def test_the_page_asks_what_the_sdk_asks() -> None:
    """The same methods, paths and fields: a thread, a run, its status, the state, a stop, the run that is taken up."""
    recorded = Recorded()

    async def main() -> tuple[list[tuple[str, str, Any]], list[tuple[str, str, Any]]]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", recorded.answer)
        async with serving(app) as url, aiohttp.ClientSession() as session:
            async with get_client(url=url, api_key=None) as client:
                made = await client.threads.create()
                await client.assistants.search(limit=1)
                message = {"type": "human", "content": "Hi"}
                modes: Any = ["values", "messages-tuple"]
                run: Any = {"input": {"messages": [message]}, "stream_mode": modes, "on_disconnect": "cancel"}
                async for _ in client.runs.stream(made["thread_id"], "agent", **run):
                    pass
                await client.runs.get("t1", RUN)
                await client.threads.get_state("t1")
                await client.runs.cancel("t1", RUN)
                async for _ in client.runs.join_stream("t1", RUN):
                    pass
                await client.runs.get("t1", RUN)
            theirs = recorded.since(0)
            begun = len(theirs)
            profile = LangGraphPage()
            words = {key: text.split() for key, text in profile.paths.items()}
            thread, resume, stop = (
                Route(method=words[key][0], url=url + words[key][1]) for key in ("thread", "resume", "stop")
            )
            ours = ChatClient(session, Addresses(chat=url, thread=thread, resume=resume, stop=stop), profile)
            await ours.submit("Hi").ended(5)
            await ours.view()
            await ours.stop()
            again = ours.resume()
            assert again is not None
            await again.ended(5)
            assert [one.finish_reason for one in ours.replies] == ["stop", "stop"]
            return theirs, recorded.since(begun)

    theirs, ours = asyncio.run(main())
    assert [(method, path) for method, path, _ in ours] == [(method, path) for method, path, _ in theirs]
    for (method, path, body), (_, _, said) in zip(ours, theirs, strict=True):
        assert (said or {}).items() >= (body or {}).items(), (method, path)


def test_an_edit_is_refused_with_a_reason() -> None:
    """The page writes messages alone."""
    chat = Chat(id="t1", messages=[{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}])
    with pytest.raises(ValueError, match="take regenerate and edit out"):
        LangGraphPage().body(chat, Trigger.REGENERATE)


def test_a_state_is_shown_as_its_page_shows_it() -> None:
    """One answer for what stands between two messages of the user, with its calls and their results."""
    read = [json.loads(frame.data) for frame in SseParser().feed((STREAMS / "whole.sse").read_bytes())]
    values = [one for one in read if isinstance(one, dict) and "messages" in one][-1]
    shown = LangGraphPage().messages_of({"values": values})
    assert shown is not None
    user, answer = shown
    assert user["parts"] == [{"type": "text", "text": "BOOK it"}]
    assert answer["id"] == values["messages"][1]["id"]
    (call,) = [part for part in answer["parts"] if part["type"] == "tool-book_hotel"]
    assert (call["input"], call["output"]) == ({"city": "Paris", "nights": 2}, "booked 2 nights in Paris")
    assert [part["text"] for part in answer["parts"] if part["type"] == "text"] == ["Let me book. ", "Fine, answer 2."]
    assert LangGraphPage().messages_of({"detail": "Thread not found"}) is None
    assert LangGraphPage().messages_of({"values": None}) == []
