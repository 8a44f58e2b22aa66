"""Whole conversations as legal server events, each with places to interrupt it.

In: a source of choices. Out: a `GeneratedProgram`, that is a scenario in the long form and places of its last run.
Everything in it is legal: no fold may find anything at MUST in it. Calls are answered before the next model call, or by
the next run, which then begins without a user's message (R30). What only carriers say, such as the agent, is left out
without them.
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

__all__ = ["AGENTS", "THREAD_ID", "GeneratedProgram", "cut_scenarios", "moment", "program"]

_START = datetime(2025, 1, 20, 10, tzinfo=UTC)
_AGENT, _OTHER = "assistant", "helper"
AGENTS = {
    agent_id: {
        "agent_id": agent_id,
        "agent_name": agent_id.title(),
        "model_name": "test-model",
        "provider_name": "test",
        "created_at": "2025-01-20T10:00:00Z",
    }
    for agent_id in (_AGENT, _OTHER)
}
THREAD_ID = "00000000-0000-4000-8000-000000000000"
_USAGE = {"input_tokens": 3, "output_tokens": 2}
_RESULTS: tuple[dict[str, Any], ...] = (
    *({}, {"finish_reason": "stop"}, {"usage": _USAGE}) * 3,
    {"finish_reason": "interrupted"},
    {"finish_reason": "error", "usage": {**_USAGE, "thinking_tokens": 1}},
)
_MODELS: tuple[dict[str, Any], ...] = ({"model_name": "test-model", "provider_name": "test"}, {"model_name": "m"}, {})
_EVENTS = ("data-app-note", "data-tp-note", "data-note", "meta:note")
_FILES: tuple[dict[str, Any], ...] = (
    {"kind": "binary", "media_type": "text/plain", "data": "YQ=="},
    {"kind": "image-url", "media_type": "image/png", "url": "https://example.org/a.png"},
)
_SOURCE = {"source_id": "s1", "url": "https://example.org/a", "title": "A"}
_VERSIONS = (*((newest_version(),),) * 7, tuple(Version))


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedProgram:
    """A scenario, and places of its last run as (events on the server, events that the client saw, reason)."""

    scenario: Scenario
    cuts: tuple[tuple[int, int, str], ...]


def program(source: Source, *, carriers: bool = True) -> GeneratedProgram:
    """Return a program with up to three places to interrupt it."""
    writer = _Writer(source, carriers=carriers)
    turns: list[Turn] = []
    for _ in many(source, 1, 3, 2):
        if not writer.pending:
            said = {"part_kind": "user-prompt", "content": text(source) or "?"}
            turns.append(UserInput(parts=(said,), submitted_at=moment(writer.tick())))
        turns.append(writer.run())
    scenario = Scenario(
        id="fuzz/program",
        description="A generated program.",
        clauses=("sync.identity",),
        versions=one_of(source, _VERSIONS),
        compare=Compare.EXACT if carriers else Compare.CONTENT,
        carriers=carriers,
        thread_id=THREAD_ID,
        created_at="2025-01-20T10:00:00Z",
        agents=AGENTS,
        turns=tuple(turns),
    )
    last = turns[-1]
    events = len(last.events or ()) if isinstance(last, AgentRun) else 0
    cuts = []
    for _ in many(source, 0, 3, 8):
        server = source.number(0, events)
        client = source.number(0, server) if flag(source, 4) else server
        cuts.append((server, client, one_of(source, REASONS)))
    return GeneratedProgram(scenario=scenario, cuts=tuple(sorted(cuts)))


def cut_scenarios(made: GeneratedProgram) -> list[Scenario]:
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
def moment(tick: int) -> str:
    """Return the time of a tick of a conversation."""
    when = (_START + timedelta(milliseconds=100 * tick)).replace(tzinfo=None).isoformat(timespec="milliseconds")
    return (when.rstrip("0").rstrip(".") if "." in when else when) + "Z"


class _Writer:
    """Writes runs, one after the other in time."""

    def __init__(self, source: Source, *, carriers: bool) -> None:
        self._source = source
        self._carriers = carriers
        self._tick = 0
        self._calls = 0
        self._log: list[dict[str, Any]] = []
        self._filtered = False  # the last response was stopped by the filter
        self.pending: list[dict[str, Any]] = []
        """The calls that the last run left for the next to answer."""

    def tick(self) -> int:
        self._tick += 1
        return self._tick

    def run(self) -> AgentRun:
        """Return one run of the agent: model calls with what their tools return, and its result."""
        source = self._source
        started, agent = moment(self.tick()), _AGENT
        self._log = []
        answered, self.pending = self.pending, []
        self._results(answered)
        for count in many(source, 1, 3, 2):
            if count and self._carriers and flag(source, 8):
                agent = _OTHER if agent == _AGENT else _AGENT
                self._emit("agent_start", agent_id=agent)
            self._maybe_event()
            self._request(first=not count)
            calls = self._response()
            if calls and flag(source, 8):
                self.pending = calls
                break
            self._returns(calls)
            if flag(source, 24):  # the model failed, and is asked again unless the run ends here (R27)
                self._emit("error", error_text=text(source))
        self._maybe_event()
        if flag(source, 12):
            self._emit("error", error_text=text(source))
        said = one_of(source, _RESULTS)
        if self.pending or self._filtered:  # a result does not contradict the last response
            said = {name: value for name, value in said.items() if name != "finish_reason"}
        self._emit("agent_run_result", **said)
        return AgentRun(agent_id=_AGENT, started_at=started, events=tuple(self._log))

    def _emit(self, kind: str, **facts: Any) -> dict[str, Any]:
        event = {"event_kind": kind, **facts, "at": moment(self.tick())}
        self._log.append(event)
        return event

    def _request(self, *, first: bool) -> None:
        """Ask the model; further on perhaps with a prompt that is not the user's (R9), or that was queued (R44)."""
        source = self._source
        prompt = {"part_kind": "user-prompt", "content": text(source)} if not first and flag(source, 12) else None
        queued = prompt is not None and flag(source, 2)
        if queued:
            self._emit("enqueued_messages", messages=[{"parts": [prompt]}])
        self._emit("model_request", **one_of(source, _MODELS), **({"parts": [prompt]} if prompt and not queued else {}))

    def _maybe_event(self) -> None:
        source = self._source
        if not flag(source, 6):
            return
        match source.number(0, 11):
            case 9:
                self._emit("custom", name="note", data=json_value(source, 1))
            case 10:
                self._emit("system_event", event_type="data-app-busy", event_data=1, transient=True)
            case 11 if self._carriers:
                about = {"source_agent": _AGENT, "target_agents": [_OTHER]}
                self._emit("system_event", event_type="data-tp-note", event_data=json_value(source, 1), **about)
            case _:
                self._emit("system_event", event_type=one_of(source, _EVENTS), event_data=json_value(source, 1))

    # ---------------------------------------------------------------- responses

    def _response(self) -> list[dict[str, Any]]:
        source = self._source
        if flag(source, 24):  # the response begins, and is taken back
            pieces, _ = self._parts()
            whole = [event for piece in pieces for event in piece]
            self._write(whole[: source.number(1, len(whole))])
            self._emit("response_reset")
        pieces, calls = self._parts()
        self._write(_woven(source, pieces) if flag(source, 3) else [event for piece in pieces for event in piece])
        if not calls and flag(source, 12):  # of what the response says: it is bound to it (R25)
            self._emit("system_event", event_type="source.url", event_data=dict(_SOURCE))
        reason = one_of(source, ("stop", "length", "content_filter")) if not calls else "tool_call"
        self._filtered = reason == "content_filter"
        facts: dict[str, Any] = {"finish_reason": reason}
        if flag(source, 2):
            facts["usage"] = dict(_USAGE)
        if flag(source, 8):
            facts["provider_response_id"] = f"r{self._tick}"
        self._emit("model_response_end", **facts)
        return calls

    def _write(self, events: Sequence[dict[str, Any]]) -> None:
        for event in events:
            self._log.append({**event, "at": moment(self.tick())})
            if flag(self._source, 24):
                self._maybe_event()

    def _parts(self) -> tuple[list[list[dict[str, Any]]], list[dict[str, Any]]]:
        """Return the events of each part of a response, and its calls for tools of the application."""
        source = self._source
        calls: list[dict[str, Any]] = []
        pieces: list[list[dict[str, Any]]] = []
        index = 0
        for _ in many(source, 1, 4, 2):
            kind = source.number(0, 6)
            if kind <= 1:
                pieces.append(self._text(index, "text"))
            elif kind == 2 and self._carriers and flag(source, 8):
                own = {"part_kind": "custom:note", "provider_metadata": {"a": {"b": 1}}}
                pieces.append(self._whole(index, own))
            elif kind == 2:
                pieces.append(self._text(index, "thinking"))
            elif kind == 3 and flag(source, 3):
                pieces.append(self._whole(index, {"part_kind": "file", "content": dict(one_of(source, _FILES))}))
            elif kind == 6 and flag(source, 2):
                pieces.append(self._provider_call(index))
                index += 1
            else:
                events, call = self._call(index)
                pieces.append(events)
                calls.append(call)
            index += 1
        return pieces, calls

    def _text(self, index: int, kind: str) -> list[dict[str, Any]]:
        source = self._source
        deltas = [text(source) for _ in many(source, 0, 4, 3)]
        first = text(source) if flag(source, 3) else ""
        extra: dict[str, Any] = {}
        if kind == "thinking":
            extra = {k: v for k, v in (("signature", "s"), ("provider_name", "test")) if flag(source, 3)}
        if self._carriers and flag(source, 12):
            extra["id"] = f"p{self._tick}"
        start = _part_start(index, {"part_kind": kind, "content": first})
        said = [
            {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": kind, "content_delta": delta}}
            for delta in deltas
        ]
        whole = {"part_kind": kind, "content": "".join((first, *deltas)), **extra}
        return [start, *said, {"event_kind": "part_end", "index": index, "part": whole}]

    def _provider_call(self, index: int) -> list[dict[str, Any]]:
        """Return a call that the provider executes, and what it returned as the next part (R42)."""
        events, call = self._call(index, "builtin-tool-call")
        returned = {"part_kind": "builtin-tool-return", "tool_call_id": call["tool_call_id"]}
        if flag(self._source, 2):
            returned["tool_name"] = call["tool_name"]
        return [*events, *self._whole(index + 1, {**returned, "content": json_value(self._source)})]

    def _whole(self, index: int, part: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events of a part that comes at once; a server may say nothing of its end."""
        start = _part_start(index, part)
        return [start, {**start, "event_kind": "part_end"}] if flag_on(self._source, 2) else [start]

    def _call(self, index: int, kind: str = "tool-call") -> tuple[list[dict[str, Any]], dict[str, Any]]:
        source = self._source
        self._calls += 1
        call = {"part_kind": kind, "tool_name": one_of(source, TOOLS), "tool_call_id": f"c{self._calls}"}
        value = object_value(source)
        if flag(source, 8):  # at once, and not as text
            start = _part_start(index, {**call, "args": value})
            return [start, {"event_kind": "part_end", "index": index, "part": start["part"]}], start["part"]
        args = json.dumps(value, ensure_ascii=flag_on(source, 2))
        if flag(source, 12):
            args = args[: len(args) // 2]  # text that is not JSON stays text (R12)
        cut = sorted(source.number(0, len(args)) for _ in many(source, 0, 3, 3))
        deltas = [args[a:b] for a, b in zip([0, *cut], [*cut, len(args)], strict=True)]
        said = [
            {"event_kind": "part_delta", "index": index, "delta": {"part_delta_kind": "tool_call", "args_delta": d}}
            for d in deltas
            if d
        ]
        end = {"event_kind": "part_end", "index": index, "part": {**call, "args": args}}
        return [_part_start(index, dict(call)), *said, end], {**call, "args": args}

    # ---------------------------------------------------------------- tools

    def _returns(self, calls: Sequence[dict[str, Any]]) -> None:
        """Start the tools of a response and return what they give, in any order."""
        word = "output" if flag(self._source, 16) else "function"
        for call in calls:
            self._emit(f"{word}_tool_call", part=dict(call), args_valid=True)
        self._results(calls, word)

    def _results(self, calls: Sequence[dict[str, Any]], word: str = "function") -> None:
        source = self._source
        for call in shuffled(source, calls):
            if flag(source, 8):
                self._emit("tool_progress", tool_call_id=call["tool_call_id"], content=json_value(source, 1))
            self._maybe_event()
            self._emit(f"{word}_tool_result", part=self._return(call))
            self._log[-1]["part"]["timestamp"] = self._log[-1]["at"]

    def _return(self, call: dict[str, Any]) -> dict[str, Any]:
        source = self._source
        named = {"tool_name": call["tool_name"], "tool_call_id": call["tool_call_id"], "part_kind": "tool-return"}
        match source.number(0, 10):
            case 5:
                return {**named, "outcome": "failed", "content": text(source)}
            case 6:
                return {**named, "part_kind": "retry-prompt", "content": text(source)}
            case 7:
                return {**named, "outcome": "denied", "content": one_of(source, ("No.", ""))}
            case 8:
                return {**named, "outcome": "retried", "content": text(source)}
            case 9:  # with an event of its own (R25)
                sent = [{"type": "data-app-seat", "data": json_value(source, 1)}]
                return {**named, "outcome": "success", "content": json_value(source), "metadata": sent}
            case 10 if self._carriers:
                reference = (
                    {"content_ref": {"uri": "https://example.org/1", "size_bytes": 3}} if flag(source, 2) else {}
                )
                return {**named, "outcome": "success", "content": text(source), **reference, "metadata": {"a": 1}}
            case _:
                return {**named, "outcome": "success", "content": json_value(source)}


def _part_start(index: int, part: dict[str, Any]) -> dict[str, Any]:
    return {"event_kind": "part_start", "index": index, "part": part}


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
