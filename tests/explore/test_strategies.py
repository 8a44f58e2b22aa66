"""Each strategy generates what it says, judged by schemas, rules and folds that know nothing of generators."""

from __future__ import annotations

import copy
import json
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings

import tpharness.explore.strategies
import tpharness.strategies
from tpharness.errors import ScenarioError
from tpharness.explore.generate.files import scenario_text
from tpharness.explore.generate.programs import cut_scenarios, program
from tpharness.explore.generate.source import Chance, many, one_of, shuffled
from tpharness.explore.generate.streams import recordings
from tpharness.explore.shrinking.events import is_legal
from tpharness.explore.shrinking.shrink import shrink
from tpharness.explore.shrinking.values import shorter_lists, simplify_values
from tpharness.explore.strategies import (
    cut_programs,
    documents,
    programs,
    recorded_streams,
    scenario_files,
    streams,
    threads,
)
from tpharness.findings import Finding, Level
from tpharness.protocol.rules import check_thread
from tpharness.resources import conformance_dir
from tpharness.scenario import AgentRun, Scenario, load_text
from tpharness.server_events import Recorder
from tpharness.server_events.shapes import EVENT, PART
from tpharness.targets import Reference

FEW = settings(max_examples=40)


def schema(name: str):
    """Return the validator of one of the published schemas."""
    folder = conformance_dir() / "schemas"
    return jsonschema_rs.validator_for(json.loads((folder / name).read_text("utf-8")))


SCHEMAS = {version: schema(f"thread-{version}.schema.json") for version in ("2.0.0", "0.0.3", "0.0.4")}


@FEW
@given(threads())
def test_threads_are_valid(made):
    """A generated thread fits the published schema of its version and breaks no rule at MUST."""
    assert SCHEMAS[made["version"]].is_valid(made)
    assert [f.code for f in check_thread(made) if f.level is Level.MUST] == []


@FEW
@given(documents())
def test_documents_are_valid_and_say_something_nobody_knows(made):
    """R7: unknown fields make no document invalid."""
    assert SCHEMAS[made["version"]].is_valid(made)
    assert [f.code for f in check_thread(made) if f.level is Level.MUST] == []
    said = json.dumps(made, ensure_ascii=False)
    assert any(f'"{name}":' in said for name in ("x", "x_note", "x-note", "é", "🚀", "zzz"))


@FEW
@given(programs())
def test_programs_are_legal(made):
    """Every event has its shape, a recorder finds nothing in any run, and places lie inside the last run."""
    assert is_legal(made.scenario)
    for _, run in made.scenario.runs:
        assert all(not EVENT.mismatches(event) for event in run.events or ())
    last = made.scenario.runs[-1][1].events or ()
    assert all(0 <= client <= server <= len(last) for server, client, _ in made.cuts)
    assert len(cut_scenarios(made)) == len(made.cuts) + 1


@FEW
@given(cut_programs())
def test_cut_programs_are_interrupted_at_their_end_or_not_at_all(made):
    """Only the last run of a thread is interrupted: nothing follows it."""
    assert all(run.interrupt is None for _, run in made.runs[:-1])


@FEW
@given(streams())
def test_streams_are_for_a_client_alone(made):
    """A stream has bytes and no server side."""
    assert all(run.events is None and run.wire is not None and run.wire.data is not None for _, run in made.runs)


@FEW
@given(recorded_streams())
def test_recorded_streams_come_from_the_recordings(made):
    """Each is a recording of the suite, named, with bytes changed."""
    names = {name for name, _ in recordings()}
    assert made.description.removesuffix(" with some bytes changed.") in names


@FEW
@given(scenario_files())
def test_scenario_files_load_or_are_refused_with_a_place(made):
    """What does not load is refused with findings that name lines."""
    refused = _refused(made)
    assert all(finding.place.line is not None for finding in refused)


def test_most_scenario_files_load():
    """The files are there to be played, so more than half of them load."""
    refused = [_refused(scenario_text(Chance(seed))) for seed in range(100)]
    assert sum(findings == () for findings in refused) > 50


def _refused(text: str) -> tuple[Finding, ...]:
    """Return why a text does not load, nothing when it does."""
    try:
        load_text(text, id="a/b")
    except ScenarioError as error:
        return error.findings
    return ()


def test_programs_have_what_interruptions_are_about():
    """Among a few hundred programs are parallel calls, interleaved parts, failed returns and events of each tier.

    Every kind of event, part and delta that a server knows is among them but those that change nothing; so are calls of
    the provider and of another agent, what they return, and calls that the next run answers.
    """
    seen = set()
    for seed in range(400):
        made = program(Chance(seed)).scenario
        if any(isinstance(one, AgentRun) and isinstance(two, AgentRun) for one, two in pairwise(made.turns)):
            seen.add("answered by the next run")
        for _, run in made.runs:
            kinds = [event["event_kind"] for event in run.events or ()]
            seen.update(kinds)
            seen.update(event["part"].get("part_kind") for event in run.events or () if "part" in event)
            seen.update(str(event.get("event_type")) for event in run.events or ())
            seen.update(str(event["part"].get("outcome")) for event in run.events or () if "part" in event)
            owners = [event["index"] for event in run.events or () if event["event_kind"] == "part_delta"]
            if any(a > b for a, b in pairwise(owners)):
                seen.add("interleaved")
    assert {"tool_progress", "error", "system_event", "data-app-note", "data-tp-note", "meta:note"} <= seen
    assert {"success", "failed", "denied", "retried", "interleaved", "answered by the next run"} <= seen
    assert set(EVENT.records) - seen == {"final_result", "deferred_tool_requests", "deferred_tool_results", "stall"}
    assert set(PART.records) <= seen


