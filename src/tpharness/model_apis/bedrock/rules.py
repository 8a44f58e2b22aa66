"""What Bedrock's Converse API accepts as `messages`: rules B1 to B13.

Bedrock checks these itself, before it gives the messages to any model. What it then says of a message is in its words;
a model may refuse more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tpharness.findings import Kind
from tpharness.model_apis.bedrock.messages import TOOLS, blocks, call_ids, open_payload, result_ids, role
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, as_list, objects, string, value_of

__all__ = ["RULES", "open_payload"]

_IDS, _NAMES = re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _words(entry: PayloadEntry) -> dict[str, str]:
    """Return what fills the gaps of an error: Bedrock counts messages and blocks as JSON does."""
    numbers = re.findall(r"/(\d+)", entry.pointer)
    return dict(zip(("message", "block", "part"), numbers, strict=False))


def _messages(entries: Sequence[PayloadEntry]) -> list[PayloadEntry]:
    return [entry for entry in entries if entry.pointer != TOOLS]


def _with_next(entries: Sequence[PayloadEntry]) -> Iterator[tuple[PayloadEntry, PayloadEntry | None]]:
    messages = _messages(entries)
    return zip(messages, [*messages[1:], None], strict=False)


def _find_unanswered_calls(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B1: the error names the message in which the results are missing."""
    for entry, after in _with_next(entries):
        answered = set(result_ids(after)) if after is not None else set()
        missing = tuple(call for call in call_ids(entry) if call not in answered)
        if missing:
            number = int(_words(entry).get("message", "0")) + 1
            yield Hit(pointer=entry.pointer, ids=missing, words={"message": str(number)})


