"""What the tests of this dialect share: histories in short, and the journals of scenarios.

The short forms write a line's object as it lies on disk, without its time, by the table of fields in HISTORIES 1.1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import Scenario, load_scenario, load_text
from tpharness.server_events import Recorder

MODEL, PROVIDER = "test-model", "test"
"""Who answers in a scenario that names nobody (docs/SCENARIOS.md)."""

Line = dict[str, Any]


def text(said: str) -> Line:
    """A text part."""
    return {"type": "text", "text": said}


def thought(said: str) -> Line:
    """What the model of a scenario thought."""
    return {"type": "thinking_text", "text": said, "model_id": MODEL}


def signature(said: str) -> Line:
    """The signature of a thought, as the provider of a scenario signs."""
    return {"type": "thinking_signature", "signature": said, "model_id": MODEL, "format": PROVIDER}


def call(call_id: str, name: str, arguments: str = "{}") -> Line:
    """A call of a tool."""
    return {"type": "tool_call", "call_id": call_id, "tool_name": name, "arguments_json": arguments}


def user(*said: str | Line) -> Line:
    """A user message; what is not text is a part."""
    parts = [text(item) if isinstance(item, str) else item for item in said]
    return {"type": "UserMessage", "data": {"role": "user", "parts": parts}}


def answer(*parts: Line, stop: str | None = None, **more: Any) -> Line:
    """An assistant message."""
    data = {"role": "assistant", "parts": list(parts), **more}
    return {"type": "AssistantMessage", "data": {**data, "stop_reason": stop} if stop else data}


def result(call_id: str, name: str, status: str, said: str, *images: Line) -> Line:
    """What came back for a call."""
    data = {"role": "tool", "call_id": call_id, "tool_name": name, "status": status, "output_text": said}
    return {"type": "ToolResultMessage", "data": {**data, "parts": list(images)}}


def cancelled(call_id: str, name: str) -> Line:
    """The result of a tool that the user's interruption stopped, in the words of HISTORIES 1.1."""
    return result(call_id, name, "aborted", "[Request interrupted by user for tool use]")


def developer(said: str, position: str | None = None) -> Line:
    """A developer message."""
    data = {"role": "developer", "parts": [text(said)]}
    return {"type": "DeveloperMessage", "data": {**data, "attachment_position": position} if position else data}


def system(said: str) -> Line:
    """A system message."""
    return {"type": "SystemMessage", "data": {"role": "system", "parts": [text(said)]}}


def interrupt(*, notice: bool) -> Line:
    """An entry that tells an interruption."""
    return {"type": "InterruptEntry", "data": {"show_notice": notice}}


def stream_error(said: str) -> Line:
    """A failed model call."""
    return {"type": "StreamErrorItem", "data": {"error": said}}


def retract(said: str) -> Line:
    """The withdrawal of a user message."""
    return {"type": "RetractEntry", "data": {"retracted_text": said}}


@cache
def scenario(scenario_id: str) -> Scenario:
    """Load a scenario of the suite."""
    (one,) = select_scenarios((scenario_id,), (scenarios_dir(),))
    return load_scenario(one.path, root=one.root)


def inline(turns: str) -> Scenario:
    """Load turns that are written as in a scenario file."""
    return load_text(f"description: Written in a test.\nclauses: [cycle.kept]\nturns:\n{turns}", id="test/inline")


def journal_of(played: Scenario, cut: tuple[int, str] | None = None) -> Journal:
    """Fold a scenario as a server does; `cut` stops its last run after so many events for that reason instead."""
    recorder = Recorder()
    turns = make_script(base_case(played)).turns
    for turn in turns:
        if isinstance(turn, UserTurn):
            recorder.add_user_turn(turn)
            continue
        here = cut is not None and turn is turns[-1]
        recorder.begin(turn.agent_id, turn.started_at)
        for event in turn.events[: cut[0]] if here and cut is not None else turn.events:
            recorder.feed(event)
        if here and cut is not None:
            return recorder.journal(Interrupted(reason=cut[1], at=turn.started_at), partial=True)
        if turn.interruption is not None:
            recorder.interrupt(turn.interruption.reason, turn.interruption.at)
    return recorder.journal(partial=True)


def conversation(document: list[Line]) -> list[Line]:
    """Return a document without the times of its events, and without the metadata of its tasks."""
    return [
        {"type": line["type"], "data": {k: v for k, v in line["data"].items() if k != "created_at"}}
        for line in document
        if line["type"] != "TaskMetadataItem"
    ]