# ------------------------------------------------------------------------------------------------ sources, shrinking


def test_a_source_with_a_seed_gives_the_same_numbers():
    """Where there is nothing to choose nothing is drawn."""
    one, two = Chance(7), Chance(7)
    drawn = [one.number(0, 9) for _ in range(20)]
    assert two.number(3, 3) == 3
    assert drawn == [two.number(0, 9) for _ in range(20)]
    assert set(drawn) <= set(range(10))


def test_choices_stay_within_what_they_choose_from():
    """`many` keeps to its bounds, `shuffled` to its values."""
    for seed in range(50):
        source = Chance(seed)
        assert 1 <= len(list(many(source, 1, 3))) <= 3
        assert sorted(shuffled(source, [1, 2, 3])) == [1, 2, 3]
        assert one_of(source, "ab") in "ab"


def test_a_list_gets_shorter_by_runs():
    """All of it at once, then halves, then single items; each is shorter than the list."""
    tried = list(shorter_lists([1, 2, 3, 4]))
    assert tried[0] == []
    assert [1, 2] in tried
    assert [1, 2, 3] in tried
    assert all(len(one) < 4 for one in tried)


def test_values_get_simpler():
    """Keys go, texts are halved, numbers become 0 or 1; a truth value stays."""
    assert {} in list(simplify_values({"a": 1}))
    assert "ab" in list(simplify_values("abcd"))
    assert list(simplify_values(7)) == [0, 1]
    assert list(simplify_values(True)) == []


def test_a_program_is_made_smaller_without_becoming_illegal():
    """All that is asked for is a tool result: the smallest legal program with one is left."""
    made = next(
        p.scenario
        for p in (program(Chance(seed)) for seed in range(100))
        if sum(e["event_kind"] == "function_tool_result" for _, r in p.scenario.runs for e in r.events or ()) > 3
    )

    def asked(scenario) -> bool:
        return is_legal(scenario) and any(
            e["event_kind"] == "function_tool_result" for _, r in scenario.runs for e in r.events or ()
        )

    left = shrink(made, asked)
    assert isinstance(left, Scenario)
    kinds = [e["event_kind"] for _, run in left.runs for e in run.events or ()]
    # A call has a start and an end; its result shows that its response is over (R40).
    needed = ["model_request", "part_start", "part_end", "function_tool_result", "agent_run_result"]
    assert sorted(kinds) == sorted(needed)


@pytest.mark.parametrize("kind", ["response_reset", "agent_start", "enqueued_messages", "output_tool_call"])
def test_what_the_rest_does_not_need_is_taken_out(kind: str):
    """A response that was taken back goes with its reset, and not with the request that is asked again."""

    def said(scenario) -> list[str]:
        return [event["event_kind"] for _, run in scenario.runs for event in run.events or ()]

    scenarios = (program(Chance(seed)).scenario for seed in range(1000))
    made = next(one for one in scenarios if kind in said(one) and "part_end" in said(one)[said(one).index(kind) :])
    left = shrink(made, lambda one: is_legal(one) and "part_end" in said(one))
    assert sorted(said(left)) == ["agent_run_result", "model_request", "part_end", "part_start"]


def test_a_program_with_a_mistake_is_not_legal():
    """A delta without a start, a run without a result: no server that makes no mistakes says so."""
    made = program(Chance(1)).scenario
    run = made.runs[-1][1]
    assert is_legal(made)
    for events in ((run.events or ())[:-1], ({"event_kind": "part_delta", "index": 9}, *(run.events or ()))):
        turns = (*made.turns[:-1], AgentRun(agent_id=run.agent_id, started_at=run.started_at, events=events))
        assert not is_legal(replace(made, turns=turns))


@pytest.mark.parametrize("name", ["threads", "documents", "programs", "streams", "recorded_streams", "scenario_files"])
def test_the_guide_names_every_strategy(name):
    """docs/STRATEGIES.md is where users find them, under the public name."""
    guide = Path(__file__).parents[2] / "docs" / "STRATEGIES.md"
    assert f"`{name}()`" in guide.read_text("utf-8")
    assert getattr(tpharness.strategies, name) is getattr(tpharness.explore.strategies, name)


def test_every_example_of_the_guide_runs(monkeypatch):
    """With a store and an import that keep everything, and the reference as the client; few examples of each."""
    guide = (Path(__file__).parents[2] / "docs" / "STRATEGIES.md").read_text("utf-8")
    kept: list[Any] = []
    store = SimpleNamespace(save=kept.append, load=lambda: kept[-1])
    mymodule = SimpleNamespace(client=Reference())
    monkeypatch.setitem(sys.modules, "mymodule", mymodule)
    names: dict[str, Any] = {"store": store, "my_import": copy.deepcopy}
    for example in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(compile(example, "an example of docs/STRATEGIES.md", "exec"), names)  # noqa: S102  # our own document
    tests = [value for name, value in names.items() if name.startswith("test_")]
    assert len(tests) == 3
    for test in tests:
        settings(max_examples=10)(test)()


def test_a_recorder_agrees_that_programs_are_legal():
    """Said once more without our own idea of legal: a plain recorder reports nothing."""
    for seed in range(100):
        recorder = Recorder(providers={})
        for _, run in program(Chance(seed)).scenario.runs:
            recorder.begin(run.agent_id, run.started_at)
            for event in run.events or ():
                recorder.feed(event)
        assert [f.code for f in recorder.findings if f.level is not Level.MAY] == []
