"""Long chats, of which an application may tell its model only the end: many turns, and many steps in one turn.

In: a tool that may be called, None for none, and a word that makes call ids unique. Out: cases. The turns have so many
calls that each window of 3 to 23 messages, with the current turn or in front of it, once begins between a call and its
result.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.cases.arguments import cut_arguments
from tpharness.apps.cases.basic import arguments_text, next_turn
from tpharness.apps.cases.case import AppCase, CaseTool, Need, Turn
from tpharness.model_apis.plan import Call, Plan, Text

__all__ = ["long_cases"]

_CALLS = (2, 2, 0, 1, 0, 1, 0, 0)  # of each turn
_STEPS = 8


def long_cases(tool: CaseTool | None, call_id: str) -> Iterator[AppCase]:
    """Yield the cases; one of many turns is there without a tool, too."""
    yield AppCase(
        id="long-chat/many-turns",
        title=f"Nothing is cut: the chat has {len(_CALLS)} turns, and one more",
        turns=(*(_turn(number, count, tool, call_id) for number, count in enumerate(_CALLS, 1)), next_turn()),
        long=True,
    )
    steps = [*(_step(number, tool, call_id) for number in range(1, _STEPS + 1)), _words("All steps", 0)]
    yield AppCase(
        id="long-chat/many-steps",
        title=f"Nothing is cut: the model calls a tool in {_STEPS} steps, one after the other",
        turns=(Turn(says="Please go on step by step.", plans=tuple(steps)), next_turn()) if tool is not None else (),
        needs=frozenset({Need.TOOL}),
        long=True,
    )


def _turn(number: int, count: int, tool: CaseTool | None, call_id: str) -> Turn:
    calls = () if tool is None else tuple(_calls(tool, f"{call_id}_{number}", count=count))
    plans = ([Plan(items=calls)] if calls else []) + [_words("Errand", number)]
    return Turn(says=f"Please run errand {number}.", plans=tuple(plans))


def _step(number: int, tool: CaseTool | None, call_id: str) -> Plan:
    return Plan(items=() if tool is None else tuple(_calls(tool, f"{call_id}_{number}", count=1)))


def _calls(tool: CaseTool, call_id: str, *, count: int) -> Iterator[Call]:
    for end in "ab"[:count]:
        pieces, _ = cut_arguments(arguments_text(tool, other=end == "b"))
        yield Call(call_id=f"{call_id}{end}", name=tool.name, pieces=pieces)


def _words(what: str, number: int) -> Plan:
    return Plan(items=(Text(pieces=(f"{what} ", f"{number} ", "is done.")),))
