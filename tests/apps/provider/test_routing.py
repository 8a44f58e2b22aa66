"""Which request belongs to which conversation, which plan answers it, and which paths are served."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.apps.provider.asking import MARK, SAYS, Asker, asking, body_of, user

from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.apps.provider.plain import PLAIN_TEXT, smallest
from tpharness.apps.provider.server import Provider
from tpharness.errors import UsageError
from tpharness.model_apis.plan import Break, Call, Plan, Text
from tpharness.model_apis.registry import ApiName

CHAT: ApiName = "openai-chat"
TITLE = "Write a short title for this conversation."


def run(asked: Any) -> None:
    """Run a test on a provider of its own."""

    async def limited() -> None:
        async with asyncio.timeout(20), asking() as asker:
            await asked(asker)

    asyncio.run(limited())


def says(text: str) -> Plan:
    """Return a plan with one text."""
    return Plan(items=(Text(pieces=(text,)),))


def test_conversations_that_run_at_once_get_their_own_plans() -> None:
    """The mark decides, the last one in the user's texts first."""

    async def asked(asker: Asker) -> None:
        marks = [f"[tp:{n}]" for n in range(20)]
        for mark in marks:
            asker.provider.conversation(mark).plans([says(f"for {mark}")])
        answers = await asyncio.gather(*(asker.read(CHAT, body_of(CHAT, [user(CHAT, f"Hi {mark}")])) for mark in marks))
        for mark, (_, data) in zip(marks, answers, strict=True):
            assert f"for {mark}" in data.decode()
            assert len(asker.provider.conversation(mark).exchanges) == 1

    run(asked)


def test_the_newest_mark_wins_and_an_older_one_serves() -> None:
    """A thread may hold marks of several turns, and a turn may have none."""

    async def asked(asker: Asker) -> None:
        other = asker.provider.conversation("[tp:other]")
        said = {"role": "assistant", "content": "ok"}
        await asker.read(CHAT, body_of(CHAT, [user(CHAT), said, user(CHAT, "Now [tp:other]")]))
        await asker.read(CHAT, body_of(CHAT, [user(CHAT), said, user(CHAT, "and no mark")]))
        assert (len(other.exchanges), len(asker.conversation.exchanges)) == (1, 1)
        await asker.read(CHAT, body_of(CHAT, [user(CHAT, "nobody's")]))
        assert [one.mark for one in asker.provider.others] == [None]

    run(asked)


def test_plans_are_used_in_order_and_what_comes_after_is_unplanned() -> None:
    """It is answered all the same, or the application would hang."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([says("first"), says("second")])
        found = [await asker.read(CHAT, body_of(CHAT, [user(CHAT, f"{SAYS} {n}")])) for n in range(3)]
        assert [word in data.decode() for word, (_, data) in zip(["first", "second", PLAIN_TEXT], found, strict=True)]
        assert [one.unplanned for one in asker.conversation.exchanges] == [False, False, True]
        asker.conversation.plans([says("third"), says("never")])
        await asker.read(CHAT, body_of(CHAT, [user(CHAT)]))
        asker.conversation.plans([says("fourth")])
        assert asker.conversation.plans_left == 1

    run(asked)


def test_a_retry_gets_the_same_plan_within_a_turn() -> None:
    """SDKs ask again after a failure before the first byte; the next turn's answer is not for them."""

    async def asked(asker: Asker) -> None:
        failing = Plan(breaks=Break.STATUS, status=503)
        body = body_of(CHAT, [user(CHAT)])
        asker.conversation.plans([failing, says("next")])
        assert [(await asker.read(CHAT, body))[0] for _ in range(3)] == [503, 503, 503]
        assert [one.retry_of for one in asker.conversation.exchanges] == [None, 1, 2]
        _, data = await asker.read(CHAT, body_of(CHAT, [user(CHAT, f"{SAYS} more")]))
        assert b"next" in data
        # The user presses "regenerate": the same body, and yet a new turn.
        asker.conversation.plans([failing])
        await asker.read(CHAT, body)
        asker.conversation.plans([says("again")])
        assert b"again" in (await asker.read(CHAT, body))[1]
        assert asker.conversation.exchanges[-1].retry_of is None

    run(asked)


