"""The rules of a thread that a schema cannot express: one function each, over one index that is built in a single walk.

In: any JSON value. Out: findings, those of the schema first; rules are applied only to documents that fit their schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from tpharness.findings import Finding, Level, Place
from tpharness.protocol import problems as p
from tpharness.protocol import schema
from tpharness.protocol.canonical import canonical_time
from tpharness.protocol.jcs import MAX_SAFE_INTEGER, CanonicalError, escape, jcs, unsafe_places
from tpharness.protocol.versions import Features, Tier, Version, is_normative_name, neutral_event_name, tier

__all__ = ["RULES", "Rule", "check_thread"]

_LARGE = 100 * 1024
_HASH = re.compile(r"(?:sha256:)?[0-9a-fA-F]{64}")
_SEPARATOR = re.compile(r"[:./_-]")
_OFFSET = re.compile(r"(?:[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)$", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SCHEMES = ("https:", "s3:", "gs:", "azure:")
_CLASSES = bytes.maketrans(b"0123456789:,[-", b"0000000000xxxx")
_LONG_NUMBER = b"x" + b"0" * 16  # may also be in a text: then the walk finds nothing
_LONG_DIGITS = re.compile(rb"(?<=[:,\[-])\d{16,4000}")  # Python reads no longer ones, which are unsafe anyway
_CUSTOM_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_PART_KINDS = frozenset(
    (
        *("text", "thinking", "tool-call", "tool-return", "retry-prompt", "user-prompt", "file", "system-prompt"),
        *("builtin-tool-call", "builtin-tool-return"),
    )
)
_PAIRED = ("tool-call", "tool-return", "retry-prompt")


@dataclass(slots=True)
class _Call:
    tool: str
    turn: int
    order: int
    pointer: str
    answered: bool = False


@dataclass(slots=True)
class Index:
    """What several rules need of a thread, collected in one walk.

    `parts` and `messages` are those that the schema describes; fields of the same name elsewhere are unknown fields,
    which may have any value (R7).
    """

    thread: Mapping[str, Any]
    version: Version
    agents: frozenset[str]
    parts: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    messages: list[tuple[int, str, Mapping[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: its function, and the features that a version needs for it. With `observes` it reports at MAY only."""

    find: Callable[[Index], Iterator[Finding]]
    needs: Callable[[Features], bool] = lambda _: True
    observes: bool = False


def check_thread(thread: Any, *, observations: bool = False) -> list[Finding]:
    """Return everything that is wrong with a thread, with JSON pointers; with `observations` also findings at MAY.

    Accepts any JSON value and does not raise for any.
    """
    found = schema.schema_findings(thread)
    if found:
        return found + _unsafe(thread)
    index = _index(thread)
    for rule in RULES:
        if rule.needs(index.version.features) and (observations or not rule.observes):
            found.extend(rule.find(index))
    return [finding for finding in found if observations or finding.level is not Level.MAY] + _unsafe(thread)


def _index(thread: Mapping[str, Any]) -> Index:
    index = Index(thread=thread, version=Version(thread["version"]), agents=frozenset(thread["agents"]))
    for t, turn in enumerate(thread["turns"]):
        if turn["turn_type"] == "user":
            for k, part in enumerate(turn["parts"]):
                index.parts.append((f"/turns/{t}/parts/{k}", part))
            continue
        for m, message in enumerate(turn["messages"]):
            pointer = f"/turns/{t}/messages/{m}"
            index.messages.append((t, pointer, message))
            for k, part in enumerate(_parts(message)):
                index.parts.append((f"{pointer}/parts/{k}", part))
    return index


