"""What can be removed from a legal program so that it stays legal. Pure.

In: the events of a run. Out: sets of events that belong together (a response with what its tools did, a part, one
delta), the events made consistent again, and whether a scenario is legal. Removing single events at
random would end with another failure: that of a server that makes mistakes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpharness.explore.shrinking.values import simplify_values
from tpharness.findings import Level
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import AgentRun, Scenario
from tpharness.targets.contract import RunScript
from tpharness.targets.reference import ReferenceServer

__all__ = ["is_legal", "make_consistent", "removable_groups", "simplify_texts"]

_TOOLS = ("function_tool_call", "function_tool_result", "output_tool_call", "output_tool_result", "tool_progress")
_CALLS = ("tool-call", "builtin-tool-call")
_TEXTS = {"text": ("content", "content_delta"), "thinking": ("content", "content_delta")}
_ALONE = ("system_event", "custom", "tool_progress", "error", "stall", "part_delta")

Events = Sequence[Mapping[str, Any]]


def removable_groups(events: Events) -> Iterator[frozenset[int]]:
    """Yield sets of indices to remove together, large ones first."""
    owners = _owners(events)
    responses: dict[int, set[int]] = {}
    parts: dict[tuple[int, Any], set[int]] = {}
    calls: dict[str, set[int]] = {}
    for index, (event, (response, part)) in enumerate(zip(events, owners, strict=True)):
        kind = event.get("event_kind")
        if response >= 0:
            responses.setdefault(response, set()).add(index)
        if part is not None:
            parts.setdefault((response, part), set()).add(index)
        if kind in _TOOLS:
            calls.setdefault(_call_of(event), set()).add(index)
    made: dict[tuple[int, Any], str] = {}
    for event, (response, part) in zip(events, owners, strict=True):
        if event.get("event_kind") == "part_start" and "tool_call_id" in event["part"]:
            made[response, part] = event["part"]["tool_call_id"]
    for response, members in responses.items():
        answers = [calls.get(call, set()) for (owner, _), call in made.items() if owner == response]
        yield frozenset(members.union(*answers))
    for key, members in parts.items():
        yield frozenset(members | calls.get(made.get(key, ""), set()))
    for members in calls.values():
        yield frozenset(members)
    for index, event in enumerate(events):
        if event.get("event_kind") == "response_reset":  # with what it took back, but not with the request before
            taken_back = responses.get(owners[index][0], set())
            yield frozenset(i for i in taken_back if events[i].get("event_kind") != "model_request")
    yield from (frozenset({index}) for index in range(len(events)))


def make_consistent(events: Events) -> tuple[dict[str, Any], ...]:
    """Return the events with the content of part ends and tool starts recomputed from the deltas."""
    owners = _owners(events)
    said: dict[tuple[int, Any], Any] = {}  # the texts of parts; arguments that came at once are an object
    args: dict[str, Any] = {}
    made: list[dict[str, Any]] = []
    names: dict[tuple[int, Any], str] = {}
    for event, key in zip(events, owners, strict=True):
        kind = event.get("event_kind")
        new = dict(event)
        match kind:
            case "part_start":
                part = event["part"]
                said[key] = part.get("content" if part["part_kind"] in _TEXTS else "args") or ""
                names[key] = str(part.get("tool_call_id", ""))
            case "part_delta" if isinstance(said.get(key, ""), str):
                delta = event["delta"]
                said[key] = said.get(key, "") + str(delta.get("content_delta") or delta.get("args_delta") or "")
            case "part_end" if event["part"]["part_kind"] in _TEXTS:
                new["part"] = {**event["part"], "content": said.get(key, "")}
            case "part_end" if event["part"]["part_kind"] in _CALLS:
                new["part"] = {**event["part"], "args": said.get(key, "")}
        if names.get(key):
            args[names[key]] = said.get(key, "")
        if kind in ("function_tool_call", "output_tool_call") and (call := _call_of(event)) in args:
            new["part"] = {**event["part"], "args": args[call]}
        made.append(new)
    return tuple(made)


def simplify_texts(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the event with a shorter text or a simpler value, unless it only repeats the deltas."""
    holder = next((name for name in ("part", "delta") if isinstance(event.get(name), Mapping)), None)
    inner: Mapping[str, Any] = event[holder] if holder is not None else event
    for name in ("content", "content_delta", "args_delta", "event_data", "error_text"):
        value = inner.get(name)
        if event.get("event_kind") == "part_end" or value is None:
            continue
        if name == "args_delta" and (held := _parse_object(value)) is not None:
            others: list[Any] = [json.dumps(other, ensure_ascii=False) for other in simplify_values(held)]
        elif isinstance(value, str):
            half = len(value) // 2
            others = [value[:half], value[half:]] if half else [""] * len(value)
        elif inner.get("part_kind") == "file":
            others = []
        else:
            others = [""] if value != "" else []
        for other in others:
            changed = {**inner, name: other}
            yield {**event, holder: changed} if holder is not None else dict(changed)


def _parse_object(text: Any) -> dict[str, Any] | None:
    """Return the JSON object in a text, or None if there is none."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, dict) and value else None


def is_legal(scenario: Scenario) -> bool:
    """Whether the scenario's events are those of a correct server: nothing is reported, nothing is left open.

    A run that is not interrupted ends with its result; a part ends before its response does.
    """
    for _, run in scenario.runs:
        if run.events is None or not _is_complete(run):
            return False
    script = make_script(base_case(scenario, scenario.versions[-1:]))
    session = ReferenceServer(script)
    for turn in script.turns:
        if isinstance(turn, RunScript):
            session.begin(replace(turn))
            for event in turn.events:
                session.feed(event)
            if turn.interruption is not None:
                session.interrupt(turn.interruption, abort=turn.abort)
        else:
            session.user(turn)
    return all(finding.level is Level.MAY for finding in session.findings())


def _is_complete(run: AgentRun) -> bool:
    events = run.events or ()
    if not run.interrupt and (not events or events[-1].get("event_kind") != "agent_run_result"):
        return False
    starts: dict[Any, bool] = {}
    requested = False
    for event, owner in zip(events, _owners(events), strict=True):
        kind = event.get("event_kind")
        requested = requested or kind == "model_request"
        if kind == "part_start":
            if not requested:
                return False
            starts[owner] = event["part"]["part_kind"] not in (*_TEXTS, *_CALLS)  # others come whole
        elif kind == "part_end":
            starts[owner] = True
        elif kind == "response_reset":
            starts.clear()
        elif kind in ("model_response_end", "agent_run_result") and not all(starts.values()):
            return False
    return True


def _owners(events: Events) -> list[tuple[int, Any]]:
    """Return for each event the number of its response, -1 outside of one, and the index of its part if it has one."""
    response, inside = -1, False
    owners: list[tuple[int, Any]] = []
    for event in events:
        kind = event.get("event_kind")
        if kind == "model_request":
            response, inside = response + 1, True
        part = event.get("index") if str(kind).startswith("part_") else None
        apart = kind in _ALONE and kind != "part_delta"
        owners.append((response if inside and kind not in _TOOLS and not apart else -1, part))
        if kind == "model_response_end":
            inside = False
        elif kind == "response_reset":
            response += 1
    return owners


def _call_of(event: Mapping[str, Any]) -> str:
    part = event.get("part")
    return str(part.get("tool_call_id") if isinstance(part, Mapping) else event.get("tool_call_id"))
