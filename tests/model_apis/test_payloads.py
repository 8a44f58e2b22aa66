"""Messages as each API would get them: shapes by hand, from what Pydantic AI's model classes and the SDKs declare."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.model_apis.messages import IMAGE, PIXEL, back, called, of, prompt, request, response, text, thinking

from tpharness.errors import UsageError
from tpharness.model_apis.payloads import payload_of
from tpharness.model_apis.registry import API_NAMES, ApiName

CONVERSATION = [
    request({"part_kind": "system-prompt", "content": "Be kind."}),
    request(prompt("Weather in Paris and Rome?")),
    response(text("Let me look."), called("c1", {"city": "Paris"}), called("c2", '{"city": "Rome"}')),
    request(back("c1", {"temp": 18}), back("c2", "no such city", status="error")),
    response(text("Eighteen degrees.")),
]

EXPECTED: dict[ApiName, Any] = {
    "openai-chat": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}},
                {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Rome"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"temp":18}'},
        {"role": "tool", "tool_call_id": "c2", "content": '{"error":"no such city"}'},
        {"role": "assistant", "content": "Eighteen degrees."},
        {"role": "user", "content": "Thanks"},
    ],
    "openai-responses": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {"role": "assistant", "content": "Let me look."},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Paris"}'},
        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": '{"city":"Rome"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"temp":18}'},
        {"type": "function_call_output", "call_id": "c2", "output": '{"error":"no such city"}'},
        {"role": "assistant", "content": "Eighteen degrees."},
        {"role": "user", "content": "Thanks"},
    ],
    "anthropic": {
        "system": "Be kind.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in Paris and Rome?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
                    {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Rome"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": '{"temp":18}'}],
                        "is_error": False,
                    },
                    {
                        "type": "tool_result",
                        "tool_use_id": "c2",
                        "content": [{"type": "text", "text": "no such city"}],
                        "is_error": True,
                    },
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "Eighteen degrees."}]},
            {"role": "user", "content": [{"type": "text", "text": "Thanks"}]},
        ],
    },
    "bedrock": {
        "system": [{"text": "Be kind."}],
        "messages": [
            {"role": "user", "content": [{"text": "Weather in Paris and Rome?"}]},
            {
                "role": "assistant",
                "content": [
                    {"text": "Let me look."},
                    {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}},
                    {"toolUse": {"toolUseId": "c2", "name": "weather", "input": {"city": "Rome"}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"text": '{"temp":18}'}], "status": "success"}},
                    {"toolResult": {"toolUseId": "c2", "content": [{"text": "no such city"}], "status": "error"}},
                ],
            },
            {"role": "assistant", "content": [{"text": "Eighteen degrees."}]},
            {"role": "user", "content": [{"text": "Thanks"}]},
        ],
    },
    "ollama": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Weather in Paris and Rome?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Paris"}}},
                {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": {"city": "Rome"}}},
            ],
        },
        {"role": "tool", "content": '{"temp":18}', "tool_name": "weather", "tool_call_id": "c1"},
        {"role": "tool", "content": '{"error":"no such city"}', "tool_name": "weather", "tool_call_id": "c2"},
        {"role": "assistant", "content": "Eighteen degrees."},
        {"role": "user", "content": "Thanks"},
    ],
    "gemini": {
        "system_instruction": {"role": "user", "parts": [{"text": "Be kind."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Weather in Paris and Rome?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "Let me look."},
                    {
                        "function_call": {"name": "weather", "id": "c1", "args": {"city": "Paris"}},
                        "thought_signature": base64.b64encode(b"skip_thought_signature_validator").decode(),
                    },
                    {"function_call": {"name": "weather", "id": "c2", "args": {"city": "Rome"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"function_response": {"name": "weather", "id": "c1", "response": {"temp": 18}}},
                    {"function_response": {"name": "weather", "id": "c2", "response": {"error": "no such city"}}},
                ],
            },
            {"role": "model", "parts": [{"text": "Eighteen degrees."}]},
            {"role": "user", "parts": [{"text": "Thanks"}]},
        ],
    },
}


@pytest.mark.parametrize("provider", API_NAMES)
def test_a_conversation_with_calls(provider: ApiName) -> None:
    """System prompt, texts, two calls, a result and an error, and what the user says next."""
    assert payload_of(provider, CONVERSATION, next_user="Thanks") == EXPECTED[provider]


def test_signed_thinking_goes_back_to_who_signed_it() -> None:
    """A reasoning item, a thinking block; with Gemini the signature belongs to the next part."""
    ask = request(prompt("Hi"))

    def said(provider: str) -> dict[str, Any]:
        return response(thinking(provider, signature="c2ln", thinking_id="rs_1"), text("Hello"))

    assert of("openai-responses", ask, said("openai"))[1:] == [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "c2ln",
        },
        {"role": "assistant", "content": "Hello"},
    ]
    assert of("anthropic", ask, said("anthropic"))[1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "text", "text": "Hello"},
    ]
    assert of("gemini", ask, said("google"))[1]["parts"] == [
        {"text": "hm", "thought": True},
        {"text": "Hello", "thought_signature": "c2ln"},
    ]


def test_thinking_that_an_api_would_not_accept_is_text() -> None:
    """Unsigned, or another provider's: Anthropic reads it as of the user, or the model would learn to write the tag."""
    ask, said = request(prompt("Hi")), response(thinking("elsewhere", signature="c2ln"), text("Hello"))
    tagged = "<think>\nhm\n</think>"
    assert of("openai-chat", ask, said)[1] == {"role": "assistant", "content": f"{tagged}\n\nHello"}
    assert of("openai-responses", ask, said)[1]["content"] == tagged
    carried = [{"type": "text", "text": "<assistant_thinking>\nhm\n</assistant_thinking>"}]
    assert of("anthropic", ask, said)[1] == {"role": "user", "content": carried}
    assert of("gemini", ask, said)[1]["parts"][0] == {"text": "hm", "thought": True}


