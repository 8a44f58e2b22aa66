"""Bedrock's Converse on the wire: AWS's published messages, and what botocore, its own client, reads of every plan."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from tests.apps.provider.asking import Asker, asking, body_of, user
from tests.apps.provider.event_stream import stream_messages
from tests.apps.provider.plans import WHOLE, as_object, broken

from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.apps.provider.server import Provider
from tpharness.model_apis.bedrock.event_stream import stream_message
from tpharness.model_apis.plan import Break, Call, Finish, Plan, Text, Thinking, Usage

JSON = "application/json"
EVENT = {":event-type": "contentBlockStop", ":content-type": JSON, ":message-type": "event"}
VECTORS = {
    "nothing": ({}, b"", "000000100000000005c248eb7d98c8ff"),
    "a payload": ({}, b"{'foo':'bar'}", "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936"),
    "a header": (
        {"content-type": JSON},
        b"{'foo':'bar'}",
        (
            "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
            "7b27666f6f273a27626172277d8d9c08b1"
        ),
    ),
    "an event": (
        EVENT,
        b'{"contentBlockIndex": 0}',
        (
            "0000007e00000056a1c875060b3a6576656e742d74797065070010636f6e74656e74426c6f636b53746f70"
            "0d3a636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e"
            "0d3a6d6573736167652d747970650700056576656e747b22636f6e74656e74426c6f636b496e646578223a20307d0b643034"
        ),
    ),
}
"""Three of the messages that AWS's SDKs are tested with, and one that botocore has read."""
ASKED = body_of("bedrock", [user("bedrock")])
FINISHES = {
    Finish.STOP: "end_turn",
    Finish.LENGTH: "max_tokens",
    Finish.CONTENT_FILTER: "content_filtered",
    Finish.TOOL_CALL: "tool_use",
}


@pytest.mark.parametrize(("headers", "payload", "wanted"), VECTORS.values(), ids=VECTORS)
def test_a_message_has_the_bytes_that_aws_has_published(headers: dict[str, str], payload: bytes, wanted: str) -> None:
    """And is read back by a reader that shares nothing with the writer, unless a byte of it is missing or another."""
    data = stream_message(headers, payload)
    assert data.hex() == wanted
    assert stream_messages(data) == [(headers, payload)]
    for wrong in (data[:-1], data[:-5] + bytes([data[-5] ^ 1]) + data[-4:]):
        with pytest.raises(ValueError, match=r"half|checksum"):
            stream_messages(wrong)


def told(plan: Plan, path: str = "converse-stream", **more: Any) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of an answer."""

    async def asked() -> tuple[int, dict[str, str], bytes]:
        async with asking() as asker:
            asker.conversation.plans([plan])
            body = body_of("bedrock", [user("bedrock")], **more)
            async with asker.post("bedrock", body, f"/model/amazon.nova-pro-v1%3A0/{path}") as answer:
                return answer.status, dict(answer.headers), await answer.read()

    return asyncio.run(asked())


PLAN = Plan(
    items=(
        Thinking(pieces=("Hm", "."), signature="c2ln"),
        Text(pieces=("Hi",)),
        Call(call_id="c1", name="book_hotel", pieces=('{"a', '":1}')),
    ),
    usage=Usage(input=10, output=5, cached=4),
)


def test_an_answer_is_the_events_of_converse_stream() -> None:
    """A text has no start; the reason and the tokens come in the two last events."""
    status, headers, data = told(PLAN)
    assert (status, headers["Content-Type"]) == (200, "application/vnd.amazon.eventstream")
    found = [(head[":event-type"], json.loads(payload)) for head, payload in stream_messages(data)]
    assert found == [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "."}}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "Hi"}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        (
            "contentBlockStart",
            {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "c1", "name": "book_hotel"}}},
        ),
        ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"a'}}}),
        ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '":1}'}}}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        ("messageStop", {"stopReason": "tool_use"}),
        (
            "metadata",
            {
                "usage": {"inputTokens": 6, "outputTokens": 5, "totalTokens": 15, "cacheReadInputTokens": 4},
                "metrics": {"latencyMs": 5},
            },
        ),
    ]


def test_a_whole_answer_is_the_object_of_converse() -> None:
    """With the same blocks."""
    status, _, data = told(PLAN, "converse")
    answer = json.loads(data)
    assert (status, answer["stopReason"]) == (200, "tool_use")
    assert answer["output"]["message"] == {
        "role": "assistant",
        "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
            {"text": "Hi"},
            {"toolUse": {"toolUseId": "c1", "name": "book_hotel", "input": {"a": 1}}},
        ],
    }


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "ValidationException"),
        (403, "AccessDeniedException"),
        (424, "ModelErrorException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
    ],
)
def test_a_header_names_the_kind_of_an_error(status: int, kind: str) -> None:
    """AWS's clients choose their exception by it."""
    found, headers, data = told(Plan(breaks=Break.STATUS, status=status, error_text="no"))
    assert (found, headers["x-amzn-errortype"], json.loads(data)) == (status, kind, {"message": "no"})


