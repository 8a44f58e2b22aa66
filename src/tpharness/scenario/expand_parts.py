"""The parts of a short-form response → part events, as Pydantic AI emits them.

`part_start` has the first piece of a text, the deltas have the others, `part_end` has the whole. `unfinished` omits the
end.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tpharness.facts import binary_identifier
from tpharness.scenario.eventlog import EventLog
from tpharness.scenario.fields import Fields, describe_node, find_head
from tpharness.scenario.problems import BAD_VALUE, CONTRADICTION, UNKNOWN_AGENT, suggest_name
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain

__all__ = ["EVENT_KEYS", "PART_KEYS", "ResponseContext", "emit_event", "emit_parts", "user_content"]

EVENT_KEYS = ("event", "data", "source_agent", "target_agents", "transient")
PART_KEYS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "id", "unfinished", "label"),
    "thinking": ("thinking", "signature", "provider", "id", "unfinished", "label"),
    "call": ("call", "id", "args", "raw", "deltas", "unfinished", "label"),
    "file": ("file", "id", "label"),
    "provider_call": ("provider_call", "id", "args", "provider", "unfinished", "label"),
    "provider_return": ("provider_return", "content", "provider", "label"),
    "event": (*EVENT_KEYS, "label"),
    "part": ("part", "label"),
}
"""The key that says what a response part is → all keys that the part may have."""

_WORD = re.compile(r"\S+\s*|\s+")
_TEXT_PIECES = 3
_ARGS_PIECES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseContext:
    """What the parts of a response refer to: the registry of agents, and the provider of the response."""

    agents: Mapping[str, Mapping[str, Any]]
    provider: str | None


def emit_parts(log: EventLog, nodes: list[Node], where: str, context: ResponseContext) -> tuple[str, ...]:
    """Append the events of a response's parts; return the ids of its calls, in order."""
    index = 0
    made: list[str] = []
    for number, node in enumerate(nodes):
        place = f"{where}[{number}]"
        head = find_head(node, log.problems, place, PART_KEYS)
        if head is None:
            continue
        fields = Fields(node, log.problems, place, PART_KEYS[head])
        since = len(log.events)
        if head == "event":
            emit_event(log, fields, context.agents)
        else:
            call_id = _EMITTERS[head](log, fields, index, context)
            index += 1
            if call_id is not None:
                made.append(call_id)
        log.set_step_label(fields, since)
    return tuple(made)


def emit_event(log: EventLog, fields: Fields, agents: Mapping[str, Mapping[str, Any]]) -> None:
    """Append a system event."""
    name = fields.text("event", required=True)
    source = fields.text("source_agent")
    targets = fields.texts("target_agents") if "target_agents" in fields else None
    named = [(source, fields.value_position("source_agent"))] if source is not None else []
    for agent, position in (*named, *(targets or ())):
        if agent not in agents:
            near = suggest_name(agent, agents)
            log.problems.add(UNKNOWN_AGENT, position, f"no agent {agent!r}{near}", expected=", ".join(agents))
    log.emit(
        "system_event",
        event_type=name or "?",
        event_data=fields.any("data"),
        source_agent=source,
        target_agents=None if targets is None else [agent for agent, _ in targets],
        transient=fields.flag("transient") or None,
    )


def user_content(fields: Fields, key: str) -> Any:
    """Return user content: a text, or a list of texts and content items. Absent identifiers are derived."""
    node = fields.node(key, required=True)
    if node is None:
        return ""
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ListNode) or not node.items:
        fields.report_bad(key, "a text, or a list of texts and content items")
        return ""
    for number, item in enumerate(node.items):
        is_text = isinstance(item, ScalarNode) and isinstance(item.value, str)
        kind = item.items.get("kind") if isinstance(item, MapNode) else None
        if not is_text and not (isinstance(kind, ScalarNode) and isinstance(kind.value, str)):
            expected = "a string, or a map with kind"
            message = f"{fields.path(key)}[{number}] must be a text or a content item"
            fields.problems.add(BAD_VALUE, item.position, message, got=describe_node(item), expected=expected)
    return [_add_identifier(plain(item)) for item in node.items]


