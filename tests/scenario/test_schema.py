"""The published schema and the loader agree on what a scenario file looks like.

The loader has its own checks, for their messages; the schema serves editors and other languages. One corpus goes to
both. What refers to something else in the file (labels, agents, calls, cuts) only the loader can judge.
"""

import json
from typing import Any

import jsonschema_rs
import pytest
from tests.about import about

from tpharness.resources import scenarios_dir, schema_path
from tpharness.scenario import dump, find_scenarios, load_scenario
from tpharness.scenario.expand_parts import PART_KEYS
from tpharness.scenario.expand_steps import STEP_KEYS
from tpharness.scenario.expectations import EXPECT_KEYS
from tpharness.scenario.interrupts import INTERRUPT_KEYS
from tpharness.scenario.load import TOP_KEYS
from tpharness.scenario.problems import Problems
from tpharness.scenario.turns import RUN_KEYS, USER_KEYS
from tpharness.scenario.yaml_nodes import plain, read_yaml
from tpharness.server_events.events import EventKind

SCHEMA = json.loads(schema_path("scenario").read_text("utf-8"))
EVENT = json.loads(schema_path("server-event").read_text("utf-8"))
VALIDATOR = jsonschema_rs.validator_for(SCHEMA, registry=jsonschema_rs.Registry([(EVENT["$id"], EVENT)]))

