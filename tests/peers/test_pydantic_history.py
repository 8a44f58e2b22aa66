"""Pydantic AI's history to a thread and back: every kind of part that both know survives; its UI messages lose some.

The thread is built by `fromAgentRun` as 2.0.0 has it (`write_messages`), the way back is `model_history`; both ends are
held by Pydantic AI's own classes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from pydantic_ai import BinaryContent, ImageUrl, ModelMessagesTypeAdapter
from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.usage import RequestUsage

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.journal import JournalWriter, UserTurn
from tpharness.protocol.history import model_history
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.server_events.messages import write_messages

AT = datetime(2025, 1, 20, 10, tzinfo=UTC)
PROMPT: list[Any] = ["Look.", ImageUrl(url="https://example.org/a.png"), BinaryContent(b"x", media_type="image/png")]


def usage() -> RequestUsage:
    """Return token counts."""
    return RequestUsage(input_tokens=5, output_tokens=3)


def messages() -> list[ModelMessage]:
    """Return a run that has every kind of part which a thread has too."""
    return [
        ModelRequest(parts=[UserPromptPart(content=PROMPT, timestamp=AT)], timestamp=AT, run_id="r"),
        ModelResponse(
            parts=[
                ThinkingPart(content="Hm.", signature="sig", provider_name="anthropic", id="th-1"),
                TextPart(content="I look.", id="tx-1"),
                NativeToolCallPart(tool_name="web", args={"q": "a"}, tool_call_id="n1", provider_name="openai"),
                NativeToolReturnPart(tool_name="web", content={"hits": 1}, tool_call_id="n1", provider_name="openai"),
                ToolCallPart(tool_name="lookup", args={"city": "Oslo"}, tool_call_id="c1"),
                ToolCallPart(tool_name="lookup", args='{"city": "Rome"}', tool_call_id="c2"),
            ],
            usage=usage(),
            model_name="m",
            provider_name="openai",
            provider_response_id="resp-1",
            finish_reason="tool_call",
            timestamp=AT,
            run_id="r",
        ),
        ModelRequest(
            parts=[
                ToolReturnPart(tool_name="lookup", content={"t": 20}, tool_call_id="c1", timestamp=AT),
                ToolReturnPart(tool_name="lookup", content="no", tool_call_id="c2", outcome="failed", timestamp=AT),
            ],
            timestamp=AT,
            run_id="r",
        ),
        ModelResponse(
            parts=[FilePart(content=BinaryContent(b"png", media_type="image/png")), TextPart(content="Done.")],
            usage=usage(),
            model_name="m",
            provider_name="openai",
            finish_reason="stop",
            timestamp=AT,
            run_id="r",
        ),
    ]


def thread_of(history: list[ModelMessage], version: Version) -> dict[str, Any]:
    """Return the thread of a run by its history, as the peer makes it."""
    dumped = ModelMessagesTypeAdapter.dump_python(history, mode="json")
    writer = JournalWriter()
    at = "2025-01-20T10:00:00Z"
    prompt = dumped[0]["parts"][0]
    writer.add_user_turn(UserTurn(at=at, parts=({"part_kind": "user-prompt", "content": prompt["content"]},)))
    writer.begin_turn("bot", at)
    write_messages(writer, dumped, at)
    writer.complete_turn(at)
    agents = {"bot": {"agent_id": "bot", "agent_name": "Bot", "provider_name": "openai", "created_at": at}}
    header = ThreadHeader(thread_id="t", created_at=at, agents=agents)
    return cast("dict[str, Any]", DIALECTS[version].renderer(header, Readings()).render(writer.journal()))


def bare(history: list[ModelMessage]) -> list[Any]:
    """Return what a model is sent of a history: parts by their kinds and contents, ids and signatures included."""
    kept = ("part_kind", "content", "id", "signature", "tool_name", "tool_call_id", "provider_name", "outcome")
    told = []
    for message in ModelMessagesTypeAdapter.dump_python(history, mode="json"):
        parts = []
        for part in message["parts"]:
            fields = {name: part[name] for name in kept if part.get(name) is not None}
            if part["part_kind"].endswith("tool-call"):
                called = ModelMessagesTypeAdapter.validate_python([message])[0].parts[message["parts"].index(part)]
                fields["args"] = called.args_as_dict()
            parts.append(fields)
        told.append((message["kind"], parts))
    return told


@pytest.mark.parametrize("version", Version)
def test_every_kind_of_part_makes_the_round_trip(version: Version) -> None:
    """From the run to a valid thread, and back to the messages that the library takes as its own."""
    thread = thread_of(messages(), version)
    assert [f for f in check_thread(thread) if f.level.value == "must"] == []
    back = ModelMessagesTypeAdapter.validate_python(model_history(thread).messages)
    assert bare(back) == bare(messages())


@pytest.mark.parametrize("kind", [ToolCallPart, NativeToolCallPart])
@pytest.mark.parametrize(
    ("held", "args"), [('{"q": 1}', {"q": 1}), ({"q": 1}, {"q": 1}), ("", {}), (None, {}), ('{"q"', '{"q"')]
)
def test_the_arguments_of_every_kind_of_call_are_values(kind: type[ToolCallPart], held: Any, args: Any) -> None:
    """The library holds text or a value, for a provider's calls as well; text that is not JSON stays (R12)."""
    request, answer = messages()[:2]
    answer.parts = [kind(tool_name="web", args=held, tool_call_id="n1")]
    (_, turn) = thread_of([request, answer], Version.V0_0_4)["turns"]
    (told,) = next(m for m in turn["messages"] if m["message_type"] == "response")["parts"]
    assert told["args"] == args


def test_the_facts_of_the_responses_are_kept() -> None:
    """Model, provider, response id, finish reason and usage stand in the thread as the history has them (R15–R17)."""
    (_, turn) = thread_of(messages(), Version.V0_0_4)["turns"]
    first = next(m for m in turn["messages"] if m["message_type"] == "response")
    told = {name: first[name] for name in ("model_name", "provider_name", "provider_response_id", "finish_reason")}
    assert list(told.values()) == ["m", "openai", "resp-1", "tool_call"]
    assert first["usage"] == {"input_tokens": 5, "output_tokens": 3}
    assert turn["total_usage"] == {"input_tokens": 10, "output_tokens": 6}


def test_the_ui_messages_of_the_library_lose_what_a_thread_keeps() -> None:
    """`dump_messages` and `load_messages` keep contents, and lose facts, times and how a run was interrupted."""
    cut = messages()[:2]
    cut[1].state = "interrupted"
    loaded = VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages(messages()))
    texts = [p.content for m in loaded for p in m.parts if isinstance(p, TextPart)]
    assert texts == ["I look.", "Done."]
    responses = [m for m in loaded if isinstance(m, ModelResponse)]
    assert {(m.model_name, m.finish_reason, m.usage.input_tokens) for m in responses} == {(None, None, 0)}
    again = VercelAIAdapter.load_messages(VercelAIAdapter.dump_messages(cut))
    assert {m.state for m in again if isinstance(m, ModelResponse)} == {"complete"}  # half an answer looks whole
