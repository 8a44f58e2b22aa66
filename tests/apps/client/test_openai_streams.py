"""Chat Completions and Responses as the wire between page and application, read as OpenAI's own client reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.apps.chat_app import Defect
from tests.apps.openai_app import CompletionsApp, ResponsesApp
from tests.apps.playing import codes_of, play
from tests.apps.provider.asking import asking, body_of, user
from tests.apps.provider.plans import WHOLE, Read, broken

from tpharness.apps.client.openai_streams import CompletionsStream, OpenAiRefusedError, ResponsesStream
from tpharness.apps.client.profile import Chat, Trigger
from tpharness.apps.client.profiles import find_profile
from tpharness.model_apis.plan import Break, Plan
from tpharness.verdict import Outcome, Result
from tpharness.wires.sse.parser import SseParser

WIRES: dict[str, type[CompletionsApp]] = {"chat-completions": CompletionsApp, "responses": ResponsesApp}
CASES = ("basic", "uncut", "model-fails", "model-stops", "second-message", "long-chat")


def found(results: list[Result]) -> dict[str, set[str]]:
    """Return the codes of every case with findings, those of a policy too."""
    return {one.id: {finding.code for finding in one.findings} for one in results if one.findings}


@pytest.mark.parametrize("wire", WIRES)
def test_a_right_application_passes(wire: str) -> None:
    """That the wire has no calls is said once; whoever reads the same address with another profile reads nothing."""
    results = play(WIRES[wire](), *CASES, history=wire, effects="ledger", on_disconnect="stop")
    assert codes_of(results) == set()
    assert found(results)["uncut/tool-call"] == {"calls-not-on-the-wire"}
    played = {one.id for one in results if one.outcome is Outcome.PASSED}
    assert {"user-leaves/in-text", "user-leaves/while-tool-runs", "model-drops/in-answer"} <= played
    assert {one.outcome for one in results} <= {Outcome.PASSED, Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("defect", "code", "cases"),
    [
        (Defect.HIDES_FAILURE, "failure-as-finish", "model-fails"),
        (Defect.TEARS_STREAM, "failure-unsaid", "model-fails"),
        (Defect.DATES_PROMPT, "history-changed", "uncut"),
        (Defect.RUNS_TWICE, "tool-ran-twice", "uncut"),
    ],
)
def test_a_broken_one_is_found(wire: str, defect: Defect, code: str, cases: str) -> None:
    """By the same checks as on any other wire."""
    results = play(WIRES[wire](defect), cases, history=wire, effects="ledger", on_disconnect="stop")
    assert codes_of(results) == {code}


def test_a_page_posts_the_words_alone() -> None:
    """An answer of which nothing was seen is not there."""
    parts: list[dict[str, Any]] = [{"type": "step-start"}, {"type": "text", "text": "Hal"}]
    messages: list[dict[str, Any]] = [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]},
        {"id": "2", "role": "assistant", "parts": parts},
        {"id": "3", "role": "user", "parts": [{"type": "text", "text": "And?"}]},
        {"id": "4", "role": "assistant", "parts": parts[:1]},
    ]
    told = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hal"},
        {"role": "user", "content": "And?"},
    ]
    chat = Chat(id="c", messages=messages)
    for wire, field in (("chat-completions", "messages"), ("responses", "input")):
        body = find_profile(wire).body(chat, Trigger.SUBMIT)
        assert body == {"model": "default", field: told, "stream": True}


@pytest.mark.parametrize("stream", [CompletionsStream(), ResponsesStream()])
@pytest.mark.parametrize("data", [b"{", b"[1]", b"", b"\xff"])
def test_an_event_that_is_no_object_ends_the_stream(stream: CompletionsStream | ResponsesStream, data: bytes) -> None:
    """OpenAI's clients raise there."""
    with pytest.raises(OpenAiRefusedError):
        list(stream.feed(data))


# ------------------------------------------------------------------------------------------------ OpenAI's own client

APIS = {"openai-chat": CompletionsStream, "openai-responses": ResponsesStream}
PLANS = [
    *WHOLE.values(),
    *(
        broken(WHOLE["thinking, text and three calls"], breaks, at)
        for breaks in (Break.END, Break.ERROR)
        for at in (0, 4, 5, 8)
    ),
]


def read_by_us(api: str, data: bytes) -> dict[str, Any]:
    """Return what our page reads of an answer."""
    stream, text, said = APIS[api](), "", {"finish": None, "error": False}
    for event in SseParser().feed_data(data):
        for chunk in stream.feed(event):
            if isinstance(chunk, str):
                continue
            text += chunk.get("delta", "")
            said["finish"] = chunk.get("finishReason", said["finish"])
            said["error"] = said["error"] or chunk["type"] == "error"
    return {"text": text, **said}


def wanted(read: Read) -> dict[str, Any]:
    """Return the same of what OpenAI's client has read."""
    names = {"content_filter": "content-filter", "tool_calls": "tool-calls", "max_output_tokens": "length"}
    finish = names.get(str(read.finish), read.finish)
    return {"text": read.text, "finish": "stop" if finish == "completed" else finish, "error": read.error is not None}


@pytest.mark.long
@pytest.mark.parametrize("api", APIS)
def test_our_page_reads_what_openai_s_own_client_reads(api: str) -> None:
    """Of every plan that the fake of the API writes, whole and cut: the text, the reason, that it failed."""
    from tests.apps.provider.python_readers import Clients, read  # seconds, which collecting the tests does not take

    async def both(plans: list[Plan]) -> Iterator[tuple[Plan, dict[str, Any], Read]]:
        rows = []
        async with asking() as asker:
            clients = Clients(asker.provider.base)
            for plan in plans:
                asker.conversation.plans([plan])
                _, data = await asker.read(api, body_of(api, [user(api)]))
                asker.conversation.plans([plan])
                theirs = await read(api, "stream", clients, f"Book me a hotel. {asker.conversation.mark}")
                rows.append((plan, read_by_us(api, data), theirs))
            await clients.close()
        return iter(rows)

    for plan, ours, theirs in asyncio.run(both(PLANS)):
        assert ours == wanted(theirs), plan
