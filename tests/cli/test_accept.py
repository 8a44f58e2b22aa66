"""`tpharness accept` says which rule a refused request breaks, where, what the API says and what to do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.hostile import HOSTILE, harmless
from tests.model_apis.cases import CASES, RULE, Case

from tpharness.model_apis.registry import APIS
from tpharness.model_apis.rule import Confidence, Options
from tpharness.resources import schema_path

SCHEMA = jsonschema_rs.validator_for(json.loads(schema_path("accept").read_text("utf-8")))
FIELD = {api.name: api.entries for api in APIS.values()}
DANGLING = {
    "model": "claude-sonnet-4-5",
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "book", "input": {}}]},
        {"role": "user", "content": "Wait"},
    ],
}


def accept(call: Any, request: Any, *options: str) -> Any:
    """Call the command with a request on standard input."""
    return call("accept", "-", *options, stdin=json.dumps(request).encode())


def test_a_refused_request_is_explained(call: Any) -> None:
    """Rule, place, the API's words, what to do, how sure, where to read on."""
    called = accept(call, DANGLING)
    assert called.code == 1
    for words in (
        "-: anthropic, 3 messages, claude-sonnet-4-5",
        "A1 anthropic-call-unanswered at /messages/1 (MUST)",
        "  the API says: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        "  to do: add a result for each call to the next message, or drop the call",
        "  how sure: people report this error: anthropics/claude-code#8210, #2697",
        "    https://github.com/anthropics/claude-code/issues/2697",
        "REFUSED",
    ):
        assert words in called.out


def test_what_servers_disagree_about_is_not_certain(call: Any) -> None:
    """A SHOULD alone is exit code 0, and says so."""
    called = accept(call, {"contents": [{"role": "user", "parts": [{"text": ""}]}]})
    assert called.code == 0
    assert "G6 gemini-text-empty at /contents/0/parts/0/text (SHOULD)" in called.out
    assert "how sure: sources or servers disagree" in called.out
    assert "NOT CERTAIN" in called.out


LATE = [HI := {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
"""What Mistral's API refuses, as all reports and its validator say (C15)."""
AFTER_TOOL = [
    HI,
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "abcdefgh1", "content": "18"},
    HI,
]
"""What it refused, and what its validator takes (C10)."""


@pytest.mark.parametrize("level", ["may", "must"])
def test_what_a_named_server_refuses_by_all_reports_is_refused(level: str, call: Any) -> None:
    """With exit code 1, also where the findings of this level are not printed otherwise; OpenAI's own takes it."""
    called = accept(call, LATE, "--server", "mistral", "--level", level)
    assert called.code == 1
    assert "C15 chat-assistant-last at /1/role (SHOULD)" in called.out
    assert "REFUSED by mistral: " in called.out
    report = json.loads(accept(call, LATE, "--server", "mistral", "--json").out)
    SCHEMA.validate(report)
    assert report["verdict"] == "refused"
    assert accept(call, LATE, "--api", "openai-chat").code == 0
    by_model = accept(call, LATE, "--api", "openai-chat", "--model", "mistral-large-latest")
    assert (by_model.code, "NOT CERTAIN" in by_model.out) == (0, True)


def test_what_reports_disagree_about_fails_on_demand(call: Any, tmp_path: Path) -> None:
    """For one request and for several; what is accepted does not fail, and a MUST does anyway."""
    called = accept(call, AFTER_TOOL, "--server", "mistral")
    assert called.code == 0
    assert "C10 chat-user-after-tool" in called.out
    assert "--fail-on should" in called.out
    demanded = accept(call, AFTER_TOOL, "--server", "mistral", "--fail-on", "should")
    assert (demanded.code, demanded.out) == (1, called.out)
    (tmp_path / "1.json").write_text(json.dumps(AFTER_TOOL), "utf-8")
    (tmp_path / "2.json").write_text(json.dumps([HI]), "utf-8")
    options = ("--server", "mistral")
    assert call("accept", str(tmp_path), *options).code == 0
    assert call("accept", str(tmp_path), *options, "--fail-on", "should").code == 1
    assert accept(call, [HI], *options, "--fail-on", "should").code == 0
    assert accept(call, DANGLING).code == 1


def test_a_server_surely_refuses_only_what_no_report_disputes() -> None:
    """What the table of servers says has to be what the sources of the rules say; and only such rules are its own."""
    for api in APIS.values():
        for server, ids in api.refusals.items():
            for rule in (RULE[one] for one in ids):
                assert rule.confidence is not Confidence.CONFLICTING, (server, rule.id)
                assert rule.only, (server, rule.id)


def test_an_accepted_request_says_what_was_not_judged(call: Any) -> None:
    """And that the model's name may matter, where the request has none."""
    good = {"messages": [{"role": "user", "content": "Hi"}]}
    called = accept(call, good, "--api", "openai-chat")
    assert called.code == 0
    assert "ACCEPTED: none of the 27 rules for openai-chat is broken." in called.out
    assert "--model NAME" in called.out
    assert "--model" not in accept(call, {"model": "gpt-4o", **good}, "--api", "openai-chat").out


def test_rules_that_a_server_does_not_apply_are_not_counted(call: Any) -> None:
    """Nothing compares results with calls in vLLM; to say that this rule is kept would be wrong."""
    made = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    unanswered = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [made]}]
    called = accept(call, unanswered, "--api", "openai-chat", "--server", "vllm")
    assert "ACCEPTED: none of the 16 rules for openai-chat is broken." in called.out
    assert "REFUSED" in accept(call, unanswered, "--api", "openai-chat", "--server", "azure").out


