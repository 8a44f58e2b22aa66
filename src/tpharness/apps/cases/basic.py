"""The nine basic cases: an uncut run, an error status, the user leaves in four places, the model's connection in three.

In: a tool that may be called, None for none, and a word that makes call ids unique. Out: cases. Each ends with one more
turn of the user, since only there can be seen what the application has kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.cases.arguments import cut_arguments
from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Need, Turn
from tpharness.model_apis.plan import Break, Call, Plan, Text

__all__ = [
    "ANSWER",
    "ASK",
    "FOLLOW_UP",
    "INTRODUCTION",
    "arguments_text",
    "basic_cases",
    "cut_cases",
    "next_turn",
    "run_plans",
    "with_turn_after_next",
]

ASK = "Please do it for me."
FOLLOW_UP = "And what have you done so far?"
INTRODUCTION = ("I will ", "see to ", "that right ", "away. ")
ANSWER = ("All of it ", "is done ", "and confirmed ", "with number 4711.")
_LATER = ("So far ", "I have told ", "you everything.")
_THANKS = "Thank you. What comes after that?"
_AFTER_NEXT = ("After that ", "there is nothing ", "left to do.")
_STATUS = 400  # a status that no SDK repeats the request for


def next_turn(says: str = FOLLOW_UP) -> Turn:
    """Return a turn in which nothing is cut and no tool is called."""
    return Turn(says=says, plans=(Plan(items=(Text(pieces=_LATER),)),))


def with_turn_after_next(case: AppCase) -> AppCase:
    """Return a case that is cut with one more turn, on a page that is loaded anew; any other case as it is.

    What an interruption leaves in a history may show only when the next turn has been stored behind it.
    """
    if all(turn.cut is None for turn in case.turns):
        return case
    last = Turn(says=_THANKS, plans=(Plan(items=(Text(pieces=_AFTER_NEXT),)),), reloads=True)
    return replace(case, turns=(*case.turns, last))


def run_plans(tool: CaseTool | None, call_id: str) -> tuple[Plan, ...]:
    """Return the answers of a run: a text and a call, then the answer; without a tool one text."""
    if tool is None:
        return (Plan(items=(Text(pieces=INTRODUCTION + ANSWER),)),)
    pieces, _ = cut_arguments(arguments_text(tool))
    return (
        Plan(items=(Text(pieces=INTRODUCTION), Call(call_id=call_id, name=tool.name, pieces=pieces))),
        Plan(items=(Text(pieces=ANSWER),)),
    )


def arguments_text(tool: CaseTool, *, other: bool = False) -> str:
    """Return the arguments of a tool as the JSON text that the model says; the `other` ones for a second call."""
    args = tool.other_args if other and tool.other_args is not None else tool.args
    return json.dumps(args, ensure_ascii=False, separators=(",", ":"))


def basic_cases(tool: CaseTool | None, call_id: str) -> tuple[AppCase, ...]:
    """Return the nine cases. Those that call a tool are there without one, too, and another uncut run is played."""
    plans = run_plans(tool, call_id)
    uncut = AppCase(
        id="uncut/tool-call",
        title="Nothing is cut: the model calls a tool and answers",
        turns=(Turn(says=ASK, plans=plans), next_turn()),
        needs=frozenset({Need.TOOL}),
    )
    text = replace(uncut, id="uncut/text", title="Nothing is cut: the model answers", needs=frozenset())
    return (
        *([uncut] if tool is not None else [text, replace(uncut, turns=())]),
        AppCase(
            id="model-fails/error-status",
            title="The model's API answers with an error status",
            turns=(
                Turn(says=ASK, plans=(Plan(breaks=Break.STATUS, status=_STATUS),), cut=Cut(by=CutBy.MODEL)),
                next_turn(),
            ),
        ),
        *cut_cases("user-leaves", "The user closes the tab", CutBy.LEAVE, plans, tool),
        *cut_cases("model-drops", "The connection to the model breaks", CutBy.MODEL, plans, tool),
    )


def cut_cases(theme: str, who: str, by: CutBy, plans: tuple[Plan, ...], tool: CaseTool | None) -> Iterator[AppCase]:
    """Yield the cases of one kind of cut: in the text, in the arguments, while a tool runs, in the answer."""
    texts = len(INTRODUCTION)
    arguments = cut_arguments(arguments_text(tool))[1] if tool else 1
    places = {
        "in-text": ("while the model writes its text", 0, texts // 2, False),
        "in-arguments": ("while the model writes the arguments of a call", 0, texts + arguments, False),
        "while-tool-runs": ("while a tool runs", 0, None, True),
        "in-answer": ("while the model writes its answer after the tool", 1, len(ANSWER) // 2, False),
    }
    for name, (where, request, piece, in_tool) in places.items():
        if by is CutBy.MODEL and in_tool:
            continue  # no answer of the model streams then
        needs = (
            frozenset({Need.TOOL, *([Need.SLOW_TOOL] if in_tool else [])}) if name != "in-text" else frozenset[Need]()
        )
        case = AppCase(id=f"{theme}/{name}", title=f"{who} {where}", turns=(), needs=needs)
        if Need.TOOL in needs and tool is None:
            yield case
            continue
        yield replace(case, turns=(_cut_turn(plans, by, request, piece, in_tool=in_tool), next_turn()))


def _cut_turn(plans: tuple[Plan, ...], by: CutBy, request: int, piece: int | None, *, in_tool: bool) -> Turn:
    changed = list(plans)
    if piece is not None:
        changed[request] = replace(changed[request], hold_at=piece)
    if by is CutBy.MODEL:
        changed[request] = replace(changed[request], breaks=Break.RESET, break_at=piece or 0)
        changed = changed[: request + 1]
    return Turn(says=ASK, plans=tuple(changed), cut=Cut(by=by, request=request, in_tool=in_tool))
