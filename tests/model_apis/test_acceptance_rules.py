"""Each rule finds what breaks it, says so in the API's words, and lets the nearest payload pass that keeps it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.model_apis.cases import (
    CASES,
    RULE,
    SAID,
    Case,
    assistant,
    call,
    chat_answer,
    chat_call,
    content,
    converse,
    output,
    result,
    search,
    searched,
    text,
    use,
    user,
)

from tpharness.findings import Level
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import ApiName
from tpharness.model_apis.rule import Confidence, Options
from tpharness.model_apis.rules import RULES


def name(case: Case) -> str:
    """Return a readable id: the rule, and which of its cases this is."""
    return f"{case.rule}-{[c for c in CASES if c.rule == case.rule].index(case) + 1}"


def provider(rule: str) -> ApiName:
    """Return whose rule this is."""
    return RULE[rule].provider


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_rule_finds_what_breaks_it_and_only_it(case: Case) -> None:
    """One finding, of this rule, at the place, in the API's words; what differs in nothing but the rule breaks none."""
    found = check_payload(provider(case.rule), case.bad, options=case.options)
    assert [(f.kind, f.place.pointer) for f in found] == [(RULE[case.rule].kind, case.pointer)]
    assert found[0].message.startswith(f"{case.rule}: ")
    assert case.says in found[0].message
    assert check_payload(provider(case.rule), case.good, options=case.good_options or case.options) == []


def test_every_rule_has_a_payload_that_breaks_it() -> None:
    """C1–C27, R1–R14, A1–A24, G1–G9, O1–O6, B1–B13, each once, and each seen failing."""
    counts = {"C": 27, "R": 14, "A": 24, "G": 9, "O": 6, "B": 13}
    ids = [f"{letter}{n}" for letter, last in counts.items() for n in range(1, last + 1)]
    assert [rule.id for rule in RULES] == ids
    assert {case.rule for case in CASES} == set(ids)


def test_every_error_text_that_is_known_is_quoted_by_a_case() -> None:
    """A text that no case shows could be the wrong one."""
    shown = [f.message for c in CASES for f in check_payload(provider(c.rule), c.bad, options=c.options)]
    for rule in RULES:
        for error in rule.errors:
            said = ".*".join(re.escape(words) for words in re.split(r"\{[a-z]+\}", error))
            assert any(re.fullmatch(f"{rule.id}: {said}", message) for message in shown), error


def test_only_what_is_refused_is_a_must() -> None:
    """A warning where servers or sources differ, an observation where nothing is refused."""
    assert {rule.id for rule in RULES if rule.kind.level is Level.SHOULD} == {
        *(
            "C5",
            "C8",
            *(f"C{number}" for number in range(9, 28)),
            "R5",
            "R6",
            "R9",
            "R11",
            "R12",
            "R14",
            "A9",
            "A13",
            "A18",
            "A21",
            "A23",
            "G6",
            "G8",
            "G9",
            "B6",
            "B7",
        ),
    }
    assert {rule.id for rule in RULES if rule.kind.level is Level.MAY} == {"A7", "O4", "O5", "O6", "B13"}
    assert {rule.id for rule in RULES if rule.confidence is Confidence.CONFLICTING} == {
        *(
            "C5",
            "C8",
            "C9",
            "C10",
            "C11",
            "C12",
            "C16",
            "C17",
            "C18",
            "C20",
            "C21",
            "R11",
            "R12",
            "A9",
            "A13",
            "A18",
            "A21",
            "A23",
            "G6",
            "G8",
            "G9",
            "B13",
            "B6",
            "B7",
        ),
    }


WRONG_ELSEWHERE: dict[str, list[dict[str, Any]]] = {
    "C1": [user(), chat_call("c1"), user("Stop.")],
    "C2": [user(), chat_answer("c1")],
    "C6": [user(), assistant(tool_calls=[]), user("And?")],
    "C7": [user(), chat_call("c1"), chat_answer("c1"), chat_answer("c1")],
    "C16": [user(), chat_call("c1", name="weather.get"), chat_answer("c1")],
    "C17": [user(), chat_call("c" * 41), chat_answer("c" * 41)],
}
"""Requests that `findings/vllm-and-sglang-judge-histories.sh` shows to be taken, by the rule that they break."""


