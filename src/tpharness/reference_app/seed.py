"""An existing thread → the user turns and runs that a server would have played to write it.

In: a thread of any version that keeps its rules. Out: user turns and runs of server events, to be played into a fresh
recorder: then the calls of its turns are known, and a later run may answer pending calls (R30). Documents show
the seed's turns unchanged, so that unknown fields survive (R7).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tpharness.facts import parse_tool_args
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.migrate import convert
from tpharness.protocol.types import AgentTurnJson, Message, Part, Thread, Turn
from tpharness.protocol.versions import newest_version
from tpharness.targets.contract import RunScript

__all__ = ["seed_turns"]

_FACTS = ("model_name", "provider_name", "provider_response_id", "usage", "finish_reason")
_OUTCOMES = {"error": "failed", "validation_error": "retried"}


def seed_turns(thread: Mapping[str, Any]) -> Iterator[UserTurn | RunScript]:
    """Yield the turns of a thread as a server would play them; a run that was not interrupted ends with its result."""
    turns = cast("Thread", convert(thread, newest_version(), check=False).thread)["turns"]
    agent_id, started_at = "", ""
    played: list[dict[str, Any]] = []  # of a run so far, whose agent may change (R45)
    for turn, after in zip(turns, (*turns[1:], None), strict=False):
        if turn["turn_type"] == "user":
            parts = cast("list[dict[str, Any]]", turn["parts"])
            yield UserTurn(at=turn["submitted_at"], parts=tuple(parts), client_metadata=turn.get("client_metadata"))
            continue
        if not played:
            agent_id, started_at = turn["agent_id"], turn["started_at"]
        played += _events(turn)
        if taker := _taker(turn, after):
            played.append({"event_kind": "agent_start", "agent_id": taker["agent_id"], "at": taker["started_at"]})
            continue
        cut = turn.get("interruption") if turn.get("completion_status") == "interrupted" else None
        if cut is None:
            played.append({"event_kind": "agent_run_result", "at": turn["completed_at"]})
        yield RunScript(
            agent_id=agent_id,
            started_at=started_at,
            events=tuple(played),
            interruption=None if cut is None else Interrupted(reason=cut["reason"], at=cut["interrupted_at"]),
        )
        played = []


def _taker(turn: AgentTurnJson, after: Turn | None) -> AgentTurnJson | None:
    """Return the next turn if its agent took over: it started when this one was completed (R45)."""
    if (
        after is None
        or after["turn_type"] == "user"
        or after["agent_id"] == turn["agent_id"]
        or after["started_at"] != turn.get("completed_at")
        or not turn["messages"]  # a turn without any would become the other agent's
    ):
        return None
    return after


def _events(turn: AgentTurnJson) -> list[dict[str, Any]]:
    """Return the events that write the messages and the usage of a turn."""
    events = [event for message in turn["messages"] for event in _message(message)]
    lost = _unkept_usage(turn)
    if lost:  # before any response, or the response before it would get it (R40)
        events.insert(0, {"event_kind": "model_response_end", "at": turn["started_at"], "usage": lost})
    return events


def _unkept_usage(turn: AgentTurnJson) -> dict[str, int]:
    """Return the usage of responses that the thread does not show (R17)."""
    lost = {k: v for k, v in (turn.get("total_usage") or {}).items() if isinstance(v, int)}
    for message in turn["messages"]:
        usage = message.get("usage") if message["message_type"] == "response" else None
        for name, count in (usage or {}).items():
            if name in lost and isinstance(count, int):
                lost[name] -= count
    return {k: v for k, v in lost.items() if v > 0}


def _message(message: Message) -> Iterator[dict[str, Any]]:
    at = {"at": message["timestamp"]}
    match message["message_type"]:
        case "response":
            named = _present(message, ("model_name", "provider_name"))
            yield {"event_kind": "model_request", **at, **named}
            for index, kept in enumerate(message["parts"]):
                part = _as_streamed(kept)
                yield {"event_kind": "part_start", "index": index, "part": part, **at}
                yield {"event_kind": "part_end", "index": index, "part": part, **at}
            facts = _present(message, _FACTS)
            yield {"event_kind": "model_response_end", **at, **facts}
        case "request":
            prompts = [p for p in message["parts"] if p["part_kind"] == "user-prompt"]
            for part in message["parts"]:
                if part["part_kind"] in ("tool-return", "retry-prompt") and part.get("tool_call_id"):
                    yield {"event_kind": "function_tool_result", "part": _tool_result(part), **at}
            if prompts:
                yield {"event_kind": "model_request", "parts": prompts, **at}
        case _:
            fields = _present(message, ("source_agent", "target_agents"))
            name, data = message["event_type"], message.get("event_data")
            yield {"event_kind": "system_event", "event_type": name, "event_data": data, **fields, **at}


def _present(message: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of these names that are not null."""
    return {name: message[name] for name in names if message.get(name) is not None}


def _as_streamed(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part as an event has it: a thought's id is the part's `id`, odd arguments are their JSON text (R12).

    An event whose arguments are null has none yet, other values than objects and texts fit no event, and a text that is
    JSON would be read.
    """
    if part["part_kind"] == "thinking" and (thinking_id := part.get("thinking_id")):
        return {**part, "id": thinking_id}
    args = part.get("args", {})
    if isinstance(args, Mapping) or (isinstance(args, str) and parse_tool_args(args) is args):
        return part
    return {**part, "args": json.dumps(args, ensure_ascii=False)}


def _tool_result(part: Part) -> dict[str, Any]:
    return {**part, "outcome": _OUTCOMES.get(str(part.get("status")), "success")}
