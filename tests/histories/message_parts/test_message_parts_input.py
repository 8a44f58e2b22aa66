"""What a model is sent (HISTORIES 1.6), one provider beside the other."""

from __future__ import annotations

from typing import Any

import pytest
from tests.histories.message_parts.build import (
    MODEL,
    Line,
    answer,
    call,
    cancelled,
    developer,
    journal_of,
    result,
    retract,
    scenario,
    signature,
    system,
    text,
    thought,
    user,
)

from tpharness.histories.message_parts import MESSAGE_PARTS, MessageParts
from tpharness.histories.message_parts.dialect import WRITTEN_FOR
from tpharness.histories.projections import ApiName, HistoryDialect

PLAN, CURRENT = MESSAGE_PARTS["message-parts/plan"], MESSAGE_PARTS["message-parts/current"]
SAME = MessageParts(variant="current", model=MODEL)
OTHER = MessageParts(variant="current", model="another-model")
Payload = Any


def chat(dialect: MessageParts, history: list[Line], next_user: str | None = None) -> Payload:
    """Return the messages for Chat Completions."""
    return dialect.model_input(history, "openai-chat", next_user=next_user)


def anthropic(dialect: MessageParts, history: list[Line], next_user: str | None = None) -> Payload:
    """Return the messages for Anthropic."""
    return dialect.model_input(history, "anthropic", next_user=next_user)["messages"]


def responses(dialect: MessageParts, history: list[Line], next_user: str | None = None) -> Payload:
    """Return the items for Responses."""
    return dialect.model_input(history, "openai-responses", next_user=next_user)


def gemini(dialect: MessageParts, history: list[Line], next_user: str | None = None) -> Payload:
    """Return the contents for Gemini."""
    return dialect.model_input(history, "gemini", next_user=next_user)


def test_both_variants_are_history_dialects() -> None:
    """They keep the contract of `projections`."""
    dialects: list[HistoryDialect] = [PLAN, CURRENT]
    assert [dialect.name for dialect in dialects] == ["message-parts/plan", "message-parts/current"]


WEATHER = [
    user("q"),
    answer(text("ok"), call("c1", "fast", '{"n": 1}'), call("c2", "slow"), stop="tool_use"),
    result("c1", "fast", "success", "one"),
    result("c2", "slow", "error", "bad"),
]