@pytest.mark.parametrize("rule", WRONG_ELSEWHERE)
def test_a_server_that_compares_nothing_refuses_no_pair(rule: str) -> None:
    """OpenAI's API refuses the same request; a wrong refusal would send somebody to delete what works."""
    request = [{**entry, "content": entry.get("content") or ""} for entry in WRONG_ELSEWHERE[rule]]
    assert RULE[rule].kind in [one.kind for one in check_payload("openai-chat", request)]
    for server in ("vllm", "sglang", "ollama"):
        assert check_payload("openai-chat", request, options=Options(server=server)) == []
    for server in ("azure", "groq", "mistral"):
        if (server, rule) not in (("mistral", "C17"), ("mistral", "C6")):  # C11 finds the one; it takes the other
            found = check_payload("openai-chat", request, options=Options(server=server))
            assert RULE[rule].kind in [one.kind for one in found]


@pytest.mark.parametrize(("server", "takes"), [("vllm", True), ("sglang", False), ("ollama", False)])
def test_half_arguments_are_taken_by_vllm_alone(server: str, takes: bool) -> None:  # a row
    """VLLM gives the model an empty object instead, since a refusal would be one of every later turn."""
    half = [user(), {**chat_call("c1", arguments='{"city":"Pa'), "content": ""}, chat_answer("c1")]
    found = check_payload("openai-chat", half, options=Options(server=server))
    assert [one.code for one in found] == ([] if takes else ["chat-arguments-not-object"])


def test_an_observation_is_told_on_request_only() -> None:
    """A7: messages of one role in a row are taken."""
    assert check_payload("anthropic", [user(), user()]) == []


def test_results_may_come_in_several_messages_of_the_user() -> None:
    """A7: consecutive messages of one role make one turn, so A1, A2 and A3 look at the turn."""
    split = [user(), assistant([use(), use("c2")]), user([result()]), user([result("c2")]), user("And?")]
    assert check_payload("anthropic", split) == []
    late = [user(), assistant([use(), use("c2")]), user([result(), text("And?")]), user([result("c2")])]
    assert [f.message[:3] for f in check_payload("anthropic", late)] == ["A3:"]


def test_calls_of_one_turn_are_told_apart_wherever_its_messages_are_divided() -> None:
    """A12: to the API, consecutive assistant messages are one turn."""
    divided = [user(), assistant([use()]), assistant([use()]), user([result()])]
    found = [f.message[:4] for f in check_payload("anthropic", divided)]
    assert found == ["A12:"]


def test_a_result_has_to_be_in_the_turn_of_its_server_tool() -> None:
    """A15, A16: what the user said in between divides the turn, as an interruption does."""
    divided = [user(), assistant([search()]), user("Wait"), assistant([searched(), text("x")]), user()]
    found = [(f.message[:4], f.place.pointer) for f in check_payload("anthropic", divided)]
    assert found == [("A15:", "/1/content/0"), ("A16:", "/3/content/0")]


def test_a_server_tool_may_return_after_the_client_s() -> None:
    """A15, A16: beside a client's call the response ends, and the API's own tool returns in the next one."""
    both = assistant([search(), use("c2")])
    late = [user(), both, user([result("c2")]), assistant([searched(), text("x")]), user()]
    assert check_payload("anthropic", late) == []
    assert check_payload("anthropic", late[:3]) == []
    answered = [user(), both, user([result("c2"), text("Wait")]), assistant([searched(), text("x")]), user()]
    assert check_payload("anthropic", answered) == []
    never = [user(), both, user([result("c2")]), assistant([text("x")]), user()]
    assert [(f.message[:4], f.place.pointer) for f in check_payload("anthropic", never)] == [("A15:", "/1/content/0")]
    twice = [*late[:4], user("And?"), assistant([searched(), text("y")]), user()]
    assert [(f.message[:4], f.place.pointer) for f in check_payload("anthropic", twice)] == [("A16:", "/5/content/0")]


def test_ids_of_calls_and_of_results_are_judged_alike() -> None:
    """A17."""
    dotted = [user(), assistant([use("functions.read:0")]), user([result("functions.read:0")])]
    found = [(f.message[:40], f.place.pointer) for f in check_payload("anthropic", dotted)]
    assert found == [
        ("A17: tool_use.id: String should match pa", "/1/content/0/id"),
        ("A17: tool_result.tool_use_id: String sho", "/2/content/0/tool_use_id"),
    ]


def test_a_text_as_input_is_what_the_user_says() -> None:
    """The Responses API takes a text, and the rules take the whole request."""
    assert check_payload("openai-responses", {"model": "m", "input": "Hi"}) == []
    whole = {"model": "m", "messages": [user(), chat_call("c1"), user("Wait")]}
    assert [f.place.pointer for f in check_payload("openai-chat", whole)] == ["/messages/1"]


