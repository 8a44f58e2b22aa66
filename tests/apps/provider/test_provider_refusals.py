"""What the real APIs refuse is refused with their status, their error object and their words."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from typing import Any

import pytest
from tests.apps.provider.asking import APIS, SAYS, Asker, asking, body_of, user
from tests.distribution import Sample

from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.model_apis.plan import Break, Call, Plan, Text, Thinking
from tpharness.model_apis.registry import ApiName

CALL = {"id": "c1", "type": "function", "function": {"name": "book_hotel", "arguments": "{}"}}
ITEM = {"type": "function_call", "call_id": "c1", "name": "book_hotel", "arguments": "{}"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "book_hotel", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
TOOL_USE = {"toolUseId": "tooluse_1", "name": "book_hotel", "input": {}}
PART = {"functionCall": {"name": "book_hotel", "args": {}}, "thoughtSignature": "skip_thought_signature_validator"}

# API, history, and the whole error object as issue threads quote it from the real server.
REFUSED: list[tuple[ApiName, list[Any], Any]] = [
    (
        "openai-chat",
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "tool_calls": [CALL]},
            {"role": "user", "content": SAYS},
        ],
        {
            "error": {
                "message": "An assistant message with 'tool_calls' must be followed by tool messages responding to "
                "each 'tool_call_id'. The following tool_call_ids did not have response messages: c1",
                "type": "invalid_request_error",
                "param": "messages.[2].role",
                "code": None,
            }
        },
    ),
    (
        "openai-chat",
        [{"role": "user", "content": SAYS}, {"role": "tool", "tool_call_id": "c1", "content": "x"}],
        {
            "error": {
                "message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                "with 'tool_calls'.",
                "type": "invalid_request_error",
                "param": "messages.[1].role",
                "code": None,
            }
        },
    ),
    (
        "openai-responses",
        [ITEM, {"role": "user", "content": SAYS}],
        {
            "error": {
                "message": "No tool output found for function call c1.",
                "type": "invalid_request_error",
                "param": "input",
                "code": None,
            }
        },
    ),
    (
        "openai-responses",
        [{"type": "function_call_output", "call_id": "c1", "output": "x"}, {"role": "user", "content": SAYS}],
        {
            "error": {
                "message": "No tool call found for function call output with call_id c1.",
                "type": "invalid_request_error",
                "param": "input",
                "code": None,
            }
        },
    ),
    (
        "openai-responses",
        [{"type": "item_reference", "id": "msg_unknown"}, {"role": "user", "content": SAYS}],
        {
            "error": {
                "message": "Item with id 'msg_unknown' not found.",
                "type": "invalid_request_error",
                "param": "input",
                "code": None,
            }
        },
    ),
    (
        "anthropic",
        [user("anthropic", "a"), {"role": "assistant", "content": [USE]}, user("anthropic")],
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
                "toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
            },
        },
    ),
    (
        "anthropic",
        [{"role": "user", "content": [RESULT, {"type": "text", "text": SAYS}]}],
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
            },
        },
    ),
    (
        "anthropic",
        [{"role": "user", "content": SAYS}, {"role": "assistant", "content": "Hel"}],
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "This model does not support assistant message prefill. "
                "The conversation must end with a user message.",
            },
        },
    ),
    (
        "bedrock",
        [user("bedrock", "a"), {"role": "assistant", "content": [{"toolUse": TOOL_USE}]}, user("bedrock")],
        {"message": "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1"},
    ),
    (
        "gemini",
        [user("gemini", "a"), {"role": "model", "parts": [PART]}, user("gemini")],
        {
            "error": {
                "code": 400,
                "message": "Please ensure that the number of function response parts is equal to the number of "
                "function call parts of the function call turn.",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
    (
        "gemini",
        [
            user("gemini"),
            {"role": "model", "parts": [{"functionCall": PART["functionCall"]}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "book_hotel", "response": {}}}]},
        ],
        {
            "error": {
                "code": 400,
                "message": "Function call is missing a thought_signature in functionCall parts. This is required for "
                "tools to work correctly, and missing thought_signature may lead to degraded model performance. "
                "Additional data, function call `default_api:book_hotel` , position 2. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                "status": "INVALID_ARGUMENT",
            }
        },
    ),
]


@pytest.mark.parametrize(("api", "messages", "wanted"), REFUSED, ids=[f"{r[0]} {n}" for n, r in enumerate(REFUSED)])
def test_a_history_is_refused_in_the_api_s_words(api: ApiName, messages: list[Any], wanted: Any) -> None:
    """Status and body, whether a stream was asked for or not; the plan stays for the next request."""

    async def asked() -> None:
        async with asking() as asker:
            asker.conversation.plans([Plan(items=(Text(pieces=("ok",)),))])
            status, found = await asker.read(api, body_of(api, messages))
            error = json.loads(found)
            error.pop("request_id", None)
            assert error == wanted
            assert status == (404 if "not found" in str(wanted) else 400)
            exchange = await asker.conversation.next_exchange(5)
            assert (exchange.outcome, exchange.status, exchange.plan) == (ExchangeOutcome.REFUSED, status, None)
            assert exchange.refusals
            assert asker.conversation.plans_left == 1

    asyncio.run(asked())


@pytest.mark.parametrize(("api", "messages", "wanted"), REFUSED, ids=[f"{r[0]} {n}" for n, r in enumerate(REFUSED)])
def test_without_strict_it_is_answered_and_noted(api: ApiName, messages: list[Any], wanted: Any) -> None:
    """A run may want to see what happens after."""

    async def asked() -> None:
        async with asking(strict=False) as asker:
            asker.conversation.plans([Plan(items=(Text(pieces=("ok",)),))])
            status, _ = await asker.read(api, body_of(api, messages))
            exchange = await asker.conversation.next_exchange(5)
            assert (status, exchange.outcome) == (200, ExchangeOutcome.COMPLETED)
            assert exchange.refusals, wanted

    asyncio.run(asked())


@pytest.mark.parametrize("api", APIS)
def test_a_body_that_is_not_json_is_an_error_object(api: ApiName) -> None:
    """Never a traceback."""

    async def asked() -> None:
        async with asking() as asker:
            for data in (b"", b"{", b"[1]", b"\xff", b'"x"'):
                url = asker.provider.base + str(PATH[api])
                async with asker.session.post(url, data=data) as answer:
                    assert answer.status == 400
                    body = await answer.json()
                    error = body if api == "bedrock" else body["error"]
                    assert "JSON" in (error if api == "ollama" else error["message"])

    asyncio.run(asked())


PATH = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/messages",
    "ollama": "/api/chat",
    "gemini": "/v1/models/m:generateContent",
    "bedrock": "/model/m/converse",
}
CONTENTS: list[Any] = [None, 5, {}, [None], [5], [{}], [{"type": 5}], [{"type": "text", "text": 5}]]
CALLS: list[Any] = [5, [None], [{}], [{"function": 5}], [{"function": {"arguments": []}}]]
PARTS: list[Any] = [None, 5, {"functionCall": 5}, {"functionResponse": {"name": 5}}, {"text": 5}]
ODD: list[Any] = [
    *(None, 5, "x", [], {}, [None], [5], ["x"], [[]], [{}], [{"role": 5}], [{"role": "user"}], {"a": [1]}),
    *([{"role": "user", "content": odd}] for odd in CONTENTS),
    *([{"role": "assistant", "tool_calls": odd, "parts": odd, "content": odd}] for odd in CALLS),
    *([{"type": kind}] for kind in ("function_call", "function_call_output", "reasoning", "item_reference", "x")),
    *([{"role": "user", "parts": [odd]}] for odd in PARTS),
]


@pytest.mark.sampled
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lenient"])
def test_a_request_of_any_shape_gets_an_answer_of_the_api(api: ApiName, strict: bool, sample: Sample[Any]) -> None:
    """An error object or an answer, whatever stands where a list is expected; never a 500."""
    keys = ("messages", "input", "contents", "tools", "system", "instructions", "tool_choice")

    async def asked() -> None:
        async with asking(strict=strict) as asker:
            for odd, key in sample([(odd, key) for odd in ODD for key in keys]):
                status, _ = await asker.read(api, {**body_of(api, [user(api)]), key: odd})
                assert status in (200, 400, 404), (key, odd)

    asyncio.run(asked())


# ------------------------------------------------------------------------------------- what only the server can know


def test_thinking_goes_back_as_it_came() -> None:
    """Anthropic refuses a signature that it never gave, and one under another text."""

    async def asked() -> None:
        async with asking() as asker:
            asker.conversation.plans([Plan(items=(Thinking(pieces=("Hm", ".")), Text(pieces=("Hi",))))])
            _, data = await asker.read("anthropic", body_of("anthropic", [user("anthropic")]))
            signature = re.findall(r'"signature":"([^"]+)"', data.decode())[-1]
            for text, given, status in (("Hm.", signature, 200), ("Hm!", signature, 400), ("Hm.", "made up", 400)):
                block = {"type": "thinking", "thinking": text, "signature": given}
                history = [user("anthropic"), {"role": "assistant", "content": [block]}, user("anthropic", "and?")]
                got, answer = await asker.read("anthropic", body_of("anthropic", history))
                assert got == status, answer
                if status == 400:
                    message = json.loads(answer)["error"]["message"]
                    assert message == "messages.1.content.0: Invalid `signature` in `thinking` block"

    asyncio.run(asked())


def test_gemini_takes_a_thought_signature_in_any_base64_that_it_gave() -> None:
    """SDKs hold it as bytes, and write it in the alphabet that they like; another one is corrupted."""
    signature = base64.b64encode(b"\xfb\xef\xff signature").decode()
    assert "+" in signature
    assert "/" in signature
    safe = signature.replace("+", "-").replace("/", "_")
    given = {signature: 200, safe: 200, safe.rstrip("="): 200, "skip_thought_signature_validator": 200}
    given |= {base64.b64encode(b"skip_thought_signature_validator").decode(): 200}
    given |= {signature[::-1]: 400, "made up": 400}

    async def asked() -> None:
        async with asking() as asker:
            call = Call(call_id="c1", name="book_hotel", pieces=("{}",))
            asker.conversation.plans([Plan(items=(Thinking(pieces=("Hm.",), signature=signature), call))])
            _, data = await asker.read("gemini", body_of("gemini", [user("gemini")]))
            assert signature in data.decode()
            for sent, status in given.items():
                part = {"functionCall": {"name": "book_hotel", "args": {}, "id": "c1"}, "thoughtSignature": sent}
                result = {"functionResponse": {"name": "book_hotel", "id": "c1", "response": {"output": "done"}}}
                history = [user("gemini"), {"role": "model", "parts": [part]}, {"role": "user", "parts": [result]}]
                got, answer = await asker.read("gemini", body_of("gemini", history))
                assert got == status, sent
                assert (got == 200) or json.loads(answer)["error"]["message"] == "Corrupted thought signature."

    asyncio.run(asked())


@pytest.mark.parametrize("store", [True, False])
def test_items_are_found_by_their_ids_if_they_are_stored(store: bool) -> None:
    """References, a previous response and whole reasoning items, with store and without."""

    async def asked() -> None:
        async with asking() as asker:
            call = Call(call_id="c1", name="book_hotel", pieces=("{}",))
            asker.conversation.plans([Plan(items=(Thinking(pieces=("Hm.",)), call))])
            api: ApiName = "openai-responses"
            _, data = await asker.read(api, body_of(api, [user(api)], store=store))
            done = json.loads(re.findall(rb"data: (\{\"type\":\"response.completed\".*\})", data)[0])["response"]
            references = [{"type": "item_reference", "id": item["id"]} for item in done["output"]]
            output = {"type": "function_call_output", "call_id": "c1", "output": "booked"}
            asker.conversation.plans([])
            status, answer = await asker.read(api, body_of(api, [user(api), *references, output], store=store))
            assert status == (200 if store else 404)
            if not store:
                assert "Items are not persisted when `store` is set to false." in answer.decode()
            body = body_of(api, [output], store=store, previous_response_id=done["id"])
            status, answer = await asker.read(api, body)
            assert status == (200 if store else 400)
            if store:
                told = asker.conversation.exchanges[-1].history
                assert [one.role for one in told] == ["user", "assistant", "tool"]
                assert (told[1].thinking, told[1].calls[0].call_id) == ("Hm.", "c1")
                stored = f"{asker.provider.base}/v1/responses/{done['id']}"
                async with asker.session.get(stored) as got:
                    assert (await got.json())["output"] == done["output"]
                async with asker.session.delete(stored) as got:
                    assert (await got.json())["deleted"] is True
                async with asker.session.get(stored) as got:
                    assert got.status == 404
            else:
                assert json.loads(answer)["error"]["code"] == "previous_response_not_found"

    asyncio.run(asked())


def test_an_item_is_taken_by_its_id_only_after_the_reasoning_that_it_was_made_with() -> None:
    """The API knows from the id what the model had reasoned; a later answer without reasoning needs none."""

    async def asked() -> None:
        async with asking() as asker:
            api: ApiName = "openai-responses"
            call = Call(call_id="c1", name="book_hotel", pieces=("{}",))
            asker.conversation.plans(
                [Plan(items=(Thinking(pieces=("Hm.",)), call)), Plan(items=(Text(pieces=("Hi",)),))]
            )
            _, data = await asker.read(api, body_of(api, [user(api)]))
            reasoned, called = json.loads(re.findall(rb"data: (\{\"type\":\"response.completed\".*\})", data)[0])[
                "response"
            ]["output"]
            output = {"type": "function_call_output", "call_id": "c1", "output": "booked"}
            _, data = await asker.read(api, body_of(api, [user(api), reasoned, called, output]))
            (said,) = json.loads(re.findall(rb"data: (\{\"type\":\"response.completed\".*\})", data)[0])["response"][
                "output"
            ]
            asker.conversation.plans([])
            without_id = {name: value for name, value in called.items() if name != "id"}
            for items, wanted in (
                ([reasoned, called, output, said], 200),
                ([without_id, output, said], 200),
                ([called, output, said], 400),
            ):
                status, answer = await asker.read(api, body_of(api, [user(api), *items, user(api, "more")]))
                assert status == wanted
            text = f"Item '{called['id']}' of type 'function_call' was provided without its required 'reasoning' item: "
            assert json.loads(answer)["error"]["message"] == f"{text}'{reasoned['id']}'."

    asyncio.run(asked())


@pytest.mark.parametrize(("keeps", "status"), [(False, 404), (True, 200)])
def test_items_of_a_response_that_broke_off_are_kept_only_on_demand(keeps: bool, status: int) -> None:
    """Whether the real server has them is not settled, so the finding is a SHOULD."""

    async def asked() -> None:
        async with asking(keeps_unfinished=keeps) as asker:
            items = (Text(pieces=("One.",)), Text(pieces=("Two",)))
            asker.conversation.plans([Plan(items=items, breaks=Break.END, break_at=2)])
            api: ApiName = "openai-responses"
            _, data = await asker.read(api, body_of(api, [user(api)]))
            done = re.findall(rb'"id":"(msg_\w+)"', data)
            reference = {"type": "item_reference", "id": done[0].decode()}
            asker.conversation.plans([])
            got, _ = await asker.read(api, body_of(api, [user(api), reference, user(api, "more")]))
            assert got == status
            found = [(f.code, f.level.value) for f in asker.conversation.exchanges[-1].refusals]
            assert found == ([] if keeps else [("responses-item-of-unfinished", "should")])

    asyncio.run(asked())


def test_encrypted_reasoning_is_taken_only_as_the_finished_item_gave_it() -> None:
    """With store=false the item comes back whole; what output_item.added told cannot be read."""

    async def asked() -> None:
        async with asking() as asker:
            api: ApiName = "openai-responses"
            more = {"store": False, "include": ["reasoning.encrypted_content"]}
            asker.conversation.plans([Plan(items=(Thinking(pieces=("Hm.",)), Text(pieces=("Hi",))))])
            _, data = await asker.read(api, body_of(api, [user(api)], **more))
            half, whole = (
                re.findall(rf'"type":"response.output_item.{word}".*?"encrypted_content":"([^"]+)"', data.decode())[0]
                for word in ("added", "done")
            )
            assert half != whole
            said = {"role": "assistant", "content": "Hi"}
            for content, status in ((whole, 200), (half, 400)):
                item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": content}
                got, answer = await asker.read(api, body_of(api, [user(api), item, said, user(api, "more")], **more))
                assert got == status
            assert json.loads(answer)["error"]["code"] == "invalid_encrypted_content"

    asyncio.run(asked())


def test_prefill_is_taken_by_models_that_take_it() -> None:
    """Claude before 4.6."""

    async def status(asker: Asker, model: str) -> int:
        history = [user("anthropic"), {"role": "assistant", "content": "Hel"}]
        return (await asker.read("anthropic", body_of("anthropic", history, model=model)))[0]

    async def asked() -> None:
        async with asking() as asker:
            names = [
                "claude-3-5-sonnet-latest",
                "claude-sonnet-4-20250514",
                "claude-haiku-4-5-20251001",
                "claude-opus-4-6",
            ]
            assert [await status(asker, name) for name in names] == [200, 200, 200, 400]

    asyncio.run(asked())