def test_a_model_may_be_named_by_an_address_with_slashes() -> None:
    """An ARN is sent with its slashes encoded."""

    async def asked() -> None:
        async with asking() as asker:
            arn = "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-x"
            await asker.read("bedrock", body_of("bedrock", [user("bedrock")]), f"/model/{arn}/converse")
            (exchange,) = asker.conversation.exchanges
            assert (exchange.api, exchange.stream) == ("bedrock", False)
            assert exchange.model == "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-x"

    asyncio.run(asked())


def test_tools_that_were_used_have_to_be_defined_again() -> None:
    """B8: the server sees whole requests."""

    async def asked(asker: Asker) -> None:
        used = {"toolUse": {"toolUseId": "c1", "name": "book_hotel", "input": {}}}
        result = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"booked": True}}]}}
        history = [
            user("bedrock"),
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [result]},
        ]
        status, data = await asker.read("bedrock", {"messages": history})
        assert status == 400
        assert "toolConfig" in json.loads(data)["message"]
        status, _ = await asker.read("bedrock", body_of("bedrock", history))
        assert status == 200
        assert asker.conversation.exchanges[-1].history[-1].results[0].content == '{"booked":true}'

    async def main() -> None:
        async with asking() as asker:
            await asked(asker)

    asyncio.run(main())


# ------------------------------------------------------------------------------------------------ AWS's own client


@pytest.fixture(scope="module")
def botocore() -> Any:
    """AWS's own client."""
    return pytest.importorskip("botocore.session")


@pytest.fixture
def client(botocore: Any) -> Any:
    """Return what makes a client of the address in the environment, and of what docs/APPLICATIONS.md adds to it."""

    def made(environment: dict[str, str]) -> Any:
        config = pytest.importorskip("botocore.config").Config(retries={"total_max_attempts": 1})
        session = botocore.get_session()
        with pytest.MonkeyPatch.context() as patch:
            own = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
            none = {"AWS_BEARER_TOKEN_BEDROCK": "", "AWS_CONFIG_FILE": "/nowhere"}
            for name, value in {**environment, **own, **none}.items():
                patch.setenv(name, value)
            return session.create_client("bedrock-runtime", config=config)

    return made


def errors() -> tuple[type[Exception], ...]:
    """Return what the client raises: its own errors, and those of what it reads the connection with."""
    own, connection = (pytest.importorskip(f"{name}.exceptions") for name in ("botocore", "urllib3"))
    return own.ClientError, connection.HTTPError


def read_stream(client: Any) -> dict[str, Any]:
    """Ask for a stream, and return what botocore reads of it, with the name of the exception that ended it."""
    found: dict[str, Any] = {"text": "", "thinking": "", "calls": {}, "finish": None, "usage": {}, "error": None}
    try:
        answer = client.converse_stream(modelId="amazon.nova-pro-v1:0", **ASKED)
        with contextlib.closing(answer["stream"]) as stream:
            for event in stream:
                _note(event, found)
    except errors() as error:
        found["error"] = type(error).__name__, getattr(error, "response", {}).get("Error", {}).get("Code")
    return found