def _find_too_many_results(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B2: it counts; a result of another call beside a missing one is B1."""
    messages = _messages(entries)
    for number, entry in enumerate(messages):
        results = dict.fromkeys(result_ids(entry))  # those that are there twice are B3
        called = set(call_ids(messages[number - 1])) if number else set()
        if len(results) > len(called):
            yield Hit(
                pointer=entry.pointer, ids=tuple(one for one in results if one not in called), words=_words(entry)
            )


def _find_repeated_ids(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B3."""
    for entry in _messages(entries):
        for ids, error in ((result_ids(entry), 0), (call_ids(entry), None)):
            twice = tuple(one for one, count in Counter(ids).items() if count > 1)
            if twice:
                yield Hit(pointer=entry.pointer, ids=twice, error=error, words=_words(entry))


def _find_blank_texts(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B4: a blank text inside a result was measured to be accepted, and white space beside a text with words."""
    for entry in _messages(entries):
        texts = list(objects(entry.value.get("content"), f"{entry.pointer}/content"))
        says = any((string(block.value, "text") or "").strip() for block in texts)
        for block in texts:
            text = string(block.value, "text")
            if text is not None and not text.strip() and not (text and says):
                yield Hit(pointer=f"{block.pointer}/text", words=_words(block), got=text)


def _find_empty_messages(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B5."""
    for entry in _messages(entries):
        if entry.value.get("content") == []:
            yield Hit(pointer=f"{entry.pointer}/content", words=_words(entry))


def _find_other_starts(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B6."""
    first = next((entry for entry in _messages(entries) if role(entry) in ("user", "assistant")), None)
    if first is not None and role(first) == "assistant":
        yield Hit(pointer=first.pointer, got="assistant", expected="user")


def _find_repeated_roles(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B7."""
    for one, other in pairwise(_messages(entries)):
        if role(one) in ("user", "assistant") and role(other) == role(one):
            yield Hit(pointer=other.pointer, got=role(one))


def _find_undefined_tools(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B8."""
    config = next((entry for entry in entries if entry.pointer == TOOLS), None)
    if config is None or as_list(value_of(config.value.get("toolConfig"), "tools")):
        return
    used = any(
        block for entry in _messages(entries) for kind in ("toolUse", "toolResult") for block in blocks(entry, kind)
    )
    if used:
        yield Hit(pointer="", got="no toolConfig with tools")


def _find_silent_errors(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B9."""
    for entry in _messages(entries):
        for block in blocks(entry, "toolResult"):
            if block.value.get("status") == "error" and block.value.get("content") == []:
                yield Hit(pointer=f"{block.pointer}/toolResult/content", words=_words(block))


def _find_other_values(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B10."""
    for entry in _messages(entries):
        for block in blocks(entry, "toolUse"):
            sent = block.value.get("input")
            if not isinstance(sent, Mapping):
                yield _other_value(f"{block.pointer}/toolUse/input", sent)
        for block in blocks(entry, "toolResult"):
            for item in objects(block.value.get("content"), f"{block.pointer}/toolResult/content"):
                if "json" in item.value and (
                    not isinstance(item.value["json"], Mapping) or _has_types(item.value["json"].values())
                ):
                    yield _other_value(f"{item.pointer}/json", item.value["json"])


def _has_types(values: Iterable[Any]) -> bool:
    """Whether an object with the key `__type`, which AWS reads as the name of a shape, is among values or in them."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            if "__type" in value:
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


def _other_value(pointer: str, sent: Any) -> Hit:
    path = pointer.strip("/").replace("/", ".")
    place = path if path.startswith("messages.") else f"messages.{path}"
    return Hit(
        pointer=pointer, words={"path": place}, got=sent, expected="an object, in which no other has the key __type"
    )


def _find_odd_ids(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B11."""
    for entry in _messages(entries):
        for kind, field, pattern in (
            ("toolUse", "toolUseId", _IDS),
            ("toolUse", "name", _NAMES),
            ("toolResult", "toolUseId", _IDS),
        ):
            for block in blocks(entry, kind):
                value = string(block.value, field)
                if value is not None and not pattern.fullmatch(value):
                    expected = f"1 to 64 of {pattern.pattern.partition(']')[0]}]"
                    yield Hit(pointer=f"{block.pointer}/{kind}/{field}", error=None, got=value, expected=expected)


def _find_lone_documents(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B12."""
    for entry in _messages(entries):
        content = as_list(entry.value.get("content"))
        document = next(blocks(entry, "document"), None)
        if document is not None and not any(string(block, "text") for block in content):
            yield Hit(pointer=document.pointer)


def _find_mixed_turns(entries: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """B13."""
    for entry in _messages(entries):
        for kind, words in (("toolResult", "result"), ("toolUse", "use")):
            first = next(blocks(entry, kind), None)
            if first is not None and any(string(b, "text") for b in as_list(entry.value.get("content"))):
                yield Hit(pointer=first.pointer, words={**_words(entry), "kind": words})


def _rule(number: int, kind: Kind, *errors: str, source: str, only: str = "", **facts: Any) -> ApiRule:
    kept = {"confidence": Confidence.REPORTED, **facts}
    return ApiRule(
        id=f"B{number}",
        provider="bedrock",
        kind=kind,
        errors=errors,
        source=source,
        only=only,
        **kept,
    )


RULES: tuple[ApiRule, ...] = (
    _rule(
        1,
        Kind("bedrock-call-unanswered"),
        "Expected toolResult blocks at messages.{message}.content for the following Ids: {ids}",
        source="agno-agi/agno#6698, camel-ai/camel#3954, genkit-ai/aws-bedrock-js-plugin#664",
        find=_find_unanswered_calls,
    ),
    _rule(
        2,
        Kind("bedrock-results-too-many"),
        "The number of toolResult blocks at messages.{message}.content exceeds the number of toolUse blocks of "
        "previous turn.",
        source="strands-agents/harness-sdk#1435, Just-Curieous/Curie#16, OpenHands/OpenHands#4912",
        find=_find_too_many_results,
    ),
    _rule(
        3,
        Kind("bedrock-id-twice"),
        "The toolResult blocks at messages.{message}.content contain duplicate Ids: {ids}",
        source="BerriAI/litellm#20047, and for toolUse #20049 (without its words)",
        find=_find_repeated_ids,
    ),
    _rule(
        4,
        Kind("bedrock-text-blank"),
        "The text field in the ContentBlock object at messages.{message}.content.{block} is blank. Add text to the "
        "text field, and try again.",
        source="aws/bedrock-agentcore-sdk-python#185, earendil-works/pi#4975, aws-samples/bedrock-engineer#8; white "
        "space beside other text taken: recorded by pydantic/pydantic-ai (Claude Sonnet 4.5)",
        find=_find_blank_texts,
    ),
    _rule(
        5,
        Kind("bedrock-message-empty"),
        "The content field in the Message object at messages.{message} is empty.",
        source="archestra-ai/archestra#4220",
        find=_find_empty_messages,
    ),
    _rule(
        6,
        Kind("bedrock-starts-otherwise"),
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
        source="langgenius/dify#12340, langchain-ai/langchain-aws#238 (Command R+); against a request that was "
        "recorded with its answer: pydantic/pydantic-ai (Claude Sonnet 4.5)",
        confidence=Confidence.CONFLICTING,
        find=_find_other_starts,
    ),
    _rule(
        7,
        Kind("bedrock-same-role-twice"),
        "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between "
        "user and assistant roles and try again.",
        source="langchain-ai/langchain-aws#130, #192, microsoft/semantic-kernel#10281, Portkey-AI/gateway#748 "
        "(2024, 2025); against aws/bedrock-agentcore-sdk-python#547 (June 2026: Claude Sonnet 4.6 took two answers)",
        confidence=Confidence.CONFLICTING,
        find=_find_repeated_roles,
    ),
    _rule(
        8,
        Kind("bedrock-tools-undefined"),
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        source="vxcontrol/pentagi#196, langgenius/dify#17545, onyx-dot-app/onyx#7842",
        find=_find_undefined_tools,
        only="a whole request: one with more than `messages`, `system` and the model",
    ),
    _rule(
        9,
        Kind("bedrock-error-silent"),
        "The content field at messages.{message}.content.{block}.toolResult cannot be empty when status value is "
        "error.",
        source="aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15",
        find=_find_silent_errors,
    ),
    _rule(
        10,
        Kind("bedrock-value-untyped"),
        "The format of the value at {path} is invalid. Provide a json object for the field and try again.",
        source="vercel/ai#19023, aws/aws-sdk-js-v3#7330, deepset-ai/haystack-core-integrations#3766, "
        "sigoden/aichat#1542, maximhq/bifrost#5762",
        find=_find_other_values,
    ),
    _rule(
        11,
        Kind("bedrock-id-malformed"),
        source="botocore 1.44.8, model of bedrock-runtime: ToolUseId and ToolName; run-llama/llama_index#22775, "
        "NousResearch/hermes-agent#90008",
        confidence=Confidence.SDK,
        find=_find_odd_ids,
    ),
    _rule(
        12,
        Kind("bedrock-document-alone"),
        "A text block must be included when using documents.",
        source="archestra-ai/archestra#4220",
        find=_find_lone_documents,
    ),
    _rule(
        13,
        Kind("bedrock-mixed-turn"),
        "messages.{message}.content: Conversation blocks and tool {kind} blocks cannot be provided in the same turn.",
        source="langchain-ai/langchain-aws#141, strands-agents/harness-sdk#1223, browser-use/browser-use#710, "
        "quarkiverse/quarkus-langchain4j#1983; Claude takes both",
        confidence=Confidence.CONFLICTING,
        find=_find_mixed_turns,
        only="some models, such as Llama's and Mistral's",
    ),
)
