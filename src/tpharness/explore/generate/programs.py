"""Whole conversations as legal server events, each with places to interrupt it.

In: a source of choices. Out: a `Program`, that is a scenario in the long form and places of its last run. Everything in
it is legal: no fold may find anything at MUST in it. Calls are answered before the next model call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from tpharness.explore.generate.source import Source, flag, flag_on, many, one_of, shuffled
from tpharness.explore.generate.values import REASONS, TOOLS, json_value, object_value, text
from tpharness.protocol.versions import Version, newest_version
from tpharness.run.sweeps.places import CutPlace, cut_scenario
from tpharness.scenario import AgentRun, ClientCut, Compare, CutUnit, Scenario, Turn, UserInput, WireEnd

__all__ = ["Program", "cut_scenarios", "program"]

_START = datetime(2025, 1, 20, 10, tzinfo=UTC)
_AGENT = "assistant"
_AGENTS = {
    _AGENT: {
        "agent_id": _AGENT,
        "agent_name": "Assistant",
        "model_name": "test-model",
        "provider_name": "test",
        "created_at": "2025-01-20T10:00:00Z",
    }
}
_THREAD = "00000000-0000-4000-8000-000000000000"
_USAGE = {"input_tokens": 3, "output_tokens": 2}
_RESULTS: tuple[dict[str, Any], ...] = ({}, {"finish_reason": "stop"}, {"usage": _USAGE})
_EVENTS = ("data-app-note", "data-tp-note", "data-note", "meta:note")
_VERSIONS = (*((newest_version(),),) * 7, tuple(Version))


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A scenario, and places of its last run as (events on the server, events that the client saw, reason)."""

    scenario: Scenario
    cuts: tuple[tuple[int, int, str], ...]


def program(source: Source, *, carriers: bool = True) -> Program:
    """Return a program with up to three places to interrupt it."""
    writer = _Writer(source)
    turns: list[Turn] = []
    for _ in many(source, 1, 3, 2):
        turns.append(
            UserInput(
                parts=({"part_kind": "user-prompt", "content": text(source) or "?"},), submitted_at=_at(writer.tick())
            )
        )
        turns.append(writer.run())
    scenario = Scenario(
        id="fuzz/program",
        description="A generated program.",
        clauses=("sync.identity",),
        versions=one_of(source, _VERSIONS),
        compare=Compare.EXACT if carriers else Compare.CONTENT,
        carriers=carriers,
        thread_id=_THREAD,
        created_at="2025-01-20T10:00:00Z",
        agents=_AGENTS,
        turns=tuple(turns),
    )
    last = turns[-1]
    events = len(last.events or ()) if isinstance(last, AgentRun) else 0
    cuts = []
    for _ in many(source, 0, 3, 8):
        server = source.number(0, events)
        client = source.number(0, server) if flag(source, 4) else server
        cuts.append((server, client, one_of(source, REASONS)))
    return Program(scenario=scenario, cuts=tuple(sorted(cuts)))


def cut_scenarios(made: Program) -> list[Scenario]:
    """Return the scenarios that a program stands for: as it is, and interrupted at each of its places."""
    turn = len(made.scenario.turns) - 1
    found = [made.scenario]
    for server, client, reason in made.cuts:
        seen = None if client == server else ClientCut(unit=CutUnit.EVENT, count=client)
        wire = WireEnd.CUT if seen is not None else WireEnd.default_for(reason)
        place = CutPlace(turn=turn, reason=reason, wire=wire, server=server, client=seen)
        found.append(replace(cut_scenario(made.scenario, place), id=made.scenario.id))
    return found


@lru_cache(maxsize=4096)
def _at(tick: int) -> str:
    moment = (_START + timedelta(milliseconds=100 * tick)).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return (moment.rstrip("0").rstrip(".") if "." in moment else moment) + "Z"