def test_a_step_with_two_results_for_each_provider() -> None:
    """Chat: separate tool messages; Anthropic: one user message; Responses: items; Gemini: one user content."""
    assert chat(CURRENT, WEATHER, "go") == [
        {"role": "user", "content": [{"type": "text", "text": "q"}]},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "fast", "arguments": '{"n": 1}'}},
                {"id": "c2", "type": "function", "function": {"name": "slow", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "content": "one", "tool_call_id": "c1"},
        {"role": "tool", "content": "bad", "tool_call_id": "c2"},
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
    ]
    assert CURRENT.model_input(WEATHER, "anthropic", next_user="go") == {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "q"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "ok"},
                    {"type": "tool_use", "id": "c1", "name": "fast", "input": {"n": 1}},
                    {"type": "tool_use", "id": "c2", "name": "slow", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "is_error": False,
                        "content": [{"type": "text", "text": "one"}],
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "is_error": True,
                        "content": [{"type": "text", "text": "bad"}],
                    },
                ],
            },
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
        ]
    }
    assert responses(CURRENT, WEATHER, "go") == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
        {"type": "function_call", "name": "fast", "arguments": '{"n": 1}', "call_id": "c1"},
        {"type": "function_call", "name": "slow", "arguments": "{}", "call_id": "c2"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "one"}]},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "bad"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    ]
    assert gemini(CURRENT, WEATHER, "go") == [
        {"role": "user", "parts": [{"text": "q"}]},
        {
            "role": "model",
            "parts": [
                {"text": "ok"},
                {"functionCall": {"name": "fast", "args": {"n": 1}}},
                {"functionCall": {"name": "slow", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "fast", "response": {"output": "one"}}},
                {"functionResponse": {"name": "slow", "response": {"error": "bad"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "go"}]},
    ]


def test_an_aborted_result_is_an_error_to_a_model() -> None:
    """Status other than success: `is_error` for Anthropic, the key `error` for Gemini, text alone for OpenAI."""
    history = [user("q"), answer(call("c1", "t"), stop="tool_use"), cancelled("c1", "t")]
    said = "[Request interrupted by user for tool use]"
    assert chat(PLAN, history)[-1] == {"role": "tool", "content": said, "tool_call_id": "c1"}
    assert anthropic(PLAN, history)[-1]["content"][0]["is_error"] is True
    assert gemini(PLAN, history)[-1]["parts"] == [{"functionResponse": {"name": "t", "response": {"error": said}}}]


@pytest.mark.parametrize("status", ["success", "error"])
def test_a_result_without_text_says_so_even_of_an_error(status: str) -> None:
    """HISTORIES 1.6: EMPTY_TOOL_OUTPUT_MESSAGE even for status error."""
    said = "<system-reminder>Tool ran without output or errors</system-reminder>"
    history = [user("q"), answer(call("c1", "t"), stop="tool_use"), result("c1", "t", status, "")]
    assert chat(CURRENT, history)[-1]["content"] == said
    assert anthropic(CURRENT, history)[-1]["content"][0]["content"] == [{"type": "text", "text": said}]
    assert responses(CURRENT, history)[-1]["output"] == [{"type": "input_text", "text": said}]
    assert list(gemini(CURRENT, history)[-1]["parts"][0]["functionResponse"]["response"].values()) == [said]


@pytest.mark.parametrize(
    ("written", "parsed"), [('{"ci', {"_raw": '{"ci'}), ("", {}), ("[1]", {"_value": [1]}), ('{"a": 1}', {"a": 1})]
)
def test_arguments_that_are_no_object(written: str, parsed: dict[str, Any]) -> None:
    """HISTORIES 1.6: raw for OpenAI, `{"_raw": …}` where an object is asked for."""
    history = [user("q"), answer(call("c1", "t", written), stop="tool_use"), result("c1", "t", "error", "bad")]
    assert chat(CURRENT, history)[1]["tool_calls"][0]["function"]["arguments"] == written
    assert responses(CURRENT, history)[1]["arguments"] == written
    assert anthropic(CURRENT, history)[1]["content"][0]["input"] == parsed
    assert gemini(CURRENT, history)[1]["parts"][0]["functionCall"]["args"] == parsed


# ------------------------------------------------------------------------------------------------ thinking

SIGNED = answer(thought("hmm"), signature("c2ln"), text("x"), stop="stop")


def test_a_signed_thought_to_the_same_model() -> None:
    """Anthropic: a thinking block; Responses: a reasoning item without id; Gemini: a thought; chat: not at all."""
    history = [user("q"), SIGNED]
    assert chat(SAME, history)[1] == {"role": "assistant", "content": "x"}
    assert anthropic(SAME, history)[1]["content"] == [
        {"type": "thinking", "thinking": "hmm", "signature": "c2ln"},
        {"type": "text", "text": "x"},
    ]
    assert responses(SAME, history)[1:] == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hmm"}], "encrypted_content": "c2ln"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
    ]
    assert gemini(SAME, history)[1]["parts"] == [{"text": "hmm", "thought": True}, {"text": "x"}]
    for provider in WRITTEN_FOR:  # nobody is asked for: the one that had the thought
        assert CURRENT.model_input(history, provider) == SAME.model_input(history, provider)


def test_a_signed_thought_to_another_model() -> None:
    """Chat: dropped; Anthropic: as text, the signature dropped; Responses and Gemini: the first text."""
    history = [user("q"), answer(text("x"), thought("hmm"), signature("c2ln"), stop="stop")]
    said = "<thinking>\nhmm\n</thinking>"
    assert chat(OTHER, history)[1] == {"role": "assistant", "content": "x"}
    assert anthropic(OTHER, history)[1]["content"] == [{"type": "text", "text": "x"}, {"type": "text", "text": said}]
    assert responses(OTHER, history)[1]["content"] == [
        {"type": "output_text", "text": said},
        {"type": "output_text", "text": "x"},
    ]
    assert gemini(OTHER, history)[1]["parts"] == [{"text": said}, {"text": "x"}]


def test_anthropic_takes_no_thought_without_a_signature() -> None:
    """Unsigned: a text block with the thought, none for blanks; an orphan signature signs an empty thought."""
    unsigned = [user("q"), answer(thought(" hmm "), text("x"), thought("  "), stop="stop")]
    assert anthropic(SAME, unsigned)[1]["content"] == [
        {"type": "text", "text": "<thinking>\nhmm\n</thinking>"},
        {"type": "text", "text": "x"},
    ]
    orphan = [user("q"), answer(signature("c2ln"), text("x"), stop="stop")]
    assert anthropic(SAME, orphan)[1]["content"][0] == {"type": "thinking", "thinking": "", "signature": "c2ln"}


def test_gemini_takes_signatures_of_google_alone() -> None:
    """Only if the format is google, on the preceding part; without one before it, or no base64, not at all."""
    google = {**signature("c2ln"), "format": "google"}
    after_call = [user("q"), answer(call("c1", "t"), google, stop="tool_use"), result("c1", "t", "success", "1")]
    made = {"functionCall": {"name": "t", "args": {}}, "thoughtSignature": "c2ln"}
    assert gemini(SAME, after_call)[1]["parts"] == [made]
    first = [user("q"), answer(google, text("x"), stop="stop")]
    assert gemini(SAME, first)[1]["parts"] == [{"text": "x"}]
    bad = [user("q"), answer(text("x"), {**google, "signature": "c"}, stop="stop")]
    assert gemini(SAME, bad)[1]["parts"] == [{"text": "x"}]


def test_chat_sends_a_thought_in_the_field_it_came_in() -> None:
    """HISTORIES 1.6: "only via reasoning_field", whoever is asked; `reasoning_details` are rebuilt as a list."""
    came = {**thought("hmm"), "reasoning_field": "reasoning_content"}
    assert chat(SAME, [user("q"), answer(came, text("x"))])[1]["reasoning_content"] == "hmm"
    assert chat(OTHER, [user("q"), answer(came, text("x"))])[1]["reasoning_content"] == "hmm"
    detailed = {**thought("hmm"), "reasoning_field": "reasoning_details", "format": "f"}
    assert chat(SAME, [user("q"), answer(detailed, signature("s"), text("x"))])[1]["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hmm", "index": 0, "format": "f"},
        {"type": "reasoning.encrypted", "data": "s", "index": 1, "format": "test"},
    ]