def test_thinking_of_a_chat_server_goes_back_into_its_field() -> None:
    """Servers of this API send thinking under names of their own, which are kept as its id."""
    said = response(thinking("openai", thinking_id="reasoning_content"), text("Hello"))
    assert of("openai-chat", said) == [{"role": "assistant", "reasoning_content": "hm", "content": "Hello"}]


def test_redacted_thinking_goes_back_as_data() -> None:
    """Its text is encrypted, and its id says so."""
    said = response(thinking("anthropic", content="", signature="c2ln", thinking_id="redacted_thinking"), text("x"))
    assert of("anthropic", said)[0]["content"][0] == {"type": "redacted_thinking", "data": "c2ln"}


@pytest.mark.parametrize(
    ("args", "sent"),
    [
        ({"a": [1, "é"]}, {"a": [1, "é"]}),
        ('{"a": 1}', {"a": 1}),
        (None, {}),
        ("", {}),
        ('{"ci', {"INVALID_JSON": '{"ci'}),
        ('{"n": NaN}', {"INVALID_JSON": '{"n": NaN}'}),
        ("[1]", {"INVALID_JSON": "[1]"}),
    ],
)
def test_arguments_are_always_an_object(args: Any, sent: Any) -> None:
    """A11 asks for it; what is none is told as what it is."""
    block = of("anthropic", response(called("c1", args)))[0]["content"][0]
    assert block["input"] == sent


@pytest.mark.parametrize(
    ("content", "as_text", "as_object"),
    [
        ("sunny", "sunny", {"return_value": "sunny"}),
        (None, "", {}),
        ({"t": "é"}, '{"t":"é"}', {"t": "é"}),
        ([1, "a"], '[1,"a"]', {"return_value": [1, "a"]}),
        (True, "true", {"return_value": True}),
    ],
)
def test_returns_are_text_but_for_gemini(content: Any, as_text: str, as_object: Any) -> None:
    """Gemini takes objects only."""
    returns = request(back("c1", content))
    assert of("openai-chat", returns)[0]["content"] == as_text
    assert of("openai-responses", returns)[0]["output"] == as_text
    assert of("gemini", returns)[0]["parts"][0]["function_response"]["response"] == as_object


def test_a_retry_is_an_error_where_it_answers_a_call_and_a_message_elsewhere() -> None:
    """R22: a retry prompt with the id of a call is its return."""
    retry = {"part_kind": "retry-prompt", "content": "no such city", "tool_name": "weather", "tool_call_id": "c1"}
    assert of("openai-chat", request(retry)) == [
        {"role": "tool", "tool_call_id": "c1", "content": '{"error":"no such city"}'}
    ]
    assert of("anthropic", request(retry))[0]["content"][0]["is_error"] is True
    free = {"part_kind": "retry-prompt", "content": "Say more."}
    words = "Validation feedback:\nSay more.\n\nFix the errors and try again."
    assert of("openai-chat", request(free)) == [{"role": "user", "content": words}]
    assert of("gemini", request(free))[0]["parts"] == [{"text": words}]


IMAGE_URL = {"kind": "image-url", "url": "https://x/y.png", "identifier": "i1", "media_type": "image/png"}
PDF = {"kind": "binary", "data": PIXEL, "media_type": "application/pdf", "identifier": "i3"}

FILES: dict[ApiName, list[dict[str, Any]]] = {
    "openai-chat": [
        {"type": "text", "text": "Look:"},
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PIXEL}", "filename": "filename.pdf"}},
    ],
    "openai-responses": [
        {"type": "input_text", "text": "Look:"},
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
        {"type": "input_file", "file_data": f"data:application/pdf;base64,{PIXEL}", "filename": "filename.pdf"},
    ],
    "anthropic": [
        {"type": "text", "text": "Look:"},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PIXEL}},
    ],
    "gemini": [
        {"text": "Look:"},
        {"file_data": {"file_uri": "https://x/y.png", "mime_type": "image/png"}},
        {"inline_data": {"data": PIXEL, "mime_type": "image/png"}},
        {"inline_data": {"data": PIXEL, "mime_type": "application/pdf"}},
    ],
}


