"""The short form of a run → server events.

In: the `steps` of a run. Out: events as Pydantic AI serialises them, appended to an `EventLog` with their times. They
are the events that a correct server reports; those of a misbehaving one need the long form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.scenario.eventlog import EventLog
from tpharness.scenario.expand_parts import EVENT_KEYS, ResponseContext, emit_event, emit_parts, user_content
from tpharness.scenario.fields import Fields, find_head
from tpharness.scenario.problems import CONTRADICTION, UNKNOWN_AGENT, suggest_name
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain
from tpharness.server_events.returns import DENIAL

__all__ = ["RETURN_WORDS", "STEP_KEYS", "expand_steps"]

_COMMON = ("label", "at")
STEP_KEYS: Mapping[str, tuple[str, ...]] = {
    "response": ("response", "model", "provider", "response_id", "usage", "finish_reason", "unfinished", *_COMMON),
    "returns": ("returns", *_COMMON),
    "start_tools": ("start_tools", *_COMMON),
    "progress": ("progress", *_COMMON),
    "event": (*EVENT_KEYS, *_COMMON),
    "prompt": ("prompt", *_COMMON),
    "error": ("error", *_COMMON),
    "stall": ("stall", *_COMMON),
    "reset": ("reset", *_COMMON),
    "agent": ("agent", *_COMMON),
    "finish": ("finish", *_COMMON),
}
"""The key that says what a step is → all keys that the step may have."""

_OUTCOMES = {
    "error": "failed",
    "denied": "denied",
    "validation_error": "retried",
    "interrupted": "interrupted",
}
RETURN_WORDS = (*_OUTCOMES, "retry_prompt", "ref", "value", "metadata")
"""A return that is a map with only these keys has their special meaning; `value` gives any map literally."""


@dataclass(slots=True, kw_only=True)
class _Expansion:
    """The state of the expansion of one run."""

    log: EventLog
    agents: Mapping[str, Mapping[str, Any]]
    agent_id: str
    call_ids: list[str] = field(default_factory=list)
    """The ids of the calls of this run, in order."""
    invalid_call_ids: frozenset[str] = frozenset()
    """The ids of the calls that a later return rejects with a validation error."""
    has_open_request: bool = False
    """Whether the last event is a `model_request` that the next response uses."""
    response_unfinished: bool = False


def expand_steps(
    log: EventLog,
    nodes: list[Node],
    where: str,
    *,
    agents: Mapping[str, Mapping[str, Any]],
    agent_id: str,
    finish: bool,
) -> None:
    """Append the events of the steps, and the result of the run if `finish` is set and no step gives one."""
    run = _Expansion(log=log, agents=agents, agent_id=agent_id, invalid_call_ids=_invalid_calls(nodes))
    last = None
    for number, node in enumerate(nodes):
        place = f"{where}[{number}]"
        head = find_head(node, log.problems, place, STEP_KEYS)
        if head is None:
            continue
        fields = Fields(node, log.problems, place, STEP_KEYS[head])
        at = fields.time("at")
        if at is not None and not log.script_clock.set_next(at):
            message = f"{place}.at lies before what has already happened"
            log.problems.add(
                CONTRADICTION, fields.value_position("at"), message, got=at, expected=f"≥ {log.script_clock.now}"
            )
        since = len(log.events)
        _EXPANDERS[head](run, fields)
        log.set_step_label(fields, since)
        last = head
    if finish and not any(event["event_kind"] == "agent_run_result" for event in log.events):
        # R27: a run whose last step is an error ends because of it
        log.emit("agent_run_result", finish_reason="error" if last == "error" else None)


def _invalid_calls(nodes: list[Node]) -> frozenset[str]:
    """Return the calls that a `returns` step rejects with a validation error: their arguments are not valid."""
    found: set[str] = set()
    for node in nodes:
        returns = node.items.get("returns") if isinstance(node, MapNode) else None
        if isinstance(returns, MapNode):
            found.update(
                k for k, v in returns.items.items() if isinstance(v, MapNode) and "validation_error" in v.items
            )
    return frozenset(found)


# ------------------------------------------------------------------ one function for each step


def _response(run: _Expansion, fields: Fields) -> None:
    log = run.log
    config = run.agents.get(run.agent_id, {})
    model = fields.text("model") or config.get("model_name")
    provider = fields.text("provider") or config.get("provider_name")
    facts = {k: v for k, v in (("model_name", model), ("provider_name", provider)) if v is not None}
    if run.has_open_request:
        log.events[-1].update(facts)
    else:
        log.emit("model_request", **facts)
    run.has_open_request = False
    context = ResponseContext(agents=run.agents, provider=provider)
    calls = emit_parts(log, fields.items("response"), fields.path("response"), context)
    run.call_ids.extend(calls)
    ends = {"usage": _usage(fields, "usage"), "provider_response_id": fields.text("response_id")}
    reason = _finish_reason(fields, "tool_call" if calls else "stop")
    run.response_unfinished = bool(fields.flag("unfinished"))
    if run.response_unfinished:
        for key in ("usage", "response_id", "finish_reason"):
            if key in fields:
                message = f"{fields.path(key)} is reported at the end of a response, and this one is unfinished"
                fields.problems.add(CONTRADICTION, fields.key_position(key), message)
        return
    log.emit("model_response_end", **ends, finish_reason=reason)


def _returns(run: _Expansion, fields: Fields) -> None:
    node = fields.node("returns")
    if not isinstance(node, MapNode) or not node.items:
        fields.report_bad("returns", "a map from call id to the returned value")
        return
    _start_calls(run, extra=node)
    for call_id, value in node.items.items():
        call = run.log.calls.get(call_id)
        name = call.tool_name if call is not None else "?"
        part = {"tool_name": name, "tool_call_id": call_id}
        part.update(_return_value(fields, f"{fields.path('returns')}.{call_id}", value))
        event = run.log.emit("function_tool_result", part=part)
        part["timestamp"] = event["at"]


def _start_tools(run: _Expansion, fields: Fields) -> None:
    node = fields.node("start_tools")
    if isinstance(node, ScalarNode) and node.value is True:
        _start_calls(run)
    elif isinstance(node, ListNode):
        named = fields.texts("start_tools", least=1)
        _start_calls(run, only=MapNode(position=node.position, keys=dict(named)))
    else:
        fields.report_bad("start_tools", "true, or a list of call ids")


def _progress(run: _Expansion, fields: Fields) -> None:
    node = fields.node("progress")
    if not isinstance(node, MapNode) or not node.items:
        fields.report_bad("progress", "a map from call id to preliminary output")
        return
    _start_calls(run, extra=node)
    for call_id, value in node.items.items():
        event = run.log.emit("tool_progress", tool_call_id=call_id)
        at = event.pop("at")
        event.update(content=plain(value), at=at)


def _event(run: _Expansion, fields: Fields) -> None:
    emit_event(run.log, fields, run.agents)
    run.has_open_request = False


def _prompt(run: _Expansion, fields: Fields) -> None:
    config = run.agents.get(run.agent_id, {})
    run.log.emit(
        "model_request",
        parts=[{"part_kind": "user-prompt", "content": user_content(fields, "prompt")}],
        model_name=config.get("model_name"),
        provider_name=config.get("provider_name"),
    )
    run.has_open_request = True


def _error(run: _Expansion, fields: Fields) -> None:
    run.log.emit("error", error_text=fields.text("error", empty=True) or "")


def _stall(run: _Expansion, fields: Fields) -> None:
    seconds = fields.seconds("stall") or 0.0
    run.log.emit("stall", seconds=seconds)
    run.log.script_clock.advance(seconds)


def _reset(run: _Expansion, fields: Fields) -> None:
    if fields.flag("reset") is not True:
        fields.report_bad("reset", "true")
    if not run.response_unfinished:
        message = f"{fields.where}: a reset needs an unfinished response before it"
        fields.problems.add(CONTRADICTION, fields.position, message)
    run.response_unfinished = False
    run.log.emit("response_reset")


def _agent(run: _Expansion, fields: Fields) -> None:
    agent_id = fields.text("agent")
    if agent_id is None:
        return
    if agent_id not in run.agents:
        near = suggest_name(agent_id, run.agents)
        position = fields.value_position("agent")
        fields.problems.add(UNKNOWN_AGENT, position, f"no agent {agent_id!r}{near}", expected=", ".join(run.agents))
    run.agent_id = agent_id
    run.has_open_request = False
    run.log.emit("agent_start", agent_id=agent_id)


def _finish(run: _Expansion, fields: Fields) -> None:
    node = fields.node("finish")
    if node is None:
        return
    finish = Fields(node, fields.problems, fields.path("finish"), ("finish_reason", "usage"))
    reason = finish.text("finish_reason")
    run.log.emit("agent_run_result", usage=_usage(finish, "usage"), finish_reason=reason)


_EXPANDERS: Mapping[str, Callable[[_Expansion, Fields], None]] = {
    "response": _response,
    "returns": _returns,
    "start_tools": _start_tools,
    "progress": _progress,
    "event": _event,
    "prompt": _prompt,
    "error": _error,
    "stall": _stall,
    "reset": _reset,
    "agent": _agent,
    "finish": _finish,
}

# ------------------------------------------------------------------ inside


def _start_calls(run: _Expansion, *, extra: MapNode | None = None, only: MapNode | None = None) -> None:
    """Start the calls of this run that have not started, in order; `extra` may name calls of earlier runs."""
    log = run.log
    named = only if only is not None else extra
    for call_id, position in (named.keys if named is not None else {}).items():
        log.require_call(call_id, position, log.calls)
    due = list(only.keys) if only is not None else [*run.call_ids, *(extra.keys if extra is not None else ())]
    run.has_open_request = run.response_unfinished = False
    for call_id in due:
        call = log.calls.get(call_id)
        if call is None or call.started:
            continue
        call.started = True
        part = {"part_kind": "tool-call", "tool_name": call.tool_name, "tool_call_id": call_id}
        if call.args is not None:
            part["args"] = call.args
        log.emit("function_tool_call", part=part, args_valid=call.args_valid and call_id not in run.invalid_call_ids)


def _return_value(fields: Fields, where: str, node: Node) -> dict[str, Any]:
    """Return the part kind, outcome and content of the return of a call."""
    if not isinstance(node, MapNode) or not node.items or any(key not in RETURN_WORDS for key in node.items):
        return {"part_kind": "tool-return", "content": plain(node), "outcome": "success"}
    special = Fields(node, fields.problems, where, RETURN_WORDS)
    word = special.one_of([word for word in RETURN_WORDS if word != "metadata"], what="a return")
    extra = {"metadata": special.any("metadata")} if "metadata" in special else {}
    match word:
        case None:
            return {}
        case "retry_prompt":
            return {"part_kind": "retry-prompt", "content": special.any(word), **extra}
        case "value":
            return {"part_kind": "tool-return", "content": special.any(word), "outcome": "success", **extra}
        case "ref":
            ref = special.any(word)
            if not isinstance(ref, dict):
                special.report_bad(word, "a map with uri")
            return {"part_kind": "tool-return", "content_ref": ref, "outcome": "success", **extra}
        case _:
            given = special.any(word)
            content = DENIAL if word == "denied" and given is None else given
            return {"part_kind": "tool-return", "content": content, "outcome": _OUTCOMES[word], **extra}


def _usage(fields: Fields, key: str) -> dict[str, int] | None:
    if key not in fields:
        return None
    usage = fields.any(key)
    if not isinstance(usage, dict) or not all(type(count) is int and count >= 0 for count in usage.values()):
        fields.report_bad(key, "a map from names to whole numbers from 0")
        return None
    return usage


def _finish_reason(fields: Fields, default: str) -> str | None:
    node = fields.node("finish_reason")
    if node is None:
        return default
    if isinstance(node, ScalarNode) and node.value is None:
        return None
    return fields.text("finish_reason")
