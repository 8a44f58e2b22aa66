"""Reading what APIs have in common: texts in parts, arguments, results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tpharness.model_apis.event_bytes import load
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.shape import as_list, string
from tpharness.output import json_bytes

__all__ = ["call_of_object", "call_of_text", "files_in", "join_results", "message_of", "text_in"]

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal")


def text_in(content: Any) -> str:
    """Return the text of a content that is a text or a list of parts; parts of other kinds are passed over."""
    if isinstance(content, str):
        return content
    return "".join(_text(part) for part in as_list(content))


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if string(part, "type") not in _TEXTS:
        return ""
    return string(part, "text", "refusal") or ""


def files_in(content: Any) -> tuple[str, ...]:
    """Return the kinds of the parts that are not text, such as "image" for `image_url` and `input_image`."""
    kinds = (string(part, "type") for part in as_list(content))
    return tuple(k.removeprefix("input_").removesuffix("_url") for k in kinds if k is not None and k not in _TEXTS)


def message_of(message: Mapping[str, Any]) -> HistoryMessage:
    """Return a message of the system, the developer (who is the system), the user or the assistant without its calls.

    `reasoning_content` and `reasoning` of an assistant message are its thinking.
    """
    role, content = message.get("role"), message.get("content")
    thinking = string(message, "reasoning_content", "reasoning") or ""
    name = "system" if role == "developer" else role if isinstance(role, str) else ""
    return HistoryMessage(role=name, text=text_in(content), thinking=thinking, files=files_in(content))


def call_of_text(call_id: str | None, name: str | None, raw: Any) -> HistoryCall:
    """Return a call whose arguments are sent as text."""
    text = raw if isinstance(raw, str) else json_bytes(raw).decode()
    try:
        args = load(text)
    except (ValueError, RecursionError):
        args = text
    return HistoryCall(call_id=call_id or "", name=name or "", args=args, raw=text)


def call_of_object(call_id: str | None, name: str | None, args: Any) -> HistoryCall:
    """Return a call whose arguments are sent as an object."""
    return HistoryCall(call_id=call_id or "", name=name or "", args=args, raw=json_bytes(args).decode())


def join_results(history: Iterable[HistoryMessage]) -> tuple[HistoryMessage, ...]:
    """Join messages that hold results only and follow one another: the results of one run of tools."""
    joined: list[HistoryMessage] = []
    for message in history:
        if message.role == "tool" and joined and joined[-1].role == "tool":
            results: Sequence[HistoryResult] = (*joined[-1].results, *message.results)
            joined[-1] = HistoryMessage(role="tool", results=tuple(results), files=(*joined[-1].files, *message.files))
        else:
            joined.append(message)
    return tuple(joined)
