"""A scenario is written as YAML that a person can read and that loads to an equal scenario."""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tpharness.errors import InputError, UsageError
from tpharness.scenario import ClientCut, CutUnit, Interrupt, Scenario, WireEnd, dump, load_text, write

FULL = """\
description: "All: of 'it' #1"
clauses: [turn.one, turn.two]
rulings: [R20]
tags: [cancel]
versions: [0.0.4]
compare: content
carriers: false
clock: {start: "2025-02-01T00:00:00Z", tick: 0.25}
thread_id: "12"
agents: {a: {agent_name: "yes"}, b: {config_ref: "1e3", provider_name: null}}
readings: {R20: as-streamed, R21: any-return}
recorded: {implementation: lib, version: "2.0", note: n}
turns:
  - user: ["1:30", {kind: image-url, url: u}]
    client_metadata: {"ui:theme": null, n: 1.5, big: 123456789012345678901234567890, e: 1e300}
  - agent: b
    message_id: m
    steps:
      - response: [{text: "a\\nb c", label: t}, {call: f, id: c, args: {"1": [true, null, "null", "~", ""]}}]
        label: t2
      - returns: {c: {value: {value: 1}}}
    interrupt: {reason: mine, after: t.mid, wire: cut, client: {after: {byte: 1}, reason: timeout}}
    client: {base64: AP8=}
    history: [{kind: request, parts: []}]
  - client: [{type: start}, {type: data-x, data: "\\U0001F600 \\u2028"}]
  - server: {jsonl: '{"event_kind": "part_delta", "x": "\\ud83d", "label": 5}'}
    client: {sse: "data: a\\n\\ndata: b\\r\\n"}
cut: {at: every-byte, reasons: [timeout, mine], turn: 2, side: client}
expect:
  findings: [done-missing]
  outline: {0.0.4: [user, "agent complete"]}
  thread: {0.0.4: {turns: [{turn_type: user}]}}
"""


def again(scenario: Scenario) -> Scenario:
    """Write and load a scenario."""
    return load_text(dump(scenario), id=scenario.id, clauses=scenario.clauses, rulings=scenario.rulings)


def _events(scenario: Scenario) -> tuple[Any, ...]:
    return scenario.runs[0][1].events or ()


def test_a_scenario_with_everything_loads_to_an_equal_one(load):
    """Every field survives, labels, odd events and bytes that are not text included."""
    scenario = load(FULL)
    assert again(scenario) == scenario
    assert dump(again(scenario)) == dump(scenario)


def test_a_case_of_a_sweep_loads_to_an_equal_one(load):
    """A case is a scenario whose run is cut where only its client noticed."""
    scenario = load(FULL)
    cut = Interrupt(
        reason="network_failure",
        at="2025-02-01T00:00:01Z",
        wire=WireEnd.CUT,
        server_after=None,
        client_after=ClientCut(unit=CutUnit.EVENT, count=2),
        client_reason="network_failure",
    )
    run = replace(scenario.turns[1], wire=None, interrupt=cut)
    case = replace(scenario, id="theme/name@event-2", turns=(scenario.turns[0], run), cut=None)
    assert again(case) == case


def test_strings_that_any_yaml_reader_would_misread_are_quoted(load):
    """Also a YAML 1.1 reader gets strings back as strings."""
    scenario = load(FULL)
    document = yaml.safe_load(dump(scenario))
    assert document["agents"]["a"]["agent_name"] == "yes"
    assert document["turns"][0]["submitted_at"] == "2025-02-01T00:00:00Z"
    assert document["agents"]["b"]["config_ref"] == "1e3"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50)
@given(JSON)
def test_any_json_value_survives(value: Any) -> None:
    """Whatever a tool returns and a user says comes back the same, type by type."""
    text = (
        "description: a\nclauses: [x]\nturns: [{user: a}, {steps: [{response: [{call: f, id: c}]}, {returns: {c: 1}}]}]"
    )
    scenario = load_text(text, id="a/b", clauses=("x",), rulings=())
    events = [dict(event) for event in _events(scenario)]
    result = next(event for event in events if event["event_kind"] == "function_tool_result")
    result["part"] = {**result["part"], "content": value}
    run = replace(scenario.runs[0][1], events=tuple(events))
    back = again(replace(scenario, turns=(scenario.turns[0], run)))
    got = next(e for e in _events(back) if e["event_kind"] == "function_tool_result")["part"]["content"]
    assert repr(got) == repr(value)


def test_text_that_yaml_cannot_say_is_refused_or_said_as_json(load):
    """A lone surrogate in an event goes in as JSON; in a user's text it is an error of the caller."""
    scenario = load("description: a\nclauses: [turn.one]\nturns: [{user: a}, {steps: [{error: x}]}]")
    user, run = scenario.turns
    broken = replace(run, events=({**run.events[0], "error_text": "\ud83d"}, *run.events[1:]))
    assert _events(again(replace(scenario, turns=(user, broken)))) == broken.events
    with pytest.raises(UsageError, match="cannot represent"):
        dump(replace(scenario, turns=(replace(user, parts=({"part_kind": "user-prompt", "content": "\ud83d"},)),)))


def test_a_file_is_written_whole_or_not_at_all(load, tmp_path):
    """Writing replaces the file in one step, leaves nothing else behind, and says what went wrong."""
    scenario = load(FULL)
    path = tmp_path / "a.yaml"
    path.write_text("old")
    write(scenario, path)
    assert load(path.read_text("utf-8")) == scenario
    assert [p.name for p in tmp_path.iterdir()] == ["a.yaml"]
    with pytest.raises(InputError, match="cannot write"):
        write(scenario, tmp_path / "none" / "a.yaml")


def test_a_link_to_a_scenario_file_stays_a_link(load, tmp_path):
    """What it points to is replaced and keeps its mode, as for every other file that tpharness writes."""
    file, link = tmp_path / "a.yaml", tmp_path / "link.yaml"
    file.write_text("old")
    file.chmod(0o664)
    link.symlink_to(file)
    write(load(FULL), link)
    assert link.is_symlink()
    assert load(file.read_text("utf-8")) == load(FULL)
    assert file.stat().st_mode & 0o777 == 0o664
