"""The finer points of payloads: errors of tools, reasoning in pieces, old ids, documents."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from tests.model_apis.messages import IMAGE, back, called, of, prompt, request, response, text, thinking

from tpharness.errors import UsageError
from tpharness.model_apis import history_parts as parts
from tpharness.model_apis.registry import ApiName

ERRORS = [{"type": "missing", "loc": ["city"], "msg": "Field required"}]
ERRORS_TEXT = '[{"type":"missing","loc":["city"],"msg":"Field required"}]'


@pytest.mark.parametrize(
    ("status", "content", "sent"),
    [
        ("error", {"code": 5}, '{"error":"{\\"code\\":5}"}'),  # a failure is told in words
        ("validation_error", ERRORS, f'{{"error":{ERRORS_TEXT}}}'),  # what was wrong with arguments, as it is
        ("validation_error", None, '{"error":""}'),
        ("error", None, '{"error":""}'),
        ("success", ["only"], '["only"]'),
        ("success", ["one", "two"], '["one","two"]'),
    ],
)
def test_what_a_tool_message_of_chat_says(status: str, content: Any, sent: str) -> None:
    """Chat has no field for errors, so the text says it."""
    assert of("openai-chat", request(back("c1", content, status=status)))[0]["content"] == sent


def test_errors_of_arguments_are_one_block() -> None:
    """A list of errors is one text to the model, a list of results one block for each."""
    retried = request(back("c1", ERRORS, status="validation_error"))
    assert of("anthropic", retried)[0]["content"][0]["content"] == [{"type": "text", "text": ERRORS_TEXT}]
    several = request(back("c1", ["one", {"two": 2}]))
    assert of("anthropic", several)[0]["content"][0]["content"] == [
        {"type": "text", "text": "one"},
        {"type": "text", "text": '{"two":2}'},
    ]


def test_files_beside_an_error_follow_it() -> None:
    """The error names them."""
    failed = request(back("c1", ["half a chart", IMAGE], status="error"))
    tool, files = of("openai-chat", failed)
    assert tool["content"] == '[{"error":"half a chart"},"See file i2."]'
    assert files["content"][0]["type"] == "image_url"
    assert [piece["type"] for piece in of("openai-responses", failed)[0]["output"]] == ["input_text", "input_image"]


def test_a_single_file_is_named_without_a_list() -> None:
    """What the tool returned was not a list."""
    assert of("openai-chat", request(back("c1", IMAGE)))[0]["content"] == "See file i2."
    assert of("openai-chat", request(back("c1", [IMAGE])))[0]["content"] == '["See file i2."]'


def test_only_the_server_s_own_thinking_goes_back_into_its_field() -> None:
    """Another's would be a field that nobody knows."""
    (said,) = of("openai-chat", response(thinking("elsewhere", thinking_id="reasoning"), text("Hello")))
    assert said == {"role": "assistant", "content": "<think>\nhm\n</think>\n\nHello"}
    two = thinking("openai", thinking_id="reasoning")
    assert of("openai-chat", response(two, two, text("Hello")))[0]["reasoning"] == "hm\n\nhm"


def test_reasoning_in_pieces_is_one_item() -> None:
    """Pieces of one id are its summary; another id is another item; nothing at all is none."""
    parts = [
        thinking("openai", thinking_id="rs_1", signature="c2ln"),
        thinking("openai", thinking_id="rs_1", content="so"),
        thinking("openai", thinking_id="rs_2", content=""),
        thinking("openai", thinking_id="rs_3", content="", signature="c2ln"),
        text("Hello"),
    ]
    first, second, said = of("openai-responses", response(*parts))
    assert [piece["text"] for piece in first["summary"]] == ["hm", "so"]
    assert second == {"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": "c2ln"}
    assert said == {"role": "assistant", "content": "Hello"}


