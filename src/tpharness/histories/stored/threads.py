"""Stored threads: the least change that makes one keep the rules of its version.

In: a value that has a thread's shape. Out: the thread, and the changes. Its findings are those of `check_thread`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tpharness.findings import Kind
from tpharness.histories.stored import problems as p
from tpharness.histories.stored.arguments import are_half, read_object, without_time
from tpharness.histories.stored.sequence import NO_RESULT, Change, Repairing, StoredMessage, StoredPart
from tpharness.protocol import problems as of_threads

__all__ = ["repair_thread"]

_ANSWERS = ("tool-return", "retry-prompt")
_SHOWN: Mapping[str, Kind] = {
    p.CALL_TWICE.code: of_threads.OPEN_TWICE,
    p.ANSWER_TWICE.code: of_threads.TWICE,
    p.ORPHAN.code: of_threads.ORPHAN,
    p.MISPLACED.code: of_threads.LATE_RETURN,
    p.UNORDERED.code: of_threads.CALL_ORDER,
    p.UNANSWERED.code: of_threads.INCOMPLETE,
    p.EMPTY.code: of_threads.EMPTY_MESSAGE,
    p.HALF_ARGUMENTS.code: of_threads.UNPARSED_ARGS,
}
"""What these are called in a thread."""


def repair_thread(thread: Mapping[str, Any], *, drop_results: bool = False) -> tuple[dict[str, Any], list[Change]]:
    """Return the thread without what can be mended, and the changes."""
    changes: list[Change] = []
    turns = [_mended_turn(turn, f"/turns/{t}", changes) for t, turn in enumerate(thread["turns"])]
    turns = _without_repeated_input(turns, changes)
    sequence = [one for t, turn in enumerate(turns) for one in _sequence(turn, t)]
    repairing = Repairing(sequence, close=_closed, drop_results=drop_results)
    changes += [_as_of_threads(change, turns) for change in repairing.changes]
    kept: dict[int, list[StoredMessage]] = {t: [] for t in range(len(turns))}
    for message in repairing.messages:
        kept[message.turn].append(message)
    made = []
    for t, turn in enumerate(turns):
        written = _written(turn, kept[t])
        if written is not None:
            made.append(written)
        else:
            done = "left out"
            changes.append(Change(kind=of_threads.EMPTY_TURN, pointer=f"/turns/{t}", done=done, ruling="R24"))
    return {**thread, "turns": made}, changes


def _as_of_threads(change: Change, turns: list[dict[str, Any]]) -> Change:
    """Return a change under the name that it has in a thread, where a call may be left open at the end of a turn."""
    turn = turns[int(change.pointer.split("/")[2])]
    if change.kind is p.UNANSWERED and turn.get("completion_status") == "complete":
        return replace(change, kind=of_threads.LEFT_BEHIND)
    return replace(change, kind=_SHOWN.get(change.kind.code, change.kind))


def _closed(call: StoredPart) -> dict[str, Any]:
    named: Any = {"tool_name": call.tool, "tool_call_id": call.call_id}
    return {"part_kind": "tool-return", **named, "status": "error", "content": NO_RESULT}


def _mended_turn(turn: Mapping[str, Any], pointer: str, changes: list[Change]) -> dict[str, Any]:
    """Return a turn with its end, without system prompts, and with arguments that are objects."""
    if turn.get("turn_type") != "agent" or not isinstance(turn.get("messages"), list):
        return dict(turn)
    made = dict(turn)
    messages = []
    for m, message in enumerate(turn["messages"]):
        parts = message.get("parts")
        if isinstance(parts, list):
            mended = [
                part
                for k, old in enumerate(parts)
                if (part := _mended_part(old, f"{pointer}/messages/{m}/parts/{k}", changes)) is not None
            ]
            messages.append({**message, "parts": mended})
        else:
            messages.append(message)
    made["messages"] = messages
    times = [message["timestamp"] for message in messages if isinstance(message.get("timestamp"), str)]
    end = times[-1] if times else turn.get("started_at")
    if made.get("completion_status") == "complete" and made.get("completed_at") is None and isinstance(end, str):
        made["completed_at"] = end
        done = f"completed_at is {end}, the time of its last message"
        kind = Kind.of_report("complete-turn-without-end")
        changes.append(Change(kind=kind, pointer=pointer, done=done, ruling="R19"))
    return made


def _mended_part(part: Mapping[str, Any], pointer: str, changes: list[Change]) -> Mapping[str, Any] | None:
    kind, arguments = part.get("part_kind"), part.get("args")
    if kind == "system-prompt":
        changes.append(Change(kind=of_threads.SYSTEM_PROMPT, pointer=pointer, done="left out", ruling="R8"))
        return None
    if kind in ("tool-call", "builtin-tool-call") and isinstance(arguments, str):
        whole = read_object(arguments)
        if whole is not None:
            place = f"{pointer}/args"
            done = "the text parsed"
            changes.append(Change(kind=of_threads.TEXT_ARGS, pointer=place, done=done, got=arguments, ruling="R12"))
            return {**part, "args": whole}
    return part


def _without_repeated_input(turns: list[dict[str, Any]], changes: list[Change]) -> list[dict[str, Any]]:
    """R9: leave out the request at the beginning of a turn that repeats the user turn before it."""
    made: list[dict[str, Any]] = []
    for t, turn in enumerate(turns):
        before = turns[t - 1] if t else {}
        messages = turn.get("messages")
        if turn.get("turn_type") == "agent" and before.get("turn_type") == "user" and messages:
            first = next((m for m, one in enumerate(messages) if one.get("message_type") != "system"), None)
            if first is not None and messages[first].get("message_type") == "request":
                parts = messages[first].get("parts")
                if parts and parts == before.get("parts"):
                    place = f"/turns/{t}/messages/{first}"
                    changes.append(Change(kind=of_threads.REPEATED, pointer=place, done="left out", ruling="R9"))
                    made.append({**turn, "messages": [*messages[:first], *messages[first + 1 :]]})
                    continue
        made.append(turn)
    return made


def _sequence(turn: Mapping[str, Any], t: int) -> list[StoredMessage]:
    place = f"/turns/{t}"
    if turn.get("turn_type") != "agent":
        parts = [_read(part, f"{place}/parts/{k}") for k, part in enumerate(turn.get("parts") or ())]
        return [StoredMessage(kind="request", pointer=place, raw=turn, parts=parts, turn=t)]
    cut = turn.get("completion_status") == "interrupted"
    made = []
    for m, message in enumerate(turn.get("messages") or ()):
        pointer = f"{place}/messages/{m}"
        if message.get("message_type") == "system":
            event = [StoredPart(kind="other", pointer=pointer, raw=message)]
            made.append(StoredMessage(kind="request", pointer=pointer, raw=message, parts=event, turn=t))
            continue
        parts = [_read(part, f"{pointer}/parts/{k}") for k, part in enumerate(message.get("parts") or ())]
        kind: Any = "response" if message.get("message_type") == "response" else "request"
        time = str(message.get("timestamp") or "")
        made.append(
            StoredMessage(kind=kind, pointer=pointer, raw=message, parts=parts, time=time, must_answer=cut, turn=t)
        )
    return made


def _read(part: Mapping[str, Any], pointer: str) -> StoredPart:
    kind = part.get("part_kind")
    if kind == "tool-call":
        arguments = part.get("args")
        identity = (part.get("tool_name"), repr(arguments))
        half = isinstance(arguments, Mapping) and are_half(arguments)
        named: Any = {"call_id": str(part.get("tool_call_id")), "tool": str(part.get("tool_name"))}
        return StoredPart(kind="call", pointer=pointer, raw=part, half=half, identity=identity, **named)
    if kind in _ANSWERS and part.get("tool_call_id") is not None:
        failed = kind == "retry-prompt" or part.get("status", "success") != "success"
        said: Any = {
            "tool": str(part.get("tool_name") or ""),
            "content": part.get("content"),
            "identity": without_time(part),
        }
        call_id = str(part["tool_call_id"])
        return StoredPart(kind="answer", pointer=pointer, raw=part, call_id=call_id, failed=failed, **said)
    text = str(part.get("content") or "") if kind == "text" else ""
    return StoredPart(kind="prompt" if kind == "user-prompt" else "other", pointer=pointer, raw=part, text=text)


def _written(turn: Mapping[str, Any], messages: list[StoredMessage]) -> dict[str, Any] | None:
    """Return the turn with the messages that are kept, None for an interrupted one that keeps nothing (R24)."""
    if turn.get("turn_type") != "agent":
        parts = [part.raw for message in messages for part in message.parts]
        return {**turn, "parts": parts} if messages else dict(turn)
    made = []
    for message in messages:
        if message.raw.get("message_type") == "system":
            made.append(message.raw)
        elif message.made:
            of_response = {name: made[-1][name] for name in ("timestamp", "agent_id") if name in made[-1]}
            of_response |= {"timestamp": message.time} if message.time else {}
            parts = [part.raw for part in message.parts]
            made.append({"message_type": "request", **of_response, "parts": parts})
        else:
            made.append({**message.raw, "parts": [part.raw for part in message.parts]})
    if turn.get("completion_status") == "interrupted" and not made and turn.get("messages") is not None:
        return None
    return {**turn, "messages": made}
