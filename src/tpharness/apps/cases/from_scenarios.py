"""Cases out of scenarios: what the model of a scenario says, with the application's own tool in place of its tools.

In: a scenario, and the tool that may be called. Out: a case. A run is split at its tool returns. Each response becomes
a plan with one piece for each event; calls become calls of the application's tool with its own arguments, and the
results are whatever that tool returns. The place of an interruption is kept: a piece, or a running tool. What cannot be
done to an application is not applicable, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from tpharness.apps.cases.arguments import cut_arguments
from tpharness.apps.cases.basic import arguments_text, next_turn
from tpharness.apps.cases.case import AppCase, CaseTool, Cut, CutBy, Need, Turn
from tpharness.model_apis.plan import Break, Call, Finish, Plan, Text, Thinking
from tpharness.run.select import select_scenarios
from tpharness.scenario import AgentRun, Interrupt, Scenario, UserInput, load_scenario

__all__ = ["read_cases", "scenario_case"]

_CUTS = {"user_cancelled": CutBy.LEAVE, "network_failure": CutBy.LEAVE, "error": CutBy.MODEL}
_IGNORED = frozenset(
    {"part_end", "final_result", "function_tool_result", "tool_progress", "agent_run_result", "stall", "model_request"}
)
_UNPLAYABLE = {
    "agent_start": "it hands over to another agent, which only the application can do",
    "system_event": "it has events of the server, which only the application can send",
    "custom": "it has events of the server, which only the application can send",
    "enqueued_messages": "it puts messages into a run, which only the application can do",
    "deferred_tool_requests": "it defers tools, which only the application can do",
    "output_tool_call": "it ends with an output tool, which is the application's own",
    "response_reset": "it takes a response back, which no model API can",
}
_FINISHES = {
    "stop": Finish.STOP,
    "length": Finish.LENGTH,
    "content_filter": Finish.CONTENT_FILTER,
    "tool_call": Finish.STOP,
}


class _NotPlayableError(Exception):
    """A scenario that cannot be played on an application; the text says why."""


@dataclass(slots=True, kw_only=True)
class _Item:
    """A part of a response while its events are read: its kind, and a piece for each event."""

    kind: str
    pieces: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class _Answer:
    """A response while its events are read."""

    items: list[_Item] = field(default_factory=list)
    finish: Finish = Finish.STOP
    ended: bool = False
    fails: bool = False

    @property
    def count(self) -> int:
        """How many pieces there are so far."""
        return sum(len(item.pieces) for item in self.items)


def read_cases(paths: Sequence[Path], tool: CaseTool | None) -> Iterator[tuple[str, str, Callable[[str], AppCase]]]:
    """Yield of each scenario in files or folders its id, its title, and what makes its case with ids of calls."""
    for one in select_scenarios((), paths):
        scenario = load_scenario(one.path, root=one.root)
        yield scenario.id, scenario.description, partial(scenario_case, scenario, tool)


def scenario_case(scenario: Scenario, tool: CaseTool | None, call_id: str) -> AppCase:
    """Return the case of a scenario; `not_applicable` says why where there is none."""
    case = AppCase(id=scenario.id, title=scenario.description, turns=())
    try:
        turns = _turns(scenario, tool, call_id)
    except _NotPlayableError as error:
        return replace(case, not_applicable=str(error))
    needs = {Need.TOOL} if any(plan.calls for turn in turns for plan in turn.plans) else set()
    if any(turn.cut is not None and turn.cut.in_tool for turn in turns):
        needs.add(Need.SLOW_TOOL)
    return replace(case, turns=(*turns, next_turn()), needs=frozenset(needs))


def _turns(scenario: Scenario, tool: CaseTool | None, call_id: str) -> list[Turn]:
    turns: list[Turn] = []
    says: str | None = None
    for turn in scenario.turns:
        if isinstance(turn, UserInput):
            says = _words(turn)
        elif says is None:
            raise _NotPlayableError("a run follows another without a message of the user, which is a hand-over")
        else:
            turns.append(_turn(says, turn, tool, f"{call_id}_{len(turns)}"))
            says = None
    if not turns:
        raise _NotPlayableError("it has no run of a model")
    return turns


def _words(turn: UserInput) -> str:
    contents = [part.get("content") for part in turn.parts]
    if not all(isinstance(content, str) for content in contents):
        raise _NotPlayableError("the user sends files, which the request profiles do not")
    return " ".join(str(content) for content in contents) or "…"


def _turn(says: str, run: AgentRun, tool: CaseTool | None, call_id: str) -> Turn:
    if run.events is None:
        raise _NotPlayableError("it has no side of the server: only bytes of the client's stream")
    answers, places = _read(run.events)
    plans = [_plan(answer, tool, f"{call_id}_{number}") for number, answer in enumerate(answers)]
    if not plans:
        raise _NotPlayableError("its model says nothing")
    cut = None
    if run.interrupt is not None:
        plans, cut = _cut(plans, answers, places, run.interrupt)
    elif answers[-1].fails:
        last = plans[-1]
        plans[-1] = replace(last, breaks=Break.ERROR, break_at=last.piece_count)
        cut = Cut(by=CutBy.MODEL, request=len(plans) - 1)
    return Turn(says=says, plans=tuple(plans), cut=cut)


def _read(events: Sequence[Mapping[str, Any]]) -> tuple[list[_Answer], list[tuple[int, int]]]:
    """Return the responses, and for each number of events what had come: how many responses, pieces of the last."""
    answers: list[_Answer] = []
    places = [(0, 0)]
    for event in events:
        kind = str(event["event_kind"])
        if kind in _UNPLAYABLE:
            raise _NotPlayableError(_UNPLAYABLE[kind])
        if kind == "part_start":
            if not answers or answers[-1].ended:
                answers.append(_Answer())
            _start(answers[-1], event["part"])
        elif kind == "part_delta" and answers:
            delta = event["delta"]
            piece = delta.get("content_delta") or delta.get("args_delta")
            item = answers[-1].items[-1]
            if isinstance(piece, str) and piece:
                item.pieces.append(piece)
        elif kind == "model_response_end" and (not answers or answers[-1].ended):
            answers.append(_Answer(ended=True))  # a response without a single part
        elif kind in ("model_response_end", "function_tool_call") and answers:
            answers[-1].ended = True
            answers[-1].finish = _FINISHES.get(str(event.get("finish_reason")), answers[-1].finish)
        elif kind == "error" and answers:
            answers[-1].fails = True
        elif kind not in _IGNORED:
            raise _NotPlayableError(f"it has an event {kind}, which no model API sends")
        places.append((len(answers), answers[-1].count if answers else 0))
    return answers, places


def _start(answer: _Answer, part: Mapping[str, Any]) -> None:
    kind = str(part.get("part_kind"))
    if kind not in ("text", "thinking", "tool-call"):
        raise _NotPlayableError(f"its model sends a part {kind}, which the plans of the model APIs do not have")
    content = part.get("args") if kind == "tool-call" else part.get("content")
    text = content if isinstance(content, str) else json.dumps(content) if content is not None else ""
    answer.items.append(_Item(kind=kind, pieces=[text] if text else []))


def _plan(answer: _Answer, tool: CaseTool | None, call_id: str) -> Plan:
    items: list[Text | Thinking | Call] = []
    for number, item in enumerate(answer.items):
        if item.kind == "text":
            items.append(Text(pieces=tuple(item.pieces)))
        elif item.kind == "thinking":
            items.append(Thinking(pieces=tuple(item.pieces)))
        else:
            name = tool.name if tool is not None else "tool"
            calls = sum(isinstance(earlier, Call) for earlier in items)
            pieces = _own_arguments(tool, max(1, len(item.pieces)), other=calls % 2 == 1)
            items.append(Call(call_id=f"{call_id}_{number}", name=name, pieces=pieces))
    return Plan(items=tuple(items), finish=answer.finish)


def _own_place(answer: _Answer, plan: Plan, pieces: int) -> int:
    """Return how many pieces of the plan stand for so many of the response: a call's own arguments are cut otherwise.

    A place inside the arguments stays inside them.
    """
    place = 0
    for item, own in zip(answer.items, plan.items, strict=True):
        said, count = len(item.pieces), len(own.pieces)
        if pieces >= said:
            place, pieces = place + count, pieces - said
            continue
        inside = pieces if item.kind != "tool-call" else min(max(count - 1, 1), -(-pieces * count // said))
        return place + (inside if pieces else 0)
    return place


def _own_arguments(tool: CaseTool | None, count: int, *, other: bool) -> tuple[str, ...]:
    """Return the text of the tool's own arguments in that many pieces, or fewer where it is short.

    Every second call of an answer has the `other` ones, so that results that change places are seen.
    """
    text = "{}" if tool is None else arguments_text(tool, other=other)
    return cut_arguments(text, length=max(1, -(-len(text) // count)))[0] if count > 1 else (text,)


def _cut(
    plans: list[Plan], answers: list[_Answer], places: list[tuple[int, int]], interrupt: Interrupt
) -> tuple[list[Plan], Cut | None]:
    """Return the plans with the hold or the break of an interruption, and the cut."""
    by = _CUTS.get(interrupt.reason)
    if interrupt.reason == "safety_halt":
        return [*plans[:-1], replace(plans[-1], finish=Finish.CONTENT_FILTER)], None
    if by is None:
        raise _NotPlayableError(f"it is interrupted by {interrupt.reason}, which only the application can decide")
    happened = interrupt.server_after if interrupt.server_after is not None else len(places) - 1
    count, pieces = places[min(happened, len(places) - 1)]
    request = max(0, count - 1)
    plan, answer = plans[request], answers[request]
    whole = count > 0 and answer.ended and pieces >= answer.count
    if whole and plan.calls and by is CutBy.LEAVE:
        return plans, Cut(by=by, request=request, in_tool=True)
    if whole and request + 1 < len(plans):
        request, plan, pieces = request + 1, plans[request + 1], 0
    else:
        pieces = _own_place(answer, plan, pieces)
    piece = min(pieces, plan.piece_count)
    changed = replace(plan, hold_at=piece)
    if by is CutBy.MODEL:
        changed = replace(changed, breaks=Break.ERROR, break_at=piece)
        return [*plans[:request], changed], Cut(by=by, request=request)
    return [*plans[:request], changed, *plans[request + 1 :]], Cut(by=by, request=request)
