"""Sweeps: the user leaves, or the model's connection breaks, after every piece of a run.

In: a tool that may be called, None for none, and a word that makes call ids unique. Out: a case for each piece of each
answer, called `…@piece-7` by its number in the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tpharness.apps.cases.basic import ASK, next_turn, run_plans
from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Need, Turn
from tpharness.model_apis.plan import Break, Plan

__all__ = ["sweep_cases"]

_KINDS = (
    ("user-leaves/every-piece", "The user closes the tab", CutBy.LEAVE),
    ("model-drops/every-piece", "The connection to the model breaks", CutBy.MODEL),
)


def sweep_cases(tool: CaseTool | None, call_id: str) -> tuple[AppCase, ...]:
    """Return the cases of both sweeps."""
    plans = run_plans(tool, call_id)
    return tuple(case for name, who, by in _KINDS for case in _swept(name, who, by, plans, tool))


def _swept(name: str, who: str, by: CutBy, plans: tuple[Plan, ...], tool: CaseTool | None) -> Iterator[AppCase]:
    before = 0
    for request, plan in enumerate(plans):
        for piece in range(1, plan.piece_count + 1):
            changed = replace(plan, hold_at=piece)
            later = plans[request + 1 :]
            if by is CutBy.MODEL:
                changed, later = replace(changed, breaks=Break.RESET, break_at=piece), ()
            number = before + piece
            yield AppCase(
                id=f"{name}@piece-{number}",
                title=f"{who} after piece {number} of the model's answers",
                turns=(
                    Turn(says=ASK, plans=(*plans[:request], changed, *later), cut=Cut(by=by, request=request)),
                    next_turn(),
                ),
                needs=frozenset({Need.TOOL}) if tool is not None else frozenset(),
            )
        before += plan.piece_count
