"""Threads that certainly keep their schema and every rule, seen in one pass: nearly all that are judged.

In: any JSON value. Out: the size of such a thread, or None where the schema and the rules have to be asked, which does
not say that something is wrong: here stand only the fields, kinds and orders that need no second look.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
import orjson
from msgspec import UNSET

from tpharness import protocol
from tpharness.facts import is_base64, parse_tool_args
from tpharness.protocol.canonical import order_of_time
from tpharness.protocol.jcs import are_surely_safe
from tpharness.protocol.plain_records import (
    PlainAgent,
    PlainAgentTurn,
    PlainCall,
    PlainEvent,
    PlainFile,
    PlainPrompt,
    PlainProviderCall,
    PlainProviderReturn,
    PlainRequest,
    PlainResponse,
    PlainReturn,
    PlainText,
    PlainThread,
    PlainUserTurn,
)
from tpharness.protocol.versions import ERROR_EVENT, NORMATIVE_PREFIX, Version, is_normative_name, neutral_event_name

__all__ = ["INTERRUPTED", "LARGE_CONTENT", "is_usual_hash", "is_usual_uri", "plain_size"]

LARGE_CONTENT = 100 * 1024
"""From so many bytes of JSON on what a tool has returned is better referred to (R6)."""

INTERRUPTED = "[Request interrupted by user"
"""What some clients write into the user's prompt (R49)."""

