"""The official SDKs' types: what they see, what they do not, and what happens without them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from tests.model_apis.cases import CASES, RULE, assistant, chat_answer, text, thought, user

from tpharness.errors import UsageError
from tpharness.model_apis import sdk_types as sdk
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import APIS, ApiName

# The place that the types refuse; rules C4 and A11 are about types, and the types see what they see.
WRONG: list[tuple[str, ApiName, Any, str]] = [
    ("bad role", "openai-chat", [user(), {"role": "robot", "content": "x"}], "/1/role"),
    ("no id of a call", "openai-chat", [{"role": "tool", "content": "x"}], "/0/tool_call_id"),
    ("a block without its text", "openai-chat", [user([{"type": "text"}])], "/0/content/0/text"),
    ("unknown type", "openai-responses", [{"type": "robot"}], "/0/type"),
    ("no name", "openai-responses", [{"type": "function_call", "call_id": "c", "arguments": ""}], "/0/name"),
    ("reasoning without summary", "openai-responses", [{"type": "reasoning", "id": "rs_1"}], "/0/summary"),
    ("bad role", "anthropic", [{"role": "robot", "content": "x"}], "/0/role"),
    (
        "no signature",
        "anthropic",
        [user(), assistant([{"type": "thinking", "thinking": "x"}])],
        "/1/content/0/signature",
    ),
    (
        "input no object",
        "anthropic",
        [assistant([{"type": "tool_use", "id": "c", "name": "f", "input": 1}])],
        "/0/content/0/input",
    ),
    ("no id of a result", "anthropic", [user([{"type": "tool_result", "content": "x"}])], "/0/content/0/tool_use_id"),
    ("in an object", "anthropic", {"system": "x", "messages": [user(5)]}, "/messages/0/content"),
    ("unknown key", "gemini", [{"role": "user", "parts": [{"text": "x", "mood": "good"}]}], "/0/parts/0/mood"),
    ("in an object", "gemini", {"contents": [{"role": "user", "parts": 5}]}, "/contents/0/parts"),
]


@pytest.mark.parametrize(("what", "provider", "payload", "pointer"), WRONG, ids=[f"{r[1]}: {r[0]}" for r in WRONG])
def test_the_types_refuse_what_is_none_of_them(what: str, provider: ApiName, payload: Any, pointer: str) -> None:
    """Each at its place, also where the SDK looks into a list only when its items are taken out."""
    assert [(f.code, f.place.pointer) for f in sdk.check_sdk_types(provider, payload)] == [
        ("payload-not-of-sdk", pointer)
    ], what


def test_what_is_inside_a_lazy_list_is_looked_at_to_the_last_item() -> None:
    """The trap: a block without a signature passes where nobody takes the items out."""
    blocks = [text("a"), thought(), text("b"), {"type": "thinking", "thinking": "x"}]
    (found,) = sdk.check_sdk_types("anthropic", [assistant(blocks)])
    assert found.place.pointer == "/0/content/3/signature"


# Of another server's types of content (C27) OpenAI's know nothing.
WITH_SDK = [c for c in CASES if APIS[RULE[c.rule].provider].sdk is not None and c.rule != "C27"]
TYPED = [c for c in WITH_SDK if c.rule not in ("C4", "C18", "A11", "G5", "R14") and "'input_image'" not in c.says]


def test_the_types_know_nothing_of_pairs_order_and_emptiness() -> None:
    """Why the rules are needed: what breaks them is well typed."""
    for case in TYPED:
        provider = RULE[case.rule].provider
        assert check_payload(provider, case.bad, options=case.options), case
        assert sdk.check_sdk_types(provider, case.bad) == [], case


def test_what_keeps_the_rules_is_well_typed() -> None:
    """The hand-written payloads are of the APIs' own shapes."""
    for case in WITH_SDK:
        assert sdk.check_sdk_types(RULE[case.rule].provider, case.good) == [], case


def test_a_missing_call_id_passes_the_types_and_not_the_rules() -> None:
    """Another item of the wide union fits it."""
    items = [user(), {"type": "function_call_output", "output": "x"}]
    assert sdk.check_sdk_types("openai-responses", items) == []
    assert [f.place.pointer for f in check_payload("openai-responses", items)] == ["/1/call_id"]


@pytest.mark.parametrize(
    "payload", [None, 7, "x", {}, {"messages": 5}, [None], [[]], [{"role": []}], [{"content": {}}]]
)
@pytest.mark.parametrize("provider", ["openai-chat", "openai-responses", "anthropic", "gemini"])
def test_odd_payloads_are_refused_and_do_not_raise(provider: ApiName, payload: Any) -> None:
    """A content of Gemini may have any fields absent, so there an object passes."""
    found = sdk.check_sdk_types(provider, payload)
    assert [f.code for f in found] == ["payload-not-of-sdk"]


def test_without_the_sdk_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a pass because nothing looked."""

    def absent(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    sdk._validator.cache_clear()
    monkeypatch.setattr(sdk, "import_module", absent)
    with pytest.raises(UsageError, match="the SDK 'anthropic'") as raised:
        sdk.check_sdk_types("anthropic", [user()])
    assert raised.value.hint == "pip install 'tpharness[providers]'"


def test_an_api_whose_sdk_has_no_types_says_so() -> None:
    """Never a pass because nothing looked."""
    with pytest.raises(UsageError, match="no official SDK has the types of Ollama"):
        sdk.check_sdk_types("ollama", [user()])


def test_an_api_that_does_not_exist_is_the_caller_s_mistake() -> None:
    """As for check_payload."""
    with pytest.raises(UsageError, match="no model API is called 'x'"):
        sdk.check_sdk_types("x", [chat_answer("c1")])


def test_the_rules_load_no_sdk() -> None:
    """Only who asks for the types pays for them."""
    heavy = ("openai", "anthropic", "google.genai", "pydantic")
    code = f"import sys, tpharness.model_apis.sdk_types; print([m for m in {heavy!r} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
