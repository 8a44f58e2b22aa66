"""A page that is reloaded takes up its answer: from the beginning, without it, or in the middle of a text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect, Json, Stored, Writer
from tests.apps.playing import THREAD, play

from tpharness.findings import Level


class Recorder(Writer):
    """Keeps what is sent."""

    def __init__(self, response: web.StreamResponse, sent: list[Mapping[str, Any]]) -> None:
        super().__init__(response)
        self._sent = sent

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write one chunk, and keep it."""
        self._sent.append(chunk)
        await super().send(chunk, done=done)


class Resumes(ChatApp):
    """Goes on when its client has left, and sends the answer once more, but for chunks of types that it `leaves_out`.

    Of these it leaves out what it had sent when the new page came.
    """

    leaves_out: tuple[str, ...] = ()

    def __init__(self) -> None:
        super().__init__(Defect.RUNS_ON)
        self.sent: dict[str, list[Mapping[str, Any]]] = {}

    def application(self) -> web.Application:
        """Add the address at which an answer is taken up."""
        app = super().application()
        app.router.add_get("/api/chat/{id}/stream", self.resume)
        return app

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Keep what is sent, by the chat."""
        del chat
        return Recorder(response, self.sent.setdefault(body["id"], []))

    async def resume(self, request: web.Request) -> web.StreamResponse:
        """Send the answer until its end."""
        sent = self.sent[request.match_info["id"]]
        before = len(sent)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        index = 0
        while index == 0 or sent[index - 1]["type"] != "finish":
            if index == len(sent):
                await asyncio.sleep(0.01)
                continue
            if index >= before or sent[index]["type"] not in self.leaves_out:
                await response.write(f"data: {json.dumps(sent[index])}\n\n".encode())
            index += 1
        await response.write(b"data: [DONE]\n\n")
        return response


@pytest.mark.parametrize(
    ("leaves_out", "codes"),
    [
        ((), set()),
        (("text-delta",), {"view-differs"}),
        (("text-start", "text-delta"), {"stream-refused"}),
    ],
    ids=["from-the-beginning", "without-the-beginning", "in-the-middle"],
)
def test_a_page_that_takes_up_its_answer_shows_all_of_it(leaves_out: tuple[str, ...], codes: set[str]) -> None:
    """The stored chat has the answer only when it has ended: what the stream leaves out, the page does not have."""
    app = Resumes()
    app.leaves_out = leaves_out
    config: dict[str, Any] = {"thread": THREAD, "resume": "GET /api/chat/{id}/stream", "on_disconnect": "continue"}
    (result,) = play(app, "reload/in-text", **config)
    assert {finding.code for finding in result.findings if finding.level is not Level.MAY} == codes


class Stores(Resumes):
    """Shows a reloaded page the half answer too, as `stored` and a number; the stream has `streamed` and that."""

    def __init__(self, stored: str, streamed: str) -> None:
        super().__init__()
        self.stored, self.streamed, self.answers = stored, streamed, 0

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Give the answer its id in the stream."""
        self.answers += 1
        return Named(super().writer(chat, body, response), response, f"{self.streamed}{self.answers}")

    async def view(self, request: web.Request) -> web.Response:
        """The messages, and the answer that has not ended."""
        answer = await super().view(request)
        messages = json.loads(answer.text or "")["messages"]
        sent = self.sent.get(request.match_info["id"], [])
        half = "".join(chunk["delta"] for chunk in sent if chunk["type"] == "text-delta")
        if half and messages[-1]["role"] == "user":
            part = {"type": "text", "text": half}
            messages.append({"id": f"{self.stored}{self.answers}", "role": "assistant", "parts": [part]})
        return web.json_response({"messages": messages})


class Named(Writer):
    """Begins the stream of another writer with the id of the message."""

    def __init__(self, out: Writer, response: web.StreamResponse, name: str) -> None:
        super().__init__(response)
        self._out, self._name = out, name

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write one chunk."""
        named = {**chunk, "messageId": self._name} if chunk["type"] == "start" else chunk
        await self._out.send(named, done=done)


@pytest.mark.parametrize(("streamed", "codes"), [("stored", set()), ("other", {"view-differs"})])
def test_a_page_shows_an_answer_once_whose_stored_half_and_stream_have_one_id(streamed: str, codes: set[str]) -> None:
    """The client writes the answer behind a half with another id; `test_real_client` holds it to the real `useChat`."""
    config: dict[str, Any] = {"thread": THREAD, "resume": "GET /api/chat/{id}/stream", "on_disconnect": "continue"}
    (result,) = play(Stores("stored", streamed), "reload/in-text", **config)
    found = [finding for finding in result.findings if finding.level is not Level.MAY]
    assert {finding.code for finding in found} == codes
    for finding in found:
        assert str(finding.got).startswith("2 times, in the message stored")
        assert "as the stream begins it: I will see to" in str(finding.got)
        assert "messageId" in finding.remedy
