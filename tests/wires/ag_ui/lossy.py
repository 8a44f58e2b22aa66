"""Sides of AG-UI that are wrong in one way: what a server writes, or what a client makes of an event.

In: a monkeypatch. Out: nothing; the reference is wrong from then on. `defects.yaml` has the scenario in which each is
found. Beside these, each handler of both halves in turn forgets what it is given (`test_ag_ui_folds.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tpharness.suite_yaml import load_suite_yaml
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import wire
from tpharness.wires.ag_ui.carriers import KEY, PREFIX
from tpharness.wires.ag_ui.encode import AgUiEncoder, to_bytes
from tpharness.wires.ag_ui.fold import AgUiAssembler

__all__ = ["FOUND_IN", "IN_NO_THREAD", "LOSSY", "Lossy"]

FOUND_IN: dict[str, str] = load_suite_yaml(Path(__file__).parent / "defects.yaml")
"""By defect the scenario in which it is found."""
IN_NO_THREAD = {
    "half-arguments-made-whole": "arguments-look-whole",
    "failure-in-a-carrier-alone": "end-differs",
    "failure-without-an-end": "end-differs",
    "stop-in-a-carrier-alone": "end-differs",
    "approval-in-a-carrier-alone": "approvals-differ",
    "approval-of-another-call": "approvals-differ",
}
"""What is found instead of another thread: no thread has a call that was cut, what carriers say twice, or a request."""

Event = dict[str, Any]
Patch = pytest.MonkeyPatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Lossy:
    """One defect: which side has it, what is wrong in a sentence, and what makes it so."""

    name: str
    side: str
    sentence: str
    break_it: Callable[[Patch], None]


LOSSY: list[Lossy] = []


def _add(side: str, sentence: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    def added(break_it: Callable[[Patch], None]) -> Callable[[Patch], None]:
        name = break_it.__name__.strip("_").replace("_", "-")
        LOSSY.append(Lossy(name=name, side=side, sentence=sentence, break_it=break_it))
        return break_it

    return added


# ------------------------------------------------------------------ a server


def _writes(patch: Patch, change: Callable[[Event], Iterable[Event]]) -> None:
    """Have the server write something else in the place of each event."""
    patch.setattr(wire, "to_bytes", lambda events: to_bytes(new for event in events for new in change(dict(event))))


def _server(sentence: str) -> Callable[[Callable[[Event], Iterable[Event]]], None]:
    """Add a defect of a server that changes events."""

    def added(change: Callable[[Event], Iterable[Event]]) -> None:
        def broken(patch: Patch) -> None:
            _writes(patch, change)

        broken.__name__ = change.__name__
        _add("server", sentence)(broken)

    return added


def _facts(event: Event) -> dict[str, Any]:
    """Return what the event carries for us."""
    return dict((event.get("metadata") or {}).get(KEY, {}))


def _carrying(event: Event, facts: Mapping[str, Any]) -> Event:
    """Return the event with these facts in the place of its own."""
    rest = {name: item for name, item in event.items() if name != "metadata"}
    return {**rest, "metadata": {KEY: dict(facts)}} if facts else rest


def _without(event: Event, *names: str) -> Event:
    """Return the event without some of what it carries for us."""
    return _carrying(event, {name: item for name, item in _facts(event).items() if name not in names})


def _is(event: Event, *kinds: str) -> bool:
    return event["type"] in kinds


def _custom(event: Event, kind: str) -> bool:
    return bool(event["type"] == "CUSTOM" and event["name"] == f"{PREFIX}{kind}")


def _plain(value: Any, keep: Callable[[Any], bool]) -> Any:
    """Return a JSON value with those members of its objects that are to be kept."""
    if isinstance(value, dict):
        return {name: _plain(item, keep) for name, item in value.items() if keep(item)}
    return [_plain(item, keep) for item in value] if isinstance(value, list) else value


@_server("Half arguments are closed without the mark that they were cut, and their JSON is completed.")
def _half_arguments_made_whole(event: Event) -> Iterable[Event]:
    if _is(event, "TOOL_CALL_END") and "cut" in _facts(event):
        return [_carrying(event, {"input": {"made": "whole"}})]
    return [event]


@_server("A run that was stopped ends as a success.")
def _stop_as_success(event: Event) -> Iterable[Event]:
    cancelled = _is(event, "RUN_FINISHED") and event["outcome"]["type"] == "cancelled"
    return [{**event, "outcome": {"type": "success"}}] if cancelled else [event]


@_server("A run that was stopped ends as a failure.")
def _stop_as_failure(event: Event) -> Iterable[Event]:
    cancelled = _is(event, "RUN_FINISHED") and event["outcome"]["type"] == "cancelled"
    return [{"type": "RUN_ERROR", "message": "stopped"}] if cancelled else [event]


@_server("A run that was stopped writes nothing at its end, as if the connection had broken.")
def _stop_unsaid(event: Event) -> Iterable[Event]:
    cancelled = _is(event, "RUN_FINISHED") and event["outcome"]["type"] == "cancelled"
    return [] if cancelled else [event]


@_server("A run that has failed ends as a success.")
def _failure_as_success(event: Event) -> Iterable[Event]:
    if _is(event, "RUN_ERROR"):
        ids = {"threadId": "thread", "runId": "run"}
        return [{"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}}]
    return [event]


@_server("A run that has failed ends as a success, and only our carriers say that it has failed.")
def _failure_in_a_carrier_alone(event: Event) -> Iterable[Event]:
    if _is(event, "RUN_ERROR"):
        ids = {"threadId": "thread", "runId": "run"}
        return [_carrying({"type": "RUN_FINISHED", **ids, "outcome": {"type": "success"}}, {"finish_reason": "error"})]
    return [event]


@_server("A run that has failed reports it in a carrier, and has no end.")
def _failure_without_an_end(event: Event) -> Iterable[Event]:
    return [] if _is(event, "RUN_ERROR") else [event]


@_server("A run that was stopped ends as a success, and only a reason of ours says that it was stopped.")
def _stop_in_a_carrier_alone(event: Event) -> Iterable[Event]:
    stopped = _is(event, "RUN_FINISHED") and _facts(event).get("finish_reason") == "interrupted"
    return [{**event, "outcome": {"type": "success"}}] if stopped else [event]


@_server("A run that asks for an approval ends as a success, and only a carried chunk asks.")
def _approval_in_a_carrier_alone(event: Event) -> Iterable[Event]:
    asks = _is(event, "RUN_FINISHED") and event["outcome"]["type"] == "interrupt"
    return [{**event, "outcome": {"type": "success"}}] if asks else [event]


@_server("A run asks for the approval of a call that it does not have.")
def _approval_of_another_call(event: Event) -> Iterable[Event]:
    if _is(event, "RUN_FINISHED") and event["outcome"]["type"] == "interrupt":
        wrong = [{**one, "toolCallId": "c9"} for one in event["outcome"]["interrupts"]]
        return [{**event, "outcome": {**event["outcome"], "interrupts": wrong}}]
    return [event]


@_server("Results are written without the members of objects that are null.")
def _results_without_nulls(event: Event) -> Iterable[Event]:
    if _is(event, "TOOL_CALL_RESULT") and _facts(event).get("json"):
        kept = _plain(json.loads(event["content"]), lambda item: item is not None)
        return [{**event, "content": json.dumps(kept)}]
    return [event]


@_server("Results are cut after forty characters.")
def _results_shortened(event: Event) -> Iterable[Event]:
    return [{**event, "content": event["content"][:40]} if _is(event, "TOOL_CALL_RESULT") else event]


@_server("Whitespace around each piece of a text is trimmed.")
def _texts_trimmed(event: Event) -> Iterable[Event]:
    return [{**event, "delta": event["delta"].strip()} if _is(event, "TEXT_MESSAGE_CONTENT") else event]


@_server("Thoughts are written as texts.")
def _thoughts_as_texts(event: Event) -> Iterable[Event]:
    if event["type"].startswith("REASONING_MESSAGE"):
        role = {"role": "assistant"} if event["type"].endswith("START") else {}
        return [{**event, "type": event["type"].replace("REASONING", "TEXT"), **role}]
    return [event]


@_server("A tool that has failed is written as one that was refused before it ran.")
def _error_as_refusal(event: Event) -> Iterable[Event]:
    if _facts(event).get("outcome") == "error":
        return [_carrying(event, {**_facts(event), "outcome": "refused"})]
    return [event]


@_server("A call that the user has denied is written as a tool that has failed.")
def _denial_as_error(event: Event) -> Iterable[Event]:
    if _facts(event).get("outcome") == "denied":
        return [_carrying(event, {**_facts(event), "outcome": "error"})]
    return [event]


@_server("Nothing says that a provider has run a tool itself.")
def _provider_executed_unsaid(event: Event) -> Iterable[Event]:
    return [_without(event, "provider_executed")]


@_server("Nothing says what the provider has said of a call.")
def _provider_metadata_of_calls_lost(event: Event) -> Iterable[Event]:
    return [_without(event, "provider_metadata") if event["type"].startswith("TOOL_CALL") else event]


@_server("A tool whose name is known only at the end of its arguments keeps the first one.")
def _late_tool_name_lost(event: Event) -> Iterable[Event]:
    return [_without(event, "tool_name")]


@_server("An id that a run uses for a second call is written once more, and its arguments go to the first call.")
def _reused_call_ids(event: Event) -> Iterable[Event]:
    said = _facts(event).get("tool_call_id")
    return [{**_without(event, "tool_call_id"), "toolCallId": said} if said else event]


def _loses_fact(name: str, sentence: str) -> None:
    """Add a server whose carriers never have one fact."""

    @_server(sentence)
    def change(event: Event) -> Iterable[Event]:
        if not _custom(event, "data-sys-tp"):
            return [event]
        data = {key: item for key, item in event["value"]["data"].items() if key != name}
        return [{**event, "value": {**event["value"], "data": data}}]

    LOSSY[-1] = Lossy(name=f"{name}-lost", side="server", sentence=sentence, break_it=LOSSY[-1].break_it)


_loses_fact("usage", "Carriers never have the usage of an answer.")
_loses_fact("model_name", "Carriers never have the name of the model.")
_loses_fact("agent_id", "Carriers never name the agent that answers.")
_loses_fact("started_at", "Carriers never say when something began.")
_loses_fact("timestamp", "Carriers never say when something happened.")


def _loses_kind(kind: str, sentence: str) -> None:
    """Add a server that does not write one kind of what AG-UI has no event for."""

    @_server(sentence)
    def change(event: Event) -> Iterable[Event]:
        return [] if _custom(event, kind) else [event]

    LOSSY[-1] = Lossy(name=f"{kind}-left-out", side="server", sentence=sentence, break_it=LOSSY[-1].break_it)


_loses_kind("file", "Files of an answer are left out.")
_loses_kind("source-url", "Sources of an answer are left out.")
_loses_kind("steering-message", "What the user writes inside of a run is left out.")
_loses_kind("tool-approval-response", "What the user has answered to a request is left out.")


@_server("Normative events are left out.")
def _normative_events_left_out(event: Event) -> Iterable[Event]:
    normative = event["type"] == "CUSTOM" and event["name"].startswith(f"{PREFIX}data-tp-")
    return [] if normative else [event]


@_server("Data of the application that a thread keeps is left out.")
def _application_data_left_out(event: Event) -> Iterable[Event]:
    name = event.get("name", "").removeprefix(PREFIX)
    other = event["type"] == "CUSTOM" and name.startswith("data-") and not name.startswith(("data-tp-", "data-sys-"))
    return [] if other else [event]


@_add("server", "The first preliminary result of a tool is written as its result.")
def _preliminary_as_result(patch: Patch) -> None:
    handlers: Any = AgUiEncoder.HANDLERS
    right = handlers["tool-output-available"]
    patch.setitem(
        handlers,
        "tool-output-available",
        lambda self, chunk: right(self, {key: item for key, item in chunk.items() if key != "preliminary"}),
    )


# ------------------------------------------------------------------ a client


def _reads(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Have the client read something else in the place of each event; None for nothing."""
    right = AgUiAssembler._take

    def take(self: AgUiAssembler, event: Any) -> None:
        changed = change(event)
        if changed is not None:
            right(self, changed)

    patch.setattr(AgUiAssembler, "_take", take)


