"""Answers without content, and results of failed tools that say nothing: rules A23 and A24."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tpharness.findings import Kind
from tpharness.model_apis.anthropic.messages import anthropic_rule, blocks, role
from tpharness.model_apis.rule import ApiRule, Confidence, Hit, Options
from tpharness.model_apis.shape import PayloadEntry, objects, string

__all__ = ["EMPTY_MESSAGE", "RULES", "empty_messages_of"]

EMPTY_MESSAGE = "all messages must have non-empty content except for the optional final assistant message"
_NOT_TEXT = 1


def empty_messages_of(who: str, messages: Sequence[PayloadEntry]) -> Iterator[Hit]:
    """Yield the messages of a role that have no content."""
    for entry in messages:
        if role(entry) == who and entry.value.get("content") in ("", []):
            yield Hit(pointer=f"{entry.pointer}/content", got=entry.value.get("content"))


def _find_empty_answers(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A23: at the end an answer may be empty in any case."""
    return empty_messages_of("assistant", messages[:-1])


def _find_silent_errors(messages: Sequence[PayloadEntry], _: Options) -> Iterator[Hit]:
    """A24."""
    for entry in messages:
        for block in blocks(entry, "tool_result"):
            if block.value.get("is_error") is not True:
                continue
            content, pointer = block.value.get("content"), f"{block.pointer}/content"
            if content in (None, "", []):
                yield Hit(pointer=pointer, got=content, expected="what went wrong")
            for part in objects(content, pointer):
                if (kind := string(part.value, "type")) not in (None, "text"):
                    yield Hit(pointer=part.pointer, error=_NOT_TEXT, got=kind, expected="text")


RULES: tuple[ApiRule, ...] = (
    anthropic_rule(
        23,
        Kind("anthropic-answer-empty"),
        EMPTY_MESSAGE,
        source="glowingjade/obsidian-smart-composer#156, corespeed-io/zypher-agent#122 (a 400, until January 2026) "
        "against theopenco/llmgateway#3127 (a 200 in July 2026), crewAIInc/crewAI#4476",
        confidence=Confidence.CONFLICTING,
        find=_find_empty_answers,
    ),
    anthropic_rule(
        24,
        Kind("anthropic-error-silent"),
        "tool_result: content cannot be empty if `is_error` is true",
        "all content must be type 'text' if 'is_error' is true",
        source="bytedance/trae-agent#230, jlevy/markform#153, can1357/oh-my-pi#2250; only text: "
        "vellum-ai/vellum-assistant#18387",
        confidence=Confidence.REPORTED,
        find=_find_silent_errors,
    ),
)