def _parts(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    if message["message_type"] == "system":
        return ()
    parts: Sequence[Mapping[str, Any]] = message["parts"]
    return parts


def _registry(index: Index) -> Iterator[Finding]:
    for key, agent in index.thread["agents"].items():
        if agent["agent_id"] != key:
            place = Place(pointer=f"/agents/{escape(key)}/agent_id")
            yield p.REGISTRY_KEY.at(place, got=agent["agent_id"], expected=key)
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] == "agent" and turn["agent_id"] not in index.agents:
            yield p.UNKNOWN_AGENT.at(Place(pointer=f"/turns/{t}/agent_id"), got=turn["agent_id"])
    for _, pointer, message in index.messages:
        agent = message.get("agent_id")
        if isinstance(agent, str) and agent not in index.agents:
            yield p.UNKNOWN_AGENT.at(Place(pointer=f"{pointer}/agent_id"), got=agent)
        if message["message_type"] == "system":
            named = [message.get("source_agent"), *(message.get("target_agents") or ())]
            for name in named:
                if name is not None and name not in index.agents:
                    yield p.EVENT_AGENT.at(Place(pointer=pointer), got=name)


def _agent_form(index: Index) -> Iterator[Finding]:
    for name in index.agents:
        if not _is_uuid(name):
            yield p.AGENT_FORM.at(Place(pointer=f"/agents/{escape(name)}"), got=name)


def _links(index: Index) -> Iterator[Finding]:
    for i, link in enumerate((index.thread.get("relationships") or {}).get("links") or ()):
        if not _is_uuid(link["thread_id"]):
            yield p.LINK_FORM.at(Place(pointer=f"/relationships/links/{i}/thread_id"), got=link["thread_id"])


def _times(index: Index) -> Iterator[Finding]:
    """R4, R25: times exist, turns do not overlap, messages are in order within their turn."""
    yield from _root_times(index.thread)
    end = ""
    for t, turn in enumerate(index.thread["turns"]):
        user = turn["turn_type"] == "user"
        start_field = "submitted_at" if user else "started_at"
        start, pointer = turn[start_field], f"/turns/{t}"
        if not _exists(start):
            yield p.BAD_TIME.at(Place(pointer=f"{pointer}/{start_field}"), got=start)
        if end and _key(start) < end:
            yield p.OVERLAP.at(Place(pointer=f"{pointer}/{start_field}"), got=start, expected=f"{end}Z or later")
        end = _key(start)
        if user:
            continue
        stop = turn.get("completed_at") or turn["interruption"]["interrupted_at"]  # the schema requires one of them
        if not _exists(stop):
            stop_field = "completed_at" if turn.get("completed_at") else "interruption/interrupted_at"
            yield p.BAD_TIME.at(Place(pointer=f"{pointer}/{stop_field}"), got=stop)
        last = _key(start)
        limit = _key(stop)
        if limit < last:
            yield p.OUTSIDE_TURN.at(Place(pointer=pointer), "the turn ends before it starts", got=stop, expected=start)
        for m, message in enumerate(turn["messages"]):
            written = message["timestamp"]
            at = _key(written)
            if not _exists(written):
                kind, bound = p.BAD_TIME, "a time that exists"
            elif at < last:
                kind, bound = (p.OUTSIDE_TURN if m == 0 else p.OUT_OF_TIME), f"{last}Z or later"
            elif at > limit:
                kind, bound = p.OUTSIDE_TURN, f"{limit}Z or earlier"
            else:
                last = at
                continue
            yield kind.at(Place(pointer=f"{pointer}/messages/{m}/timestamp"), got=written, expected=bound)
        end = limit


def _root_times(thread: Mapping[str, Any]) -> Iterator[Finding]:
    created, updated = thread["created_at"], thread["updated_at"]
    for name, written in (("created_at", created), ("updated_at", updated)):
        if not _exists(written):
            yield p.BAD_TIME.at(Place(pointer=f"/{name}"), got=written)
    if _exists(created) and _exists(updated) and _key(updated) < _key(created):
        yield p.UPDATED_EARLY.at(Place(pointer="/updated_at"), got=updated, expected=f"{created} or later")
    for key, agent in thread["agents"].items():
        if not _exists(agent["created_at"]):
            yield p.BAD_TIME.at(Place(pointer=f"/agents/{escape(key)}/created_at"), got=agent["created_at"])