PLAIN = [case for case in CASES if case.options in (Options(), Options(store=False), Options(reasoning=True))]


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.rule)
def test_the_report_has_what_each_rule_knows(case: Case, call: Any) -> None:
    """As JSON by its schema: the same finding for the list alone and for the whole body, at its place."""
    rule = RULE[case.rule]
    inside = case.bad if isinstance(case.bad, dict) else {FIELD[rule.provider]: case.bad}
    body = {"model": "gpt-5", **inside} if case.options.reasoning else inside
    body |= {} if case.options.store else {"store": False}
    called = accept(call, body, "--api", rule.provider, "--json")
    told = json.loads(called.out)
    SCHEMA.validate(told)
    (found,) = [one for one in told["findings"] if one["rule"] == case.rule]
    prefix = "" if isinstance(case.bad, dict) else f"/{FIELD[rule.provider]}"
    assert (found["code"], found["pointer"]) == (rule.kind.code, prefix + case.pointer)
    assert (found["source"], found["links"]) == (rule.source, list(rule.links().values()))
    assert bool(found["api_words"]) == (case.says in found["api_words"])
    assert told["verdict"] == ("refused" if rule.kind.level.name == "MUST" else "uncertain")
    assert called.code == (1 if told["verdict"] == "refused" else 0)


@pytest.mark.parametrize(
    ("request_", "options", "words"),
    [
        ([{"role": "user", "content": "Hi"}], [], "could be for several model APIs"),
        (DANGLING, ["--api", "claude"], "no model API is called 'claude'"),
        (DANGLING, ["--api", "gemini"], "has the field 'contents'; this object has 'model', 'messages'"),
        ({"turns": []}, [], "a thread of ThreadProtocol"),
        ([{"kind": "request", "parts": []}], [], "Pydantic AI's messages"),
        ([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}], [], "the AI SDK's UI messages"),
        ("Hi", [], "neither an object nor a list"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_what_to_do(
    request_: Any, options: list[str], words: str, call: Any
) -> None:
    """Exit code 2, on standard error."""
    called = accept(call, request_, *options)
    assert (called.code, called.out) == (2, "")
    assert words in called.err
    assert len(called.err.splitlines()) == 2


def test_the_types_of_the_official_sdk_judge_as_well(call: Any) -> None:
    """A block that no rule is about."""
    odd = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": [{"type": "video", "source": {}}]}]}
    assert accept(call, odd).code == 0
    called = accept(call, odd, "--types", "--json")
    told = json.loads(called.out)
    SCHEMA.validate(told)
    assert [(one["code"], one["pointer"][:11]) for one in told["findings"]] == [("payload-not-of-sdk", "/messages/0")]


def test_what_a_request_says_does_not_reach_the_terminal(call: Any) -> None:
    """Names, ids and texts are shown as text, and no line is endless."""
    call_id = HOSTILE
    block = {"type": "tool_use", "id": call_id, "name": HOSTILE, "input": {}}
    body = {"model": HOSTILE, "system": "x", "messages": [{"role": "assistant", "content": [block]}]}
    called = accept(call, body)
    assert called.code == 1
    harmless(called.out)


def test_of_many_findings_of_a_kind_the_first_are_told(call: Any) -> None:
    """As everywhere: fifty, and how many more."""
    body = [{"role": "assistant", "content": "x", "tool_calls": []} for _ in range(200)]
    told = json.loads(accept(call, body, "--api", "openai-chat", "--json").out)
    assert sum(one["rule"] == "C6" for one in told["findings"]) == 51
