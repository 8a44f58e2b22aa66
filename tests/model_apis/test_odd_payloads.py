"""Payloads of any shape: what is wrong is a finding, and nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.about import about
from tests.distribution import Sample
from tests.model_apis.cases import CASES, RULE, Case
from tests.places import places, replace_at

from tpharness.errors import UsageError
from tpharness.model_apis.append_only import check_append_only
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES, ApiName
from tpharness.model_apis.rule import Options

EVERYTHING = Options(observations=True, store=False, adjacent_outputs=True, reasoning=True, thinking=True, earlier=[])
ANYTHING: list[Any] = [
    None,
    True,
    7,
    1.5,
    "x",
    "",
    " ",
    [],
    [1],
    [{}],
    {},
    {"a": 1},
    {"type": "text"},
    [["x"]],
    "\ud800",
]


@pytest.mark.sampled
def test_no_value_at_any_place_makes_a_rule_raise(sample: Sample[tuple[Case, tuple[Any, ...]]]) -> None:
    """Each place of each hand-written payload holds, in turn, what does not belong there."""
    for case, path in sample([(one, path) for one in CASES for path in places(one.bad)]):
        for value in ANYTHING:
            odd = replace_at(case.bad, path, value)
            with about(f"{value!r} at {path} in the bad payload of {case.rule}"):
                for finding in check_payload(RULE[case.rule].provider, odd, options=EVERYTHING):
                    assert finding.line()
                check_append_only(case.bad, odd)


@pytest.mark.parametrize("provider", API_NAMES)
@pytest.mark.parametrize("payload", [None, 7, "text", {}, [], {"messages": 5}, {"contents": None}])
def test_what_is_no_list_of_anything_is_malformed(provider: ApiName, payload: Any) -> None:
    """Nothing to answer is nothing that an API takes; Ollama takes an empty list, and only loads the model."""
    if provider == "ollama" and payload == []:
        assert check_payload(provider, payload) == []
        return
    assert [f.code for f in check_payload(provider, payload)] == ["payload-malformed"]


@pytest.mark.parametrize("provider", API_NAMES)
def test_what_is_no_message_is_malformed_and_the_others_are_still_judged(provider: ApiName) -> None:
    """One bad item hides none of the rest."""
    said = {"gemini": {"parts": [{"text": "Hi"}]}, "bedrock": {"content": [{"text": "Hi"}]}}
    entry: dict[str, Any] = {"role": "user", **said.get(provider, {"content": "Hi"})}
    options = Options(observations=provider == "ollama")
    found = check_payload(provider, [entry, 7, {**entry, "role": "robot"}], options=options)
    role = {"gemini": "gemini-content-hollow", "ollama": "ollama-role-unknown"}.get(provider, "payload-malformed")
    assert {(f.code, f.place.pointer) for f in found} == {("payload-malformed", "/1"), (role, "/2/role")}


BLOCKS: list[tuple[str, Any, str]] = [
    ("openai-chat", {"role": "user"}, "/0/content"),
    ("openai-chat", {"role": "user", "content": 5}, "/0/content"),
    ("openai-chat", {"role": "user", "content": []}, "/0/content"),
    ("openai-chat", {"role": "tool", "tool_call_id": "c1", "content": None}, "/0/content"),
    ("openai-chat", {"role": "user", "content": ["Hi"]}, "/0/content/0"),
    ("openai-chat", {"role": "assistant", "content": [{"type": "tool_use", "id": "c1"}]}, "/0/content/0/type"),
    ("openai-chat", {"role": "assistant", "content": "x", "tool_calls": {"id": "c1"}}, "/0/tool_calls"),
    ("openai-chat", {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}, "/0/tool_calls/0"),
    ("openai-responses", {"type": "function_call", "name": "f", "arguments": "{}"}, "/0/call_id"),
    ("openai-responses", {"type": "function_call_output", "output": "x"}, "/0/call_id"),
    ("openai-responses", {"type": "function_call_output", "call_id": "c1"}, "/0/output"),
    ("openai-responses", {"type": "message", "role": "user", "content": 1}, "/0/content"),
    ("openai-responses", {"role": "user", "content": ["Hi"]}, "/0/content/0"),
    ("openai-responses", {"content": "Hi"}, "/0"),
    ("anthropic", {"role": "user"}, "/0/content"),
    ("anthropic", {"role": "user", "content": [{"text": "Hi"}]}, "/0/content/0"),
    ("anthropic", {"role": "user", "content": [{"type": "text"}]}, "/0/content/0/text"),
    ("anthropic", {"role": "user", "content": [{"type": "tool_result", "content": "x"}]}, "/0/content/0/tool_use_id"),
    ("anthropic", {"role": "assistant", "content": [{"type": "tool_use", "id": "c1"}]}, "/0/content/0/name"),
    ("ollama", {"content": "Hi"}, "/0/role"),
    ("ollama", {"role": "user", "content": "Hi", "images": "eA=="}, "/0/images"),
    ("ollama", {"role": "assistant", "thinking": ["Hm."]}, "/0/thinking"),
    ("ollama", {"role": "tool", "content": "x", "tool_name": 7}, "/0/tool_name"),
    ("ollama", {"role": "assistant", "tool_calls": {"function": {}}}, "/0/tool_calls"),
    ("ollama", {"role": "assistant", "tool_calls": [{"function": "f"}]}, "/0/tool_calls/0"),
    ("bedrock", {"role": "user", "content": "Hi"}, "/0/content"),
    ("bedrock", {"role": "tool", "content": [{"text": "Hi"}]}, "/0/role"),
    ("bedrock", {"role": "user", "content": ["Hi"]}, "/0/content/0"),
    ("bedrock", {"role": "user", "content": [{"type": "text"}]}, "/0/content/0"),
    ("bedrock", {"role": "user", "content": [{"text": "Hi", "image": {}}]}, "/0/content/0"),
    ("bedrock", {"role": "user", "content": [{"text": 7}]}, "/0/content/0/text"),
    ("bedrock", {"role": "user", "content": [{"toolResult": "ok"}]}, "/0/content/0/toolResult"),
    ("bedrock", {"role": "user", "content": [{"toolResult": {"toolUseId": "a"}}]}, "/0/content/0/toolResult/content"),
    ("bedrock", {"role": "assistant", "content": [{"toolUse": {"name": "f"}}]}, "/0/content/0/toolUse/toolUseId"),
    ("gemini", {"role": "user", "parts": "Hi"}, "/0/parts"),
    ("gemini", {"role": "user", "parts": ["Hi"]}, "/0/parts/0"),
    ("gemini", {"role": "model", "parts": [{"function_call": {"args": {}}}]}, "/0/parts/0"),
    ("gemini", {"role": "model", "parts": [{"function_call": {"name": "f", "args": "{}"}}]}, "/0/parts/0"),
]


@pytest.mark.parametrize(("provider", "entry", "pointer"), BLOCKS)
def test_what_is_not_of_the_api_s_types_is_malformed(provider: ApiName, entry: Any, pointer: str) -> None:
    """The types of the official SDKs: what has to be there, and as what."""
    found = [f for f in check_payload(provider, [entry]) if f.code == "payload-malformed"]
    assert [f.place.pointer for f in found] == [pointer]


def test_an_api_that_does_not_exist_is_the_caller_s_mistake() -> None:
    """An exception, as nothing is wrong with the payload."""
    with pytest.raises(UsageError, match="no model API is called 'openai'") as raised:
        check_payload("openai", [])
    assert "openai-chat" in raised.value.hint


KEYS = st.sampled_from(
    (
        *("role", "content", "type", "text", "tool_calls", "tool_call_id", "id", "function", "name", "arguments"),
        *("call_id", "status", "output", "input", "tool_use_id", "signature", "parts", "functionCall", "messages"),
        *("thinking", "images", "tool_name"),
    )
)
WORDS = st.sampled_from(
    (
        *("user", "assistant", "tool", "model", "system", "tool_use", "tool_result", "thinking", "text", "c1", ""),
        *("function_call", "function_call_output", "reasoning", "item_reference", "in_progress"),
    )
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(KEYS, inside, max_size=5),
    max_leaves=30,
)


@given(st.sampled_from(API_NAMES), JSON, JSON)
def test_generated_payloads_never_raise(provider: ApiName, payload: Any, earlier: Any) -> None:
    """Words and keys of all APIs, put together without sense."""
    options = Options(observations=True, store=False, adjacent_outputs=True, earlier=earlier)
    for finding in check_payload(provider, payload, options=options):
        assert finding.line()
    check_append_only(earlier, payload)