def test_a_plan_may_fail_once() -> None:
    """The same request once more is answered by the next plan, and the client is told to repeat it soon."""

    async def asked(asker: Asker) -> None:
        body = body_of(CHAT, [user(CHAT)])
        asker.conversation.plans([Plan(breaks=Break.STATUS, status=503, once=True), says("next"), says("later")])
        assert (await asker.read(CHAT, body))[0] == 503
        status, data = await asker.read(CHAT, body)
        assert (status, b"next" in data) == (200, True)
        assert [one.retry_of for one in asker.conversation.exchanges] == [None, 1]
        assert asker.conversation.plans_left == 1

    run(asked)
    with pytest.raises(UsageError, match="fails once, and has no status"):
        Plan(once=True)


def test_a_retry_after_a_time_out_gets_the_same_plan() -> None:
    """A model that is slow before its first byte may be given up and asked again by the SDK itself."""

    async def asked(asker: Asker) -> None:
        body = body_of(CHAT, [user(CHAT)])
        asker.conversation.plans([Plan(items=(Text(pieces=("slow",)),), hold_at=0), says("next")])
        task = asyncio.create_task(asker.read(CHAT, body))
        first = await asker.conversation.next_exchange(5)
        await first.held(5)
        task.cancel()
        await first.ended(5)
        task = asyncio.create_task(asker.read(CHAT, body))
        second = await asker.conversation.next_exchange(5)
        await second.held(5)
        second.release()
        assert b"slow" in (await task)[1]
        assert second.retry_of == first.number

    run(asked)


def test_an_answer_that_had_begun_is_not_retried() -> None:
    """A second request after half an answer is the application's own doing."""

    async def asked(asker: Asker) -> None:
        broken = Plan(items=(Text(pieces=("a", "b")),), breaks=Break.END, break_at=1)
        asker.conversation.plans([broken, says("next")])
        body = body_of(CHAT, [user(CHAT)])
        await asker.read(CHAT, body)
        assert b"next" in (await asker.read(CHAT, body))[1]

    run(asked)


WITHOUT_TOOLS: list[tuple[str, list[Any], list[Any]]] = [
    ("words in the system prompt", [], [{"role": "system", "content": TITLE}, user(CHAT)]),
    ("words around the text", [], [user(CHAT, f"Summarize: {SAYS}")]),
    ("no tools after tools", [body_of(CHAT, [user(CHAT)])], [user(CHAT)]),
    (
        "another system prompt",
        [{"messages": [{"role": "system", "content": "Be kind."}, user(CHAT)]}],
        [{"role": "system", "content": "Name it."}, user(CHAT)],
    ),
]


@pytest.mark.parametrize(("what", "before", "messages"), WITHOUT_TOOLS, ids=[row[0] for row in WITHOUT_TOOLS])
def test_a_request_for_a_title_takes_no_plan(what: str, before: list[Any], messages: list[Any]) -> None:
    """It gets a plain answer, and stands beside the conversation with the reason."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([says("a turn")] * len(before) + [says("planned")])
        for body in before:
            assert b"a turn" in (await asker.read(CHAT, body))[1]
        _, data = await asker.read(CHAT, {"messages": messages, "stream": False})
        assert json.loads(data)["choices"][0]["message"]["content"] == PLAIN_TEXT
        assert asker.conversation.plans_left == 1, what
        assert [one.aside for one in asker.provider.others] == [one.aside for one in asker.conversation.asides]
        assert asker.conversation.asides[0].aside

    run(asked)


def test_a_streamed_request_that_wraps_what_the_user_says_is_for_a_title() -> None:
    """Where the user's text is known, the words around it decide, and its own words do not."""

    async def asked(asker: Asker) -> None:
        text = f"Suggest a title for my talk {MARK}"
        asker.conversation.plans([says("planned")], user_text=text)
        await asker.read(CHAT, {"messages": [user(CHAT, f"Name this chat: {text}")], "stream": True})
        assert [one.aside for one in asker.conversation.asides] == ["it has no tools and asks for 'Name this chat'"]
        asker.conversation.asides.clear()
        for stream in (True, False):
            asker.conversation.plans([says("planned")], user_text=text)
            _, data = await asker.read(CHAT, {"messages": [user(CHAT, text)], "stream": stream})
            assert b"planned" in data
        assert asker.conversation.asides == []

    run(asked)


