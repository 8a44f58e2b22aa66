"""Ollama's lines as its documentation has them, and what its clients leave out when they send a history back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.apps.provider.asking import SAYS, Asker, asking, body_of, user

from tpharness.model_apis.plan import Break, Call, Plan, Text, Thinking, Usage

PARIS = Call(call_id="call_paris", name="book_hotel", pieces=('{"ci', 'ty":"Pa', 'ris"}'))
ROME = Call(call_id="call_rome", name="book_hotel", pieces=('{"city":"Rome"}',))
DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 7}


def run(asked: Callable[[Asker], Awaitable[None]], **options: Any) -> None:
    """Run a test on a provider of its own."""

    async def limited() -> None:
        async with asyncio.timeout(20), asking(**options) as asker:
            await asked(asker)

    asyncio.run(limited())


async def lines(asker: Asker, plan: Plan, **more: Any) -> list[Any]:
    """Ask once, and return the objects of the lines; each line has its end."""
    asker.conversation.plans([plan])
    status, data = await asker.read("ollama", body_of("ollama", [user("ollama")], **more))
    assert status == 200
    assert data.endswith(b"\n") or data.startswith(b"{") or not data
    return [json.loads(line) for line in data.splitlines()]


def written(call_id: str, index: int, city: str) -> dict[str, Any]:
    """Return a call as the API writes it."""
    return {"id": call_id, "function": {"index": index, "name": "book_hotel", "arguments": {"city": city}}}


def test_a_stream_is_a_line_for_each_piece_and_one_that_says_done() -> None:
    """Only the last line has a reason, tokens and durations; a call is whole, and its arguments are an object."""

    async def asked(asker: Asker) -> None:
        found = await lines(asker, Plan(items=(Thinking(pieces=("Hm.",)), Text(pieces=("Let ", "me.")), PARIS, ROME)))
        assert [line["message"] for line in found] == [
            {"role": "assistant", "content": "", "thinking": "Hm."},
            {"role": "assistant", "content": "Let "},
            {"role": "assistant", "content": "me."},
            *(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {
                            "id": f"call_{city.lower()}",
                            "function": {"index": n, "name": "book_hotel", "arguments": {"city": city}},
                        }
                    ],
                }
                for n, city in enumerate(("Paris", "Rome"))
            ),
            {"role": "assistant", "content": ""},
        ]
        assert all(line["done"] is False and "done_reason" not in line for line in found[:-1])
        assert {name: found[-1][name] for name in DONE} == DONE
        assert found[-1]["total_duration"] > 0
        assert {line["model"] for line in found} == {"llama3.2"}

    run(asked)


def test_a_whole_answer_is_the_last_line_with_the_message() -> None:
    """Without streaming, which has to be said: absent means streaming."""

    async def asked(asker: Asker) -> None:
        plan = Plan(items=(Thinking(pieces=("H", "m.")), Text(pieces=("A", "B")), ROME), usage=Usage(input=3, output=5))
        (found,) = await lines(asker, plan, stream=False)
        assert found["message"] == {
            "role": "assistant",
            "content": "AB",
            "thinking": "Hm.",
            "tool_calls": [
                {"id": "call_rome", "function": {"index": 0, "name": "book_hotel", "arguments": {"city": "Rome"}}}
            ],
        }
        assert (found["done"], found["prompt_eval_count"], found["eval_count"]) == (True, 3, 5)

    run(asked)


@pytest.mark.parametrize("breaks", [Break.END, Break.ERROR])
def test_a_broken_stream_never_says_done(breaks: Break) -> None:
    """A call of which pieces are missing is not there; an error is a line of its own under status 200."""

    async def asked(asker: Asker) -> None:
        plan = Plan(items=(Text(pieces=("Let me.",)), PARIS), breaks=breaks, break_at=3, error_text="out of memory")
        found = await lines(asker, plan)
        assert found[0]["message"]["content"] == "Let me."
        assert found[1:] == ([{"error": "out of memory"}] if breaks is Break.ERROR else [])

    run(asked)


def native(*cities: str, **more: Any) -> list[dict[str, Any]]:
    """Return calls as clients send them back."""
    return [{"function": {"name": "book_hotel", "arguments": {"city": city}}, **more} for city in cities]


HISTORIES: dict[str, list[dict[str, Any]]] = {
    "the Python package: no ids, names by hand": [
        {"role": "assistant", "content": "", "tool_calls": native("Paris", "Rome")},
        {"role": "tool", "content": "P", "tool_name": "book_hotel"},
        {"role": "tool", "content": "R", "tool_name": "book_hotel"},
    ],
    "langchain-ollama: neither ids nor names": [
        {"role": "assistant", "tool_calls": native("Paris", "Rome")},
        {"role": "tool", "content": "P"},
        {"role": "tool", "content": "R"},
    ],
    "strands: each call a message of its own": [
        {"role": "assistant", "content": "", "tool_calls": native("Paris")},
        {"role": "assistant", "content": "", "tool_calls": native("Rome")},
        {"role": "assistant", "content": "Let me."},
        {"role": "tool", "content": "P"},
        {"role": "tool", "content": "R"},
    ],
    "LangChain.js: ids of its own": [
        {"role": "assistant", "content": "", "tool_calls": [*native("Paris", id="u1"), *native("Rome", id="u2")]},
        {"role": "tool", "content": "P"},
        {"role": "tool", "content": "R"},
    ],
    "the AI SDK: ids": [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [*native("Paris", id="call_paris"), *native("Rome", id="call_rome")],
        },
        {"role": "tool", "content": "R", "tool_call_id": "call_rome"},
        {"role": "tool", "content": "P", "tool_call_id": "call_paris"},
    ],
}


@pytest.mark.parametrize("sent", HISTORIES.values(), ids=HISTORIES)
def test_a_result_is_that_of_its_call_whatever_a_client_leaves_out(sent: list[dict[str, Any]]) -> None:
    """Calls and results have the ids that the model gave, so that what came back can be compared with what it said."""

    async def asked(asker: Asker) -> None:
        await lines(asker, Plan(items=(PARIS, ROME)))
        asker.conversation.plans([Plan(items=(Text(pieces=("Done.",)),))])
        status, _ = await asker.read("ollama", body_of("ollama", [user("ollama"), *sent]))
        assert status == 200
        exchange = asker.conversation.exchanges[-1]
        assert exchange.refusals == ()
        calls = [call.call_id for told in exchange.history for call in told.calls]
        assert calls == ["call_paris", "call_rome"]
        results = {result.call_id: result.content for told in exchange.history for result in told.results}
        assert results == {"call_paris": "P", "call_rome": "R"}

    run(asked)


def test_a_call_that_the_model_never_made_has_no_id_of_ours() -> None:
    """Neither one with other arguments, nor a second one like one that is taken, nor one of another conversation."""

    async def asked(asker: Asker) -> None:
        await lines(asker, Plan(items=(ROME,)))
        asker.conversation.plans([Plan(), Plan()])
        made_up = {"role": "assistant", "content": "", "tool_calls": native("Oslo", "Rome", "Rome")}
        await asker.read("ollama", body_of("ollama", [user("ollama"), made_up]))
        await asker.read("ollama", body_of("ollama", [user("ollama", f"Else. {SAYS}"), made_up]))
        first, second = asker.conversation.exchanges[-2:]
        assert [call.call_id for call in first.history[1].calls] == ["book_hotel#1", "call_rome", "book_hotel#3"]
        assert [call.call_id for call in second.history[1].calls] == ["book_hotel#1", "book_hotel#2", "book_hotel#3"]

    run(asked)


def test_a_request_that_a_go_server_cannot_decode_is_refused_in_its_words() -> None:
    """And one without a model."""

    async def asked(asker: Asker) -> None:
        call = {"function": {"name": "book_hotel", "arguments": '{"city":"Pa'}}
        history = [user("ollama"), {"role": "assistant", "content": "", "tool_calls": [call]}]
        status, data = await asker.read("ollama", body_of("ollama", history))
        assert (status, json.loads(data)) == (
            400,
            {
                "error": "json: cannot unmarshal string into Go struct field ChatRequest.messages.tool_calls.function."
                "arguments of type api.ToolCallFunctionArguments"
            },
        )
        assert asker.conversation.exchanges[-1].history[1].calls[0].raw == '{"city":"Pa'
        status, data = await asker.read("ollama", {"messages": [user("ollama")]})
        assert (status, json.loads(data)) == (400, {"error": "model is required"})

    run(asked)


def test_what_clients_ask_beside_the_chat_is_answered() -> None:
    """The models with those that were asked for, what one can do, and a version that gives ids."""

    async def asked(asker: Asker) -> None:
        await lines(asker, Plan(), stream=False)
        base = asker.provider.base
        async with asker.session.get(f"{base}/api/tags") as answer:
            assert "llama3.2" in [model["name"] for model in (await answer.json())["models"]]
        async with asker.session.get(f"{base}/api/ps") as answer:
            assert [model["model"] for model in (await answer.json())["models"]] == ["llama3.2"]
        async with asker.session.get(f"{base}/api/version") as answer:
            assert await answer.json() == {"version": "0.12.10"}
        async with asker.session.post(f"{base}/api/show", json={"model": "llama3.2"}) as answer:
            assert "tools" in (await answer.json())["capabilities"]
        assert asker.provider.strays == []

    run(asked)