def _add_identifier(item: Any) -> Any:
    if not isinstance(item, dict) or "identifier" in item:
        return item
    if isinstance(item.get("data"), str):
        return {**item, "identifier": binary_identifier(item["data"])}
    if isinstance(item.get("url"), str):  # as Pydantic AI derives it
        digest = hashlib.sha1(item["url"].encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        return {**item, "identifier": digest[:6]}
    return item


# ------------------------------------------------------------------ one function for each kind


def _text(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    del context
    pieces = _pieces(fields, "text")
    facts = _without_none(part_kind="text", id=fields.text("id"))
    log.emit("part_start", index=index, part={**facts, "content": pieces[0]})
    for piece in pieces[1:]:
        log.emit("part_delta", index=index, delta={"part_delta_kind": "text", "content_delta": piece})
    _end(log, fields, index, {**facts, "content": "".join(pieces)})


def _thinking(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    del context
    pieces = _pieces(fields, "thinking")
    facts = _without_none(part_kind="thinking", id=fields.text("id"), provider_name=fields.text("provider"))
    signature = fields.text("signature")
    log.emit("part_start", index=index, part={**facts, "content": pieces[0]})
    for piece in pieces[1:]:
        log.emit("part_delta", index=index, delta={"part_delta_kind": "thinking", "content_delta": piece})
    if signature is not None:
        log.emit("part_delta", index=index, delta={"part_delta_kind": "thinking", "signature_delta": signature})
    _end(log, fields, index, {**facts, "content": "".join(pieces), **_without_none(signature=signature)})


def _call(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> str | None:
    del context
    call_id = fields.text("id", required=True)
    facts = {"part_kind": "tool-call", "tool_name": fields.text("call") or "?", "tool_call_id": call_id or "?"}
    text = _args_text(fields)
    given = _strings(fields, "deltas") if "deltas" in fields else None
    pieces: list[str | None] = [None] if text is None and given is None else [*(given or _split_args(text or ""))]
    joined = None if pieces == [None] else "".join(piece or "" for piece in pieces)
    if given is not None and text is not None and not _same_args(joined, text, exact="raw" in fields):
        message = f"{fields.where}: deltas do not add up to {'raw' if 'raw' in fields else 'args'}"
        fields.problems.add(CONTRADICTION, fields.value_position("deltas"), message, got=joined, expected=text)
    log.emit("part_start", index=index, part={**facts, **_without_none(args=pieces[0])})
    for piece in pieces[1:]:
        delta = {"part_delta_kind": "tool_call", "args_delta": piece, "tool_call_id": facts["tool_call_id"]}
        log.emit("part_delta", index=index, delta=delta)
    whole = {**facts, **_without_none(args=joined)}
    _end(log, fields, index, whole)
    log.add_call({**whole, "tool_call_id": call_id})
    return call_id


def _file(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    del context
    node = fields.node("file")
    file = Fields(node, fields.problems, fields.path("file"), ("media_type", "data")) if node is not None else fields
    content = {"kind": "binary", "data": file.text("data", required=True, empty=True) or ""}
    content["media_type"] = file.text("media_type", required=True) or "?"
    content["identifier"] = binary_identifier(content["data"])
    log.emit("part_start", index=index, part=_without_none(part_kind="file", id=fields.text("id"), content=content))


def _provider_call(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    part = _without_none(
        part_kind="builtin-tool-call",
        tool_name=fields.text("provider_call") or "?",
        tool_call_id=fields.text("id", required=True),
        args=json.dumps(fields.any("args", {}), ensure_ascii=False),
        provider_name=fields.text("provider") or context.provider,
    )
    log.emit("part_start", index=index, part=part)
    _end(log, fields, index, dict(part))


def _provider_return(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    call_id = fields.text("provider_return") or "?"
    names = {
        event["part"].get("tool_call_id"): event["part"]["tool_name"]
        for event in log.events
        if event["event_kind"] == "part_start" and event["part"]["part_kind"] == "builtin-tool-call"
    }
    log.require_call(call_id, fields.value_position("provider_return"), names, noun="provider_call")
    part = {
        "part_kind": "builtin-tool-return",
        "tool_name": names.get(call_id, "?"),
        "tool_call_id": call_id,
        "content": fields.any("content"),
        **_without_none(provider_name=fields.text("provider") or context.provider),
    }
    log.emit("part_start", index=index, part=part)


def _other(log: EventLog, fields: Fields, index: int, context: ResponseContext) -> None:
    del context
    part = fields.any("part")
    if not isinstance(part, dict) or not isinstance(part.get("part_kind"), str):
        fields.report_bad("part", "a whole part, a map with part_kind")
        part = {"part_kind": "?"}
    log.emit("part_start", index=index, part=part)


_EMITTERS: Mapping[str, Callable[[EventLog, Fields, int, ResponseContext], str | None]] = {
    "text": _text,
    "thinking": _thinking,
    "call": _call,
    "file": _file,
    "provider_call": _provider_call,
    "provider_return": _provider_return,
    "part": _other,
}

# ------------------------------------------------------------------ inside


def _end(log: EventLog, fields: Fields, index: int, part: dict[str, Any]) -> None:
    if not fields.flag("unfinished"):
        log.emit("part_end", index=index, part=part)


def _without_none(**facts: Any) -> dict[str, Any]:
    return {k: v for k, v in facts.items() if v is not None}


def _pieces(fields: Fields, key: str) -> list[str]:
    node = fields.node(key)
    if isinstance(node, ListNode):
        return _strings(fields, key)
    return _split_text(fields.text(key, empty=True) or "")


def _strings(fields: Fields, key: str) -> list[str]:
    """Return a list of at least one delta; deltas may be empty and may repeat."""
    items = fields.items(key, least=1)
    values = [item.value if isinstance(item, ScalarNode) else None for item in items]
    if not all(isinstance(value, str) for value in values):
        fields.report_bad(key, "a list of strings")
        return [""]
    return [str(value) for value in values] or [""]


def _args_text(fields: Fields) -> str | None:
    if "args" in fields and "raw" in fields:
        fields.problems.add(CONTRADICTION, fields.position, f"{fields.where}: args and raw exclude each other")
    if "raw" in fields:
        return fields.text("raw", empty=True)
    if "args" in fields:
        value = fields.any("args")
        return None if value is None else json.dumps(value, ensure_ascii=False)
    return None if "deltas" in fields else "{}"


def _same_args(joined: str | None, text: str, *, exact: bool) -> bool:
    if exact or joined == text:
        return joined == text
    try:
        return bool(json.loads(joined or "") == json.loads(text))
    except ValueError:
        return False


def _split_text(text: str) -> list[str]:
    """Split a text at word boundaries into up to three pieces, one for each word at most; a single word in two."""
    words = _WORD.findall(text)
    if len(words) > 1:
        count = min(_TEXT_PIECES, len(words))
        bounds = [len(words) * i // count for i in range(count + 1)]
        return ["".join(words[a:b]) for a, b in pairwise(bounds)]
    return _split_evenly(text, 2)


def _split_args(text: str) -> list[str]:
    """Split the JSON text of arguments into three pieces, or fewer if it has fewer characters."""
    return _split_evenly(text, _ARGS_PIECES)


def _split_evenly(text: str, count: int) -> list[str]:
    count = min(count, len(text))
    bounds = [len(text) * i // count for i in range(count + 1)] if count else []
    return [text[a:b] for a, b in pairwise(bounds)] or [""]