def test_openrouter_gets_reasoning_details() -> None:
    """The chat form with reasoning details; a Claude model's signature stands in the detail of its thought."""
    assert SAME.model_input([user("q"), SIGNED], "openrouter")[1] == {
        "role": "assistant",
        "content": "x",
        "reasoning_details": [
            {"type": "reasoning.text", "text": "hmm", "index": 0},
            {"type": "reasoning.encrypted", "data": "c2ln", "index": 1, "format": "test"},
        ],
    }
    claude = [{**part, "model_id": "anthropic/claude-x"} for part in (thought("hmm"), signature("s"))]
    made = CURRENT.model_input([user("q"), answer(*claude, text("x"))], "openrouter")[1]
    assert made["reasoning_details"] == [{"type": "reasoning.text", "text": "hmm", "index": 0, "signature": "s"}]
    foreign = OTHER.model_input([user("q"), SIGNED], "openrouter")[1]
    assert foreign == {"role": "assistant", "content": "<thinking>\nhmm\n</thinking>\nx"}


# ------------------------------------------------------------------------------------------------ developer, system


def test_developer_messages_hang_on_what_came_before() -> None:
    """K16: on the last user message or tool result, never on an assistant message; the first of all is dropped."""
    history = MESSAGE_PARTS["message-parts/current"].store(journal_of(scenario("histories/k16-developer-messages")))
    assert chat(CURRENT, history) == [
        {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "text", "text": "after user\n"}]},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "fast", "arguments": "{}"}}],
        },
        # each text with its line feed; "after answer" goes backwards over the answer
        {"role": "tool", "content": "before tool\n\none\nafter tool\nafter answer\n", "tool_call_id": "c1"},
        {"role": "assistant", "content": "done"},
    ]
    for provider in WRITTEN_FOR:
        sent = str(CURRENT.model_input(history, provider))
        assert "first" not in sent
        assert all(word in sent for word in ("after user", "before tool", "after tool", "after answer"))


def test_the_plan_only_appends() -> None:
    """The plan: append the developer's text with a trailing newline; it knows no other position."""
    history = PLAN.store(journal_of(scenario("histories/k16-developer-messages")))
    assert chat(PLAN, history)[2]["content"] == "one\nbefore tool\nafter tool\nafter answer\n"


