"""Resumable: a model API accepts the history rebuilt from the thread, and the history only grows (invariant 7).

It has everything that was said, with who said it, and nothing else; counted here without the code that rebuilds it.
Parts of kinds that no model library has are not said, nor files whose data is not base64.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.checks.contract import Check, Evidence, Thread, search_sides, without_threads
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol import history

__all__ = ["RESUMABLE"]

REWRITTEN = Kind("history-rewritten")
OTHERWISE = Kind("history-says-otherwise")

_SAID = {
    "request": ("user-prompt", "retry-prompt"),
    "response": ("text", "thinking", "file", "builtin-tool-call", "builtin-tool-return"),
}
_URLS = ("image-url", "audio-url", "video-url", "document-url")


def _judge(evidence: Evidence) -> list[Finding]:
    return list(search_sides(evidence, _find_rejections))


def _find_rejections(thread: Thread) -> list[Finding]:
    messages = history.model_history(thread).messages
    findings = history.check_history(messages)
    said, sent = list(_said(thread)), list(_sent(messages))
    if said != sent:
        first = next(((a, b) for a, b in zip(sent, said, strict=False) if a != b), None)
        got, expected = (None, None) if first is None else map(_shown, first)
        findings.append(OTHERWISE.at(Place(), got=got, expected=expected))
    turns = thread["turns"]
    if turns and turns[-1]["turn_type"] == "agent":
        before = history.model_history({**thread, "turns": turns[:-1]})
        # While calls are pending (R30) the model is not called, so nothing was sent that could be rewritten.
        if messages[: len(before.messages)] != before.messages and not before.pending:
            findings.append(REWRITTEN.at(Place(pointer=f"/turns/{len(turns) - 1}")))
    return findings


_FIELDS = ("part_kind", "content", "signature", "tool_name", "tool_call_id")
_Spoken = tuple[str, tuple[Any, ...]]
"""The kind of the message, `request` or `response`, and the values of `_FIELDS` of one of its parts."""


def _shown(spoken: _Spoken) -> tuple[str, dict[str, Any]]:
    role, values = spoken
    return role, dict(zip(_FIELDS, values, strict=True))


def _said(thread: Mapping[str, Any]) -> Iterator[_Spoken]:
    """Yield what the parts of a thread say, except calls and their returns."""
    for turn in thread["turns"]:
        if turn["turn_type"] == "user":
            yield from _spoken("request", turn["parts"])
            continue
        for message in turn["messages"]:
            if message["message_type"] != "system":
                yield from _spoken(message["message_type"], message["parts"])


def _sent(messages: list[dict[str, Any]]) -> Iterator[_Spoken]:
    for message in messages:
        yield from _spoken(message["kind"], message["parts"])


def _spoken(role: str, parts: list[Mapping[str, Any]]) -> Iterator[_Spoken]:
    said = _SAID[role]
    for part in parts:
        kind = str(part.get("part_kind"))
        if kind not in said or (kind == "retry-prompt" and part.get("tool_call_id")):
            continue
        content = _content(kind, part.get("content"))
        if content is None or content == []:
            continue
        yield role, (kind, content, part.get("signature"), part.get("tool_name"), part.get("tool_call_id"))


def _content(kind: str, content: Any) -> Any:
    """Return the content of a part without what the thread and the library spell in two ways, None if there is none."""
    match kind:
        case "user-prompt" if isinstance(content, list):
            return [item for item in map(_item, content) if item is not None]
        case "file":
            return _item(content) if content.get("kind") == "binary" else None
        case "thinking":
            return content or ""
        case "retry-prompt":
            return content if isinstance(content, str) else "errors"
        case "builtin-tool-call" | "builtin-tool-return":
            return ""
        case _:
            return content


def _item(item: Any) -> Any:
    if isinstance(item, str):
        return item
    if item["kind"] in _URLS:
        return item["kind"], item["url"]
    try:
        return item["kind"], base64.b64decode(item["data"].replace("-", "+").replace("_", "/"), validate=True)
    except (KeyError, ValueError, AttributeError):
        return None


RESUMABLE = Check(
    name="resumable",
    title="a model API accepts the history, which only grows",
    not_applicable=without_threads,
    judge=_judge,
)
