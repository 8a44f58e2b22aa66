"""Whose API a request is for, and what it decides, is read from what no other request has."""

from __future__ import annotations

from typing import Any

import pytest
from tests.model_apis.cases import CASES, RULE, native_call, native_result

from tpharness.errors import UsageError
from tpharness.model_apis.anthropic.models import takes_prefill
from tpharness.model_apis.gemini.models import needs_thought_signatures
from tpharness.model_apis.openai_chat.servers import server_of_model
from tpharness.model_apis.openai_responses.models import reasons
from tpharness.model_apis.registry import API_NAMES
from tpharness.model_apis.request import read_request
from tpharness.model_apis.rule import Options

HI = {"role": "user", "content": "Hi"}


def test_no_request_is_taken_for_another_api() -> None:
    """Of the hand-written payloads, each is recognized as its own or asked about; most are recognized."""
    recognized = 0
    for case in CASES:
        for payload in (case.bad, case.good):
            try:
                assert read_request(payload).provider == RULE[case.rule].provider
            except UsageError:
                continue
            recognized += 1
    assert recognized > len(CASES)


@pytest.mark.parametrize(
    ("body", "provider"),
    [
        ({"contents": []}, "gemini"),
        ({"input": "Hi"}, "openai-responses"),
        ({"messages": [HI], "system": "Be kind."}, "anthropic"),
        ({"messages": [HI], "tools": [{"name": "f", "input_schema": {}}]}, "anthropic"),
        ({"messages": [HI], "tools": [{"type": "function", "function": {"name": "f"}}]}, "openai-chat"),
        ({"messages": [HI], "stream_options": {}}, "openai-chat"),
        ([HI, {"role": "tool", "tool_call_id": "c1", "content": "x"}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "openai-chat"),
        ([{"role": "user", "content": [{"type": "image", "source": {}}]}], "anthropic"),
        ([HI, {"type": "custom_tool_call_output"}], "openai-responses"),
        ({"model": "llama3.2", "messages": [HI], "options": {}}, "ollama"),
        ({"model": "qwen3", "messages": [HI], "think": False}, "ollama"),
        ([{**HI, "images": ["eA=="]}], "ollama"),
        ([HI, native_call(), native_result(tool_name="f")], "ollama"),
        ({"messages": [HI, native_call(), native_result(tool_call_id="c1")]}, "ollama"),
    ],
)
def test_a_mark_of_one_api_is_enough(body: Any, provider: str) -> None:
    """Fields, roles, types of entries and of what is in them."""
    assert read_request(body).provider == provider


def test_marks_of_two_apis_are_asked_about() -> None:
    """Half translated from one API to another, which is a mistake that people make."""
    mixed = [{"role": "assistant", "tool_calls": []}, {"role": "user", "content": [{"type": "tool_result"}]}]
    with pytest.raises(UsageError, match="has marks of anthropic and of openai-chat"):
        read_request(mixed)
    for provider in API_NAMES:
        assert read_request(mixed, provider=provider).provider == provider


@pytest.mark.parametrize(
    ("provider", "body", "options"),
    [
        ("anthropic", {"model": "claude-opus-4-6", "messages": []}, Options(prefill=False, system_messages=False)),
        (
            "anthropic",
            {"model": "claude-haiku-4-5-20251001", "messages": []},
            Options(prefill=True, system_messages=False),
        ),
        ("anthropic", {"thinking": {"type": "enabled"}, "messages": []}, Options(thinking=True)),
        ("anthropic", {"thinking": {"type": "disabled"}, "messages": []}, Options(thinking=False)),
        ("openai-responses", {"model": "gpt-4o", "input": "Hi", "store": False}, Options(store=False, reasoning=False)),
        ("openai-responses", {"input": "Hi", "reasoning": {"effort": "low"}}, Options(reasoning=True)),
        ("openai-responses", {"input": "Hi", "previous_response_id": "resp_1"}, Options(continued=True)),
        (
            "openai-responses",
            {"model": "deepseek-chat", "input": "Hi"},
            Options(adjacent_outputs=True, openai_ids=False),
        ),
        ("gemini", {"model": "gemini-2.5-pro", "contents": []}, Options(thought_signatures=False)),
        ("anthropic", {"model": "claude-opus-4-8", "messages": []}, Options(prefill=False)),
        ("openai-chat", {"model": "gpt-5", "messages": []}, Options(server="openai")),
        ("openai-chat", {"model": "qwen3", "messages": []}, Options()),
        ("openai-chat", {"model": "deepseek-chat", "messages": []}, Options(thinking=False)),
        ("openai-chat", {"model": "mistralai/Mistral-Small-4-119B-2603", "messages": []}, Options(server="mistral")),
        (
            "openai-chat",
            {"model": "kimi-k2.5", "messages": [], "thinking": {"type": "disabled"}},
            Options(server="moonshot", thinking=False),
        ),
    ],
)
def test_a_request_decides_what_it_says(provider: str, body: Any, options: Options) -> None:
    """What it does not say stays as it is for the newest models."""
    request = read_request(body, provider=provider)
    assert request.options == options
    assert bool(request.decided) == (body.get("model") != "qwen3")


CONVERSE_CALL = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}]}


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [HI, CONVERSE_CALL]},
        [CONVERSE_CALL],
        {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "inferenceConfig": {"maxTokens": 9}},
    ],
)
def test_converse_of_bedrock_is_recognised(body: Any) -> None:
    """By blocks that no other API has; Gemini has a `toolConfig`, too."""
    assert read_request(body).provider == "bedrock"
    gemini = {"contents": [], "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}
    assert read_request(gemini).provider == "gemini"


def test_thinking_beside_a_message_shows_chat_completions() -> None:
    """No other API has the field."""
    assert (
        read_request([HI, {"role": "assistant", "content": "Hello", "reasoning_content": "hm"}]).provider
        == "openai-chat"
    )


def test_a_model_that_is_named_beside_the_request_comes_first() -> None:
    """A log has the deployment's name in the body."""
    body = {"model": "claude-opus-4-8", "messages": [HI]}
    request = read_request(body, provider="anthropic", model="claude-3-5-sonnet")
    assert (request.model, request.options.prefill, request.entries) == ("claude-3-5-sonnet", True, 1)


MODELS = [
    (takes_prefill, "claude-2.1", True),
    (takes_prefill, "claude-3-5-sonnet-20241022", True),
    (takes_prefill, "claude-sonnet-4-20250514", True),
    (takes_prefill, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
    (takes_prefill, "anthropic/claude-opus-4.6", False),
    (takes_prefill, "claude-opus-4-8", False),
    (takes_prefill, "claude-sonnet-5", False),
    (takes_prefill, "my-deployment", None),
    (needs_thought_signatures, "gemini-2.5-flash", False),
    (needs_thought_signatures, "gemini-3-pro-preview", True),
    (needs_thought_signatures, "gemma-3", None),
    (reasons, "o4-mini", True),
    (reasons, "openai/gpt-5.2-codex", True),
    (reasons, "gpt-5-chat-latest", None),
    (reasons, "gpt-4o-mini", False),
    (reasons, "my-deployment", None),
]


@pytest.mark.parametrize(("asked", "model", "answer"), MODELS)
def test_what_a_name_says_of_a_model(asked: Any, model: str, answer: bool | None) -> None:
    """Of an unknown name nothing is said."""
    assert asked(model) is answer


@pytest.mark.parametrize(
    ("model", "server"),
    [
        *(
            (name, "mistral")
            for name in ("mistral-large-latest", "ministral-8b", "devstral-small-2", "open-mixtral-8x7b")
        ),
        *(
            (name, "mistral")
            for name in ("mistralai/Mistral-Small-4-119B-2603-NVFP4", "codestral-latest", "magistral-1")
        ),
        *((name, "openai") for name in ("gpt-5", "openai/gpt-4o-mini", "chatgpt-4o-latest", "o4-mini", "o1")),
        *((name, "moonshot") for name in ("kimi-k2.5", "moonshotai/Kimi-K2.6", "kimi-k2-thinking", "kimi-for-coding")),
        *((name, "deepseek") for name in ("deepseek-reasoner", "deepseek/deepseek-v4-flash", "DeepSeek-V3.2-Exp")),
        *(
            (name, None)
            for name in ("gpt-oss-120b", "kimi-k2-instruct", "deepseek-chat", "deepseek-v3", "qwen3", "minimax-m2", "")
        ),
    ],
)
def test_a_model_says_which_server_takes_less(model: str, server: str | None) -> None:
    """By the family of the model, behind any vendor."""
    found = server_of_model(model)
    assert (None if found is None else found.name) == server


def test_a_named_server_wins_over_the_model() -> None:
    """And one that the API does not have is the caller's mistake."""
    request = read_request({"model": "kimi-k2.5", "messages": [HI]}, provider="openai-chat", server="mistral")
    assert request.options.server == "mistral"
    assert "the server is mistral" in request.decided
    with pytest.raises(UsageError, match="is called 'litellm'") as raised:
        read_request([HI], provider="openai-chat", server="litellm")
    assert "mistral, moonshot, deepseek, groq" in str(raised.value.hint)
    with pytest.raises(UsageError, match="no server of gemini") as raised:
        read_request({"contents": []}, server="mistral")
    assert raised.value.hint == "leave out --server"