def test_a_developer_message_before_a_user_message() -> None:
    """Prepend: a text of its own before the user's."""
    history = [user("q"), developer("note", "prepend"), developer("more", "append")]
    assert [part["text"] for part in chat(CURRENT, history)[0]["content"]] == ["note\n", "q", "more\n"]
    assert [part["text"] for part in gemini(CURRENT, history)[0]["parts"]] == ["note\n", "q", "more\n"]


def test_only_the_parts_of_a_developer_message_are_sent() -> None:
    """The plan: "UI-only fields are never sent to providers"."""
    line = developer("note")
    history = [user("q"), {**line, "data": {**line["data"], "ui_extra": {"secret": "s"}}}]
    for provider in WRITTEN_FOR:
        assert "secret" not in str(PLAN.model_input(history, provider))


def test_system_messages() -> None:
    """Chat: a system message; Anthropic: system blocks; Responses and Gemini: their instructions, as planned.

    The current program skips them for those two, and writes none.
    """
    history = [system("be kind"), user("q")]
    assert chat(PLAN, history)[0] == {"role": "system", "content": "be kind"}
    assert PLAN.model_input(history, "anthropic") == {
        "system": [{"type": "text", "text": "be kind"}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
    }
    asked = {"role": "user", "content": [{"type": "input_text", "text": "q"}]}
    assert responses(PLAN, history) == {"instructions": "be kind", "input": [{"type": "message", **asked}]}
    contents = [{"role": "user", "parts": [{"text": "q"}]}]
    assert gemini(PLAN, history) == {"system_instruction": {"parts": [{"text": "be kind"}]}, "contents": contents}
    assert len(responses(CURRENT, history)) == len(gemini(CURRENT, history)) == 1


# ------------------------------------------------------------------------------------------------ interrupted


def test_an_empty_answer_is_sent_as_no_api_takes_it() -> None:
    """HISTORIES 1.6 and 4.2: K03 as planned gives `{"role": "assistant"}` and `content: []`; no item, no content."""
    history = PLAN.store(journal_of(scenario("histories/k03-before-any-delta")))
    assert chat(PLAN, history, "go")[1] == {"role": "assistant"}
    assert anthropic(PLAN, history, "go")[1] == {"role": "assistant", "content": []}
    assert [item["role"] for item in responses(PLAN, history, "go")] == ["user", "user"]
    assert [item["role"] for item in gemini(PLAN, history, "go")] == ["user", "user"]


def test_an_adapter_may_skip_it() -> None:
    """HISTORIES 1.7, K03: "must be skipped by adapter"; only messages without any part are."""
    skipping = MessageParts(variant="plan", skip_empty=True)
    history = skipping.store(journal_of(scenario("histories/k03-before-any-delta")))
    assert [message["role"] for message in chat(skipping, history, "go")] == ["user", "user"]
    assert [message["role"] for message in chat(skipping, WEATHER, "go")] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]


def test_calls_without_results_get_one_on_the_way_to_a_model() -> None:
    """K15: an error for c2 between the message and the real result of c1; the plan sends the call dangling."""
    played = journal_of(scenario("histories/k15-program-ends-while-a-tool-runs"))
    said = "Tool call was interrupted before completing (session was interrupted or restarted)."
    current = chat(CURRENT, CURRENT.store(played))
    assert [message.get("tool_call_id") for message in current] == [None, None, "c2", "c1", None]
    assert current[2]["content"] == said
    assert gemini(CURRENT, CURRENT.store(played))[2]["parts"][0]["functionResponse"]["response"] == {"error": said}
    planned = chat(PLAN, PLAN.store(played))
    assert [message.get("tool_call_id") for message in planned] == [None, None, "c1", None]


def test_the_file_is_not_repaired() -> None:
    """HISTORIES 1.3: "on read only"."""
    played = journal_of(scenario("histories/k15-program-ends-while-a-tool-runs"))
    document = CURRENT.store(played)
    before = repr(document)
    chat(CURRENT, document)
    assert repr(document) == before