class _Writer:
    """Writes runs, one after the other in time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tick = 0
        self._calls = 0
        self._log: list[dict[str, Any]] = []

    def tick(self) -> int:
        self._tick += 1
        return self._tick

    def run(self) -> AgentRun:
        """Return one run of the agent: model calls with what their tools return, and its result."""
        source = self._source
        started = _at(self.tick())
        self._log = []
        for _ in many(source, 1, 3, 2):
            self._maybe_event()
            self._emit("model_request", model_name="test-model", provider_name="test")
            calls = self._response()
            if not calls:
                continue
            self._returns(calls)
        self._maybe_event()
        if flag(source, 12):
            self._emit("error", error_text=text(source))
        self._emit("agent_run_result", **one_of(source, _RESULTS))
        return AgentRun(agent_id=_AGENT, started_at=started, events=tuple(self._log))

    def _emit(self, kind: str, **facts: Any) -> dict[str, Any]:
        event = {"event_kind": kind, **facts, "at": _at(self.tick())}
        self._log.append(event)
        return event

    def _maybe_event(self) -> None:
        if flag(self._source, 6):
            name = one_of(self._source, _EVENTS)
            self._emit("system_event", event_type=name, event_data=json_value(self._source, 1))

    # ---------------------------------------------------------------- responses

    def _response(self) -> list[dict[str, Any]]:
        source = self._source
        calls: list[dict[str, Any]] = []
        pieces: list[list[dict[str, Any]]] = []
        for index in many(source, 1, 4, 2):
            kind = source.number(0, 5)
            if kind <= 1:
                pieces.append(self._text(index, "text"))
            elif kind == 2:
                pieces.append(self._text(index, "thinking"))
            elif kind == 3 and flag(source, 3):
                file = {"kind": "binary", "media_type": "text/plain", "data": "YQ=="}
                pieces.append(
                    [{"event_kind": "part_start", "index": index, "part": {"part_kind": "file", "content": file}}]
                )
            else:
                events, call = self._call(index)
                pieces.append(events)
                calls.append(call)
        for event in _woven(source, pieces) if flag(source, 3) else [e for one in pieces for e in one]:
            self._log.append({**event, "at": _at(self.tick())})
            if flag(source, 24):
                self._maybe_event()
        reason = one_of(source, ("stop", "length")) if not calls else "tool_call"
        facts: dict[str, Any] = {"finish_reason": reason}
        if flag(source, 2):
            facts["usage"] = dict(_USAGE)
        if flag(source, 8):
            facts["provider_response_id"] = f"r{self._tick}"
        self._emit("model_response_end", **facts)
        return calls

    def _text(self, index: int, kind: str) -> list[dict[str, Any]]:
        source = self._source
        deltas = [text(source) for _ in many(source, 0, 4, 3)]
        first = text(source) if flag(source, 3) else ""
        extra: dict[str, Any] = {}
        if kind == "thinking":
            extra = {k: v for k, v in (("signature", "s"), ("provider_name", "test")) if flag(source, 3)}
        start = {"event_kind": "part_start", "index": index, "part": {"part_kind": kind, "content": first}}
        said = [
            {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": kind, "content_delta": delta}}
            for delta in deltas
        ]
        whole = {"part_kind": kind, "content": "".join((first, *deltas)), **extra}
        return [start, *said, {"event_kind": "part_end", "index": index, "part": whole}]

    def _call(self, index: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        source = self._source
        self._calls += 1
        call = {"part_kind": "tool-call", "tool_name": one_of(source, TOOLS), "tool_call_id": f"c{self._calls}"}
        args = json.dumps(object_value(source), ensure_ascii=flag_on(source, 2))
        if flag(source, 12):
            args = args[: len(args) // 2]  # text that is not JSON stays text (R12)
        cut = sorted(source.number(0, len(args)) for _ in many(source, 0, 3, 3))
        deltas = [args[a:b] for a, b in zip([0, *cut], [*cut, len(args)], strict=True)]
        said = [
            {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": "tool_call", "args_delta": d}}
            for d in deltas
            if d
        ]
        start = {"event_kind": "part_start", "index": index, "part": dict(call)}
        end = {"event_kind": "part_end", "index": index, "part": {**call, "args": args}}
        return [start, *said, end], {**call, "args": args}

    # ---------------------------------------------------------------- tools

    def _returns(self, calls: Sequence[dict[str, Any]]) -> None:
        """Start the tools of a response and return what they give, in any order."""
        source = self._source
        for call in calls:
            self._emit("function_tool_call", part=dict(call), args_valid=True)
        for call in shuffled(source, calls):
            if flag(source, 8):
                self._emit("tool_progress", tool_call_id=call["tool_call_id"], content=json_value(source, 1))
            self._maybe_event()
            self._emit("function_tool_result", part=self._return(call))
            self._log[-1]["part"]["timestamp"] = self._log[-1]["at"]

    def _return(self, call: dict[str, Any]) -> dict[str, Any]:
        source = self._source
        named = {"tool_name": call["tool_name"], "tool_call_id": call["tool_call_id"]}
        match source.number(0, 7):
            case 5:
                return {**named, "part_kind": "tool-return", "outcome": "failed", "content": text(source)}
            case 6:
                return {**named, "part_kind": "retry-prompt", "content": text(source)}
            case 7:
                return {**named, "part_kind": "tool-return", "outcome": "denied", "content": "No."}
            case _:
                return {**named, "part_kind": "tool-return", "outcome": "success", "content": json_value(source)}


def _woven(source: Source, pieces: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the events of several parts interleaved: their starts in order, each part's own events in order."""
    left = [list(one) for one in pieces]
    begun = 0
    woven = []
    while any(left):
        ready = [i for i, one in enumerate(left) if one and i <= begun]
        index = one_of(source, ready)
        begun = max(begun, index + 1)
        woven.append(left[index].pop(0))
    return woven
