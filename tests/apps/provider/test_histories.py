"""What the model is told is read alike from all APIs: histories written by hand in each API's own shape."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.apps.provider.asking import APIS, SAYS, SCHEMA, Asker, asking, body_of, user

from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.openai_responses.server import ResponsesServer
from tpharness.model_apis.plan import Call, Plan, Text
from tpharness.model_apis.registry import ApiName

ARGS = '{"city":"Paris","nights":2}'
SIGNED = "skip_thought_signature_validator"

# System prompt, a turn with thinking, text, two calls and their results (one failed), an answer, and the next turn.
STORY: dict[ApiName, dict[str, Any]] = {
    "openai-chat": {
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "Book "}, {"type": "text", "text": "two."}]},
            {
                "role": "assistant",
                "content": "I try.",
                "reasoning_content": "Hm.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "book_hotel", "arguments": ARGS}},
                    {"id": "c2", "type": "function", "function": {"name": "book_hotel", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "booked"},
            {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "no city"}]},
            {"role": "assistant", "content": "One is booked."},
            {"role": "user", "content": SAYS},
        ]
    },
    "openai-responses": {
        "instructions": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "input_text", "text": "Book two."}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I try."}]},
            {"type": "function_call", "call_id": "c1", "name": "book_hotel", "arguments": ARGS},
            {"type": "function_call", "call_id": "c2", "name": "book_hotel", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "booked"},
            {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "no city"}]},
            {"role": "assistant", "content": "One is booked."},
            {"role": "user", "content": SAYS},
        ],
    },
    "anthropic": {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Book two."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                    {"type": "text", "text": "I try."},
                    {"type": "tool_use", "id": "c1", "name": "book_hotel", "input": {"city": "Paris", "nights": 2}},
                    {"type": "tool_use", "id": "c2", "name": "book_hotel", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "booked"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "is_error": True,
                        "content": [{"type": "text", "text": "no city"}],
                    },
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "One is booked."}]},
            {"role": "user", "content": SAYS},
        ],
    },
    "ollama": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Book two."},
            {
                "role": "assistant",
                "content": "I try.",
                "thinking": "Hm.",
                "tool_calls": [
                    {"id": "c1", "function": {"name": "book_hotel", "arguments": {"city": "Paris", "nights": 2}}},
                    {"id": "c2", "function": {"name": "book_hotel", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "book_hotel", "content": "booked"},
            {"role": "tool", "tool_call_id": "c2", "content": "no city"},
            {"role": "assistant", "content": "One is booked."},
            {"role": "user", "content": SAYS},
        ]
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "messages": [
            {"role": "user", "parts": [{"text": "Book two."}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "I try."},
                    {
                        "functionCall": {"id": "c1", "name": "book_hotel", "args": {"city": "Paris", "nights": 2}},
                        "thoughtSignature": SIGNED,
                    },
                    {"functionCall": {"id": "c2", "name": "book_hotel"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "c1", "name": "book_hotel", "response": {"output": "booked"}}},
                    {"functionResponse": {"id": "c2", "name": "book_hotel", "response": {"error": "no city"}}},
                ],
            },
            {"role": "model", "parts": [{"text": "One is booked."}]},
            user("gemini"),
        ],
    },
    "bedrock": {
        "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
        "messages": [
            {"role": "user", "content": [{"text": "Book "}, {"text": "two."}]},
            {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "x"}}},
                    {"text": "I try."},
                    {"toolUse": {"toolUseId": "c1", "name": "book_hotel", "input": {"city": "Paris", "nights": 2}}},
                    {"toolUse": {"toolUseId": "c2", "name": "book_hotel", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"text": "booked"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "c2", "content": [{"text": "no city"}], "status": "error"}},
                ],
            },
            {"role": "assistant", "content": [{"text": "One is booked."}]},
            user("bedrock"),
        ],
    },
}
RESULTS = {"gemini": ('{"output":"booked"}', '{"error":"no city"}')}


@pytest.mark.parametrize("api", APIS)
def test_a_history_is_the_same_whatever_the_api(api: ApiName) -> None:
    """But for the error mark, which OpenAI's do not have, and for what a result of Gemini is: an object."""
    booked, failed = RESULTS.get(api, ("booked", "no city"))
    wanted = (
        HistoryMessage(role="system", text="Be brief."),
        HistoryMessage(role="user", text="Book two."),
        HistoryMessage(
            role="assistant",
            text="I try.",
            thinking="Hm.",
            calls=(
                HistoryCall(call_id="c1", name="book_hotel", args={"city": "Paris", "nights": 2}, raw=ARGS),
                HistoryCall(call_id="c2", name="book_hotel", args={}, raw="{}"),
            ),
        ),
        HistoryMessage(
            role="tool",
            results=(
                HistoryResult(call_id="c1", content=booked),
                HistoryResult(call_id="c2", content=failed, is_error=api in ("anthropic", "gemini", "bedrock")),
            ),
        ),
        HistoryMessage(role="assistant", text="One is booked."),
        HistoryMessage(role="user", text=SAYS),
    )
    story = dict(STORY[api])
    exchange = _told(api, story.pop("messages"), **story)
    assert exchange.history == wanted
    assert exchange.system == "Be brief."
    assert exchange.user_texts == ("Book two.", SAYS)


