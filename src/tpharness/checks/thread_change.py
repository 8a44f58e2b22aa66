"""A difference and the two threads that it is of → the change, where the rest of a thread says why. Pure.

In: the side that is wrong, the one that is right, and the first difference between their threads. Out: a sentence with
the rule that decides, "" where the difference says enough by itself. Loaded where a side is wrong, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.checks.contract import Side, Thread
from tpharness.checks.list_change import at_path
from tpharness.checks.outline_change import regrouping
from tpharness.findings import shorten
from tpharness.protocol.diff import ThreadDifference, held_words
from tpharness.protocol.versions import NORMATIVE_PREFIX, neutral_event_name
from tpharness.scenario.outline import outline

__all__ = ["change_of_threads"]


def change_of_threads(wrong: Side, right: Side, first: ThreadDifference) -> str:
    """Return what to change in the thread of the side that is wrong; "" where the difference alone says it."""
    if change := regrouping(outline(wrong.thread), outline(right.thread)):
        return f"in the {wrong.name}'s thread, {change}"
    held, steps = first.values.get(wrong.name), first.pointer.split("/")[1:]
    if right.name not in first.values and isinstance(held, Mapping):
        why = _why_without_its_call(wrong.thread, held) or _why_after_an_error(wrong, right, steps)
        return why and f"leave {held_words(held)} out of the {wrong.name}'s thread: {why}"
    if steps[-1] == "args" and wrong.name == "client" and len(first.values) == 2:
        return _change_of_a_refused_call(at_path(right.thread, steps[:-1]), right, held, first.values[right.name])
    return ""


def _why_without_its_call(thread: Thread, held: Mapping[str, Any]) -> str:
    """Return why an output of the provider must not be there, if its call is not there either."""
    call = held.get("tool_call_id")
    calls = (part.get("tool_call_id") for part in _parts(thread) if part.get("part_kind") == "builtin-tool-call")
    if held.get("part_kind") != "builtin-tool-return" or call in calls:
        return ""
    return (
        f"no call has the `tool_call_id` {shorten(call, 60)}; an output goes with its call, and where that was taken "
        "back (`reset-step`) or dropped its id names none (R42, R36)"
    )


def _why_after_an_error(wrong: Side, right: Side, steps: list[str]) -> str:
    """Return why a message must not be there, if it came after the error that interrupted its turn."""
    reason = at_path(right.thread, [*steps[:2], "interruption", "reason"])
    if wrong.name != "client" or steps[2:3] != ["messages"] or len(steps) != 4 or reason != "error":
        return ""
    before = (at_path(wrong.thread, steps[:3]) or ())[: int(steps[3])]
    if not any(neutral_event_name(str(message.get("event_type"))) == f"{NORMATIVE_PREFIX}error" for message in before):
        return ""
    return (
        "it came after the error that interrupted the turn, and what comes after an error counts only if a `finish` "
        "follows that does not say `error` (R27)"
    )


def _change_of_a_refused_call(call: Any, right: Side, held: Any, args: Any) -> str:
    """Return which input is kept, if the call has one and was refused with another one behind it."""
    refused = call and any(
        part.get("tool_call_id") == call.get("tool_call_id")
        and (part.get("part_kind") == "retry-prompt" or part.get("status") == "validation_error")
        for part in _parts(right.thread)
    )
    if not refused or held not in (None, "", {}):
        return ""
    return (
        f"keep the input with which the call became available: `args` {shorten(args, 60)}, not {shorten(held, 60)}: a "
        "`tool-input-error` behind it answers the call, and its `input` changes nothing (R22, R36)"
    )


def _parts(thread: Thread) -> Iterator[Mapping[str, Any]]:
    for turn in thread["turns"]:
        for message in turn.get("messages") or ():
            yield from message.get("parts") or ()