def test_reasoning_without_a_signature_is_found_by_its_id() -> None:
    """The API may have stored it (R4 says when not); the name of a field of chat is no such id."""
    (item,) = of("openai-responses", response(thinking("openai", thinking_id="rs_1")))
    assert item == {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    (said,) = of("openai-responses", response(thinking("openai", thinking_id="reasoning_content")))
    assert said == {"role": "assistant", "content": "<think>\nhm\n</think>"}


def test_an_id_that_was_joined_to_that_of_its_item_is_divided() -> None:
    """Old histories keep `call|item`."""
    items = of("openai-responses", response(called("c1|fc_1", {})), request(back("c1|fc_1", "sunny")))
    assert [item["call_id"] for item in items] == ["c1", "c1"]


def document(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a request with a document."""
    return request(prompt([{"kind": kind, "identifier": "d", **fields}]))


def test_documents_by_url_and_as_text() -> None:
    """Anthropic has forms for both; chat takes text only as text."""
    by_url = document("document-url", url="https://x/y.pdf")
    assert of("anthropic", by_url)[0]["content"] == [
        {"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}
    ]
    assert of("openai-responses", by_url)[0]["content"] == [{"type": "input_file", "file_url": "https://x/y.pdf"}]
    filed = {"file_data": "https://x/y.pdf", "filename": "filename.pdf"}
    assert of("openai-chat", by_url)[0]["content"] == [{"type": "file", "file": filed}]
    plain = document("binary", media_type="text/plain", data=base64.b64encode(b"Hi").decode())
    assert of("anthropic", plain)[0]["content"] == [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi"}}
    ]
    inlined = '-----BEGIN FILE id="d" type="text/plain"-----\nHi\n-----END FILE id="d"-----'
    assert of("openai-chat", plain)[0]["content"] == [{"type": "text", "text": inlined}]
    (item,) = of("openai-responses", plain)[0]["content"]
    assert (item["type"], item["filename"]) == ("input_file", "filename.txt")


def test_sound_in_chat() -> None:
    """Two formats are known."""
    (asked,) = of("openai-chat", document("binary", media_type="audio/mpeg", data="aGk="))
    assert asked["content"] == [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}]


@pytest.mark.parametrize(
    ("provider", "media_type"),
    [
        ("anthropic", "text/csv"),
        ("anthropic", "audio/wav"),
        ("openai-chat", "video/mp4"),
        ("openai-responses", "video/mp4"),
    ],
)
def test_what_has_no_form_is_refused(provider: ApiName, media_type: str) -> None:
    """Also where another API would take it."""
    with pytest.raises(UsageError, match=f"{provider} does not accept binary {media_type}"):
        of(provider, document("binary", media_type=media_type, data="aGk="))


def test_a_file_that_the_model_made_goes_back_to_gemini_only() -> None:
    """The others have no place for it in what the model said."""
    made = response({"part_kind": "file", "content": IMAGE}, text("Here."))
    assert of("gemini", request(prompt("Draw")), made)[1]["parts"] == [
        {"inline_data": {"data": IMAGE["data"], "mime_type": "image/png"}},
        {"text": "Here."},
    ]
    assert of("openai-chat", made) == [{"role": "assistant", "content": "Here."}]
    assert of("anthropic", made)[0]["content"] == [{"type": "text", "text": "Here."}]


def test_gemini_begins_with_the_user() -> None:
    """A call turn comes after a user turn (G2), and the API wants one of the user at all."""
    assert of("gemini", response(text("Hello")))[0] == {"role": "user", "parts": [{"text": ""}]}


def test_requests_are_joined_in_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many follow each other, each part is looked at once; results go first, otherwise in their order."""
    looked: list[Any] = []
    was = parts.read_tool_result

    def counting(part: Any) -> Any:
        looked.append(part)
        return was(part)

    monkeypatch.setattr(parts, "read_tool_result", counting)
    asked = [{"part_kind": "user-prompt", "content": str(number)} for number in range(100)]
    answer = {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": "c", "content": "sunny"}
    (joined,) = parts.merge_messages([{"kind": "request", "parts": [part]} for part in (*asked, answer)])
    assert joined["parts"] == [answer, *asked]
    assert len(looked) == 101
