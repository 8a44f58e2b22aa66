"""The bytes of each API, written by hand from what the real servers send: SDKs forgive more than applications do."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from tests.apps.provider.asking import asking, body_of, events, user

from tpharness.model_apis.plan import Call, Finish, Plan, Text, Thinking, Usage
from tpharness.model_apis.registry import ApiName

PLAN = Plan(
    items=(
        Thinking(pieces=("Hm", "."), signature="c2ln"),
        Text(pieces=("Hi",)),
        Call(call_id="c1", name="book_hotel", pieces=('{"a', '":1}')),
    ),
    usage=Usage(input=10, output=5, cached=4, reasoning=2),
)


def read(api: ApiName, plan: Plan = PLAN, path: str | None = None, **more: Any) -> bytes:
    """Return the bytes of an answer."""

    async def asked() -> bytes:
        async with asking() as asker:
            asker.conversation.plans([plan])
            status, data = await asker.read(api, body_of(api, [user(api)], **more), path)
            assert status == 200
            return data

    return asyncio.run(asked())


def test_chat_completions_are_chunks_and_done() -> None:
    """The usage comes in a chunk of its own, with no choices, and only if it was asked for."""
    data = read("openai-chat", stream_options={"include_usage": True})
    assert data.startswith(b'data: {"id":"chatcmpl-')
    assert data.endswith(b"\n\ndata: [DONE]\n\n")
    *chunks, done = [value for _, value in events(data)]
    assert done == "[DONE]"
    frame = {k: chunks[0][k] for k in ("id", "object", "created", "model")}
    assert frame["object"] == "chat.completion.chunk"
    assert frame["model"] == "gpt-4o"
    assert all({k: chunk[k] for k in frame} == frame for chunk in chunks)
    assert [[(c["delta"], c["finish_reason"]) for c in chunk["choices"]] for chunk in chunks] == [
        [({"role": "assistant", "content": None, "refusal": None}, None)],
        [({"reasoning_content": "Hm"}, None)],
        [({"reasoning_content": "."}, None)],
        [({"content": "Hi"}, None)],
        [
            (
                {
                    "tool_calls": [
                        {
                            "index": 0,
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "book_hotel", "arguments": ""},
                        }
                    ]
                },
                None,
            )
        ],
        [({"tool_calls": [{"index": 0, "function": {"arguments": '{"a'}}]}, None)],
        [({"tool_calls": [{"index": 0, "function": {"arguments": '":1}'}}]}, None)],
        [({}, "tool_calls")],
        [],
    ]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * 8
    assert chunks[-1]["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 2,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
    assert b"usage" not in read("openai-chat")


def test_responses_are_named_events_with_sequence_numbers() -> None:
    """Each item is added, grows and is done; the last event has all of them."""
    data = read("openai-responses", include=["reasoning.encrypted_content"])
    found = events(data)
    assert [value["sequence_number"] for _, value in found] == list(range(len(found)))
    assert all(name == value["type"] for name, value in found)
    reasoning, message, call = done = [v["item"] for n, v in found if n == "response.output_item.done"]
    ids = [item["id"] for item in done]
    assert [re.sub(r"_.*", "", i) for i in ids] == ["rs", "msg", "fc"]
    assert reasoning == {
        "id": ids[0],
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "c2ln",
    }
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": "Hi"}
    assert message == {"id": ids[1], "type": "message", "status": "completed", "content": [part], "role": "assistant"}
    assert call == {
        "id": ids[2],
        "type": "function_call",
        "status": "completed",
        "arguments": '{"a":1}',
        "call_id": "c1",
        "name": "book_hotel",
    }
    short = [(n.removeprefix("response."), v.get("item_id"), v.get("delta", v.get("text"))) for n, v in found]
    assert short == [
        ("created", None, None),
        ("in_progress", None, None),
        ("output_item.added", None, None),
        ("reasoning_summary_part.added", ids[0], None),
        ("reasoning_summary_text.delta", ids[0], "Hm"),
        ("reasoning_summary_text.delta", ids[0], "."),
        ("reasoning_summary_text.done", ids[0], "Hm."),
        ("reasoning_summary_part.done", ids[0], None),
        ("output_item.done", None, None),
        ("output_item.added", None, None),
        ("content_part.added", ids[1], None),
        ("output_text.delta", ids[1], "Hi"),
        ("output_text.done", ids[1], "Hi"),
        ("content_part.done", ids[1], None),
        ("output_item.done", None, None),
        ("output_item.added", None, None),
        ("function_call_arguments.delta", ids[2], '{"a'),
        ("function_call_arguments.delta", ids[2], '":1}'),
        ("function_call_arguments.done", ids[2], None),
        ("output_item.done", None, None),
        ("completed", None, None),
    ]
    assert [v["output_index"] for _, v in found if "output_index" in v] == [0] * 7 + [1] * 6 + [2] * 5
    first, last = found[0][1]["response"], found[-1][1]["response"]
    assert (first["status"], first["output"], first["usage"]) == ("in_progress", [], None)
    assert (last["id"], last["status"], last["output"]) == (first["id"], "completed", done)
    assert last["usage"] == {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 15,
    }


ANTHROPIC = """\
event: message_start
data: {"type":"message_start","message":{"id":ID,"type":"message","role":"assistant","model":"claude-sonnet-4-6",\
"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":0,\
"cache_read_input_tokens":4,"output_tokens":1,"service_tier":"standard"}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c1",\
"name":"book_hotel","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":6,\
"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":5,\
"output_tokens_details":{"thinking_tokens":2}}}

event: message_stop
data: {"type":"message_stop"}

"""


def test_anthropic_s_messages_are_named_events_of_blocks() -> None:
    """Byte for byte, but for the id."""
    data = read("anthropic").decode()
    assert re.sub(r'"id":"msg_\w+"', '"id":ID', data) == ANTHROPIC


SO_FAR = {"promptTokenCount": 10, "totalTokenCount": 10, "cachedContentTokenCount": 4}
GEMINI: list[Any] = [
    ([{"text": "Hm", "thought": True}], None, SO_FAR),
    ([{"text": ".", "thought": True}], None, SO_FAR),
    ([{"text": "Hi"}], None, SO_FAR),
    (
        [{"functionCall": {"name": "book_hotel", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "c2ln"}],
        None,
        SO_FAR,
    ),
    (
        [{"text": ""}],
        "STOP",
        {
            "promptTokenCount": 10,
            "totalTokenCount": 15,
            "cachedContentTokenCount": 4,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
        },
    ),
]


def _responses(values: list[Any]) -> list[Any]:
    found = []
    for value in values:
        (candidate,) = value["candidates"]
        assert (candidate["content"]["role"], candidate["index"]) == ("model", 0)
        assert value["modelVersion"] == "gemini-3-flash-preview"
        found.append((candidate["content"]["parts"], candidate.get("finishReason"), value["usageMetadata"]))
    return found


def test_gemini_s_stream_is_events_or_a_json_array() -> None:
    """With `alt=sse`, lines that end as Google's do; without it, one array."""
    data = read("gemini")
    assert data.count(b"\r\n\r\n") == data.count(b"data: ") == 5
    assert _responses([value for _, value in events(data)]) == GEMINI
    array = read("gemini", path="/v1beta/models/gemini-3-flash-preview:streamGenerateContent")
    assert (array[:1], array[-1:], array.count(b"\r\n")) == (b"[", b"]", 4)
    assert _responses(json.loads(array)) == GEMINI


def test_gemini_signs_the_end_of_an_answer_that_thinks_and_calls_nothing() -> None:
    """The last part has the signature."""
    plan = Plan(items=(Thinking(pieces=("Hm",), signature="c2ln"), Text(pieces=("Hi",))))
    last = events(read("gemini", plan))[-1][1]
    assert last["candidates"][0]["content"]["parts"] == [{"text": "", "thoughtSignature": "c2ln"}]


@pytest.mark.parametrize(
    ("api", "finish", "word"),
    [
        ("openai-chat", Finish.LENGTH, '"finish_reason":"length"'),
        ("openai-chat", Finish.CONTENT_FILTER, '"finish_reason":"content_filter"'),
        ("openai-chat", Finish.ERROR, '"type":"server_error"'),
        ("openai-responses", Finish.LENGTH, '"incomplete_details":{"reason":"max_output_tokens"}'),
        ("openai-responses", Finish.CONTENT_FILTER, '"incomplete_details":{"reason":"content_filter"}'),
        ("openai-responses", Finish.ERROR, '"type":"response.failed"'),
        ("anthropic", Finish.LENGTH, '"stop_reason":"max_tokens"'),
        ("anthropic", Finish.CONTENT_FILTER, '"stop_reason":"refusal"'),
        ("anthropic", Finish.ERROR, '"type":"api_error"'),
        ("gemini", Finish.LENGTH, '"finishReason":"MAX_TOKENS"'),
        ("gemini", Finish.CONTENT_FILTER, '"finishReason":"SAFETY"'),
        ("gemini", Finish.ERROR, '"finishReason":"MALFORMED_FUNCTION_CALL"'),
    ],
)
def test_every_reason_has_the_word_of_the_api(api: ApiName, finish: Finish, word: str) -> None:
    """The words of R16 are ours; an application reads the API's."""
    data = read(api, Plan(items=(Text(pieces=("Hi",)),), finish=finish)).decode()
    assert word in data


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_an_answer_may_be_empty(api: ApiName) -> None:
    """A model that says nothing still stops."""
    assert len(events(read(api, Plan()))) >= 1


@pytest.mark.parametrize("api", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_half_a_surrogate_is_escaped(api: ApiName) -> None:
    """A piece may end in the middle of a character, as UTF-16 counts."""
    data = read(api, Plan(items=(Text(pieces=("\ud83d", "x")),)))
    assert b"\\ud83d" in data
