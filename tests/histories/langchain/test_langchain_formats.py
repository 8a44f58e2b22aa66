"""What each model API is sent, by hand, as LangChain's integrations format it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.histories.langchain.folding import CALL, MARKER, history

from tpharness.histories.langchain import LANGCHAIN
from tpharness.histories.langchain.formats import FORMATS
from tpharness.histories.langchain.state import ai, human, tool

CODE = LANGCHAIN["langchain/documented"]
PARIS = {"city": "Paris"}
CHECK = f"Check.\nTool Call: {CALL}"


def calling(text: str, *calls: tuple[str, Any]) -> dict[str, Any]:
    """Return an AIMessage with calls of `f`, each an id and its arguments; text as arguments is not an object."""
    message = ai(text)
    for call_id, args in calls:
        call = {"name": "f", "args": args, "id": call_id}
        if isinstance(args, str):
            message["data"]["invalid_tool_calls"].append({**call, "error": None, "type": "invalid_tool_call"})
        else:
            message["data"]["tool_calls"].append({**call, "type": "tool_call"})
    return message


def test_chat() -> None:
    """Arguments as JSON text, results by id."""
    document = CODE.store(history("l-02-tool-and-answer"))
    arguments = {"name": "get_weather", "arguments": CALL}
    assert CODE.model_input(document, "openai-chat", next_user="Thanks.") == [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": CHECK,
            "tool_calls": [{"type": "function", "id": "c1", "function": arguments}],
        },
        {"role": "tool", "content": "sunny", "tool_call_id": "c1"},
        {"role": "assistant", "content": "It is sunny."},
        {"role": "user", "content": "Thanks."},
    ]


def test_responses() -> None:
    """One item for the text, one for each call, one for each result; without item ids."""
    document = CODE.store(history("l-02-tool-and-answer"))

    def said(text: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"type": "message", "role": "assistant", "content": content}

    assert CODE.model_input(document, "openai-responses") == [
        {"type": "message", "role": "user", "content": "Weather?"},
        said(CHECK),
        {"type": "function_call", "name": "get_weather", "arguments": CALL, "call_id": "c1"},
        {"type": "function_call_output", "output": "sunny", "call_id": "c1"},
        said("It is sunny."),
    ]


def test_anthropic() -> None:
    """Calls are blocks beside the text, results blocks of a user message."""
    document = CODE.store(history("l-10-after-a-result"))
    result = {"type": "tool_result", "content": "sunny", "tool_use_id": "c1", "is_error": False}
    assert CODE.model_input(document, "anthropic", next_user="And?") == [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": CHECK},
                {"type": "tool_use", "name": "get_weather", "input": PARIS, "id": "c1"},
            ],
        },
        {"role": "user", "content": [result, {"type": "text", "text": "And?"}]},
    ]


def test_gemini() -> None:
    """Results are parts of a user's content, under the name of their tool."""
    document = CODE.store(history("l-10-after-a-result"))
    response = {"name": "get_weather", "response": {"output": "sunny"}}
    assert CODE.model_input(document, "gemini", next_user="And?") == [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"text": CHECK}, {"functionCall": {"name": "get_weather", "args": PARIS}}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
        {"role": "user", "parts": [{"text": "And?"}]},
    ]


def test_an_interrupted_call_is_text_for_all() -> None:
    """That is what the marker is for; the dash is U+2013."""
    document = CODE.store(history("l-07-while-one-tool-runs"))
    text = f"ok\nTool Call: {CALL}{MARKER}"
    assert "\u2013" in text
    assert CODE.model_input(document, "openai-chat")[1] == {"role": "assistant", "content": text}
    assert CODE.model_input(document, "anthropic")[1] == {"role": "assistant", "content": text}
    assert CODE.model_input(document, "gemini")[1] == {"role": "model", "parts": [{"text": text}]}


@pytest.mark.parametrize("provider", FORMATS)
def test_the_next_user_message_comes_last_and_the_document_stays(provider: Any) -> None:
    """A projection changes nothing."""
    document = CODE.store(history("l-11-in-the-final-text"))
    before = CODE.store(history("l-11-in-the-final-text"))
    with_user = CODE.model_input(document, provider, next_user="And?")
    assert with_user[: len(with_user) - 1] == CODE.model_input(document, provider)
    assert "And?" in str(with_user[-1])
    assert document == before