def _told(api: ApiName, messages: list[Any], **more: Any) -> Any:
    async def asked() -> Any:
        async with asking(strict=False) as asker:
            return await asker.told(api, messages, **more)

    return asyncio.run(asked())


@pytest.mark.parametrize("api", APIS)
def test_tools_are_names_and_json_schemas(api: ApiName) -> None:
    """Arguments are made from them."""
    exchange = _told(api, [user(api)])
    assert exchange.tools == {"book_hotel": {} if api == "gemini" else SCHEMA}


def test_gemini_s_own_schemas_are_json_schemas() -> None:
    """Its types are in upper case."""
    parameters = {"type": "OBJECT", "properties": {"type": {"type": "STRING"}}, "required": ["type"]}
    tools = [{"functionDeclarations": [{"name": "f", "parameters": parameters}]}]
    exchange = _told("gemini", [user("gemini")], tools=tools)
    assert exchange.tools == {"f": {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}}


def test_arguments_that_are_not_json_stay_text() -> None:
    """What an application makes of half arguments is what the checks want to see."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"city":"Par'}}
    answers = [{"role": "tool", "tool_call_id": "c1", "content": ""}, user("openai-chat")]
    exchange = _told("openai-chat", [user("openai-chat"), {"role": "assistant", "tool_calls": [call]}, *answers])
    assert exchange.history[1].calls == (HistoryCall(call_id="c1", name="f", args='{"city":"Par', raw='{"city":"Par'),)


def test_the_older_function_fields_are_read_and_answered() -> None:
    """`functions`, `function_call`, role `function`: they have no ids, the name stands for them."""

    async def asked() -> None:
        async with asking() as asker:
            history = [
                user("openai-chat"),
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "done"},
            ]
            body = {
                "model": "gpt-4",
                "messages": history,
                "functions": [{"name": "f", "parameters": {"type": "object"}}],
            }
            call = Call(call_id="ignored", name="f", pieces=("{", "}"))
            asker.conversation.plans([Plan(items=(call,))] * 2)
            _, data = await asker.read("openai-chat", {**body, "stream": True})
            assert b'"function_call":{"name":"f","arguments":""}' in data
            assert b'"finish_reason":"function_call"' in data
            assert b"tool_calls" not in data
            _, data = await asker.read("openai-chat", body)
            assert b'"function_call":{"name":"f","arguments":"{}"}' in data
            told = asker.conversation.exchanges[0]
            assert told.history[1].calls[0].call_id == told.history[2].results[0].call_id == "f"
            assert told.tools == {"f": {"type": "object"}}

    asyncio.run(asked())


def test_gemini_s_calls_without_ids_are_matched_by_name_and_order() -> None:
    """As the API matches them."""

    def call(name: str) -> dict[str, Any]:
        return {"functionCall": {"name": name, "args": {}}, "thoughtSignature": SIGNED}

    def answer(name: str, text: str) -> dict[str, Any]:
        return {"functionResponse": {"name": name, "response": {"output": text}}}

    history = [
        user("gemini"),
        {"role": "model", "parts": [call("f"), call("g"), call("f")]},
        {"role": "user", "parts": [answer("f", "1"), answer("g", "2"), answer("f", "3")]},
        {"role": "model", "parts": [call("f")]},
        {"role": "user", "parts": [answer("f", "4")]},
    ]
    exchange = _told("gemini", history)
    calls = [call.call_id for told in exchange.history for call in told.calls]
    results = [(r.call_id, r.content) for told in exchange.history for r in told.results]
    assert calls == ["f#1", "g#1", "f#2", "f#3"]
    assert results == [(c, f'{{"output":"{n}"}}') for n, c in enumerate(calls, 1)]


def test_text_and_results_of_one_message_are_two() -> None:
    """Anthropic's user messages may hold both."""
    use = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "done"}
    last = {"role": "user", "content": [result, {"type": "text", "text": SAYS}, {"type": "image", "source": {}}]}
    history = [user("anthropic", "a"), {"role": "assistant", "content": [use]}, last]
    told = _told("anthropic", history).history[2:]
    assert told == (
        HistoryMessage(role="tool", results=(HistoryResult(call_id="c1", content="done"),)),
        HistoryMessage(role="user", text=SAYS, files=("image",)),
    )