def test_what_the_user_said_before_is_not_a_request_for_a_title() -> None:
    """A message that was not answered may stand in one message with the next."""

    async def asked(asker: Asker) -> None:
        first, second = f"Suggest a title for my talk {MARK}", f"And a summary {MARK}"
        asker.conversation.plans([says("planned")], user_text=first)
        asker.conversation.plans([says("planned")], user_text=second)
        _, data = await asker.read(CHAT, {"messages": [user(CHAT, f"{first}\n\n{second}")], "stream": True})
        assert b"planned" in data
        assert asker.conversation.asides == []

    run(asked)


def test_an_application_without_tools_may_have_such_words_in_its_prompt() -> None:
    """A streamed answer to what the user says is a turn, the first and the next."""

    async def asked(asker: Asker) -> None:
        system = {"role": "system", "content": "You summarize documents and suggest titles."}
        for text in (SAYS, f"{SAYS} once more"):
            asker.conversation.plans([says("planned")])
            _, data = await asker.read(CHAT, {"messages": [system, user(CHAT, text)], "stream": True})
            assert b"planned" in data

    run(asked)


def test_a_turn_that_speaks_of_titles_is_a_turn_if_it_has_tools() -> None:
    """The words alone decide nothing."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([says("planned")])
        assert b"planned" in (await asker.read(CHAT, body_of(CHAT, [user(CHAT, f"{TITLE} {SAYS}")])))[1]
        assert not asker.provider.others

    run(asked)


SHAPED: list[tuple[ApiName, dict[str, Any], Any]] = [
    (
        "openai-chat",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "t", "schema": {"$ref": "#/$defs/T"}}}},
        lambda a: json.loads(a["choices"][0]["message"]["content"]),
    ),
    (
        "openai-responses",
        {"text": {"format": {"type": "json_schema", "name": "t", "schema": {"$ref": "#/$defs/T"}}}},
        lambda a: json.loads(a["output"][0]["content"][0]["text"]),
    ),
    (
        "anthropic",
        {
            "tools": [{"name": "json", "input_schema": {"$ref": "#/$defs/T"}}],
            "tool_choice": {"type": "tool", "name": "json"},
        },
        lambda a: a["content"][0]["input"],
    ),
    (
        "gemini",
        {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"$ref": "#/$defs/T"}}},
        lambda a: json.loads(a["candidates"][0]["content"]["parts"][0]["text"]),
    ),
]


@pytest.mark.parametrize(("api", "more", "read"), SHAPED, ids=[row[0] for row in SHAPED])
def test_a_plain_answer_has_the_form_that_was_asked_for(api: ApiName, more: dict[str, Any], read: Any) -> None:
    """A title that has to be JSON would else break the application that we judge."""
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    text = json.dumps(more).replace('{"$ref": "#/$defs/T"}', json.dumps(schema))

    async def asked(asker: Asker) -> None:
        body = {**body_of(api, [user(api, "no mark")]), "stream": False, **json.loads(text)}
        path = "/v1beta/models/gemini-3-pro-preview:generateContent" if api == "gemini" else None
        _, data = await asker.read(api, body, path)
        assert read(json.loads(data)) == {"title": PLAIN_TEXT}

    run(asked)


SMALLEST: list[tuple[Any, Any]] = [
    ({"type": "integer", "minimum": 3}, 3),
    ({"type": "number", "exclusiveMinimum": 3}, 4),
    ({"type": "integer", "multipleOf": 5, "minimum": 7}, 10),
    ({"type": ["string", "null"], "maxLength": 3}, "A p"),
    ({"type": "string", "format": "date"}, "2025-01-01"),
    ({"enum": ["b", "a"]}, "b"),
    ({"const": 5}, 5),
    ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False),
    ({"type": "array", "items": {"type": "null"}, "minItems": 2}, [None, None]),
    ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}}, 1),
    (
        {
            "allOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"$ref": "#/$defs/B"}],
            "$defs": {"B": {"type": "object", "properties": {"b": {"const": 2}}, "required": ["b"]}},
        },
        {"a": 1, "b": 2},
    ),
    ({"$ref": "#"}, PLAIN_TEXT),
    (True, PLAIN_TEXT),
]


@pytest.mark.parametrize(("schema", "value"), SMALLEST)
def test_a_small_value_fits_its_schema(schema: Any, value: Any) -> None:
    """Also where a schema refers to itself without end."""
    assert smallest(schema) == value


# -------------------------------------------------------------------------------------------------- paths and models

SERVED: list[tuple[str, ApiName]] = [
    *((f"{prefix}/chat/completions", "openai-chat") for prefix in ("", "/v1", "/openai/v1", "/v1/", "//v1")),
    *((f"{prefix}/responses", "openai-responses") for prefix in ("", "/v1", "/api/v1")),
    *((f"{prefix}/messages", "anthropic") for prefix in ("", "/v1", "/anthropic/v1")),
    *((f"{prefix}/models/m:streamGenerateContent?alt=sse", "gemini") for prefix in ("", "/v1", "/v1beta")),
    *((f"{prefix}/models/m:generateContent", "gemini") for prefix in ("", "/v1", "/v1beta", "/v1alpha")),
]


@pytest.mark.parametrize(("path", "api"), SERVED)
def test_clients_differ_in_what_stands_before_the_path(path: str, api: ApiName) -> None:
    """With a version, without one, and with a slash at the end."""

    async def asked(asker: Asker) -> None:
        for end in ("", "/") if "?" not in path else ("",):
            status, _ = await asker.read(api, body_of(api, [user(api)]), path + end)
            assert status == 200
        assert {one.api for one in asker.conversation.exchanges} == {api}

    run(asked)


def test_what_is_not_served_is_a_404_that_is_remembered() -> None:
    """So that somebody can say what the application wanted."""

    async def asked(asker: Asker) -> None:
        for method, path in (("POST", "/v1/embeddings"), ("GET", "/"), ("GET", "/v1/messages"), ("PUT", "/v1/models")):
            async with asker.session.request(method, asker.provider.base + path) as answer:
                assert answer.status == 404
                assert (await answer.json())["error"]["code"] == "unknown_url"
        assert asker.provider.strays == ["POST /v1/embeddings", "GET /", "GET /v1/messages", "PUT /v1/models"]

    run(asked)


@pytest.mark.parametrize(
    ("path", "headers", "names"),
    [
        ("/v1/models", {}, lambda a: [m["id"] for m in a["data"]]),
        ("/models", {"x-api-key": "x", "anthropic-version": "2023-06-01"}, lambda a: [m["id"] for m in a["data"]]),
        ("/v1beta/models", {}, lambda a: [m["name"] for m in a["models"]]),
        ("/v1/models?key=x", {}, lambda a: [m["name"] for m in a["models"]]),
    ],
)
def test_models_are_listed_as_each_api_does(path: str, headers: dict[str, str], names: Any) -> None:
    """Some applications ask first, and take only what is there: whatever is asked for by name is there."""

    async def asked(asker: Asker) -> None:
        async with asker.session.get(asker.provider.base + path, headers=headers) as answer:
            found = names(await answer.json())
            assert len(found) == len(set(found)) > 2
        url = asker.provider.base + path.replace("models", "models/my-model")
        async with asker.session.get(url, headers=headers) as answer:
            one = await answer.json()
            assert one.get("id", one.get("name")).removeprefix("models/") == "my-model"

    run(asked)


def test_the_environment_points_at_the_provider() -> None:
    """Base URLs with and without a version, as each SDK wants them, and keys that are not empty."""

    async def asked(asker: Asker) -> None:
        base = asker.provider.base
        found = asker.provider.environment()
        assert found["OPENAI_BASE_URL"] == f"{base}/v1"
        assert found["ANTHROPIC_BASE_URL"] == found["GOOGLE_GEMINI_BASE_URL"] == base
        assert found["GOOGLE_BASE_URL"] == base
        assert all(value for value in found.values())
        assert Provider().environment("http://127.0.0.1:9")["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"

    run(asked)


def test_tokens_can_be_counted() -> None:
    """Some frameworks ask before they answer."""

    async def asked(asker: Asker) -> None:
        _, data = await asker.read("anthropic", body_of("anthropic", [user("anthropic")]), "/v1/messages/count_tokens")
        assert json.loads(data)["input_tokens"] > 0
        _, data = await asker.read("gemini", {"contents": []}, "/v1beta/models/m:countTokens")
        assert "totalTokens" in json.loads(data)
        assert not asker.conversation.exchanges

    run(asked)


def test_a_second_call_of_a_tool_is_still_a_turn() -> None:
    """A request that ends with results is never an aside, whatever tools it declares."""

    async def asked(asker: Asker) -> None:
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        history = [
            user(CHAT),
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": TITLE},
        ]
        asker.conversation.plans([Plan(items=(Call(call_id="c2", name="f", pieces=("{}",)),))])
        await asker.read(CHAT, {"messages": history, "stream": True})
        assert asker.conversation.exchanges[0].outcome is ExchangeOutcome.COMPLETED

    run(asked)


CYCLE = [
    {
        "role": "assistant",
        "tool_calls": [
            {"id": "call_tp_m1a", "type": "function", "function": {"name": "book_hotel", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_tp_m1a", "content": "booked"},
]
"""A call of the conversation of MARK, by the id that it was given, and its result."""


def test_a_summary_of_what_tools_returned_takes_no_plan() -> None:
    """An order of the application's own stands behind the messages; the words of the user there are a turn."""

    async def asked(asker: Asker) -> None:
        asker.conversation.plans([says("planned")], user_text=SAYS)
        for last, answer in (("Write a summary of the conversation above.", PLAIN_TEXT), (SAYS, "planned")):
            body = {"model": "gpt-4o", "messages": [user(CHAT), *CYCLE, user(CHAT, last)], "stream": True}
            _, data = await asker.read(CHAT, body)
            assert answer in data.decode(), last
        assert (len(asker.conversation.asides), len(asker.conversation.exchanges)) == (1, 1)

    run(asked)


def test_a_request_that_has_lost_the_words_of_its_user_is_known_by_its_calls() -> None:
    """An application may trim them away in a long run; a call of nobody tells nothing."""

    async def asked(asker: Asker) -> None:
        asker.provider.conversation("[tp:m2]")
        await asker.read(CHAT, body_of(CHAT, [user(CHAT, "A summary."), *CYCLE]))
        other = json.loads(json.dumps(CYCLE).replace("call_tp_m1a", "call_other"))
        await asker.read(CHAT, body_of(CHAT, [user(CHAT, "A summary."), *other]))
        assert (len(asker.conversation.exchanges), len(asker.provider.others)) == (1, 1)

    run(asked)
