"""Messages for a server of the Chat Completions API that takes less than OpenAI's: its order, its ids, its thinking.

In: joined messages in the format of Pydantic AI, and the name of the server. Out: the list of messages, with no more
changes than the server needs. What is changed depends on the messages before alone, so that a history only grows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from tpharness.model_apis.history_parts import kind_of, parts_of, unsupported_content
from tpharness.model_apis.openai_chat.history import write_payload
from tpharness.model_apis.openai_chat.row import OPENAI_CHAT
from tpharness.model_apis.openai_chat.servers import SERVERS, SHORT_ID, Server
from tpharness.model_apis.shape import as_list, string, value_of

__all__ = ["NO_ANSWER", "changes_for", "shorten_id", "write_for"]

NO_ANSWER = "(no answer)"
"""What the assistant says between a result and the user: some models are refused an empty text."""

_ANSWER = {"role": "assistant", "content": NO_ANSWER}
_FIELD = "reasoning_content"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def write_for(server: str, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the list of messages for one of `SERVERS`."""
    row = SERVERS[server]
    written = _in_order(row, messages)
    return _with_short_ids(written) if row.short_ids else [dict(entry) for entry in written]


def changes_for(server: str, messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield what is added to the messages for a server, or is another id: the place in them, what it is, and why."""
    row = SERVERS[server]
    written = _in_order(row, messages)
    final = _with_short_ids(written) if row.short_ids else written
    for index, (entry, sent) in enumerate(zip(written, final, strict=True)):
        if entry is not sent and entry.get("tool_calls"):
            for k, (call, other) in enumerate(zip(entry["tool_calls"], sent["tool_calls"], strict=True)):
                if call["id"] != other["id"]:
                    what = f"{other['id']} for the call {call['id']} and its result"
                    yield f"/{index}/tool_calls/{k}/id", what, f"{row.title}: ids of nine letters and digits"
        if entry is _ANSWER:
            what = f"the assistant says {NO_ANSWER!r}"
            yield f"/{index}", what, f"{row.title}: an answer comes after a result"
        if row.texts and entry.get("tool_calls") and entry["content"] == "":
            yield f"/{index}/content", "an empty text beside the calls", f"{row.title}: the content is a text"
        if row.thinks and entry.get(_FIELD) == "":
            what = f"an empty {_FIELD}"
            yield f"/{index}/{_FIELD}", what, f"{row.title}: thinking beside calls, and the thread has none"


def _in_order(row: Server, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages in the order and with the fields that a server takes."""
    if row.thinks:
        messages = [_with_thinking(message, _in_its_field) for message in messages]
    if row.refuses_thinking:
        messages = [_with_thinking(message, _as_text) for message in messages]
    written = write_payload(messages)
    if row.thinks:
        written = [{_FIELD: "", **entry} if entry.get("tool_calls") else entry for entry in written]
    if row.texts:
        written = [{**entry, "content": ""} if entry["content"] is None else entry for entry in written]
    if row.data_images:
        for entry in written:
            _refuse_remote_images(entry)
    return list(_with_answers(written)) if row.ordered else written


def _with_thinking(
    message: Mapping[str, Any], write: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> Mapping[str, Any]:
    parts = [write(part) if kind_of(part) == "thinking" else part for part in parts_of(message)]
    return {**message, "parts": parts}


def _in_its_field(part: Mapping[str, Any]) -> dict[str, Any]:
    return {**part, "thinking_id": _FIELD, "provider_name": OPENAI_CHAT.issuers[0]}


def _as_text(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in ("thinking_id", "id")}


def _refuse_remote_images(entry: Mapping[str, Any]) -> None:
    """Raise UsageError for an image that would have to be downloaded."""
    for part in as_list(entry.get("content")):
        if not (string(value_of(part, "image_url"), "url") or "data:").startswith("data:"):
            raise unsupported_content({"kind": "image-url"}, "this server")


def _with_answers(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    before: Any = None
    for message in messages:
        if before == "tool" and message["role"] not in ("tool", "assistant"):
            yield _ANSWER
        before = message["role"]
        yield message


def _with_short_ids(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    shorter: dict[str, str] = {}
    written: list[dict[str, Any]] = []
    for message in messages:
        changed = dict(message)
        if "tool_calls" in message:
            calls = message["tool_calls"]
            changed["tool_calls"] = [{**call, "id": shorten_id(call["id"], shorter)} for call in calls]
        if "tool_call_id" in message:
            changed["tool_call_id"] = shorten_id(message["tool_call_id"], shorter)
        written.append(changed)
    return written


def shorten_id(call_id: str | None, shorter: dict[str, str]) -> str:
    """Return the id as it is if it is short, else one that follows from it; never one that another call has."""
    known = call_id or ""
    if known not in shorter:
        candidates = (_digest(f"{number}:{known}") for number in count())
        made = known if SHORT_ID.fullmatch(known) else next(one for one in candidates if one not in shorter.values())
        shorter[known] = made
    return shorter[known]


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:9])