@pytest.mark.parametrize("provider", FILES)
def test_files_of_the_user(provider: ApiName) -> None:
    """By URL and in the thread; kinds that nobody knows are passed over."""
    asked = request(prompt(["Look:", IMAGE_URL, IMAGE, PDF, {"kind": "hologram"}]))
    (message,) = of(provider, asked)
    assert message.get("content", message.get("parts")) == FILES[provider]


def test_files_that_a_tool_returned() -> None:
    """Where results are text only, the files follow in a message of the user."""
    returns = request(back("c1", ["chart", IMAGE]))
    assert of("openai-chat", returns) == [
        {"role": "tool", "tool_call_id": "c1", "content": '["chart","See file i2."]'},
        {"role": "user", "content": [FILES["openai-chat"][2]]},
    ]
    assert of("openai-responses", returns)[0]["output"] == [
        {"type": "input_text", "text": "chart"},
        FILES["openai-responses"][2],
    ]
    assert of("anthropic", returns)[0]["content"][0]["content"] == [
        {"type": "text", "text": "chart"},
        FILES["anthropic"][2],
    ]
    answer, files = of("gemini", returns)
    assert answer["parts"][0]["function_response"]["response"] == {
        "output": [{"return_value": "chart"}, "See file i2."]
    }
    assert files == {"role": "user", "parts": [FILES["gemini"][2]]}


def test_images_for_ollama_stand_beside_the_text() -> None:
    """Those of a tool, too; thinking has a field of its own, and a text file is text."""
    note = {"kind": "binary", "data": "SGk=", "media_type": "text/plain"}
    assert of("ollama", request(prompt(["Look:", IMAGE, note]))) == [
        {"role": "user", "content": "Look:\n\nHi", "images": [PIXEL]}
    ]
    assert of("ollama", request(back("c1", ["chart", IMAGE]))) == [
        {"role": "tool", "content": "chart", "tool_name": "weather", "tool_call_id": "c1", "images": [PIXEL]}
    ]
    assert of("ollama", response(thinking("ollama"), text("Hello"))) == [
        {"role": "assistant", "content": "Hello", "thinking": "hm"}
    ]


@pytest.mark.parametrize(
    ("provider", "item"),
    [
        ("ollama", {"kind": "image-url", "url": "https://x/y.png"}),
        ("ollama", {"kind": "binary", "data": PIXEL, "media_type": "application/pdf"}),
        ("openai-chat", {"kind": "audio-url", "url": "https://x/y.mp3"}),
        ("openai-chat", {"kind": "video-url", "url": "https://x/y.mp4"}),
        ("openai-chat", {"kind": "binary", "data": PIXEL, "media_type": "audio/ogg"}),
        ("openai-responses", {"kind": "binary", "data": PIXEL, "media_type": "audio/wav"}),
        ("anthropic", {"kind": "audio-url", "url": "https://x/y.mp3"}),
        ("anthropic", {"kind": "binary", "data": "***", "media_type": "text/plain"}),
    ],
)
def test_what_an_api_takes_in_no_form_is_said(provider: ApiName, item: Any) -> None:
    """Pydantic AI refuses these, or would download them."""
    with pytest.raises(UsageError, match=f"{provider} does not accept {item['kind']}"):
        payload_of(provider, [request(prompt(["Look:", item]))])


def test_requests_in_a_row_are_one_with_results_first() -> None:
    """A1, A3: results stand in the next message and before all else."""
    split = [response(called("c1", {})), request(prompt("Wait")), request(back("c1", "sunny"))]
    _, asked = of("anthropic", *split)
    assert [block["type"] for block in asked["content"]] == ["tool_result", "text"]


def test_responses_in_a_row_are_one_only_where_no_api_made_them() -> None:
    """What a model said is sent as it said it."""
    assert len(of("openai-chat", response(text("a")), response(text("b")))) == 1
    assert len(of("openai-chat", response(text("a"), model_name="m"), response(text("b")))) == 2


@pytest.mark.parametrize("provider", API_NAMES)
def test_nothing_is_repaired(provider: ApiName) -> None:
    """A call without a return is sent as it is, so that its refusal can be seen."""
    payload = repr(payload_of(provider, [request(prompt("Hi")), response(called("c1", {}))], next_user="And?"))
    assert "c1" in payload
    assert "result" not in payload.lower()
    assert "output" not in payload


def test_a_response_that_says_nothing_is_left_out() -> None:
    """C3, A5, G5: an empty message is refused."""
    for provider in API_NAMES:
        assert len(of(provider, request(prompt("Hi")), response())) == 1


@pytest.mark.parametrize("odd", [7, {}, {"kind": "response", "parts": 5}, request({"part_kind": "x"}, prompt(None))])
@pytest.mark.parametrize("provider", API_NAMES)
def test_odd_messages_do_not_raise(provider: ApiName, odd: Any) -> None:
    """What is no part is passed over."""
    payload_of(provider, [odd])


def test_an_api_that_does_not_exist_is_the_caller_s_mistake() -> None:
    """As for check_payload."""
    with pytest.raises(UsageError, match="no model API is called 'cohere'"):
        payload_of("cohere", [])
