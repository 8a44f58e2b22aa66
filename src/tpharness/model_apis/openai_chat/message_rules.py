"""What OpenAI's Chat Completions API accepts as `messages`: rules C1 to C8, and what any server of it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, takewhile
from typing import Any

from tpharness.findings import Finding, Kind
from tpharness.model_apis.chat_messages import open_messages
from tpharness.model_apis.openai_chat.servers import PARTS_OF_OTHERS
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options, malformed_finding
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of

__all__ = ["RULES", "open_payload"]

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_CONTENT = ("text", "image_url", "input_audio", "file", "refusal")


def open_payload(payload: Any) -> tuple[list[PayloadEntry], list[Finding]]:
    """Return the messages, and findings about values of unknown types.

    The payload is the list of messages, or an object with `messages`.
    """
    return open_messages(payload, roles=_ROLES, check=_check_message)


def _check_message(entry: PayloadEntry) -> Iterator[Finding]:
    yield from _check_content(entry, optional=entry.value.get("role") in ("assistant", "function"))
    yield from _check_calls(entry)


def _check_content(entry: PayloadEntry, *, optional: bool) -> Iterator[Finding]:
    content, pointer = entry.value.get("content"), f"{entry.pointer}/content"
    if isinstance(content, str) or (optional and content is None):
        return
    if not isinstance(content, list) or (not content and not optional):
        yield malformed_finding(pointer, "text or list of content parts", content)
    for index, part in enumerate(as_list(content)):
        kind = string(part, "type")
        if kind is None:
            yield malformed_finding(f"{pointer}/{index}", "content part with a type", part)
        elif kind not in _CONTENT and kind not in PARTS_OF_OTHERS:
            yield malformed_finding(
                f"{pointer}/{index}/type",
                f"content part of the type {', '.join(_CONTENT[:-1])} or {_CONTENT[-1]}",
                kind,
            )


def _check_calls(entry: PayloadEntry) -> Iterator[Finding]:
    calls, pointer = entry.value.get("tool_calls"), f"{entry.pointer}/tool_calls"
    if calls is not None and not isinstance(calls, list):
        yield malformed_finding(pointer, "list of tool calls", calls)
    for index, call in enumerate(as_list(calls)):
        function = value_of(call, "function", "custom")
        if string(call, "id") is None or string(function, "name") is None:
            yield malformed_finding(f"{pointer}/{index}", "tool call with an id and a name", call)


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    if message.get("role") != "assistant":
        return []
    return [found for call in as_list(message.get("tool_calls")) if (found := string(call, "id")) is not None]


def _find_unanswered_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C1: the answers of an assistant message are the tool messages directly after it."""
    for index, entry in enumerate(messages):
        calls = _call_ids(entry.value)
        if not calls:
            continue
        behind = takewhile(lambda later: later.value.get("role") == "tool", islice(messages, index + 1, None))
        answered = {string(later.value, "tool_call_id") for later in behind}
        missing = tuple(call for call in calls if call not in answered)
        if missing:
            yield Hit(pointer=entry.pointer, ids=missing)


