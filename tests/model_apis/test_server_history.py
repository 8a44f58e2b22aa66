"""What is written for a server that takes less is taken there, and says the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.model_apis.threads import complete_threads

from tpharness.errors import UsageError
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.openai_chat.servers import SERVERS
from tpharness.model_apis.payloads import payload_of
from tpharness.model_apis.rule import Options
from tpharness.protocol.history import model_history

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
CALL: dict[str, Any] = {
    "part_kind": "tool-call",
    "tool_name": "book",
    "args": {"city": "Paris"},
    "tool_call_id": "call_1234567890",
}
RETURN: dict[str, Any] = {
    "part_kind": "tool-return",
    "tool_name": "book",
    "content": "booked",
    "tool_call_id": "call_1234567890",
}
THOUGHT: dict[str, Any] = {"part_kind": "thinking", "content": "Paris, then."}
ASKED: dict[str, Any] = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Book it."}]}
STOPPED: list[dict[str, Any]] = [
    ASKED,
    {"kind": "response", "parts": [THOUGHT, CALL]},
    {"kind": "request", "parts": [RETURN]},
]


def written(server: str, messages: list[dict[str, Any]], then: str | None = "And the train?") -> list[dict[str, Any]]:
    """Return the messages for a server, as they are sent with the next words of the user."""
    made: list[dict[str, Any]] = payload_of("openai-chat", messages, next_user=then, server=server)
    return made


def test_mistral_gets_an_answer_between_a_result_and_the_user_and_short_ids() -> None:
    """What mistral-common says to such ids is in `findings/mistral-common-judges-histories.sh`."""
    asked, call, result, between, more = written("mistral", STOPPED)
    assert [m["role"] for m in (asked, call, result, between, more)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
    ]
    assert between == {"role": "assistant", "content": "(no answer)"}
    (sent,) = call["tool_calls"]
    assert sent["function"] == {"name": "book", "arguments": '{"city":"Paris"}'}
    assert sent["id"] == result["tool_call_id"]
    assert len(sent["id"]) == 9
    assert sent["id"].isalnum()
    assert sent["id"].isascii()


def test_an_id_that_is_short_stays_and_no_two_calls_get_one() -> None:
    """The results go with their calls; an id without a call is shortened as well."""
    ids = ["callparis", *(f"call_{number}" for number in range(200)), "callrome1"]
    messages: list[dict[str, Any]] = [ASKED]
    for call_id in ids:
        messages += [
            {"kind": "response", "parts": [{**CALL, "tool_call_id": call_id}]},
            {"kind": "request", "parts": [{**RETURN, "tool_call_id": call_id}]},
        ]
    sent = written("mistral", messages, None)
    made = [call["id"] for message in sent for call in message.get("tool_calls", ())]
    assert made == [message["tool_call_id"] for message in sent if message["role"] == "tool"]
    assert len(set(made)) == len(ids)
    assert (made[0], made[-1]) == ("callparis", "callrome1")


def test_the_history_of_a_server_only_grows() -> None:
    """A cache holds a beginning: an id does not depend on what comes later."""
    before = written("mistral", STOPPED, None)
    later = [*STOPPED, {"kind": "response", "parts": [{"part_kind": "text", "content": "Booked."}]}]
    assert written("mistral", later)[: len(before)] == before


def test_thinking_goes_back_in_its_field_and_never_as_words() -> None:
    """As Kimi and DeepSeek want it; where none is kept, the field is empty. Other servers get it as words."""
    for server in ("moonshot", "deepseek"):
        _, call, _, _ = written(server, STOPPED)
        assert (call["reasoning_content"], call["content"]) == ("Paris, then.", None)
        _, bare, _, _ = written(server, [ASKED, {"kind": "response", "parts": [CALL]}, STOPPED[2]])
        assert bare["reasoning_content"] == ""
    _, call, _, _ = payload_of("openai-chat", STOPPED, next_user="?")
    assert ("reasoning_content" in call, call["content"]) == (False, "<think>\nParis, then.\n</think>")


def test_groq_gets_no_field_that_it_refuses() -> None:
    """Not even thinking that came in such a field."""
    thought = {**THOUGHT, "thinking_id": "reasoning_content", "provider_name": "openai"}
    messages = [ASKED, {"kind": "response", "parts": [thought, CALL]}, STOPPED[2]]
    assert payload_of("openai-chat", messages)[1]["reasoning_content"] == "Paris, then."
    for server in ("groq", "cerebras"):
        assert written(server, messages)[1] == payload_of("openai-chat", STOPPED)[1]


def test_ollama_gets_a_text_beside_calls_and_no_address_of_an_image() -> None:
    """Nothing is downloaded, so a history with an address cannot be written for it."""
    assert [entry["content"] for entry in written("ollama", STOPPED)][1] == "<think>\nParis, then.\n</think>"
    for server in ("ollama", "xai"):
        assert written(server, [ASKED, {"kind": "response", "parts": [CALL]}, STOPPED[2]])[1]["content"] == ""
    shown = {"kind": "image-url", "url": "https://example.com/map.png"}
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["See.", shown]}]}
    assert payload_of("openai-chat", [asked])[0]["content"][1]["image_url"]["url"] == shown["url"]
    with pytest.raises(UsageError, match="does not accept image-url"):
        payload_of("openai-chat", [asked], server="ollama")
    inside = {"kind": "binary", "data": "aGk=", "media_type": "image/png"}
    asked = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ["See.", inside]}]}
    assert payload_of("openai-chat", [asked], server="ollama") == payload_of("openai-chat", [asked])


@FEW
@given(complete_threads())
def test_every_server_takes_what_is_written_for_it(thread: dict[str, Any]) -> None:
    """No rule is broken at any level, neither at the end nor where the model was stopped after a result."""
    whole = model_history(thread).messages
    stopped = next((n for n, message in enumerate(whole) if _has_return(message)), len(whole))
    for messages in (whole, whole[: stopped + 1]):
        for server in SERVERS:
            payload = written(server, messages)
            assert check_payload("openai-chat", payload, options=Options(server=server)) == []


@FEW
@given(complete_threads())
def test_nothing_is_lost_for_a_server(thread: dict[str, Any]) -> None:
    """Without what was put between, and by the order of the ids, it is what OpenAI's API gets."""
    messages = model_history(thread).messages
    plain = payload_of("openai-chat", messages, next_user="And?")
    kept = [entry for entry in written("mistral", messages, "And?") if entry.get("content") != "(no answer)"]
    assert [_without_ids(entry) for entry in kept] == [_without_ids(entry) for entry in plain]
    shorter = dict(zip(_ids(plain), _ids(kept), strict=True))
    assert len(set(shorter.values())) == len(shorter)
    assert [shorter[one] for one in _ids(plain)] == _ids(kept)


def test_a_server_that_an_api_does_not_have_is_refused() -> None:
    """The caller's mistake, with what there is."""
    with pytest.raises(UsageError, match=r"no server of openai-chat .* called 'litellm'") as raised:
        written("litellm", STOPPED)
    assert raised.value.hint == f"one of {', '.join(SERVERS)}"
    with pytest.raises(UsageError, match="no server of anthropic"):
        payload_of("anthropic", STOPPED, server="mistral")


def _ids(messages: list[dict[str, Any]]) -> list[str]:
    called = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    return called + [message["tool_call_id"] for message in messages if message["role"] == "tool"]


def _without_ids(message: dict[str, Any]) -> dict[str, Any]:
    calls = [{**call, "id": None} for call in message.get("tool_calls", ())]
    return {**message, "tool_calls": calls, "tool_call_id": None}


def _has_return(message: dict[str, Any]) -> bool:
    return any(part["part_kind"] == "tool-return" for part in message["parts"])