def _client(sentence: str) -> Callable[[Callable[[Any], Any]], None]:
    """Add a defect of a client that reads events in another way."""

    def added(change: Callable[[Any], Any]) -> None:
        def broken(patch: Patch) -> None:
            _reads(patch, change)

        broken.__name__ = change.__name__
        _add("client", sentence)(broken)

    return added


def _deaf_to(event: Any, *names: str) -> Any:
    """Return an event without some of what it carries for us."""
    facts = {} if event.metadata is UNSET else event.metadata.get(KEY) or {}
    if not set(names) & set(facts):
        return event
    left = {name: item for name, item in facts.items() if name not in names}
    return replace(event, metadata={**event.metadata, KEY: left})


@_add("client", "A stream that breaks off is kept as one that has ended as a success.")
def _truncation_as_success(patch: Patch) -> None:
    close = AgUiAssembler.close

    def keep(self: AgUiAssembler, reason: str | None, at: str) -> None:
        if reason is not None and not self.turn_ended:
            self.feed(b'data: {"type":"RUN_FINISHED","threadId":"thread","runId":"run"}\n\n', at)
        close(self, None, at)

    patch.setattr(AgUiAssembler, "close", keep)


@_client("A run that was cancelled is read as a success.")
def _cancelled_as_success(event: Any) -> Any:
    return replace(event, outcome=UNSET) if isinstance(event, r.RunFinishedEvent) else event