def _pairing(index: Index) -> Iterator[Finding]:
    """R11, R14, R21, R23: calls and returns."""
    calls: dict[str, _Call] = {}
    order = 0
    for t, turn in enumerate(index.thread["turns"]):
        mine: list[_Call] = []
        user = turn["turn_type"] == "user"
        holders = (turn["parts"],) if user else map(_parts, turn["messages"])
        for m, parts in enumerate(holders):
            last = -1
            for k, part in enumerate(parts):
                kind = part["part_kind"]
                if kind not in _PAIRED:
                    continue
                pointer = f"/turns/{t}/parts/{k}" if user else f"/turns/{t}/messages/{m}/parts/{k}"
                if kind == "tool-call":
                    open_call = calls.get(part["tool_call_id"])
                    if open_call is not None and not open_call.answered:
                        yield p.OPEN_TWICE.at(Place(pointer=pointer), got=part["tool_call_id"])
                    call = _Call(tool=part["tool_name"], turn=t, order=order, pointer=pointer)
                    calls[part["tool_call_id"]] = call
                    mine.append(call)
                    order += 1
                elif part.get("tool_call_id") is not None:
                    found = calls.get(part["tool_call_id"])
                    yield from _answer(part, found, Place(pointer=pointer))
                    if found is not None:
                        if found.order < last:
                            yield p.CALL_ORDER.at(Place(pointer=pointer), got=part["tool_call_id"])
                        last = max(last, found.order)
                        found.answered = True
        if not user and index.version.features.interrupted_turns and turn["completion_status"] == "interrupted":
            for call in mine:
                if not call.answered:
                    yield p.INCOMPLETE.at(Place(pointer=call.pointer))


def _answer(part: Mapping[str, Any], call: _Call | None, place: Place) -> Iterator[Finding]:
    if call is None:
        yield p.ORPHAN.at(place, got=part["tool_call_id"])
        return
    if call.answered:
        yield p.TWICE.at(place, got=part["tool_call_id"])
    name = part.get("tool_name")
    if name is not None and name != call.tool:
        yield p.OTHER_TOOL.at(place, got=name, expected=call.tool)


def _turns(index: Index) -> Iterator[Finding]:
    """R9, R18, R24: the content of turns."""
    before: Mapping[str, Any] | None = None
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] == "agent":
            messages = turn["messages"]
            for m, message in enumerate(messages):
                if message["message_type"] != "system":  # events may come before the first request
                    if before is not None and _repeats(message, before):
                        yield p.REPEATED.at(Place(pointer=f"/turns/{t}/messages/{m}"))
                    break
            if turn.get("completion_status") == "interrupted":
                if not index.version.features.interrupted_turns:
                    yield p.OLD_INTERRUPTED.at(Place(pointer=f"/turns/{t}"))
                elif not any(map(_carries, messages)):
                    yield p.EMPTY_TURN.at(Place(pointer=f"/turns/{t}"))
            before = None
        else:
            before = turn
    for _, pointer, message in index.messages:
        if message["message_type"] != "system" and not message["parts"]:
            yield p.EMPTY_MESSAGE.at(Place(pointer=pointer))


def _repeats(request: Mapping[str, Any], user_turn: Mapping[str, Any]) -> bool:
    return request["message_type"] == "request" and bool(request["parts"]) and request["parts"] == user_turn["parts"]


def _carries(message: Mapping[str, Any]) -> bool:
    return message["message_type"] != "system" or tier(message["event_type"]) is Tier.NORMATIVE


def _part_rules(index: Index) -> Iterator[Finding]:
    """R6, R8: the content of parts."""
    for pointer, part in index.parts:
        kind = part["part_kind"]
        if kind == "system-prompt":
            yield p.SYSTEM_PROMPT.at(Place(pointer=pointer))
        elif kind == "tool-return":
            if not index.version.features.content_refs:
                continue
            reference, content = part.get("content_ref"), part.get("content")
            if reference is not None:
                yield from _reference(reference, content, pointer)
            elif (size := _size(content)) > _LARGE:
                yield p.LARGE.at(Place(pointer=f"{pointer}/content"), got=f"{size} bytes")


