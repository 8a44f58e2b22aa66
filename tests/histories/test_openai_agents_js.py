"""OpenAI's Agents SDK for JavaScript: what a stopped run leaves in its session and its list, and what is sent next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.about import about
from tests.distribution import Sample
from tests.histories.cut_script import PLAYED, TWO_TOOLS, events_of
from tests.histories.message_parts.build import inline, journal_of
from tests.histories.node_oracle import NodeOracle

from tpharness.errors import UsageError
from tpharness.histories.compare import DEFAULT_IDS
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.openai_agents_js import OPENAI_AGENTS_JS
from tpharness.journal import Interrupted, Journal, UserTurn
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario
from tpharness.server_events import Recorder

STOPS = ("signal", "loop", "error")
APIS = {"chat": "openai-chat", "responses": "openai-responses"}
ASKED = UserTurn(at="2025-01-20T10:00:00Z", parts=({"part_kind": "user-prompt", "content": "q"},))
PLAYABLE = {
    *("model_request", "part_start", "part_delta", "part_end", "final_result", "model_response_end"),
    *("function_tool_call", "function_tool_result", "agent_run_result"),
}
SESSION, LIST = OPENAI_AGENTS_JS["openai-agents-js/session"], OPENAI_AGENTS_JS["openai-agents-js/list"]
Event = dict[str, Any]


@pytest.fixture(scope="module")
def package() -> Iterator[NodeOracle]:
    """The real package, in a program of its own for all tests of this module."""
    here = Path(__file__).parent / "openai_agents_js"
    with NodeOracle("drive.mjs", scripts=here, packages=here) as program:
        yield program


def journal_at(events: list[Event], at: int) -> Journal:
    """Return what has happened after so many events of a run."""
    recorder = Recorder()
    recorder.add_user_turn(ASKED)
    recorder.begin("a", ASKED.at)
    for event in events[:at]:
        recorder.feed(event)
    cut = None if at == len(events) else Interrupted(reason="user_cancelled", at=ASKED.at)
    return recorder.journal(cut, partial=True)


def later(events: list[Event], at: int) -> int:
    """Return the place at which the tools have ended that work at a place."""
    kinds = ("function_tool_call", "function_tool_result", "agent_run_result")
    return next((then for then in range(at, len(events)) if events[then]["event_kind"] not in kinds), len(events))


def without(value: Any, *names: str) -> Any:
    """Return a value without fields of these names, and without those that are null."""
    if isinstance(value, dict):
        return {name: without(v, *names) for name, v in value.items() if name not in names and v is not None}
    return [without(one, *names) for one in value] if isinstance(value, list) else value


MADE_UP = ("id", "providerData", "status", "annotations")
"""What the model's server says of an item beside what it holds."""


def hold(package: NodeOracle, events: list[Event], at: int, stop: str, model: str) -> None:
    """Compare one place: the session, the list at the stop and behind it, and what each API is sent of them."""
    real = package.ask({"events": events, "at": at, "stop": stop, "model": model})
    assert real["problem"] is None, at
    assert (real["error"] is not None) == (stop == "error" and not real["ended"]), at
    session, then = SESSION.store(journal_at(events, at)), LIST.store(journal_at(events, later(events, at)))
    assert without(real["kept"]["session"], *MADE_UP) == without(session, *MADE_UP), (at, stop)
    assert without(real["kept"]["at once"], *MADE_UP) == without(LIST.store(journal_at(events, at)), *MADE_UP), (
        at,
        stop,
    )
    assert without(real["kept"]["list"], *MADE_UP) == without(then, *MADE_UP), (at, stop)
    for name, api in APIS.items():
        for kept, history, document in (("session", SESSION, session), ("list", LIST, then)):
            sent = history.model_input(document, api, next_user="Go on.")
            asked = real["asks"][f"{kept} {name}"]
            assert without(asked, "id", "status") == without(sent, "id", "status"), (at, stop, kept, name)