GOOD_STEPS = (
    "response: []",
    "response: [{text: a, id: x, unfinished: true, label: l}, {text: [a, '']}, {text: ''}]",
    "response: [{thinking: a, signature: s, provider: p, id: i}, {thinking: [a]}]",
    "response: [{call: f, id: c, args: [1]}, {call: f, id: d, raw: ''}, {call: f, id: e, deltas: [a]}]",
    "response: [{file: {media_type: m, data: aGk=}, id: f}, {part: {part_kind: 'custom:x'}}]",
    "response: [{provider_call: f, id: c, args: 1, provider: p}, {provider_return: c, content: null}]",
    "response: [{event: e, data: {}, source_agent: assistant, target_agents: [], transient: false}]",
    "{response: [], model: m, provider: p, response_id: r, usage: {a: 0}, finish_reason: null, label: l}",
    "{response: [], unfinished: true}",
    "{error: '', at: '2030-01-01T00:00:00.5+01:00'}",
    "prompt: [a, {kind: image-url, url: u}]",
    "stall: 0.5",
    "agent: assistant",
    "finish: {finish_reason: stop, usage: {}}",
)
BAD_STEPS = (
    "respons: []",
    "{response: [], prompt: a}",
    "response: {}",
    "response: [{text: 1}]",
    "response: [{text: []}]",
    "response: [{text: a, args: {}}]",
    "response: [{text: a, thinking: b}]",
    "response: [{text: a, label: start}]",
    "response: [{text: a, label: a.mid}]",
    "response: [{text: a, unfinished: 1}]",
    "response: [{call: f}]",
    "response: [{call: f, id: 1}]",
    "response: [{call: f, id: c, deltas: []}]",
    "response: [{file: {data: a}}]",
    "response: [{part: {}}]",
    "response: [{event: e, target_agents: a}]",
    "{response: [], usage: {a: -1}}",
    "{response: [], usage: {a: 1.5}}",
    "{response: [], finish_reason: ''}",
    "returns: {}",
    "returns: [a]",
    "progress: {}",
    "start_tools: false",
    "start_tools: []",
    "prompt: []",
    "prompt: [{url: u}]",
    "{error: a, at: yesterday}",
    "stall: -1",
    "stall: true",
    "stall: 100000",
    "reset: false",
    "agent: ''",
    "finish: true",
    "finish: {reason: stop}",
    "event: ''",
    "null",
    "text",
)
GOOD_TURNS = (
    "{user: ''}",
    "{user: {parts: [{part_kind: user-prompt, content: a}]}, client_metadata: {}}",
    "{server: [], message_id: m, started_at: '2030-01-01T00:00:00Z'}",
    "{server: [{event_kind: stall, seconds: 1, label: [a, b.mid]}], history: []}",
    "{server: [{event_kind: part_start, index: 0, part: {part_kind: 'custom:x', content: 5}, more: []}]}",
    "{server: {jsonl: ''}, history: {json: '[]'}}",
    "{client: []}",
    "{client: {sse: ''}, interrupt: {reason: mine}}",
    "{client: {base64: AP8=}, interrupt: {reason: mine, wire: cut, client: {after: {byte: 2}, reason: x}}}",
    "{steps: [{error: a, label: l}], finish: false, interrupt: {reason: error, after: l.mid, server: {after: l}}}",
    "{steps: [{response: [{call: f, id: c}]}, {start_tools: [c]}, {returns: {c: {error: a}}}]}",
    "{steps: [{response: [{call: f, id: c}]}, {progress: {c: 1}}, {returns: {c: {ref: {uri: u}, metadata: 1}}}]}",
    "{steps: [{response: [{call: f, id: c}]}, {start_tools: true}, {returns: {c: {error: a, code: b}}}]}",
    "{steps: [{response: [], unfinished: true}, {reset: true}]}",
)
BAD_TURNS = (
    "{}",
    "null",
    "{user: 1}",
    "{user: a, steps: []}",
    "{user: {parts: []}}",
    "{user: {parts: [{}]}}",
    "{user: a, client_metadata: []}",
    "{agent: assistant}",
    "{steps: []}",
    "{steps: [{error: a}], server: []}",
    "{server: [], finish: true}",
    "{server: [{event_kind: nope}]}",
    "{server: [{event_kind: part_start, index: 1}]}",
    "{server: [{event_kind: part_start, index: a, part: {part_kind: text}}]}",
    "{server: [{event_kind: part_start, index: 0, part: {part_kind: tool-call, tool_name: a}}]}",
    "{server: [{event_kind: part_delta, index: 0, delta: {part_delta_kind: thinking, signature_delta: 5}}]}",
    "{server: [{event_kind: model_request, parts: [{part_kind: user-prompt, content: [a, 5]}]}]}",
    "{server: [{event_kind: system_event, event_type: a, target_agents: a}]}",
    "{server: [{event_kind: stall, seconds: -1}]}",
    "{server: [{event_kind: error, error_text: a, label: end}]}",
    "{server: {file: a, jsonl: b}}",
    "{client: {}}",
    "{client: [1]}",
    "{client: [], history: {}}",
    "{client: [], interrupt: {}}",
    "{client: [], interrupt: {reason: ''}}",
    "{steps: [{error: a}], interrupt: {reason: error, after: {chunk: 1}}}",
    "{steps: [{error: a}], interrupt: {reason: error, after: {event: -1}}}",
    "{steps: [{error: a}], interrupt: {reason: error, after: end, wire: none}}",
    "{steps: [{response: [{call: f, id: c}]}, {returns: {c: {error: a, denied: b}}}]}",
    "{steps: [{response: [{call: f, id: c}]}, {returns: {c: {metadata: a}}}]}",
)
GOOD_TOPS = (
    "rulings: []\ntags: [a-b]\nversions: [0.0.4]\ncompare: content\ncarriers: false",
    "clock: {}\nthread_id: t\nagents: {a: {agent_name: b}}\nreadings: {R24: keep-empty}",
    "cut: every-byte",
    "cut: {at: every-event, reasons: [a], turn: 1, side: client}",
    "expect: {findings: [], outline: [user], thread: {}}",
    "expect: {outline: {0.0.4: []}, thread: {0.0.4: {turns: []}}}",
    "recorded: {implementation: a, version: '1', note: ''}",
)
BAD_TOPS = (
    "foo: 1",
    "rulings: R20",
    "tags: [A_b]",
    "tags: [a, a]",
    "versions: []",
    "versions: [1]",
    "compare: same",
    "carriers: 1",
    "clock: {tick: a}",
    "clock: {start: 2025-01-20}",
    "thread_id: 5",
    "agents: {}",
    "agents: []",
    "agents: {a: {name: b}}",
    "readings: {R20: other}",
    "readings: {R1: drop}",
    "cut: always",
    "cut: {turn: 1}",
    "cut: {at: every-byte, reasons: []}",
    "cut: {at: every-byte, reasons: ['a:b']}",
    "cut: {at: every-byte, side: server}",
    "expect: []",
    "expect: {findings: [A]}",
    "expect: {outline: a}",
    "expect: {outline: [1]}",
    "expect: {thread: []}",
    "expect: {thread: {0.0.4: {}, turns: []}}",
    "recorded: {implementation: a}",
    "recorded: {implementation: a, version: 1.0}",
)
HEAD = "description: a\nclauses: [turn.one]\n"
GOOD = (
    *(f"{HEAD}turns: [{{user: a}}, {{steps: [{{{s.strip('{}') if s[0] == '{' else s}}}]}}]" for s in GOOD_STEPS),
    *(f"{HEAD}turns: [{t}]" for t in GOOD_TURNS),
    *(f"{HEAD}{t}\nturns: [{{user: a}}, {{steps: [{{error: a}}]}}]" for t in GOOD_TOPS),
)
BAD = (
    *(f"{HEAD}turns:\n  - steps:\n      - {s}\n" for s in BAD_STEPS),
    *(f"{HEAD}turns: [{t}]" for t in BAD_TURNS),
    *(f"{HEAD}{t}\nturns: [{{user: a}}, {{steps: [{{error: a}}]}}]" for t in BAD_TOPS),
    "description: a\nturns: [{user: a}]",
    "clauses: [turn.one]\nturns: [{user: a}]",
    "description: ''\nclauses: [turn.one]\nturns: [{user: a}]",
    f"description: {'a' * 201}\nclauses: [turn.one]\nturns: [{{user: a}}]",
    "description: a\nclauses: []\nturns: [{user: a}]",
    HEAD,
    f"{HEAD}turns: []",
)


