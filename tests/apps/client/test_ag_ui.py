"""Our AG-UI client holds and posts what `@ag-ui/client` 1.0.0 was recorded to hold and post."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.apps.client.ag_ui_real import TABLE, play_with_the_real_client
from tests.apps.client.ag_ui_scenes import (
    ANSWER,
    CANCELLED,
    FAILED,
    FINISHED,
    SCENES,
    STARTED,
    SUCCESS,
    TOOL,
    call,
    interrupt,
    result,
    run,
    said,
    snapshot,
    text,
    thought,
)
from tests.apps.odd_apps import serving, stream
from tests.distribution import Sample

from tpharness.apps.client import Addresses, ChatClient, find_profile
from tpharness.apps.client.ag_ui import AgUi
from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.profile import Chat, Trigger
from tpharness.wires.sse.parser import SseParser

Json = dict[str, Any]
RECORDED: dict[str, list[Json]] = json.loads(TABLE.read_text("utf-8"))


class Page:
    """A user in front of our client, without a network."""

    def __init__(self, **extra: Any) -> None:
        self.chat = Chat(id="thread")
        self.page = AgUi().for_chat(self.chat, extra)

    def post(self, run: Json, number: int) -> Json:
        """Do what the user does; return what is posted."""
        if "says" in run:
            part = {"type": "text", "text": run["says"]}
            self.chat.messages.append({"id": f"user-{number}", "role": "user", "parts": [part]})
        for part in (part for message in self.chat.messages for part in message["parts"]):
            if part.get("state") == "approval-requested" and "approved" in run:
                part["approval"] = {**part["approval"], "approved": run["approved"]}
        trigger = Trigger.APPROVE if "approved" in run else Trigger.SUBMIT
        return {**self.page.body(self.chat, trigger), "runId": f"run-{number}"}

    def read(self, run: Json) -> tuple[str, list[str]]:
        """Read what is answered; return why the client refuses it, and the types of the chunks that it comes to."""
        refused, types = "", []
        translator, frames = self.page.translator(), SseParser()
        for event in run["events"]:
            text = event if isinstance(event, str) else f"data: {json.dumps(event)}\n\n"
            for data in frames.feed_data(text.encode()):
                try:
                    types += [c if isinstance(c, str) else c["type"] for c in translator.feed(data)]
                except StreamRefusedError as error:
                    refused = str(error)
        return refused, types


def renamed(value: Any, ids: dict[str, str]) -> Any:
    """Return a value with other ids."""
    text = json.dumps(value)
    for ours, theirs in ids.items():
        text = text.replace(json.dumps(ours), json.dumps(theirs))
    return json.loads(text)


OUTCOMES = {
    "success": {"finish"},
    "interrupt": {"finish"},
    "cancelled": {"abort"},
    "error": {"error"},
    "abort": set[str](),  # the real client makes this one up when its user leaves
}
MADE_UP = {"thinking-2": "made-1"}
"""The client makes an id up for thoughts that have none."""


@pytest.mark.parametrize("name", SCENES)
def test_our_client_does_what_the_real_one_was_recorded_to_do(name: str) -> None:
    """What is posted, what is held after each run, and whether the client takes the stream."""
    page = Page()
    for number, (played, recorded) in enumerate(zip(SCENES[name], RECORDED[name], strict=True), 1):
        posted = page.post(played, number)
        assert renamed(posted, MADE_UP) == recorded["posted"]
        refused, types = page.read(played)
        assert renamed(page.page.held.messages, MADE_UP) == recorded["messages"]
        assert page.page.held.state == recorded["state"]
        assert page.page.held.interrupts == recorded["interrupts"]
        assert bool(refused) is (recorded["ends"] == "refused"), refused or recorded["message"]
        if recorded["outcome"] is not None:
            assert {"cancelled": "abort", "error": "error", "abort": ""}.get(recorded["outcome"], "finish") in [
                "",
                *types,
            ]


@pytest.mark.node
@pytest.mark.sampled
def test_the_table_is_what_the_real_client_does(sample: Sample[str]) -> None:
    """The scenes are played with the package; `scripts/ag_ui_probes.py` writes the table."""
    chosen = {name: SCENES[name] for name in sample(list(SCENES))}
    assert play_with_the_real_client(chosen) == {name: RECORDED[name] for name in chosen}


def test_every_scene_is_recorded() -> None:
    """No more and no fewer."""
    assert set(RECORDED) == set(SCENES)


BOOK = {"name": "book", "description": "Book it.", "parameters": {"type": "object"}}
CITY = '{"city":"Paris"}'
CALLED = ["start", "tool-input-start", "tool-input-delta", "tool-input-available"]


def test_the_tools_of_the_page_are_advertised_and_their_calls_are_answered() -> None:
    """A thread goes on only when every call of a tool of the page has an answer; here the page has not run it."""
    page = Page(tools=[BOOK])
    asks = run(STARTED, *text("Hello."), *call(CITY), SUCCESS)
    assert page.post(asks, 1)["tools"] == [BOOK]
    page.read(asks)
    posted = page.post(run(says="two"), 2)
    assert posted["tools"] == [BOOK]
    assert [message["role"] for message in posted["messages"]] == ["user", "assistant", "tool", "user"]
    answer = posted["messages"][2]
    assert (answer["toolCallId"], answer["content"], bool(answer["error"])) == ("c1", "", True)
    page.read(run(*ANSWER))
    assert [m["role"] for m in page.post(run(says="three"), 3)["messages"][2:]] == ["tool", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("events", "parts"),
    [
        (text("Hel", ends=False), [{"type": "text", "text": "Hel", "state": "streaming"}]),
        (thought("Let me"), [{"type": "reasoning", "text": "Let me", "state": "done"}]),
        (call('{"city":"Pa'), [{"state": "input-streaming", "rawInput": '{"city":"Pa', "input": {"city": "Pa"}}]),
        (call(CITY, ends=False), [{"state": "input-streaming", "rawInput": CITY, "input": {"city": "Paris"}}]),
        (call(CITY), [{"state": "input-available", "input": {"city": "Paris"}}]),
        (call(""), [{"state": "input-available", "input": {}}]),
        (
            [*call(CITY), result()],
            [{"state": "output-available", "input": {"city": "Paris"}, "output": "booked"}],
        ),
        (
            [*call(CITY), interrupt("i1")],
            [{"state": "approval-requested", "input": {"city": "Paris"}, "approval": {"id": "i1"}}],
        ),
        (
            [*call(CITY), interrupt("i1", call_id=None)],
            [{"state": "approval-requested", "input": {"city": "Paris"}, "approval": {"id": "i1"}}],
        ),
        ([*text("Hel", ends=False), snapshot()], []),
        ([snapshot(said("Hello.")), FINISHED], [{"type": "text", "text": "Hello.", "state": "done"}]),
    ],
)
def test_the_screen_shows_what_the_client_holds(events: list[Json], parts: list[Json]) -> None:
    """Half arguments as they are; nothing that a snapshot has taken away."""
    page = Page()
    page.post(run(), 1)
    page.read(run(STARTED, *events))
    shown = [part for message in page.chat.messages if message["role"] == "assistant" for part in message["parts"]]
    called = {"type": "tool-book", "toolCallId": "c1"}
    assert shown == [part if "type" in part else {**called, **part} for part in parts]


@pytest.mark.parametrize(
    ("events", "types"),
    [
        ([*text("A"), SUCCESS], ["start", "text-start", "text-delta", "text-end", "finish", "[DONE]"]),
        ([*call(CITY)], ["start", "tool-input-start", "tool-input-delta", "tool-input-available"]),
        ([*call('{"ci'), FAILED], ["start", "tool-input-start", "tool-input-delta", "error"]),
        ([CANCELLED], ["start", "abort", "[DONE]"]),
        ([*call("{}"), interrupt("i1")], [*CALLED, "tool-approval-request", "finish", "[DONE]"]),
        ([*call("{}"), result(), snapshot(said("", "m1", "c1"), TOOL)], [*CALLED, "tool-output-available"]),
        ([*call("{}"), snapshot(said("", "m1", "c1"), TOOL)], [*CALLED, "tool-output-available"]),
        ([*text("A"), snapshot(said("A", "m7"))], ["start", "text-start", "text-delta", "text-end"]),
        ([*thought("A")], ["start", "reasoning-start", "reasoning-delta", "reasoning-end"]),
    ],
)
def test_events_come_to_the_chunks_that_they_mean(events: list[Json], types: list[str]) -> None:
    """A cancelled run is no regular end; half arguments are never whole; a snapshot adds what was not there."""
    page = Page()
    page.post(run(), 1)
    assert page.read(run(STARTED, *events)) == ("", types)


def test_an_earlier_run_changes_nothing_when_the_user_has_written_again() -> None:
    """A page leaves it alone with `detachActiveRun`; what it still sends is known all the same."""
    page = Page()
    page.post(run(), 1)
    first = page.page.translator()
    events = [json.dumps(one).encode() for one in (STARTED, *text("Hel", "lo"), FINISHED)]
    for data in events[:3]:
        list(first.feed(data))
    page.post(run(says="two"), 2)
    page.read(run(*ANSWER))
    before = page.page.held.messages
    assert [c if isinstance(c, str) else c["type"] for data in events[3:] for c in first.feed(data)][-1] == "[DONE]"
    assert page.page.held.messages == before
    assert [message.get("content") for message in before] == ["one", "Hel", "two", "Again."]


def test_a_second_tab_has_the_messages_and_what_waits_for_an_answer() -> None:
    """They are copied with the screen."""
    first = Page()
    first.post(run(), 1)
    first.read(run(STARTED, *call(CITY, parent=None), interrupt("i1")))
    second = Page()
    second.chat.messages = first.chat.messages
    posted = second.post(run(approved=True), 2)
    assert posted["messages"][1]["toolCalls"][0]["function"] == {"name": "book", "arguments": CITY}
    assert posted["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": {"approved": True}}]


def test_the_application_is_asked_for_events_and_refused_where_the_client_refuses_it() -> None:
    """Over HTTP: as the real client asks, and with the words of why it does not go on."""
    accepts = []

    async def answer(request: web.Request) -> web.StreamResponse:
        accepts.append(request.headers["accept"])
        return await stream(request, *text("Hello."), FINISHED)

    async def main() -> tuple[str, list[Any], list[Json]]:
        async with serving(answer) as port, aiohttp.ClientSession() as session:
            addresses = Addresses(chat=f"http://127.0.0.1:{port}/")
            client = ChatClient(session, addresses, find_profile("ag-ui"))
            reply = client.submit("one")
            assert await reply.ended(5)
            return reply.refused, reply.findings, client.messages

    refused, findings, messages = asyncio.run(main())
    assert accepts == [RECORDED["order/no-start"][0]["accept"]]
    assert refused == "the stream begins with TEXT_MESSAGE_START (ag-ui-first-event)"
    assert (findings, [message["role"] for message in messages]) == ([], ["user"])
