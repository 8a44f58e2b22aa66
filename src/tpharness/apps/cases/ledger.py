"""Cases that only a tool of the ledger can play: held before its effect, ended before or after another, odd answers.

In: a tool that may be called, None for none, and a word that makes call ids unique. Out: cases.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.cases.basic import ASK, next_turn, run_plans
from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Need, Turn
from tpharness.apps.cases.own import two_plans
from tpharness.apps.effects import ToolAnswer

__all__ = ["ledger_cases"]

_TOOL = frozenset({Need.TOOL})
_LENGTH = 200_000
_FAILS = ToolAnswer(failure="The booking system is not available.")


def ledger_cases(tool: CaseTool | None, call_id: str) -> tuple[AppCase, ...]:
    """Return the cases."""
    return (*_held_cases(tool, call_id), _last_first(tool, call_id), *_odd_answers(tool, call_id))


def _held_cases(tool: CaseTool | None, call_id: str) -> Iterator[AppCase]:
    """Yield a tool that is cut before its effect, alone, and beside or behind one that has ended."""
    cuts = {
        "before-effect": ("while a tool runs that has not had its effect yet", run_plans, False),
        "one-of-two-ended": ("when one of two tools has ended, before the other one's effect", two_plans, True),
    }
    ways = {
        "user-leaves": ("The user closes the tab", CutBy.LEAVE, _TOOL),
        "stop-button": ("The user presses the stop button", CutBy.STOP, _TOOL | {Need.STOP}),
    }
    for name, (when, plans, one_ends) in cuts.items():
        for theme, (who, by, needs) in ways.items():
            cut = Cut(by=by, in_tool=True, before_effect=True, one_ends=one_ends)
            first = Turn(says=ASK, plans=plans(tool, call_id), cut=cut)
            yield AppCase(
                id=f"{theme}/{name}",
                title=f"{who} {when} (with the ledger)",
                turns=(first, next_turn()) if tool is not None else (),
                needs=needs,
            )


def _last_first(tool: CaseTool | None, call_id: str) -> AppCase:
    """Return two calls in one answer of which the second ends first: results belong to calls, not to places."""
    plans = two_plans(tool, call_id)
    return AppCase(
        id="uncut/second-call-ends-first",
        title="Nothing is cut: of two calls at once the second ends first (with the ledger)",
        turns=(Turn(says=ASK, plans=plans, last_first=True), next_turn()) if plans else (),
        needs=_TOOL,
    )


def _odd_answers(tool: CaseTool | None, call_id: str) -> Iterator[AppCase]:
    """Yield tools that return nothing, or very much, or that fail, alone and beside one that does not."""
    one, two = run_plans(tool, call_id), two_plans(tool, call_id)
    cases = {
        "tool-returns/empty-text": ("The tool returns a text without a letter", one, (ToolAnswer(result=""),)),
        "tool-returns/nothing": ("The tool returns null", one, (ToolAnswer(result=None),)),
        "tool-returns/very-much": (
            f"The tool returns {_LENGTH:,} letters",
            one,
            (ToolAnswer(result={"booked": True, "terms": "The terms. " * (_LENGTH // 11)}),),
        ),
        "tool-fails/with-an-error": ("The tool fails", one, (_FAILS,)),
        "tool-fails/one-of-two": ("Of two calls at once the tool of the first fails", two, (_FAILS,)),
    }
    for name, (title, plans, answers) in cases.items():
        yield AppCase(
            id=name,
            title=f"{title} (with the ledger)",
            turns=(Turn(says=ASK, plans=plans, tools=answers), next_turn()) if tool is not None else (),
            needs=_TOOL,
        )