def playable(events: list[Event]) -> bool:
    """Whether the program's loop can play a run: whole answers of texts and calls, each with its result.

    Behind an answer without a part it asks the model again, which a journal does not have. The name of a tool has
    letters, digits and `_`: for others it writes `_`, and then it does not find the call's tool.
    """
    kinds = [event["event_kind"] for event in events]
    said = [event.get("part") or event.get("delta") or {} for event in events]
    called = [event["part"] for event in events if event["event_kind"] == "part_start" and "tool_name" in event["part"]]
    results = [event["part"] for event in events if event["event_kind"] == "function_tool_result"]
    begins = [number for number, kind in enumerate(kinds) if kind == "model_request"]
    ends = [number for number, kind in enumerate(kinds) if kind == "model_response_end"]
    return (
        set(kinds) <= PLAYABLE
        and kinds[:1] == ["model_request"]
        and kinds[-1:] == ["agent_run_result"]
        and {event["part"]["part_kind"] for event in events if event["event_kind"] == "part_start"}
        <= {"text", "tool-call"}
        and all(isinstance(part.get("args_delta") or "", str) for part in said)
        and all(part.get("outcome", "success") == "success" and part.get("content") is not None for part in results)
        and all(re.fullmatch(r"\w+", part["tool_name"], re.ASCII) for part in called)
        and sorted(part["tool_call_id"] for part in called) == sorted(part["tool_call_id"] for part in results)
        and kinds.count("part_start") == kinds.count("part_end")
        and len(begins) == len(ends)
        and all("part_start" in kinds[begin:end] for begin, end in zip(begins, ends, strict=True))
        and all("function_tool_call" in kinds[end : kinds.index("model_request", end)] for end in ends[:-1])
        and "function_tool_call" not in kinds[ends[-1] :]
    )


def runs_of(ids: tuple[str, ...]) -> list[tuple[str, list[Event]]]:
    """Return the runs that the program's loop can play and the histories hold."""
    found = []
    for one in select_scenarios(ids, (scenarios_dir(),)):
        scenario = load_scenario(one.path, root=one.root)
        turns = [turn for turn in make_script(base_case(scenario)).turns if not isinstance(turn, UserTurn)]
        for number, turn in enumerate(turns):
            events = [dict(event) for event in turn.events]
            if not playable(events):
                continue
            try:
                LIST.store(journal_at(events, len(events)))
            except UnsupportedError:
                continue
            found.append((f"{scenario.id}:{number}", events))
    return found


@pytest.mark.node
@pytest.mark.parametrize("model", APIS)
def test_a_stop_leaves_what_the_package_holds(package: NodeOracle, model: str) -> None:
    """At each place of a text, and of a run with two tools, whose second is done first."""
    for played in (PLAYED["text"], inline(TWO_TOOLS.format(last=""))):
        events = [dict(event) for event in events_of(played)]
        for at in range(len(events) + 1):
            for stop in STOPS:
                hold(package, events, at, stop, model)


@pytest.mark.node
@pytest.mark.sampled
def test_every_place_of_every_run_that_the_package_can_play(
    package: NodeOracle, sample: Sample[tuple[str, list[Event]]]
) -> None:
    """The scenarios that `compare` plays, those about cycles and about tools; over both APIs, stopped in three ways."""
    runs = runs_of((*DEFAULT_IDS, "cycles", "tools"))
    assert len(runs) > 40
    for name, events in sample(runs):
        with about(name):
            for at in range(len(events) + 1):
                for stop in STOPS:
                    for model in APIS:
                        hold(package, events, at, stop, model)


def test_a_session_forgets_the_whole_run_and_a_list_only_the_step_that_was_cut() -> None:
    """One step had ended, and the answer was streaming."""
    journal = journal_of(
        inline(
            "  - user: q\n"
            "  - steps:\n"
            "      - response: [{call: book, id: c1, args: {}}]\n"
            "      - returns: {c1: {room: 7}}\n"
            "      - response: [{text: [It is, booked], label: says}]\n"
            "    interrupt: {reason: user_cancelled, after: says.mid}\n"
        )
    )
    assert [item["type"] for item in SESSION.store(journal)] == ["message"]
    kept = LIST.store(journal)
    assert [item["type"] for item in kept] == ["message", "function_call", "function_call_result"]
    assert kept[-1]["output"] == {"type": "text", "text": '{"room":7}'}


def test_they_write_for_the_two_apis_of_openai() -> None:
    """The package has no others."""
    with pytest.raises(UsageError, match="openai-agents-js/list writes no requests for anthropic"):
        LIST.model_input([], "anthropic")