def _reference(reference: Mapping[str, Any], content: Any, pointer: str) -> Iterator[Finding]:
    if content is not None:
        yield p.BOTH_CONTENTS.at(Place(pointer=pointer))
    digest = reference.get("hash")
    if digest is not None and not _HASH.fullmatch(digest):
        yield p.REF_HASH.at(Place(pointer=f"{pointer}/content_ref/hash"), got=digest)
    uri = reference["uri"]
    if not uri.startswith(_SCHEMES) and (not _CUSTOM_SCHEME.match(uri) or uri.startswith(("file:", "http:"))):
        yield p.REF_SCHEME.at(Place(pointer=f"{pointer}/content_ref/uri"), got=uri)


def _metadata_keys(index: Index) -> Iterator[Finding]:
    for t, turn in enumerate(index.thread["turns"]):
        if turn["turn_type"] != "user":  # elsewhere it is an unknown field, which may have any value (R7)
            continue
        for key in turn.get("client_metadata") or ():
            if not _SEPARATOR.search(key):
                yield p.METADATA_KEY.at(Place(pointer=f"/turns/{t}/client_metadata/{escape(key)}"), got=key)


def _event_names(index: Index) -> Iterator[Finding]:
    """R1: a normative event has the name that its own version uses."""
    names = index.version.features.normative_events
    for _, pointer, message in index.messages:
        if message["message_type"] != "system":
            continue
        name = message["event_type"]
        own = names.get(neutral_event_name(name), name)
        if own != name:
            yield p.EVENT_VERSION.at(Place(pointer=f"{pointer}/event_type"), got=name, expected=own)


def _namespaces(index: Index) -> Iterator[Finding]:
    for pointer, part in index.parts:
        if part["part_kind"] not in _PART_KINDS and not part["part_kind"].startswith(("custom:", "meta:")):
            yield p.NAMESPACE.at(Place(pointer=f"{pointer}/part_kind"), got=part["part_kind"])
    if not index.version.features.namespaces:
        return
    for _, pointer, message in index.messages:
        if message["message_type"] != "system":
            continue
        name = message["event_type"]
        if not is_normative_name(name) and not name.startswith(("data-", "meta:", "source.")):
            yield p.NAMESPACE.at(Place(pointer=f"{pointer}/event_type"), got=name)


def _unsafe(thread: Any) -> list[Finding]:
    """R38; walks the document only if it has no canonical bytes, or bytes that are read back as other numbers."""
    try:
        written = jcs(thread)
        if _LONG_NUMBER not in written.translate(_CLASSES):
            return []
        if all(int(digits) <= MAX_SAFE_INTEGER for digits in _LONG_DIGITS.findall(written)):
            return []
    except CanonicalError:
        pass
    return [p.UNSAFE.at(Place(pointer=pointer), reason) for pointer, reason in unsafe_places(thread)][:50]


def _key(at: str) -> str:
    """Return a string that orders times: the canonical form without its Z."""
    return at[:-1] if len(at) == 20 and at[10] == "T" and at[19] == "Z" else canonical_time(at)[:-1]


@lru_cache(maxsize=4096)
def _exists(at: str) -> bool:
    try:
        datetime.fromisoformat(at)
    except ValueError:
        return _exists_canonical(at)
    return True


def _exists_canonical(at: str) -> bool:
    """Whether a time exists whose fraction or offset Python cannot read."""
    if not _OFFSET.search(at):
        return False
    try:
        datetime.fromisoformat(canonical_time(at)[:19])
    except ValueError:
        return False
    return True


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _size(content: Any) -> int:
    try:
        return len(orjson.dumps(content))
    except TypeError:
        return 0


RULES: tuple[Rule, ...] = (
    Rule(find=_registry),
    Rule(find=_links, needs=lambda features: features.links),
    Rule(find=_times),
    Rule(find=_pairing),
    Rule(find=_turns),
    Rule(find=_part_rules),
    Rule(find=_metadata_keys, needs=lambda features: features.client_metadata),
    Rule(find=_event_names),
    Rule(find=_agent_form, observes=True),
    Rule(find=_namespaces, observes=True),
)
"""Every rule, with the features that it needs."""
