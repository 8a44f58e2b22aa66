"""Rules of parts: where each kind stands, and what its content is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tpharness.facts import are_unparsed, is_base64, parse_tool_args
from tpharness.findings import Finding, Place
from tpharness.protocol import problems as p
from tpharness.protocol.jcs import escape
from tpharness.protocol.plain import INTERRUPTED, LARGE_CONTENT, is_usual_hash, is_usual_uri
from tpharness.protocol.rules.index import Index, part_pointer

__all__ = ["DEFINED_KINDS", "find_bad_metadata_keys", "find_bad_parts", "find_odd_parts"]

_SEPARATOR = re.compile(r"[:./_-]")
_CONTENT_KINDS = ("image-url", "audio-url", "video-url", "document-url", "binary")
_RESPONSE = "a response"
_REQUEST = "a request or a user turn"
_HOME = {
    "text": _RESPONSE,
    "thinking": _RESPONSE,
    "tool-call": _RESPONSE,
    "file": _RESPONSE,
    "builtin-tool-call": _RESPONSE,
    "builtin-tool-return": _RESPONSE,
    "user-prompt": _REQUEST,
    "tool-return": _REQUEST,
    "retry-prompt": _REQUEST,
}
DEFINED_KINDS = frozenset(_HOME)
"""The kinds of parts that the protocol and its model library define, but for system prompts."""
_HOLDER = {"response": _RESPONSE, "request": _REQUEST, "user": _REQUEST}
_NAMED = {"response": "a response", "request": "a request", "user": "a user turn"}


def find_bad_parts(index: Index) -> Iterator[Finding]:
    """R6, R8, R12, R57: find parts in the wrong kind of message, system prompts, and contents that cannot be read."""
    prefixes = _prefixes(index)
    for t, m, k, holder, part in index.parts:
        kind = part["part_kind"]
        home = _HOME.get(kind)
        if home is None:
            if kind == "system-prompt":
                yield p.SYSTEM_PROMPT.at(Place(pointer=part_pointer(t, m, k)))
            continue
        if home is not _HOLDER[holder]:
            words = f"{_NAMED[holder]} has a part of kind {kind}"
            yield p.MISPLACED.at(Place(pointer=part_pointer(t, m, k)), words, got=kind, expected=f"in {home}")
        if kind in ("file", "user-prompt") and type(part["content"]) is not str:
            yield from _bytes(part["content"], f"{part_pointer(t, m, k)}/content")
            if kind == "user-prompt":
                yield from _unknown_items(part["content"], f"{part_pointer(t, m, k)}/content")
        elif kind == "text" and part["content"].startswith(prefixes):
            yield p.STORED_PREFIX.at(Place(pointer=f"{part_pointer(t, m, k)}/content"), got=part["content"][:80])
        elif kind in ("tool-call", "builtin-tool-call"):
            if isinstance(part.get("args"), str) and isinstance(parse_tool_args(part["args"]), dict):
                yield p.TEXT_ARGS.at(Place(pointer=f"{part_pointer(t, m, k)}/args"), got=part["args"])
        elif kind == "tool-return" and index.version.features.content_refs:
            reference, content = part.get("content_ref"), part.get("content")
            if reference is not None:
                yield from _reference(reference, content, part_pointer(t, m, k))
            elif (size := _size(content)) >= LARGE_CONTENT:
                yield p.LARGE.at(Place(pointer=f"{part_pointer(t, m, k)}/content"), got=f"{size} bytes")


def _prefixes(index: Index) -> tuple[str, ...]:
    """Return the beginnings of texts by which a history names the agents of the thread to another agent."""
    agents = index.thread["agents"].values()
    return tuple(f"{{agent:{name}}}: " for agent in agents for name in {agent["agent_id"], agent["agent_name"]})


def _unknown_items(content: Any, pointer: str) -> Iterator[Finding]:
    """Find items of the user's content of a kind that the version does not have."""
    for i, item in enumerate(content if isinstance(content, list) else ()):
        if isinstance(item, Mapping) and item["kind"] not in _CONTENT_KINDS:
            expected = f"one of {', '.join(_CONTENT_KINDS)}"
            yield p.UNKNOWN_CONTENT.at(Place(pointer=f"{pointer}/{i}/kind"), got=item["kind"], expected=expected)


def _bytes(content: Any, pointer: str) -> Iterator[Finding]:
    """Find binary content whose data is not base64."""
    if isinstance(content, list):
        for i, item in enumerate(content):
            yield from _bytes(item, f"{pointer}/{i}")
    elif isinstance(content, Mapping) and content.get("kind") == "binary":
        data = content["data"]
        if not is_base64(data):
            yield p.NOT_BASE64.at(Place(pointer=f"{pointer}/data"), got=data[:80])


def _reference(reference: Mapping[str, Any], content: Any, pointer: str) -> Iterator[Finding]:
    if content is not None:
        yield p.BOTH_CONTENTS.at(Place(pointer=pointer))
    digest = reference.get("hash")
    if digest is not None and not is_usual_hash(digest):
        yield p.REF_HASH.at(Place(pointer=f"{pointer}/content_ref/hash"), got=digest)
    uri = reference["uri"]
    if not is_usual_uri(uri):
        yield p.REF_SCHEME.at(Place(pointer=f"{pointer}/content_ref/uri"), got=uri)


def find_bad_metadata_keys(index: Index) -> Iterator[Finding]:
    """R5: find keys of client metadata without a namespace."""
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] != "user":  # elsewhere it is an unknown field, which may have any value (R7)
            continue
        for key in turn.get("client_metadata") or ():
            if not _SEPARATOR.search(key):
                yield p.METADATA_KEY.at(Place(pointer=f"/turns/{t}/client_metadata/{escape(key)}"), got=key)


def find_odd_parts(index: Index) -> Iterator[Finding]:
    """R7, R12, R49: observe unknown kinds, arguments that were not parsed, files by address, reported ends."""
    for t, m, k, _, part in index.parts:
        kind = part["part_kind"]
        if kind not in _HOME and kind != "system-prompt" and not kind.startswith(("custom:", "meta:")):
            yield p.NAMESPACE.at(Place(pointer=f"{part_pointer(t, m, k)}/part_kind"), got=kind)
        elif kind in ("tool-call", "builtin-tool-call") and are_unparsed(part.get("args")):
            yield p.UNPARSED_ARGS.at(Place(pointer=f"{part_pointer(t, m, k)}/args"), got=part["args"])
        elif kind == "file" and part["content"]["kind"].endswith("-url"):
            yield p.FILE_BY_URL.at(Place(pointer=f"{part_pointer(t, m, k)}/content"), got=part["content"]["kind"])
        elif kind == "user-prompt":
            content = part["content"]
            texts = [content] if isinstance(content, str) else [item for item in content if isinstance(item, str)]
            for text in texts:
                if INTERRUPTED in text:
                    yield p.INTERRUPTION_TEXT.at(Place(pointer=f"{part_pointer(t, m, k)}/content"), got=text)


def _size(content: Any) -> int:
    try:
        return len(orjson.dumps(content))
    except TypeError:
        return 0