def _note(event: dict[str, Any], found: dict[str, Any]) -> None:
    match event:
        case {"contentBlockStart": {"contentBlockIndex": index, "start": {"toolUse": used}}}:
            found["calls"][index] = [used["toolUseId"], used["name"], ""]
        case {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}}}:
            found["calls"][index][2] += piece
        case {"contentBlockDelta": {"delta": {"text": piece}}}:
            found["text"] += piece
        case {"contentBlockDelta": {"delta": {"reasoningContent": {"text": piece}}}}:
            found["thinking"] += piece
        case {"messageStop": {"stopReason": reason}}:
            found["finish"] = reason
        case {"metadata": {"usage": usage}}:
            found["usage"] = usage


async def played(make: Any, plans: list[Plan], ask: Any) -> tuple[list[Any], list[ExchangeOutcome]]:
    """Return what a client reads of each plan, and what became of the answers."""
    async with Provider() as provider:
        client = make(provider.environment())
        conversation = provider.conversation("[tp:m1]")
        found = []
        for plan in plans:
            conversation.plans([plan])
            found.append(await asyncio.to_thread(ask, client))
        client.close()
        assert not provider.strays
        assert all(exchange.api == "bedrock" and not exchange.refusals for exchange in conversation.exchanges)
        return found, [await exchange.ended(5) for exchange in conversation.exchanges]


@pytest.mark.long
def test_botocore_reads_whole_answers_as_they_were_planned(client: Any) -> None:
    """Texts, thinking, calls, reason and tokens."""
    found, outcomes = asyncio.run(played(client, list(WHOLE.values()), read_stream))
    assert set(outcomes) == {ExchangeOutcome.COMPLETED}
    for (name, plan), one in zip(WHOLE.items(), found, strict=True):
        count = plan.piece_count
        assert one["error"] is None, name
        assert (one["text"], one["thinking"]) == (plan.text_until(count), plan.thinking_until(count)), name
        assert list(one["calls"].values()) == [[c.call_id, c.name, "".join(c.pieces)] for c in plan.calls], name
        assert one["finish"] == FINISHES[plan.reason], name
        assert one["usage"]["totalTokens"] == plan.usage.input + plan.usage.output, name


@pytest.mark.long
@pytest.mark.parametrize(
    ("breaks", "error"),
    [
        (Break.RESET, ("ProtocolError", None)),
        (Break.END, None),
        (Break.ERROR, ("EventStreamError", "modelStreamErrorException")),
    ],
)
def test_botocore_meets_each_cut_as_it_meets_that_of_the_real_service(client: Any, breaks: Break, error: Any) -> None:
    """What was written is read; a reset and an exception are raised, and an end without the last events is silent."""
    whole, places = WHOLE["thinking, text and three calls"], (1, 4, 7, 9)
    found, outcomes = asyncio.run(played(client, [broken(whole, breaks, at) for at in places], read_stream))
    assert set(outcomes) == {ExchangeOutcome.BROKEN}
    for at, one in zip(places, found, strict=True):
        assert (one["text"], one["thinking"], one["finish"]) == (whole.text_until(at), whole.thinking_until(at), None)
        calls = [[c.call_id, c.name, "".join(c.pieces)] for c in whole.calls_until(at)]
        assert list(one["calls"].values()) == calls, at
        assert one["error"] == error, at


@pytest.mark.long
def test_botocore_reads_whole_objects_and_errors(client: Any) -> None:
    """`converse`, and the exceptions of the service by their names."""

    def ask(client: Any) -> Any:
        try:
            answer = client.converse(modelId="amazon.nova-pro-v1:0", **ASKED)
            return answer["output"]["message"]["content"], answer["stopReason"]
        except errors() as error:
            return type(error).__name__, str(error)

    plans = [
        WHOLE["text and a call"],
        Plan(breaks=Break.STATUS, status=429, error_text="too many"),
        Plan(breaks=Break.STATUS, status=400, error_text="not valid"),
    ]
    (whole, limited, invalid), _ = asyncio.run(played(client, plans, ask))
    (call,) = plans[0].calls
    used = {"toolUseId": call.call_id, "name": call.name, "input": as_object("".join(call.pieces))}
    assert whole == ([{"text": plans[0].text_until(3)}, {"toolUse": used}], "tool_use")
    assert limited[0] == "ThrottlingException"
    assert limited[1].endswith("too many")
    assert invalid[0] == "ValidationException"
