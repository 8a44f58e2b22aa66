"""The server's side of the control contract, path by path, held against bytes and documents written by hand."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest
import yarl
from tests.reference_app.peer import AGENTS, AT, HELLO, TOOL_CALL, Serve, run_body, user_turn

pytestmark = pytest.mark.asyncio

HELLO_STREAM = b"""\
id: 1.0
data: {"type":"start"}

id: 1.1
data: {"type":"start-step"}

id: 1.2
data: {"type":"text-start","id":"text-1"}

id: 1.3
data: {"type":"text-delta","id":"text-1","delta":"Hel"}

id: 1.4
data: {"type":"text-delta","id":"text-1","delta":"lo"}

id: 1.5
data: {"type":"text-end","id":"text-1"}

id: 1.6
data: {"type":"finish-step"}

id: 1.7
data: {"type":"finish"}

id: 1.8
data: [DONE]

"""

HELLO_TURN = {
    "turn_type": "agent",
    "agent_id": "a",
    "started_at": "2025-01-20T10:00:01Z",
    "completed_at": "2025-01-20T10:00:04Z",
    "completion_status": "complete",
    "messages": [
        {
            "message_type": "response",
            "timestamp": "2025-01-20T10:00:02Z",
            "agent_id": "a",
            "parts": [{"part_kind": "text", "content": "Hello"}],
        }
    ],
}


async def test_capabilities_declare_everything(serve: Serve) -> None:
    """It plays both roles, in all versions, and is durable only with a store."""
    async with serve() as peer:
        status, told = await peer.answer("GET", "/capabilities")
    assert status == 200
    assert told.pop("name")
    assert told.pop("version")
    assert told == {
        "contract": "1.2",
        "roles": ["server", "client"],
        "versions": ["2.0.0", "0.0.3", "0.0.4"],
        "carriers": True,
        "marks": True,
        "cancel": True,
        "limits": True,
        "resume": True,
        "seed": True,
        "durable": False,
        "integrity": True,
        "disconnect": ["stop", "continue"],
        "detects": ["network_failure", "timeout", "user_cancelled"],
        "wires": ["vsp", "ag-ui"],
        "hash": True,
        "migrate": True,
        "history": True,
        "import": True,
        "readings": {"R20": "drop", "R21": "all-returns", "R24": "drop"},
    }


async def test_a_run_streams_what_it_says_and_the_thread_shows_it(serve: Serve) -> None:
    """The stream is the UI message stream with ids; the thread has the user turn and the complete turn."""
    async with serve() as peer:
        async with asyncio.timeout(5), peer.post("/threads/t/runs", run_body(HELLO, user=[user_turn("Hi")])) as answer:
            assert answer.status == 200
            assert answer.headers["content-type"] == "text/event-stream"
            assert answer.headers["x-vercel-ai-ui-message-stream"] == "v1"
            assert answer.headers["cache-control"] == "no-cache"
            assert await answer.read() == HELLO_STREAM
        document = await peer.thread("t")
    assert document == {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": "2025-01-20T10:00:00Z",
        "updated_at": "2025-01-20T10:00:04Z",
        "agents": AGENTS,
        "turns": [user_turn("Hi"), HELLO_TURN],
    }


async def test_marks_follow_the_bytes_of_each_event(serve: Serve) -> None:
    """`: tp 0` after what opens the stream, `: tp N` after event N, also after one that says nothing."""
    events = [{"event_kind": "final_result", "at": AT.format(2)}, *HELLO]
    async with serve() as peer:
        data = await peer.play("t", run_body(events, marks=True))
    text = data.decode()
    assert text.startswith('id: 1.0\ndata: {"type":"start"}\n\n: tp 0\n\n: tp 1\n\nid: 1.1\n')
    assert '"delta":"Hel"}\n\n: tp 2\n\nid: 1.4\n' in text
    assert '{"type":"finish"}\n\n: tp 6\n\nid: 1.8\ndata: [DONE]\n\n' in text
    assert text.count(": tp ") == 7


async def test_carriers_are_sent_when_asked_for(serve: Serve) -> None:
    """With carriers the first chunk after start says who and when; without there is none."""
    async with serve() as peer:
        told = await peer.play("t", run_body(HELLO, carriers=True, turn={"message_id": "m-1"}))
        bare = await peer.play("u", run_body(HELLO))
    assert told.startswith(
        b'id: 1.0\ndata: {"type":"start","messageId":"m-1"}\n\n'
        b'id: 1.1\ndata: {"type":"data-sys-tp","data":{"timestamp":"2025-01-20T10:00:01Z","agent_id":"a",'
        b'"started_at":"2025-01-20T10:00:01Z"},"transient":true}\n\n'
    )
    assert b"data-sys-tp" not in bare


async def test_a_thread_is_written_in_each_version(serve: Serve) -> None:
    """0.0.4 keeps the complete cycle of an interrupted turn, 0.0.3 and 2.0.0 know complete turns only (R18, R19)."""
    cut = {"interruption": {"reason": "timeout", "at": AT.format(5)}}
    async with serve() as peer:
        await peer.play("t", run_body(TOOL_CALL, user=[user_turn("Hi")], turn=cut))
        newest = (await peer.answer("GET", "/threads/t"))[1]
        older = [await peer.thread("t", version) for version in ("0.0.3", "2.0.0")]
    assert newest["version"] == "0.0.4"
    assert newest["turns"][1]["completion_status"] == "interrupted"
    assert newest["turns"][1]["interruption"] == {"reason": "timeout", "interrupted_at": "2025-01-20T10:00:05Z"}
    assert [m["message_type"] for m in newest["turns"][1]["messages"]] == ["response", "request"]
    assert [(t["version"], len(t["turns"])) for t in older] == [("0.0.3", 1), ("2.0.0", 1)]


async def test_a_user_turn_without_a_run_is_recorded(serve: Serve) -> None:
    """POST user-turns adds to a thread that is there, and to no other."""
    async with serve() as peer:
        assert (await peer.answer("POST", "/threads/t/user-turns", user_turn("Hi")))[0] == 404
        await peer.play("t", run_body(HELLO))
        assert await peer.answer("POST", "/threads/t/user-turns", user_turn("Bye", 9)) == (204, None)
        assert (await peer.thread("t"))["turns"] == [HELLO_TURN, user_turn("Bye", 9)]


async def test_deleting_forgets_and_may_be_repeated(serve: Serve) -> None:
    """DELETE answers 204 for any thread, stops its run, and the next run begins anew."""
    async with serve() as peer:
        assert await peer.answer("DELETE", "/threads/t") == (204, None)
        async with peer.post("/threads/t/runs", run_body(HELLO[:2], hold={"at": AT.format(5)}, marks=True)) as answer:
            await peer.until(answer, b": tp 2\n\n")
            assert await peer.answer("DELETE", "/threads/t") == (204, None)
            assert (await peer.rest(answer)).endswith(b"data: [DONE]\n\n")
        assert (await peer.answer("GET", "/threads/t"))[0] == 404
        assert await peer.play("t", run_body(HELLO)) == HELLO_STREAM


async def test_a_second_run_of_a_thread_that_runs_is_refused(serve: Serve) -> None:
    """409, and the first goes on; another thread is free."""
    async with serve() as peer:
        held = run_body(HELLO[:2], hold={"at": AT.format(5)}, marks=True)
        async with peer.post("/threads/t/runs", held) as answer:
            await peer.until(answer, b": tp 2\n\n")
            status, told = await peer.answer("POST", "/threads/t/runs", run_body(HELLO))
            assert status == 409
            assert "is in progress" in told["error"]["message"]
            assert (await peer.answer("POST", "/threads/t/user-turns", user_turn("Bye")))[0] == 409
            assert await peer.play("u", run_body(HELLO)) == HELLO_STREAM
            assert await peer.answer("POST", "/threads/t/cancel", {"reason": "user_cancelled"}) == (
                200,
                {"cancelled": True},
            )


async def test_a_run_that_goes_on_does_not_appear_yet(serve: Serve) -> None:
    """The turn is atomic: GET shows what stands (R18)."""
    async with serve() as peer:
        body = run_body(TOOL_CALL, user=[user_turn("Hi")], hold={"at": AT.format(5)}, marks=True)
        async with peer.post("/threads/t/runs", body) as answer:
            await peer.until(answer, b": tp 3\n\n")
            assert (await peer.thread("t"))["turns"] == [user_turn("Hi")]


async def test_a_thread_id_may_hold_anything(serve: Serve) -> None:
    """Slashes, spaces and letters beyond ASCII are percent-encoded in the path, once."""
    name = "a/b c/ä%2F"
    path = "a%2Fb%20c%2F%C3%A4%252F"
    async with serve() as peer:
        url = yarl.URL(f"{peer.url}/threads/{path}/runs", encoded=True)
        async with asyncio.timeout(5), peer.session.post(url, json=run_body(HELLO)) as answer:
            assert await answer.read() == HELLO_STREAM
        url = yarl.URL(f"{peer.url}/threads/{path}", encoded=True)
        async with asyncio.timeout(5), peer.session.get(url) as answer:
            assert (await answer.json())["thread_id"] == name
        url = yarl.URL(f"{peer.url}/threads/%FF", encoded=True)
        async with asyncio.timeout(5), peer.session.get(url) as answer:
            assert answer.status == 400


async def test_what_a_later_run_says_of_agents_is_added(serve: Serve) -> None:
    """The registry grows; what the first run said of the thread's creation stands."""
    more = {"b": {"agent_id": "b", "agent_name": "B", "created_at": AT.format(0)}}
    async with serve() as peer:
        await peer.play("t", run_body(HELLO))
        await peer.play("t", {**run_body(HELLO), "agents": more, "created_at": AT.format(9)})
        document = await peer.thread("t")
    assert document["agents"] == {**AGENTS, **more}
    assert document["created_at"] == AT.format(0)
    assert len(document["turns"]) == 2


