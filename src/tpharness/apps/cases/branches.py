"""Cases in which the user replaces a part of the chat: asks for another answer, or edits a message and sends it again.

In: the answers of a run, and whether they call a tool. Out: cases. What was replaced is not sent to the model again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.cases.basic import ANSWER, ASK, INTRODUCTION, next_turn
from tpharness.apps.cases.case import AppCase, Cut, CutBy, Need, Turn
from tpharness.model_apis.plan import Plan, Text

__all__ = ["branch_cases"]

_EDITED = "Please do it another way."
_ANOTHER = Plan(items=(Text(pieces=("This time ", "it is ", "a whole answer.")),))


def branch_cases(plans: tuple[Plan, ...]) -> Iterator[AppCase]:
    """Yield the cases; those of `plans` call the tool that may be called, if there is one."""
    text = Plan(items=(Text(pieces=INTRODUCTION + ANSWER),), hold_at=len(INTRODUCTION) // 2)
    cut = Turn(says=ASK, plans=(text,), cut=Cut(by=CutBy.LEAVE))
    whole = Turn(says=ASK, plans=plans)
    again = Turn(says=ASK, plans=(_ANOTHER,), again=True)
    edited = Turn(says=_EDITED, plans=(_ANOTHER,), edits=1)
    cases = {
        "regenerate/in-text": (
            "The connection of the user breaks in the text, and the user asks for another answer",
            (cut, again),
        ),
        "regenerate/whole-answer": ("The user asks for another answer in place of a whole one", (whole, again)),
        "edit/in-text": (
            "The connection of the user breaks in the text, and the user edits the message",
            (cut, edited),
        ),
        "edit/first-message": (
            "The user edits the first of two messages that were answered",
            (whole, next_turn(), edited),
        ),
        "edit/last-message": (
            "The user edits the second of two messages that were answered",
            (whole, next_turn(), replace(edited, edits=2)),
        ),
    }
    for name, (title, turns) in cases.items():
        need = Need.EDIT if name.startswith("edit/") else Need.REGENERATE
        yield AppCase(id=name, title=title, turns=(*turns, next_turn()), needs=frozenset({need}))