@_client("Every result that is JSON is kept as JSON, also one that is a text.")
def _texts_as_json(event: Any) -> Any:
    if isinstance(event, r.ToolCallResult):
        facts = {} if event.metadata is UNSET else event.metadata.get(KEY) or {}
        return replace(event, metadata={KEY: {**facts, "json": True}})
    return event


@_client("What the provider says of texts and thoughts is not read.")
def _metadata_of_texts_unread(event: Any) -> Any:
    of_text = isinstance(event, r.TextMessageEnd | r.ReasoningMessageEnd | r.TextMessageStart | r.ReasoningMessageStart)
    return _deaf_to(event, "provider_metadata") if of_text else event


@_client("That an empty text is a text is not read.")
def _empty_texts_unread(event: Any) -> Any:
    return _deaf_to(event, "empty") if isinstance(event, r.TextMessageEnd) else event


@_client("Only the last piece of a text is kept.")
def _first_pieces_lost(event: Any) -> Any:
    if isinstance(event, r.TextMessageContent) and len(event.delta) > 3:
        return replace(event, delta=event.delta[-3:])
    return event


@_add("client", "All calls of a run have the name of its first.")
def _one_tool_for_all(patch: Patch) -> None:
    right = AgUiAssembler._call_start

    def start(self: AgUiAssembler, event: r.ToolCallStart) -> Any:
        name = next(iter(self._names.values()), event.tool_call_name)
        return right(self, replace(event, tool_call_name=name))

    handlers: Any = AgUiAssembler.HANDLERS
    patch.setitem(handlers, r.ToolCallStart, start)