async def test_surrogates_that_deltas_split_are_joined(serve: Serve) -> None:
    """A character may come in two halves (R43): the stream escapes them, the thread has it whole."""

    def delta(piece: str) -> dict[str, Any]:
        return {"event_kind": "part_delta", "index": 0, "delta": {"part_delta_kind": "text", "content_delta": piece}}

    events = [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": ""}},
        delta("\ud83d"),
        delta("\ude00"),
        {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "\U0001f600"}},
        {"event_kind": "agent_run_result"},
    ]
    async with serve() as peer:
        data = await peer.play("t", run_body(events))
        document = await peer.thread("t")
    assert b'"delta":"\\ud83d"}' in data
    assert document["turns"][0]["messages"][0]["parts"][0]["content"] == "\U0001f600"


def _thread(version: str, **turn: Any) -> dict[str, Any]:
    agent = {**HELLO_TURN, **turn}
    return {
        "version": version,
        "thread_id": "t",
        "created_at": AT.format(0),
        "updated_at": "2025-01-20T10:00:04Z",
        "agents": AGENTS,
        "turns": [user_turn("Hi"), {name: value for name, value in agent.items() if value is not None}],
    }


async def test_it_says_of_any_thread_what_it_is_asked(serve: Serve) -> None:
    """The hash is that of bytes that are written out here; nothing has to be stored."""
    text = {"part_kind": "text", "content": "Hello"}
    prompt = {"part_kind": "user-prompt", "content": "Hi", "timestamp": AT.format(0)}
    told = [
        {"kind": "request", "parts": [prompt], "timestamp": AT.format(0)},
        {"kind": "response", "parts": [text], "timestamp": "2025-01-20T10:00:02Z"},
    ]
    digest = hashlib.sha256(b'{"turns":[],"version":"0.0.4"}').hexdigest()
    async with serve() as peer:
        empty = {**_thread("0.0.4"), "turns": []}
        assert await peer.answer("POST", "/hash", {"thread": empty}) == (200, {"hash": f"sha256:{digest}"})
        older = _thread("0.0.3", completion_status=None)
        answer = await peer.answer("POST", "/migrate", {"thread": _thread("0.0.4"), "to": "0.0.3"})
        assert answer == (200, {"thread": older, "dropped": []})
        assert await peer.answer("POST", "/history", {"thread": _thread("0.0.4")}) == (200, {"messages": told})
        asked = {"messages": told, "thread_id": "u", "agent_id": "a", "at": AT.format(0)}
        status, made = await peer.answer("POST", "/import", asked)
        assert (status, made["thread"]["thread_id"]) == (200, "u")
        assert await peer.answer("POST", "/history", made) == (200, {"messages": told})


async def test_what_is_not_a_thread_is_refused(serve: Serve) -> None:
    """By the contract, and what fits it by the rules of threads: the refusal says why."""
    broken = _thread("0.0.4", completion_status="done")
    async with serve() as peer:
        assert (await peer.answer("POST", "/hash", {"thread": {"version": "0.0.4"}}))[0] == 422
        status, told = await peer.answer("POST", "/migrate", {"thread": broken, "to": "0.0.3"})
    assert status == 422
    assert "not a valid 0.0.4 thread" in told["error"]["message"]
