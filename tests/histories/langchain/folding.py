"""Journals as the server side folds them, and states written short."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tests.scenarios import load_builtin

from tpharness.journal import Interrupted, Journal
from tpharness.journal import UserTurn as JournalUserTurn
from tpharness.scenario import AgentRun, Scenario, load_text
from tpharness.server_events import Recorder, RunState

CALL = '{"city": "Paris"}'
OTHER_CALL = '{"city": "Oslo"}'
MARKER = "\n[Tool call was interrupted \u2013 execution incomplete]"


def fold(scenario: Scenario, turns: int | None = None) -> Journal:
    """Fold the first turns of a scenario, all by default; half parts are visible."""
    recorder = Recorder()
    for turn in scenario.turns[:turns]:
        if isinstance(turn, AgentRun):
            recorder.begin(turn.agent_id, turn.started_at)
            for event in turn.events_before_cut:
                recorder.feed(event)
            if turn.interrupt is not None:
                recorder.interrupt(turn.interrupt.reason, turn.interrupt.at)
        else:
            recorder.add_user_turn(JournalUserTurn(at=turn.submitted_at, parts=tuple(turn.parts)))
    assert not recorder.findings
    return recorder.journal(partial=True)


def cuts(scenario: Scenario) -> Iterator[Journal]:
    """Fold a scenario; yield its journal as it would be if the user cancelled after each event, and at its end."""
    recorder = Recorder()
    for turn in scenario.turns:
        if not isinstance(turn, AgentRun):
            recorder.add_user_turn(JournalUserTurn(at=turn.submitted_at, parts=tuple(turn.parts)))
            continue
        if turn.events is None or recorder.state is not RunState.ENDED:
            break
        recorder.begin(turn.agent_id, turn.started_at)
        for event in turn.events_before_cut:
            recorder.feed(event)
            yield recorder.journal(Interrupted(reason="user_cancelled", at=turn.started_at), partial=True)
        if turn.interrupt is not None:
            recorder.interrupt(turn.interrupt.reason, turn.interrupt.at)
    yield recorder.journal(partial=True)


def history(name: str, turns: int | None = None) -> Journal:
    """Fold the scenario `histories/NAME`, or another theme's."""
    return fold(_load(name if "/" in name else f"histories/{name}"), turns)


_load = cache(load_builtin)


def run(*steps: str, interrupt: str = "", reason: str = "user_cancelled", head: str = "steps") -> Journal:
    """Fold the user's "Weather?" and one run: steps, or server events, in YAML's flow style.

    `interrupt` is the label after which the run is cut.
    """
    body = "".join(f"      - {step}\n" for step in steps)
    cut = f"    interrupt: {{reason: {reason}, after: {interrupt}}}\n" if interrupt else ""
    text = f"description: One run.\nclauses: [turn.one]\nturns:\n  - user: Weather?\n  - {head}:\n{body}{cut}"
    return fold(load_text(text, id="histories/one-run", clauses=("turn.one",), rulings=()))


def human(text: str) -> tuple[Any, ...]:
    """Return a HumanMessage, short."""
    return ("human", text)


KEPT = "kept under additional_kwargs"


def ai(text: str, *calls: str) -> tuple[Any, ...]:
    """Return an AIMessage, short, with the ids of its calls, and KEPT if the API's own form of them is in it."""
    return ("ai", text, *calls)


def tool(text: str, call_id: str) -> tuple[Any, ...]:
    """Return a ToolMessage, short."""
    return ("tool", text, call_id)


def short(document: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Write the messages of a state short."""
    return [_short(message["type"], message["data"]) for message in document["messages"]]


def _short(kind: str, data: Mapping[str, Any]) -> tuple[Any, ...]:
    if kind == "human":
        return human(data["content"])
    if kind == "tool":
        return tool(data["content"], data["tool_call_id"])
    calls: Sequence[Mapping[str, Any]] = [*data["tool_calls"], *data["invalid_tool_calls"]]
    kept = [KEPT] if data["additional_kwargs"] else []
    return ai(data["content"], *(call["id"] for call in calls), *kept)