def test_a_withdrawn_message_is_not_sent() -> None:
    """K18: the user message is gone; one with another text is untouched, and only the nearest one counts."""
    played = CURRENT.store(journal_of(scenario("histories/k18-withdrawn")))
    assert chat(CURRENT, played, "go") == [{"role": "user", "content": [{"type": "text", "text": "go"}]}]
    assert len(chat(CURRENT, [user("q"), retract("Q")])) == 1
    assert len(chat(CURRENT, [user("q"), user("r"), retract("q")])) == 2
    assert len(chat(CURRENT, [user("q"), user("q"), retract("q")])) == 1


# ------------------------------------------------------------------------------------------------ images

INSIDE = {"type": "image_url", "url": "data:image/png;base64,AQI="}
OUTSIDE = {"type": "image_url", "url": "https://e.x/a.png"}
FILE = {"type": "image_file", "file_path": "a.png"}


def test_images_of_users() -> None:
    """A data URL and a URL in each provider's form; a file that code without files cannot read as a text."""
    history = [user("look", INSIDE, OUTSIDE, FILE)]
    missing = "[image a.png: not in the history]"
    assert chat(CURRENT, history)[0]["content"][1:] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQI="}},
        {"type": "image_url", "image_url": {"url": "https://e.x/a.png"}},
        {"type": "text", "text": missing},
    ]
    assert anthropic(CURRENT, history)[0]["content"][1:3] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQI="}},
        {"type": "image", "source": {"type": "url", "url": "https://e.x/a.png"}},
    ]
    assert responses(CURRENT, history)[0]["content"][1]["image_url"] == "data:image/png;base64,AQI="
    assert gemini(CURRENT, history)[0]["parts"][1:3] == [
        {"inlineData": {"mimeType": "image/png", "data": "AQI="}},
        {"fileData": {"fileUri": "https://e.x/a.png"}},
    ]


def test_images_of_results() -> None:
    """No tool message of chat may carry one, so they follow in a user message; the file's text joins the output."""
    made = answer(call("c1", "shot"), stop="tool_use")
    history = [user("q"), made, result("c1", "shot", "success", "taken", INSIDE, FILE)]
    tool, images = chat(CURRENT, history)[2:]
    assert tool["content"] == "taken\n[image a.png: not in the history]"
    assert images["role"] == "user"
    assert images["content"][1]["type"] == "image_url"
    block = anthropic(CURRENT, history)[-1]["content"][0]
    assert [part["type"] for part in block["content"]] == ["text", "image"]
    assert [part["type"] for part in responses(CURRENT, history)[-1]["output"]] == ["input_text", "input_image"]
    assert "functionResponse" in gemini(CURRENT, history)[2]["parts"][0]
    assert gemini(CURRENT, history)[3]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "AQI="}}


@pytest.mark.parametrize("provider", WRITTEN_FOR)
def test_the_next_user_message_comes_last(provider: ApiName) -> None:
    """The contract of `projections`; without one the history alone is sent."""
    with_it = CURRENT.model_input(WEATHER, provider, next_user="go")
    without = CURRENT.model_input(WEATHER, provider)
    listed = [p["messages"] if isinstance(p, dict) else p for p in (with_it, without)]
    assert listed[0][:-1] == listed[1]
    assert "go" in str(listed[0][-1])


def test_images_of_developer_messages() -> None:
    """The plan: "append developer text/images as parts to the most recent user or tool message"."""
    note = developer("note")
    note["data"]["parts"] += [OUTSIDE, FILE]
    history = [user("q"), note]
    assert chat(PLAN, history)[0]["content"] == [
        {"type": "text", "text": "q"},
        {"type": "text", "text": "note\n\n[image a.png: not in the history]"},
        {"type": "image_url", "image_url": {"url": "https://e.x/a.png"}},
    ]


def test_an_empty_signature_proves_nothing() -> None:
    """It is sent to nobody."""
    history = [user("q"), answer(thought("a"), signature(""), text("x"), stop="stop")]
    assert anthropic(SAME, history)[1]["content"][0] == {"type": "text", "text": "<thinking>\na\n</thinking>"}
    details = SAME.model_input(history, "openrouter")[1]["reasoning_details"]
    assert details == [{"type": "reasoning.text", "text": "a", "index": 0}]
    assert "encrypted_content" not in responses(SAME, history)[1]
    detailed = {**thought(""), "reasoning_field": "reasoning_content"}
    assert chat(SAME, [user("q"), answer(detailed, text("x"))])[1] == {"role": "assistant", "content": "x"}
