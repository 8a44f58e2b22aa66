"""What had to be written by hand until generators made it: each kind is in the cases that CI compares targets by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from tests.cli.test_compare_targets import CASES, SEED

from tpharness.explore.disagreement.campaign import generated_scenarios
from tpharness.scenario import AgentRun, Scenario, UserInput

Event = Mapping[str, Any]
_OWN = ("x", "x_own")


@cache
def generated() -> tuple[Scenario, ...]:
    """Return the cases of the seed that CI plays."""
    return tuple(scenario for _, scenario in generated_scenarios(int(SEED), int(CASES)))


def runs(scenario: Scenario) -> list[AgentRun]:
    """Return the runs of a scenario."""
    return [turn for turn in scenario.turns if isinstance(turn, AgentRun)]


def events(scenario: Scenario, kind: str) -> Iterator[tuple[int, Event]]:
    """Yield the events of a kind with the numbers of their runs."""
    for number, run in enumerate(runs(scenario)):
        yield from ((number, event) for event in run.events or () if event["event_kind"] == kind)


def calls(scenario: Scenario) -> dict[str, int]:
    """Return the run in which each call was made last."""
    made = events(scenario, "part_start")
    return {e["part"]["tool_call_id"]: n for n, e in made if e["part"]["part_kind"] == "tool-call"}


def results(scenario: Scenario) -> list[tuple[int, Mapping[str, Any]]]:
    """Return what tools return, with the numbers of the runs."""
    return [(number, event["part"]) for number, event in events(scenario, "function_tool_result")]


def later(scenario: Scenario, runs_later: int, *outcomes: str | None) -> bool:
    """Whether a call is answered so many runs later, with one of these outcomes."""
    made = calls(scenario)
    return any(
        number - made.get(part["tool_call_id"], number) >= runs_later and part.get("outcome") in outcomes
        for number, part in results(scenario)
    )


def ends(scenario: Scenario) -> Iterator[tuple[str | None, str]]:
    """Yield what the end of a text says, None for nothing, and what was streamed of it."""
    for run in runs(scenario):
        held: dict[int, str] = {}
        for event in run.events or ():
            if event["event_kind"] == "part_start" and event["part"]["part_kind"] in ("text", "thinking"):
                held[event["index"]] = event["part"].get("content") or ""
            elif event["event_kind"] == "part_delta" and event["index"] in held:
                held[event["index"]] += event["delta"].get("content_delta", "")
            elif event["event_kind"] == "part_end" and event["index"] in held:
                yield event["part"].get("content"), held.pop(event["index"])


def handed_off_with_open_calls(scenario: Scenario) -> bool:
    """Whether an agent takes over while a call of the same run has no result."""
    for run in runs(scenario):
        waiting: set[str] = set()
        for event in run.events or ():
            part = event.get("part") or {}
            if event["event_kind"] == "part_start" and part["part_kind"] == "tool-call":
                waiting.add(part["tool_call_id"])
            elif event["event_kind"] == "function_tool_result":
                waiting.discard(part["tool_call_id"])
            elif event["event_kind"] == "agent_start" and event["agent_id"] != run.agent_id and waiting:
                return True
    return False


def filters(scenario: Scenario) -> Iterator[tuple[bool, list[Any], Any]]:
    """Yield for each run: whether a filter comes before any part, the reasons of its responses, that of its result."""
    for run in runs(scenario):
        kinds = [(event["event_kind"], event.get("finish_reason")) for event in run.events or ()]
        said = [reason for kind, reason in kinds if kind == "model_response_end"]
        before = [kind for kind, _ in kinds if kind in ("part_start", "model_response_end")][:1]
        first = before == ["model_response_end"] and said[0] == "content_filter"
        yield first, said, next((reason for kind, reason in kinds if kind == "agent_run_result"), None)


def repeated_prompts(scenario: Scenario) -> Iterator[int]:
    """Yield the numbers of the user turns that a request of their run repeats."""
    number, said = -1, None
    for turn in scenario.turns:
        if isinstance(turn, UserInput):
            number, said = number + 1, [part["content"] for part in turn.parts]
        elif said is not None:
            for event in turn.events or ():
                asked = [p.get("content") for p in event.get("parts") or () if p["part_kind"] == "user-prompt"]
                if event["event_kind"] == "model_request" and asked == said:
                    yield number


def times(scenario: Scenario) -> list[str]:
    """Return the times of the events."""
    return [event["at"] for run in runs(scenario) for event in run.events or ()]


def own_fields(scenario: Scenario) -> set[str]:
    """Return where fields stand that the protocol does not have."""
    found = set()
    for turn in scenario.turns:
        parts = turn.parts if isinstance(turn, UserInput) else ()
        found |= {"a part of the user" for part in parts if any(name in part for name in _OWN)}
    for _, event in events(scenario, "part_start"):
        part = event["part"]
        if part["part_kind"].startswith("custom:") and set(part) - {"part_kind", "content", "id"}:
            found.add("a custom part")
        if isinstance(part.get("content"), dict) and any(name in part["content"] for name in _OWN):
            found.add("a file")
    found |= {"the metadata of a return" for _, part in results(scenario) if part.get("metadata")}
    return found


def usages(scenario: Scenario) -> list[Any]:
    """Return the counts that are told."""
    told = [*events(scenario, "model_response_end"), *events(scenario, "agent_run_result")]
    return [count for _, event in told for count in (event.get("usage") or {}).values()]


KINDS: dict[str, Callable[[Scenario], bool]] = {
    "a result without its kind": lambda s: any("part_kind" not in part for _, part in results(s)),
    "a result with a status alone": lambda s: any("status" in p and "outcome" not in p for _, p in results(s)),
    "the end of a part is silent": lambda s: any(said is None for said, _ in ends(s)),
    "the end of a part says something else": lambda s: any(said not in (None, held) for said, held in ends(s)),
    "three runs": lambda s: len(runs(s)) >= 3,
    "an answer in the next run": lambda s: later(s, 1, None, "success"),
    "an answer two runs later": lambda s: later(s, 2, None, "success", "failed", "denied", "retried", "odd"),
    "a denial in a later run": lambda s: later(s, 1, "denied"),
    "a hand-off with open calls": handed_off_with_open_calls,
    "a filter before the first part": lambda s: any(first for first, _, _ in filters(s)),
    "a filter in the result alone": lambda s: any(
        reason == "content_filter" and reason not in said for _, said, reason in filters(s)
    ),
    "a filter against a stop": lambda s: any(
        {*said[-1:], reason} == {"content_filter", "stop"} for _, said, reason in filters(s)
    ),
    "a prompt that repeats in turn 2": lambda s: 1 in repeated_prompts(s),
    "a prompt that repeats in turn 3": lambda s: 2 in repeated_prompts(s),
    "events at one time": lambda s: len({*times(s)}) < len(times(s)),
    "times with another offset": lambda s: any(at.endswith("+02:00") for at in times(s)),
    "times with a fraction and without": lambda s: len({"." in at for at in times(s)}) == 2,
    **{
        f"unknown fields in {place}": lambda s, place=place: place in own_fields(s)  # type: ignore[misc]
        for place in ("a part of the user", "a custom part", "a file", "the metadata of a return")
    },
    "usage in floats": lambda s: any(isinstance(count, float) for count in usages(s)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_was_written_by_hand_is_generated(kind: str) -> None:
    """In at least one of the cases of the fixed seed."""
    assert any(map(KINDS[kind], generated()))