def test_calls_of_several_assistant_messages_are_answered_together() -> None:
    """A1, A2: neighbours make one turn, and the result of a call in the one before that is too late."""
    between = [user(), assistant([use()]), assistant(), user([result()])]
    assert check_payload("anthropic", between) == []
    both = [user(), assistant([use()]), assistant([use("toolu_2")]), user([result(), result("toolu_2")])]
    assert check_payload("anthropic", both) == []
    half = [user(), assistant([use()]), assistant([use("toolu_2")]), user([result()])]
    assert [(f.message[:3], f.place.pointer) for f in check_payload("anthropic", half)] == [("A1:", "/2")]
    late = [user(), assistant([use()]), user(), assistant([use("toolu_2")]), user([result(), result("toolu_2")])]
    found = [(f.message[:3], f.place.pointer) for f in check_payload("anthropic", late)]
    assert found == [("A1:", "/1"), ("A2:", "/4/content/0")]


def test_the_output_of_a_search_for_tools_has_its_call() -> None:
    """R2: `tool_search_call` is a call of the client where it is executed there."""
    search_call = {"type": "tool_search_call", "call_id": "c1", "execution": "client", "arguments": {}}
    assert check_payload("openai-responses", [user(), search_call, output("c1"), user()]) == []


def test_other_servers_of_responses_give_ids_of_their_own() -> None:
    """R7, R9, R10: DeepSeek's have no prefix, xAI's are there twice."""
    thought = {"type": "reasoning", "id": "76f8b89e-4a41", "summary": []}
    items = [
        user(),
        thought,
        {"type": "message", "role": "assistant", "content": "Hi"},
        user(),
        thought,
        call(),
        output(),
    ]
    found = {finding.message.partition(":")[0] for finding in check_payload("openai-responses", items)}
    assert found == {"R7", "R9", "R10"}
    assert check_payload("openai-responses", items, options=Options(openai_ids=False)) == []


def test_bedrock_answers_the_calls_of_its_own_tools() -> None:
    """B1, B2: such a call stands with its result in one message of the model."""
    ran = {"toolUse": {"toolUseId": "t1", "name": "nova_code_interpreter", "input": {}, "type": "server_tool_use"}}
    gave = {"toolResult": {"toolUseId": "t1", "content": [{"json": {"exitCode": 0}}]}}
    own = [converse("Hi"), converse(ran, gave, "4", role="assistant"), converse("And?")]
    assert check_payload("bedrock", own) == []


def test_json_spelling_of_gemini_is_read_as_well() -> None:
    """The REST API spells fields in camel case."""
    called = {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}
    answered = {"functionResponse": {"name": "f", "response": {}}}
    good = [content("user", SAID), content("model", called), content("user", answered)]
    assert check_payload("gemini", {"contents": good}) == []
    found = check_payload("gemini", {"contents": good[:2]})
    assert [(f.message[:3], f.place.pointer) for f in found] == [("G1:", "/contents/1")]


def test_a_reference_may_stand_for_the_reasoning_of_a_call() -> None:
    """R6, R2: what a reference names is stored, and cannot be told from here."""
    items = [user(), {"type": "item_reference", "id": "rs_1"}, call(id="fc_1"), output()]
    assert check_payload("openai-responses", items, options=Options(reasoning=True)) == []
    stored = [user(), {"type": "item_reference", "id": "fc_1"}, output(), user("And?")]
    assert check_payload("openai-responses", stored) == []


def test_a_reference_may_leave_its_type_out() -> None:
    """R4: an item that is nothing but an id is a reference."""
    found = check_payload("openai-responses", [user(), {"id": "msg_1"}], options=Options(store=False))
    assert [(f.message[:3], f.place.pointer) for f in found] == [("R4:", "/1")]
    assert check_payload("openai-responses", [user(), {"id": "msg_1"}]) == []


def test_a_call_that_stands_nowhere_right_says_where_it_should() -> None:
    """C2, G2: what stands there, and what should."""
    (orphan,) = check_payload("openai-chat", [user(), {"role": "tool", "tool_call_id": "c1", "content": "x"}])
    assert (orphan.got, orphan.expected) == ("c1", None)
    called = content("model", {"function_call": {"name": "f"}, "thought_signature": "c2ln"})
    answered = content("user", {"function_response": {"name": "f", "response": {}}})
    (first,) = check_payload("gemini", [called, answered])
    assert (first.got, first.expected) == ("nothing before it", "user")
