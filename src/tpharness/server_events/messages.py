"""An implementation's own message history (Pydantic AI's JSON) → journal: the third view of a run.

In: the list that `ModelMessagesTypeAdapter` writes, the agent's name, and how the run ended. Out: the journal of that
run. Only the messages of the latest run count; what the user submitted stands in the user turn (R9), system prompts
are not part of a thread (R8). A response whose `state` is not `complete` had not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpharness.facts import normalize_finish_reason, normalize_usage
from tpharness.journal import Event, Interrupted, JournalWriter
from tpharness.server_events.parts import call_arguments, part_fields
from tpharness.server_events.returns import data_events, return_part

__all__ = ["fold_messages", "write_messages"]


def fold_messages(
    writer: JournalWriter, messages: Sequence[Mapping[str, Any]], *, agent_id: str, at: str, cut: Interrupted | None
) -> None:
    """Write one run into the journal from the messages it left behind; `at` is when the run began.

    Messages of earlier runs become one complete turn before it, so that returns for their calls have a place (R30).
    """
    run_id = messages[-1].get("run_id") if messages else None
    earlier = [m for m in messages if m.get("run_id") != run_id]
    if earlier:
        writer.begin_turn(agent_id, at)
        write_messages(writer, earlier, at)
        writer.complete_turn(at)
    writer.begin_turn(agent_id, at)
    at = write_messages(writer, [m for m in messages if m.get("run_id") == run_id], at)
    if cut is None:
        writer.complete_turn(at)
    else:
        writer.interrupt_turn(cut.reason, cut.at)


def write_messages(
    writer: JournalWriter,
    messages: Sequence[Mapping[str, Any]],
    at: str,
    *,
    before: Callable[[str], None] = lambda _: None,
) -> str:
    """Write messages into the turn that is open; return the time of the last message, or `at` if there are no messages.

    `before` is called with the time of each message before it is written: what else happened until then goes there.
    """
    for index, message in enumerate(messages):
        at = str(message.get("timestamp") or at)
        before(at)
        if message.get("kind") == "response":
            _response(writer, message, at)
        else:
            _request(writer, message, at, first=index == 0)
    return at


def _response(writer: JournalWriter, message: Mapping[str, Any], at: str) -> None:
    parts = message.get("parts") or ()
    counts = normalize_usage(message.get("usage"))
    if not parts:
        writer.add_usage(counts)
        return
    writer.begin_response(at)
    finished = message.get("state", "complete") == "complete"
    for part in parts:
        kind = str(part["part_kind"])
        fields = part_fields(kind, part)
        if kind in ("tool-call", "builtin-tool-call"):
            fields["args"] = call_arguments(part)
        if kind == "thinking":
            fields.setdefault("provider_name", "unknown")
        if finished:
            writer.add_part(kind, fields)
        else:
            writer.open_part(kind, fields, None)
    names = ("model_name", "provider_name", "provider_response_id")
    facts = {k: message.get(k) for k in names}
    writer.set_facts({**facts, "finish_reason": normalize_finish_reason(message.get("finish_reason")), "usage": counts})
    if finished:
        writer.finish_response()


def _request(writer: JournalWriter, message: Mapping[str, Any], at: str, *, first: bool) -> None:
    prompts = []
    for part in message.get("parts") or ():
        kind = part.get("part_kind")
        if kind in ("tool-return", "retry-prompt") and part.get("tool_call_id"):
            written = return_part(part, str(part.get("tool_name") or ""))
            call_id = str(part["tool_call_id"])
            if written is not None and writer.call_key(call_id) is not None and not writer.has_return(call_id):
                writer.add_return(call_id, *written, at)
                for name, data in data_events(part.get("metadata")):
                    writer.add_event(Event(name=name, data=data, at=at))
        elif kind == "user-prompt" and not first:
            prompts.append({"part_kind": kind, "content": part.get("content")})
    if prompts:
        writer.add_prompt(prompts, at)