_JSON_ONLY = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_AGENT_PREFIX = "{agent:"
_CLIENTS_REASON = "incomplete_stream"
_CONTENT_REF = b'"content_ref"'
_COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "total_tokens")
_Calls = dict[str, tuple[int, str]]
"""Order and tool of calls without a return, by their ids."""
_MOST_BYTES = 6
"""What JSON may take for a character of a text."""
_HASH = re.compile(r"(?:sha256:)?[0-9a-fA-F]{64}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_USUAL_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)


def plain_size(thread: Any, *, observations: bool = False, events: list[str] | None = None) -> int | None:
    """Return the bytes of a thread as JSON if it breaks no rule, nor those that observe, if asked; None if in doubt.

    If `events` is given, the types of normative events are added to it that only the rules of events have to look at.
    """
    data: list[Any] = []
    try:
        read = _read(thread, data)
        written = orjson.dumps(thread, option=_JSON_ONLY)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return None
    data.append(read.metadata)
    if (
        not _keeps_rules(read, data, events)
        or not are_surely_safe(data)
        or (observations and protocol.second_look.is_odd(read))
    ):
        return None
    if not Version(read.version).features.content_refs and _CONTENT_REF in written:
        return None
    size = len(written)
    return None if size >= LARGE_CONTENT and any(map(_is_large, _returned(read))) else size


def _read(thread: Any, data: list[Any]) -> PlainThread:
    """Return a thread as records; parts of custom kinds, which may hold anything (R7), are added to `data` instead."""
    try:
        return msgspec.convert(thread, PlainThread)
    except msgspec.ValidationError:
        plain, custom = protocol.second_look.without_custom_parts(thread)
        if not custom:
            raise
    data += custom
    return msgspec.convert(plain, PlainThread)


def _keeps_rules(thread: PlainThread, data: list[Any], events: list[str] | None) -> bool:
    """Whether these records keep the rules; what tools and applications have put into them is added to `data`."""
    agents, version = thread.agents, Version(thread.version)
    created = _order(thread.created_at)
    if not created or _order(thread.updated_at) < created:
        return False
    for key, agent in agents.items():
        if agent.agent_id != key or not _order(agent.created_at):
            return False
    end, asked, made = "", False, 0
    earlier: _Calls = {}  # calls that turns before have left open
    for turn in thread.turns:
        begun = _order(turn.submitted_at if isinstance(turn, PlainUserTurn) else turn.started_at)
        if not begun or begun < end:
            return False
        if isinstance(turn, PlainUserTurn):
            end, asked = begun, True
            continue
        limit = _order(_stop(turn, version))
        if limit < begun or turn.agent_id not in agents or not _adds_up(turn):
            return False
        for message in turn.messages:
            if type(message) is PlainEvent and not _keeps_event(message, agents, version, data, events):
                return False
        calls: _Calls = {}
        if not _keeps_messages(turn, begun, limit, calls, earlier, data, asked=asked):
            return False
        for call_id, (_, tool) in calls.items():
            earlier[call_id] = made, tool
            made += 1
        end, asked = limit, False
    return True


def _keeps_messages(
    turn: PlainAgentTurn, begun: str, limit: str, calls: _Calls, earlier: _Calls, data: list[Any], *, asked: bool
) -> bool:
    """Whether messages stand in order, each with parts in order; `calls` gets those that stay open.

    Calls that turns before have left open, which are `earlier`, may be answered before the turn's first response (R30).
    `asked` says that the turn before is the user's, whose input the first request must not repeat (R9).
    """
    last, written, spoken, waiting = begun, turn.started_at, False, earlier
    for message in turn.messages:
        if message.timestamp != written:
            written = message.timestamp
            at = _order(written)
            if not last <= at <= limit:
                return False
            last = at
        if isinstance(message, PlainEvent):
            continue
        if message.agent_id != turn.agent_id or not message.parts:
            return False
        if isinstance(message, PlainResponse):
            waiting = calls
            if calls or not _keeps_response(message.parts, calls, earlier, data):
                return False
        elif not _keeps_request(message.parts, waiting, data, prompts=spoken or not asked):
            return False
        if data and not are_surely_safe(data):
            return False
        spoken = True
    return turn.interruption is None or (spoken and not calls)


def _keeps_response(parts: list[Any], calls: _Calls, earlier: _Calls, data: list[Any]) -> bool:
    """Whether parts of a response keep the rules; its calls are added, with their order and tool."""
    for part in parts:
        kind = type(part)
        if kind is PlainText:
            if part.content.startswith(_AGENT_PREFIX):
                return False
            continue
        if kind is PlainCall:
            if part.tool_call_id in calls or part.tool_call_id in earlier:
                return False
            calls[part.tool_call_id] = len(calls), part.tool_name
            given = part.args
        elif kind is PlainProviderCall:
            given = part.args
        elif kind is PlainProviderReturn:
            given = part.content if type(part.content) is not str else None
        elif kind is PlainFile:
            if not _keeps_file(part.content):
                return False
            given = part.content
        else:
            continue
        if type(given) is not str:
            data.append(given)
        elif isinstance(parse_tool_args(given), dict):  # it should be the object (R12)
            return False
    return True


def _keeps_file(content: dict[str, Any]) -> bool:
    """Whether a file says of which kind it is, and has bytes if it holds them."""
    kind = content.get("kind")
    if kind != "binary":
        return type(kind) is str and kind != ""
    data, media_type = content.get("data"), content.get("media_type")
    if not (type(media_type) is type(content.get("identifier")) is str and media_type):
        return False
    return isinstance(data, str) and is_base64(data)


def _keeps_request(parts: list[Any], calls: _Calls, data: list[Any], *, prompts: bool) -> bool:
    """Whether parts of a request keep the rules; calls that are answered are removed. `prompts`: it may have some."""
    last, prompted = -1, False
    for part in parts:
        if type(part) is PlainPrompt:
            prompted = True
            continue
        if type(part) is PlainReturn:
            if part.content_ref is not None:
                uri, digest = part.content_ref.uri, part.content_ref.hash
                if not (is_usual_uri(uri) and (digest is None or is_usual_hash(digest))):
                    return False
                if part.content is not UNSET and part.content is not None:
                    return False
            elif part.content is UNSET:
                return False
            else:
                data.append(part.content)
            if part.metadata is not None:
                data.append(part.metadata)
        elif part.tool_call_id is None:
            continue
        order, tool = calls.pop(part.tool_call_id, (-1, ""))
        if order <= last or part.tool_name not in (tool, None):
            return False
        last = order
    return not prompted or (prompts and not calls)


def is_usual_hash(text: str) -> bool:
    """Whether a text is a hash of a content as it is written (R6)."""
    return _HASH.fullmatch(text) is not None


def is_usual_uri(uri: str) -> bool:
    """Whether whoever reads a thread can fetch what a URI names (R6)."""
    return _SCHEME.match(uri) is not None and not uri.startswith(("file:", "http:"))


def _keeps_event(
    event: PlainEvent, agents: dict[str, PlainAgent], version: Version, data: list[Any], events: list[str] | None
) -> bool:
    """Whether an event names agents of the thread, and is the application's, one of `events`, or a plain error."""
    name, given = event.event_type, event.event_data
    features = version.features
    if is_normative_name(name) or (features.event_tiers and name.startswith(NORMATIVE_PREFIX)):
        if neutral_event_name(name) != ERROR_EVENT and events is not None:
            events.append(name)
        elif name != features.normative_events[ERROR_EVENT] or not _says_an_error(given):
            return False
    data.append(given)
    return (event.source_agent is None or event.source_agent in agents) and agents.keys() >= {
        *(event.target_agents or ())
    }


def _says_an_error(given: Any) -> bool:
    return type(given) is dict and len(given) == 1 and type(said := given.get("error")) is str and said != ""


def _stop(turn: PlainAgentTurn, version: Version) -> str:
    """Return when a turn has ended; an empty text if it does not say so as its version does (R18, R19)."""
    cut = turn.interruption
    if cut is None:
        usual = ("complete",) if version.features.interrupted_turns else ("complete", None)
        return turn.completed_at or "" if turn.completion_status in usual else ""
    if not version.features.interrupted_turns or turn.completion_status != "interrupted":
        return ""
    return cut.interrupted_at if turn.completed_at is None and cut.reason != _CLIENTS_REASON else ""


def _adds_up(turn: PlainAgentTurn) -> bool:
    """Whether no count of tokens is less than what it is the sum of (R17)."""
    used = [one.usage for one in turn.messages if type(one) is PlainResponse and one.usage is not None]
    total = turn.total_usage
    for usage in used if total is None else (*used, total):
        if usage.total_tokens is not None:
            both = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            if usage.total_tokens < max(both, usage.thinking_tokens or 0):
                return False
    for name in _COUNTS if total is not None else ():
        stated = getattr(total, name)
        if stated is not None and sum([getattr(usage, name) or 0 for usage in used]) > stated:
            return False
    return True


def _returned(thread: PlainThread) -> Iterable[Any]:
    """Yield what tools have returned."""
    for turn in thread.turns:
        if type(turn) is PlainAgentTurn:
            for message in turn.messages:
                if type(message) is PlainRequest:
                    yield from (
                        one.content for one in message.parts if type(one) is PlainReturn and one.content is not UNSET
                    )


def _is_large(content: Any) -> bool:
    if type(content) is str and len(content) * _MOST_BYTES + 2 < LARGE_CONTENT:
        return False
    return len(orjson.dumps(content)) >= LARGE_CONTENT


@lru_cache(maxsize=4096)
def _order(at: str) -> str:
    """Return what orders a time, as `order_of_time`; an empty text if it may not exist, or is written in a rare way."""
    if _USUAL_TIME.fullmatch(at) is None:
        return ""
    try:
        datetime.fromisoformat(at)
    except ValueError:
        return ""
    return order_of_time(at)
