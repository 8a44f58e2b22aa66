"""Stored messages with which certainly nothing is wrong, seen at a glance: nearly all are so, and import must be fast.

In: any JSON value. Out: whether it is plain. False says nothing: then the whole judgement is made (`formats`), which
takes several times as long. What is plain is found right by that judgement too, and a thread can be made of it; a test
holds the two to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.facts import are_unparsed, is_time
from tpharness.histories.stored.arguments import read_object

__all__ = ["PLAIN"]

_WORDS = ("text", "reasoning")
_FACTS = ("model_name", "provider_name", "provider_response_id", "finish_reason", "run_id", "conversation_id")
_ODD_ON_CALLS = ("providerExecuted", "preliminary", "callProviderMetadata")


def _are_plain_ui(value: Any) -> bool:
    """Texts, thoughts, and calls that have their outputs; every id once."""
    if type(value) is not list:
        return False
    ids: set[str] = set()
    calls: set[str] = set()
    for message in value:
        if type(message) is not dict:
            return False
        name, role, parts = message.get("id"), message.get("role"), message.get("parts")
        if type(name) is not str or not name or name in ids or type(parts) is not list:
            return False
        ids.add(name)
        if role == "assistant":
            if not _is_plain_answer(parts, calls):
                return False
        elif role not in ("user", "system") or not parts or not all(_is_plain_text(part) for part in parts):
            return False
    return True


def _is_plain_answer(parts: list[Any], calls: set[str]) -> bool:
    says = False
    for part in parts:
        if type(part) is not dict:
            return False
        kind = part.get("type")
        if kind == "step-start":
            continue
        if not (_is_plain_text(part) or (type(kind) is str and _is_plain_call(kind, part, calls))):
            return False
        says = True
    return says


def _is_plain_text(part: Any) -> bool:
    return (
        type(part) is dict
        and part.get("type") in _WORDS
        and type(part.get("text")) is str
        and part["text"] != ""
        and part.get("state", "done") == "done"
        and part.get("providerMetadata") is None
    )


def _is_plain_call(kind: str, part: dict[str, Any], calls: set[str]) -> bool:
    name = part.get("toolName") if kind == "dynamic-tool" else kind[5:] if kind.startswith("tool-") else ""
    call, arguments = part.get("toolCallId"), part.get("input")
    if type(name) is not str or not name or type(call) is not str or not call or call in calls:
        return False
    if part.get("state") != "output-available" or "output" not in part:
        return False
    if type(arguments) is not dict or are_unparsed(arguments):
        return False
    calls.add(call)
    return not any(part.get(field) is not None for field in _ODD_ON_CALLS)


def _are_plain_messages(value: Any) -> bool:
    """Prompts, texts, thoughts, and calls whose returns follow in their order; in one run or in several."""
    if type(value) is not list:
        return False
    waiting: list[tuple[str, str]] = []
    before: dict[str, Any] = {}
    latest = ""
    for message in value:
        if type(message) is not dict or message == before or message.get("state", "complete") != "complete":
            return False
        at, parts = message.get("timestamp"), message.get("parts")
        if type(at) is not str or type(parts) is not list or not parts or not _follows(at, latest):
            return False
        if any(type(message.get(name, "")) is not str for name in _FACTS if message.get(name) is not None):
            return False
        if waiting and message.get("run_id") != before.get("run_id"):
            return False
        take = {"request": _takes_request_part, "response": _takes_response_part}.get(str(message.get("kind")))
        if take is None or (waiting and message["kind"] == "response"):
            return False
        if not all(type(part) is dict and take(part, waiting) for part in parts):
            return False
        if waiting and message["kind"] == "request":
            return False
        before, latest = message, at
    return not waiting


def _follows(at: str, latest: str) -> bool:
    """Whether a time is one in UTC that is written as the one before it, and not earlier."""
    return at[-1:] == "Z" and is_time(at) and (not latest or (len(at) == len(latest) and at >= latest))


def _takes_request_part(part: dict[str, Any], waiting: list[tuple[str, str]]) -> bool:
    kind, at = part.get("part_kind"), part.get("timestamp")
    if at is not None and not (type(at) is str and is_time(at)):
        return False
    if kind == "user-prompt":
        return not waiting and type(part.get("content")) is str
    if kind != "tool-return" or not waiting or "content" not in part or part.get("outcome", "success") != "success":
        return False
    return waiting.pop(0) == (part.get("tool_name"), part.get("tool_call_id"))


def _takes_response_part(part: dict[str, Any], waiting: list[tuple[str, str]]) -> bool:
    kind = part.get("part_kind")
    if kind in ("text", "thinking"):
        return type(part.get("content")) is str and part["content"] != ""
    name, call, arguments = part.get("tool_name"), part.get("tool_call_id"), part.get("args")
    if kind != "tool-call" or type(name) is not str or not name or type(call) is not str or not call:
        return False
    if any(call == other for _, other in waiting):
        return False
    whole = read_object(arguments) if type(arguments) is str else arguments
    if type(whole) is not dict or are_unparsed(whole):
        return False
    waiting.append((name, call))
    return True


PLAIN: Mapping[str, Callable[[Any], bool]] = {"ai-sdk": _are_plain_ui, "pydantic-ai": _are_plain_messages}
"""Whether messages are plain, by their format."""
