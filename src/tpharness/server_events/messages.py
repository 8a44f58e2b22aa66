"""An implementation's own message history (Pydantic AI's JSON) → journal: the third view of a run.

In: the list that `ModelMessagesTypeAdapter` writes, the agent's name, and how the run ended. Out: the journal of that
run. Only the messages of the latest run count; what the user submitted stands in the user turn (R9), system prompts
are no part of a thread (R8). A response whose `state` is not `complete` had not finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tpharness.facts import finish_reason, tool_args, usage
from tpharness.journal import Interrupted, JournalWriter
from tpharness.server_events.returns import return_part

__all__ = ["fold_messages"]

_RESPONSE_FIELDS = {
    "text": ("content", "id"),
    "thinking": ("content", "signature", "provider_name"),
    "tool-call": ("tool_name", "tool_call_id"),
    "builtin-tool-call": ("tool_name", "tool_call_id", "provider_name"),
    "builtin-tool-return": ("tool_name", "tool_call_id", "content", "provider_name"),
    "file": ("content", "id"),
}


def fold_messages(
    writer: JournalWriter, messages: Sequence[Mapping[str, Any]], *, agent_id: str, at: str, cut: Interrupted | None
) -> None:
    """Write one run into the journal from the messages it left behind; `at` is when the run began.

    Messages of earlier runs become one complete turn before it, so that returns for their calls have a place (R30).
    """
    run_id = messages[-1].get("run_id") if messages else None
    earlier = [m for m in messages if m.get("run_id") != run_id]
    if any(m.get("kind") == "response" for m in earlier):
        writer.begin_turn(agent_id, at)
        _messages(writer, earlier, at)
        writer.complete_turn(at)
    writer.begin_turn(agent_id, at)
    at = _messages(writer, [m for m in messages if m.get("run_id") == run_id], at)
    if cut is None:
        writer.complete_turn(at)
    else:
        writer.interrupt_turn(cut.reason, cut.at)


def _messages(writer: JournalWriter, messages: Sequence[Mapping[str, Any]], at: str) -> str:
    for index, message in enumerate(messages):
        at = str(message.get("timestamp") or at)
        if message.get("kind") == "response":
            _response(writer, message, at)
        else:
            _request(writer, message, at, first=index == 0)
    return at


def _response(writer: JournalWriter, message: Mapping[str, Any], at: str) -> None:
    parts = message.get("parts") or ()
    counts = usage(message.get("usage"))
    if not parts:
        writer.add_usage(counts)
        return
    writer.begin_response(at)
    finished = message.get("state", "complete") == "complete"
    for part in parts:
        kind = str(part["part_kind"])
        names = _RESPONSE_FIELDS.get(kind, tuple(k for k in part if k != "part_kind"))
        fields = {k: part[k] for k in names if part.get(k) is not None}
        if kind in ("tool-call", "builtin-tool-call"):
            held = part.get("args")
            fields["args"] = {} if held in (None, "") else tool_args(held)
        if kind == "thinking":
            fields.setdefault("provider_name", "unknown")
        if finished:
            writer.add_part(kind, fields)
        else:
            writer.open_part(kind, fields, None)
    names = ("model_name", "provider_name", "provider_response_id")
    facts = {k: message.get(k) for k in names}
    writer.set_facts({**facts, "finish_reason": finish_reason(message.get("finish_reason")), "usage": counts})
    if finished:
        writer.finish_response()


def _request(writer: JournalWriter, message: Mapping[str, Any], at: str, *, first: bool) -> None:
    prompts = []
    for part in message.get("parts") or ():
        kind = part.get("part_kind")
        if kind in ("tool-return", "retry-prompt") and part.get("tool_call_id"):
            written = return_part(part, str(part.get("tool_name") or ""))
            call_id = str(part["tool_call_id"])
            if written is not None and writer.call_key(call_id) is not None and not writer.answered(call_id):
                writer.add_return(call_id, *written, at)
        elif kind == "user-prompt" and not first:
            prompts.append({"part_kind": kind, "content": part.get("content")})
    if prompts:
        writer.add_prompt(prompts, at)