def test_chat_keeps_calls_without_results_and_results_without_calls() -> None:
    """langchain-openai repairs nothing, and sends cut arguments as they are."""
    chat = CODE.model_input([calling("", ("c1", PARIS), ("c2", '{"ci')), tool("late", "c3", "error")], "openai-chat")
    assert [call["function"]["arguments"] for call in chat[0]["tool_calls"]] == [CALL, '{"ci']
    assert chat[0]["content"] is None
    assert chat[1] == {"role": "tool", "content": "late", "tool_call_id": "c3"}


def test_responses_sends_no_second_call_with_an_id() -> None:
    """Its result is sent all the same."""
    messages = [calling("", ("c1", {})), tool("a", "c1", "success")] * 2
    items = CODE.model_input(messages, "openai-responses")
    assert [item["type"] for item in items] == ["function_call", "function_call_output", "function_call_output"]


def test_anthropic_drops_empty_assistant_messages_and_strips_the_last() -> None:
    """All messages but the last need content; the last one must not end with white space."""
    messages = [human("a"), ai(""), human("b"), ai("c "), human("d"), ai("e \n")]
    assert CODE.model_input(messages, "anthropic") == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
        {"role": "assistant", "content": "c "},
        {"role": "user", "content": "d"},
        {"role": "assistant", "content": "e"},
    ]


def test_anthropic_does_not_merge_assistant_messages() -> None:
    """Two in a row stay two."""
    sent = CODE.model_input([human("a"), ai("b"), ai("c"), human("d")], "anthropic")
    assert [message["role"] for message in sent] == ["user", "assistant", "assistant", "user"]


def test_anthropic_merges_users_and_leaves_out_blank_texts_among_blocks() -> None:
    """A blank text that stands alone is sent, and rejected."""
    merged = CODE.model_input([human("a"), human(" "), tool("b", "c1", "error")], "anthropic")
    result = {"type": "tool_result", "content": "b", "tool_use_id": "c1", "is_error": True}
    assert merged == [{"role": "user", "content": [{"type": "text", "text": "a"}, result]}]
    assert CODE.model_input([human(" ")], "anthropic") == [{"role": "user", "content": " "}]


def test_anthropic_makes_an_object_of_invalid_arguments() -> None:
    """A cut text becomes no arguments at all."""
    (message,) = CODE.model_input([calling("", ("c1", '{"ci'), ("c2", '{"a": 1}'))], "anthropic")
    assert [block["input"] for block in message["content"]] == [{}, {"a": 1}]


def test_anthropic_replaces_ids_that_it_does_not_take() -> None:
    """Call and result alike, by the first 24 digits of the id's SHA-256 (`printf %s functions.f:0 | sha256sum`)."""
    sent = CODE.model_input([calling("", ("functions.f:0", {})), tool("x", "functions.f:0", "success")], "anthropic")
    call_id = sent[0]["content"][0]["id"]
    assert call_id == "toolu_d6bdd4de328a22edd610f954"
    assert sent[1]["content"][0]["tool_use_id"] == call_id


def test_gemini_gathers_results_and_drops_those_without_a_call() -> None:
    """They come right after their calls wherever they stand; JSON that is an object is the response itself."""
    messages = [
        calling("", ("c1", {}), ("c2", {})),
        human("a"),
        tool('{"t": 7}', "c2", "success"),
        tool("7", "c1", "success"),
    ]
    messages.append(tool("lost", "c9", "success"))
    assert CODE.model_input(messages, "gemini") == [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}] * 2},
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "f", "response": {"t": 7}}},
                {"functionResponse": {"name": "f", "response": {"output": 7}}},
            ],
        },
        {"role": "user", "parts": [{"text": "a"}]},
    ]


def test_gemini_does_not_send_invalid_calls() -> None:
    """The text around them is all it gets."""
    assert CODE.model_input([calling("x", ("c1", "{"))], "gemini") == [{"role": "model", "parts": [{"text": "x"}]}]