def document(text: str) -> Any:
    """Return the JSON value of a YAML text."""
    root = read_yaml(text.encode(), Problems(None))
    assert root is not None
    return plain(root)


def test_the_schema_is_a_schema():
    """It is valid JSON Schema 2020-12 and closed: unknown keys are refused at every level of the language."""
    jsonschema_rs.meta.validate(SCHEMA)
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize("text", GOOD)
def test_both_accept(text, load):
    """What the loader loads, the schema allows; so is what is written back."""
    scenario = load(text)
    assert [e.message for e in VALIDATOR.iter_errors(document(text))] == []
    assert [e.message for e in VALIDATOR.iter_errors(document(dump(scenario)))] == []


def test_both_refuse(wrong):
    """What the schema refuses, the loader refuses with a place."""
    for text in BAD:
        with about(text):
            assert not VALIDATOR.is_valid(document(text))
            assert all(f.place.line for f in wrong(text))


def test_both_know_the_same_keys():
    """Keys of the top, of turns, steps, parts and interruptions are those that the loader reads."""
    defs = SCHEMA["$defs"]
    assert set(SCHEMA["properties"]) == set(TOP_KEYS)
    assert set(defs["user_turn"]["properties"]) == set(USER_KEYS)
    assert set(defs["agent_run"]["properties"]) == set(RUN_KEYS)
    assert set(defs["interrupt"]["properties"]) == set(INTERRUPT_KEYS)
    assert set(SCHEMA["properties"]["expect"]["properties"]) == set(EXPECT_KEYS)
    for name, table in (("step", STEP_KEYS), ("part", PART_KEYS)):
        assert {frozenset(one["properties"]) for one in defs[name]["oneOf"]} == set(map(frozenset, table.values()))


def test_both_know_the_same_server_events():
    """Event kinds are those of the vocabulary; what each looks like is said once, in the schema of server events."""
    event = SCHEMA["$defs"]["server_event"]
    assert set(event["properties"]["event_kind"]["enum"]) == {kind.value for kind in EventKind}
    assert event["$ref"] == EVENT["$id"]


def test_the_author_of_an_event_is_told_the_place_the_key_and_what_is_allowed(wrong):
    """Each wrong of an event that stands in the scenario is found where it stands, by the recorder's own table."""
    head = f"{HEAD}turns:\n  - server:\n"
    call = "      - {event_kind: part_start, index: -1, part: {part_kind: tool-call, tool_name: a}}\n"
    request = "      - {event_kind: model_request, parts: [{part_kind: user-prompt, content: 5}]}\n"
    found = [(f.place.line, f.place.column, f.message, f.got, f.expected) for f in wrong(head + call + request)]
    assert found == [
        (5, 41, "turns[0].server[0].index has a wrong value", -1, "a whole number from 0"),
        (5, 51, "turns[0].server[0].part of a part_start event needs the key 'tool_call_id'", None, "text"),
        (
            6,
            79,
            "turns[0].server[1].parts[0].content has a wrong value",
            5,
            "text, or a list of texts and objects",
        ),
    ]


@pytest.mark.parametrize("path", find_scenarios([scenarios_dir() / "basics"]), ids=lambda p: p.stem)
def test_the_basic_scenarios_are_allowed_and_load(path):
    """The shipped basics load with real clauses, and satisfy the schema as written and as written back."""
    scenario = load_scenario(path)
    assert scenario.id == f"basics/{path.stem}"
    assert [e.message for e in VALIDATOR.iter_errors(document(path.read_text("utf-8")))] == []
    assert [e.message for e in VALIDATOR.iter_errors(document(dump(scenario)))] == []
