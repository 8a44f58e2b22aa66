"""When the tools of an application ran in a traced case, beside what its user and its model did. Pure.

In: a case of a trace. Out: moments in order, each with words for people: the model is asked and has answered, a tool
starts, has its effect and ends, the user leaves, which results the model is sent then, and which of its calls it is not
sent any more. Nothing where no tool of the ledger ran: when others run cannot be seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.findings import shorten
from tpharness.ordinals import nth
from tpharness.trace.read import TracedCase

__all__ = ["ToolMoment", "tool_moments"]

ToolMoment = tuple[float, str]
"""Seconds since the case began, and what happened."""

_MOST_TEXT = 60


def tool_moments(case: TracedCase) -> list[ToolMoment]:
    """Return the moments of a case in which a tool of the ledger ran, in order; none of another case."""
    if not case.tools:
        return []
    return sorted([*_of_the_model(case), *_of_the_tools(case), *_of_the_user(case)], key=lambda moment: moment[0])


def _of_the_model(case: TracedCase) -> Iterator[ToolMoment]:
    known: set[str] = set()
    made: list[str] = []
    for asked in case.asked:
        name = f"{nth(asked['turn'] - 1, 'turn')}, request {asked['number']}"
        results = [one for line in asked["told"] for one in line.get("results", ())]
        new = [f"{one['id']}: {shorten(str(one['content']), _MOST_TEXT)}" for one in results if one["id"] not in known]
        known |= {one["id"] for one in results}
        sent = {call["id"] for line in asked["told"] for call in line.get("calls", ())}
        gone = [call_id for call_id in made if call_id not in sent]
        made = [*(call_id for call_id in made if call_id in sent), *(call["id"] for call in asked["calls"])]
        with_results = f", with the result of {'; '.join(new)}" if new else ""
        without_calls = f", without the call {', '.join(gone)}" if gone else ""
        yield asked["t"], f"{name} to the model{with_results}{without_calls}"
        if "ended" in asked:
            calls = ", ".join(f"{call['name']} ({call['id']})" for call in asked["calls"])
            ended = "" if asked["outcome"] == "completed" else f" ({asked['outcome']})"
            yield asked["ended"], f"{name} is answered{ended}" + (f", with a call of {calls}" if calls else "")


def _of_the_user(case: TracedCase) -> Iterator[ToolMoment]:
    for turn in case.turns:
        if "cut" in turn:
            yield turn["cut"]["t"], f"CUT {turn['cut']['by']}"


def _of_the_tools(case: TracedCase) -> Iterator[ToolMoment]:
    for run in case.tools:
        name = f"run {run['number']} of {run['tool']}"
        call = f", of the call {run['call_id']}" if "call_id" in run else ""
        steps = (("started", f"{name} starts{call}"), ("effect", f"{name} has its effect"))
        for key, words in (*steps, ("ended", f"{name} is {run['state']}")):
            if key in run:
                yield run[key], words