@pytest.mark.parametrize(
    ("api", "part", "kind"),
    [
        ("openai-chat", {"type": "image_url", "image_url": {"url": "data:,"}}, "image"),
        ("openai-responses", {"type": "input_image", "image_url": "data:,"}, "image"),
        ("openai-responses", {"type": "input_file", "file_id": "x"}, "file"),
        ("anthropic", {"type": "document", "source": {}}, "document"),
        ("gemini", {"inlineData": {"mimeType": "image/png", "data": ""}}, "image"),
    ],
)
def test_files_are_named_by_their_kind(api: ApiName, part: dict[str, Any], kind: str) -> None:
    """A check may want to know that something was there."""
    text = {"text": SAYS} if api == "gemini" else {"type": "text", "text": SAYS}
    message = {"role": "user", "parts" if api == "gemini" else "content": [text, part]}
    assert _told(api, [message]).history == (HistoryMessage(role="user", text=SAYS, files=(kind,)),)


def test_items_of_two_responses_are_two_messages() -> None:
    """The store knows which response an item came with."""

    async def asked() -> None:
        async with asking() as asker:
            api: ApiName = "openai-responses"
            items: list[Any] = [user(api)]
            responses = asker.provider.server_of(api)
            assert isinstance(responses, ResponsesServer)
            store = responses.store
            for text in ("One", "Two"):
                asker.conversation.plans([Plan(items=(Text(pieces=(text,)),))])
                await asker.read(api, body_of(api, items))
                response = list(store.responses.values())[-1].response
                items += [{"type": "item_reference", "id": item["id"]} for item in response["output"]]
            told = await _last(asker, items)
            assert [(one.role, one.text) for one in told] == [
                ("user", SAYS),
                ("assistant", "One"),
                ("assistant", "Two"),
            ]

    asyncio.run(asked())


async def _last(asker: Asker, items: list[Any]) -> tuple[HistoryMessage, ...]:
    asker.conversation.plans([Plan()])
    await asker.read("openai-responses", body_of("openai-responses", items))
    return asker.conversation.exchanges[-1].history


def test_a_string_as_input_is_a_message_of_the_user() -> None:
    """The shortest request of Responses."""

    async def asked() -> None:
        async with asking() as asker:
            await asker.read("openai-responses", {"model": "gpt-5", "input": SAYS})
            assert asker.conversation.exchanges[0].history == (HistoryMessage(role="user", text=SAYS),)

    asyncio.run(asked())