def _find_orphan_messages(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C2: a tool message comes in the run after the assistant message that made its call."""
    waiting: set[str] = set()
    for entry in messages:
        if entry.value.get("role") != "tool":
            waiting = set(_call_ids(entry.value))
            continue
        call = string(entry.value, "tool_call_id")
        if not waiting or (call is not None and call not in waiting):
            yield Hit(pointer=f"{entry.pointer}/role", got=call, expected=sorted(waiting) or None)


def _find_empty_messages(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C3: a refusal and a reference to audio count as content."""
    for entry in messages:
        message = entry.value
        said = message.get("content") not in (None, []) or message.get("refusal") or message.get("audio")
        if message.get("role") == "assistant" and not (
            said or message.get("tool_calls") or message.get("function_call")
        ):
            said_so = message.get("content") is None
            yield Hit(pointer=entry.pointer, error=0 if said_so else None, got=dict(message))


def _find_untyped_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C4: arguments are text, which need not be valid JSON."""
    for entry in messages:
        message = entry.value
        if message.get("role") == "tool" and string(message, "tool_call_id") is None:
            yield Hit(pointer=f"{entry.pointer}/tool_call_id", got=message.get("tool_call_id"), expected="text")
        for call in objects(message.get("tool_calls"), f"{entry.pointer}/tool_calls"):
            function = call.value.get("function")
            if isinstance(function, Mapping) and not isinstance(function.get("arguments"), str):
                pointer = f"{call.pointer}/function/arguments"
                yield Hit(pointer=pointer, got=function.get("arguments"), expected="text")
        function = message.get("function_call")
        if isinstance(function, Mapping) and not isinstance(function.get("arguments"), str):
            pointer = f"{entry.pointer}/function_call/arguments"
            yield Hit(pointer=pointer, got=function.get("arguments"), expected="text")


def _find_repeated_roles(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C5: two in a row; an assistant message with calls is followed by its tool messages, so it cannot be the first."""
    for one, other in pairwise(messages):
        role = one.value.get("role")
        if role in ("user", "assistant") and other.value.get("role") == role:
            yield Hit(pointer=other.pointer, got=role)


def _find_empty_call_lists(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C6: a list of calls that is there has a call."""
    for index, entry in enumerate(messages):
        if entry.value.get("tool_calls") == [] and entry.value.get("role") == "assistant":
            yield Hit(pointer=f"{entry.pointer}/tool_calls", words={"where": f"messages[{index}].tool_calls"})


def _find_second_answers(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C7: of the tool messages behind one assistant message; another message may answer another call of this id."""
    first: dict[str, int] = {}
    for index, entry in enumerate(messages):
        call = string(entry.value, "tool_call_id")
        if entry.value.get("role") != "tool":
            first = {}
        elif call is not None and first.setdefault(call, index) != index:
            words = {"first": f"messages[{first[call]}]", "second": f"messages[{index}]"}
            yield Hit(pointer=f"{entry.pointer}/tool_call_id", ids=(call,), words=words)


def _find_repeated_calls(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """C8: in one message."""
    for index, entry in enumerate(messages):
        calls = _call_ids(entry.value)
        repeated = tuple(dict.fromkeys(call for at, call in enumerate(calls) if call in calls[:at]))
        if repeated:
            yield Hit(pointer=f"{entry.pointer}/tool_calls", ids=repeated, words={"where": f"message[{index}]"})


RULES: tuple[ApiRule, ...] = (
    ApiRule(
        id="C1",
        provider="openai-chat",
        kind=Kind("chat-call-unanswered"),
        errors=(
            (
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
            ),
        ),
        source="aliasrobotics/cai#111, BerriAI/litellm#10083, langchain-ai/open_deep_research#164",
        confidence=Confidence.REPORTED,
        find=_find_unanswered_calls,
    ),
    ApiRule(
        id="C2",
        provider="openai-chat",
        kind=Kind("chat-orphan-tool-message"),
        errors=(
            (
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                "'tool_calls'."
            ),
        ),
        source="miurla/morphic#136, smarter-sh/smarter#264",
        confidence=Confidence.REPORTED,
        find=_find_orphan_messages,
    ),
    ApiRule(
        id="C3",
        provider="openai-chat",
        kind=Kind("chat-assistant-empty"),
        errors=("Invalid value for 'content': expected a string, got null.",),
        source="run-llama/llama_index#17921 (after a cancelled answer), docker/docker-agent#63, vercel/ai#13744; "
        "openai SDK, docstring of the assistant message parameter",
        confidence=Confidence.REPORTED,
        find=_find_empty_messages,
    ),
    ApiRule(
        id="C4",
        provider="openai-chat",
        kind=Kind("chat-call-untyped"),
        source="openai SDK, types of tool messages and tool calls",
        confidence=Confidence.SDK,
        find=_find_untyped_calls,
    ),
    ApiRule(
        id="C5",
        provider="openai-chat",
        kind=Kind("chat-same-role-twice"),
        source="OpenAI accepts them; unverified for other servers of the same API",
        confidence=Confidence.CONFLICTING,
        find=_find_repeated_roles,
    ),
    ApiRule(
        id="C6",
        provider="openai-chat",
        kind=Kind("chat-calls-empty"),
        errors=(
            "Invalid '{where}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        ),
        source="openai/openai-node#1341, home-assistant/core#118577, chatboxai/chatbox#2079",
        confidence=Confidence.REPORTED,
        find=_find_empty_call_lists,
    ),
    ApiRule(
        id="C7",
        provider="openai-chat",
        kind=Kind("chat-answer-twice"),
        errors=("Invalid parameter: Duplicate value for 'tool_call_id' of '{ids}', in {first} and {second}.",),
        source="agno-agi/agno#5116, anomalyco/opencode#1211 (a call that was aborted and answered), "
        "neuron-core/neuron-ai#46",
        confidence=Confidence.REPORTED,
        find=_find_second_answers,
    ),
    ApiRule(
        id="C8",
        provider="openai-chat",
        kind=Kind("chat-call-twice"),
        errors=("Duplicate value for 'tool_call_id' of {ids} in {where}",),
        source="BuilderIO/agent-native#2312 (DeepSeek), against latitude-dev/latitude-llm#1840 (OpenAI does not mind)",
        confidence=Confidence.CONFLICTING,
        find=_find_repeated_calls,
    ),
)
