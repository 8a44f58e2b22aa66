"""The client posts as its profile says, keeps what it has seen, leaves, resumes and answers approvals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.apps.odd_apps import serving, stream, stream_begun, text

from tpharness.apps.client import Addresses, ChatClient, End, Limits, Profile, Route, find_profile
from tpharness.errors import UsageError

Bodies = list[dict[str, Any]]


def talk(
    respond: Callable[[web.Request, int], Awaitable[web.StreamResponse]],
    script: Callable[[ChatClient], Awaitable[Any]],
    profile: str | Profile = "ai-sdk",
    **limits: float,
) -> tuple[Any, Bodies]:
    """Serve `respond` for the nth request, let `script` use a client; return what it returns, and the bodies posted."""
    bodies: Bodies = []

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST" and request.path == "/chat":
            bodies.append(await request.json())
        return await respond(request, len(bodies))

    async def main() -> Any:
        async with serving(handle) as port, aiohttp.ClientSession() as session:
            base = f"http://127.0.0.1:{port}"
            addresses = Addresses(
                chat=f"{base}/chat",
                stop=Route(method="POST", url=f"{base}/chat/{{id}}/stop"),
                thread=Route(method="GET", url=f"{base}/chat/{{id}}"),
                resume=Route(method="GET", url=f"{base}/chat/{{id}}/stream"),
            )
            known = find_profile(profile) if isinstance(profile, str) else profile
            client = ChatClient(session, addresses, known, chat_id="c/1", limits=Limits(**limits))  # type: ignore[arg-type]
            try:
                return await script(client)
            finally:
                await client.close()

    return asyncio.run(main()), bodies


async def says(request: web.Request, number: int) -> web.StreamResponse:
    """Answer with a text that has a number."""
    return await stream(request, *text(f"answer {number}"))


def test_an_answer_that_is_nested_too_deeply_has_no_value() -> None:
    """Its text is there, for whoever reads the report."""

    async def respond(_: web.Request, __: int) -> web.StreamResponse:
        return web.Response(text="[" * 100_000, content_type="application/json")

    fetched, _ = talk(respond, ChatClient.view)
    assert (fetched.status, fetched.value, len(fetched.text)) == (200, None, 100_000)


async def two_turns(client: ChatClient) -> list[dict[str, Any]]:
    """Write twice, and return the screen."""
    for words in ("one", "two"):
        assert await client.submit(words).ended(5)
    return client.messages


@pytest.mark.parametrize(
    ("profile", "fields", "texts"),
    [
        ("ai-sdk", {"id", "messages", "trigger"}, ["one", "answer 1", "two"]),
        ("client", {"id", "messages", "trigger"}, ["one", "answer 1", "two"]),
        ("pydantic-ai", {"id", "messages", "trigger", "builtinTools"}, ["one", "answer 1", "two"]),
        ("last-message", {"id", "message", "trigger"}, ["two"]),
        ("mastra", {"id", "messages", "trigger", "memory"}, ["two"]),
    ],
)
def test_a_profile_posts_the_history_or_the_last_message(profile: str, fields: set[str], texts: list[str]) -> None:
    """What `useChat` posts by itself, and by the recipes for stored messages."""
    screen, bodies = talk(says, two_turns, profile)
    assert [message["role"] for message in screen] == ["user", "assistant", "user", "assistant"]
    body = bodies[1]
    assert set(body) == fields
    assert body["id"] == "c/1"
    assert body["trigger"] == "submit-message"
    messages = body.get("messages") or [body["message"]]
    assert ["".join(p["text"] for p in m["parts"] if p["type"] == "text") for m in messages] == texts


@pytest.mark.parametrize("leaves", [True, False])
def test_who_leaves_behind_an_abort_is_not_owed_the_end_of_the_stream(leaves: bool) -> None:
    """Stop is pressed, and the user writes on before [DONE] has come; where nobody leaves it is missing."""

    async def answer(request: web.Request, number: int) -> web.StreamResponse:
        del number
        chunks: tuple[dict[str, Any], ...] = ({"type": "start", "messageId": "m1"}, {"type": "abort"})
        return await (stream(request, *chunks, ends=False) if leaves else stream_begun(request, *chunks))

    async def script(client: ChatClient) -> list[str]:
        reply = client.submit("one")
        assert await reply.until(lambda seen: seen.has("abort"), 5)
        if leaves:
            await reply.leave()
        await reply.ended(5)
        return [finding.code for finding in reply.findings]

    codes, _ = talk(answer, script)
    assert codes == ([] if leaves else ["done-missing"])


def test_what_was_cut_is_posted_as_it_is_on_the_screen() -> None:
    """`useChat` keeps a half text as streaming, and the half arguments of a call with what they read as."""

    async def answer(request: web.Request, number: int) -> web.StreamResponse:
        if number > 1:
            return await says(request, number)
        chunks = (
            {"type": "start", "messageId": "m1"},
            {"type": "text-start", "id": "t"},
            {"type": "text-delta", "id": "t", "delta": "Hel"},
            {"type": "tool-input-start", "toolCallId": "c", "toolName": "book"},
            {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"city":"Par'},
        )
        return await stream(request, *chunks, ends=False)

    async def script(client: ChatClient) -> End:
        reply = client.submit("one")
        assert await reply.until(lambda seen: seen.has("tool-input-delta"), 5)
        await reply.leave()
        assert await client.submit("two").ended(5)
        return reply.end

    end, bodies = talk(answer, script)
    assert end is End.LEFT
    parts = bodies[1]["messages"][1]["parts"]
    assert parts == [
        {"type": "text", "text": "Hel", "state": "streaming"},
        {
            "type": "tool-book",
            "toolCallId": "c",
            "state": "input-streaming",
            "input": {"city": "Par"},
            "rawInput": '{"city":"Par',
        },
    ]


def test_an_approval_is_answered_in_the_message_that_asked() -> None:
    """The answer goes on in the same message."""

    async def answer(request: web.Request, number: int) -> web.StreamResponse:
        if number == 1:
            call = {"toolCallId": "c", "toolName": "book", "input": {}}
            asks = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
            return await stream(
                request, {"type": "start", "messageId": "m1"}, {"type": "tool-input-available", **call}, asks
            )
        done = {"type": "tool-output-available", "toolCallId": "c", "output": "booked"}
        return await stream(request, {"type": "start", "messageId": "m1"}, done, *text("done")[1:])

    async def script(client: ChatClient) -> list[dict[str, Any]]:
        assert await client.submit("one").ended(5)
        reply = client.answer_approvals(approved=(True,), reason="fine")
        assert reply is not None
        assert await reply.ended(5)
        assert client.answer_approvals(approved=(True,)) is None
        return client.messages

    screen, bodies = talk(answer, script)
    posted = bodies[1]["messages"]
    assert (bodies[1]["trigger"], bodies[1]["messageId"]) == ("submit-message", "m1")
    assert [message["role"] for message in posted] == ["user", "assistant"]
    assert posted[1]["parts"][0]["state"] == "approval-responded"
    assert posted[1]["parts"][0]["approval"] == {"id": "a", "approved": True, "reason": "fine"}
    assert len(screen) == 2
    assert [part["type"] for part in screen[1]["parts"]] == ["tool-book", "text"]
    assert screen[1]["parts"][0]["output"] == "booked"


def test_regenerating_takes_the_answer_away_first() -> None:
    """As the button does."""

    async def script(client: ChatClient) -> list[dict[str, Any]]:
        assert await client.submit("one").ended(5)
        assert await client.regenerate().ended(5)
        return client.messages

    screen, bodies = talk(says, script)
    assert bodies[1]["trigger"] == "regenerate-message"
    assert [message["role"] for message in bodies[1]["messages"]] == ["user"]
    assert [m["parts"][0]["text"] for m in screen] == ["one", "answer 2"]


def test_a_resumed_answer_stands_for_the_one_that_was_cut() -> None:
    """The application sends it from its beginning, and names the message; routes name the chat."""
    paths: list[str] = []

    async def answer(request: web.Request, number: int) -> web.StreamResponse:
        paths.append(f"{request.method} {request.raw_path}")
        named = {"type": "start", "messageId": "m1"}
        if request.method == "POST" and number:
            return (
                await stream(request, named, *text("answ")[1:3], ends=False)
                if request.path == "/chat"
                else web.json_response({})
            )
        whole = (named, *text("answer whole")[1:])
        return await stream(request, *whole) if "stream" in request.path else web.json_response([])

    async def script(client: ChatClient) -> list[dict[str, Any]]:
        reply = client.submit("one")
        assert await reply.until(lambda seen: seen.has("text-delta"), 5)
        await reply.leave()
        resumed = client.resume()
        assert resumed is not None
        assert await resumed.ended(5)
        stopped, view = await client.stop(), await client.view()
        assert stopped is not None
        assert view is not None
        assert (stopped.status, view.value) == (200, [])
        return client.messages

    screen, _ = talk(answer, script)
    assert [m["parts"][0]["text"] for m in screen] == ["one", "answer whole"]
    assert paths == ["POST /chat", "GET /chat/c%2F1/stream", "POST /chat/c%2F1/stop", "GET /chat/c%2F1"]


def test_every_wait_has_a_limit() -> None:
    """Headers that do not come, a body that does not end, a body without measure."""

    async def silent(_: web.Request, __: int) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async def endless(request: web.Request, _: int) -> web.StreamResponse:
        return await stream(request, {"type": "start"}, ends=False)

    async def script(client: ChatClient) -> tuple[End, str]:
        reply = client.submit("one")
        assert await reply.ended(5)
        return reply.end, reply.problem

    assert talk(silent, script, headers=0.1)[0] == (End.BROKEN, "no answer after 0.1 s")
    assert talk(endless, script, answer=0.2)[0] == (End.ENDLESS, "the answer has not ended after 0.2 s")
    assert talk(endless, script, size=40)[0] == (End.ENDLESS, "the answer has more than 40 bytes")


def test_a_profile_of_the_user_is_found_and_a_wrong_one_is_told(tmp_path: Any) -> None:
    """A class with two methods in a module beside tpharness.toml."""
    (tmp_path / "own_profile.py").write_text(
        "class Own:\n    def body(self, chat, trigger):\n        return {'said': chat.last['parts'][0]['text']}\n"
        "    def translator(self):\n        return None\n",
        "utf-8",
    )
    (tmp_path / "fails_at_import.py").write_text("1 / 0", "utf-8")
    (tmp_path / "fails_when_made.py").write_text("def Own():\n    return {}['mine']\n", "utf-8")
    profile = find_profile("python:own_profile:Own", folder=tmp_path)
    _, bodies = talk(says, two_turns, profile)
    assert bodies == [{"said": "one"}, {"said": "two"}]
    for name, words in (
        ("python:own_profile:Other", "cannot be made"),
        ("python:own_profile", "cannot be made"),
        ("python:fails_at_import:Own", "cannot be made: ZeroDivisionError: division by zero"),
        ("python:fails_when_made:Own", "cannot be made: KeyError: 'mine'"),
        ("python:json:JSONDecoder", "is not a request profile"),
        ("mastra-2", "no request profile"),
    ):
        with pytest.raises(UsageError, match=words):
            find_profile(name, folder=tmp_path)


class _Own:
    """A profile that does what is said; its translator is itself."""

    def __init__(self, **does: Callable[[], Any]) -> None:
        self._does = does

    def body(self, *_: object) -> Any:
        return self._does.get("body", dict)()

    def translator(self) -> Any:
        return self._does.get("translator", lambda: self)()

    def feed(self, _: bytes) -> Any:
        return self._does.get("feed", list)()


@pytest.mark.parametrize(
    ("method", "does", "words"),
    [
        ("body", lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        ("body", lambda: {"said": {1}}, "TypeError: Object of type set is not JSON serializable"),
        ("body", lambda: ["said"], "TypeError: 'list' object is not a mapping"),
        ("body", lambda: None, "TypeError: it returned None, not a dict: is a return missing?"),
        ("translator", lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        ("feed", lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        ("feed", lambda: [{1}], "TypeError: Object of type set is not JSON serializable"),
    ],
)
def test_the_method_of_a_profile_that_does_not_work_is_told(method: str, does: Callable[[], Any], words: str) -> None:
    """The application is not blamed, and nobody waits for the limit of an answer."""

    async def script(client: ChatClient) -> None:
        await client.submit("one").ended(60)

    with pytest.raises(UsageError) as told:
        talk(says, script, _Own(**{method: does}))
    assert str(told.value) == f"{__name__}._Own.{method} cannot be used: {words}"
    assert told.value.hint.startswith("body(chat, trigger) returns a dict of JSON values")


def test_a_profile_that_does_not_work_is_told_to_a_user_who_leaves() -> None:
    """A cut is no end of an answer that was waited for."""
    broken = asyncio.Event()

    def feed() -> Any:
        broken.set()
        raise ValueError("mine")

    async def script(client: ChatClient) -> None:
        reply = client.submit("one")
        await broken.wait()
        await reply.leave()

    with pytest.raises(UsageError, match="feed cannot be used: ValueError: mine"):
        talk(says, script, _Own(feed=feed))
