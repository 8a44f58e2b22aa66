"""A scenario file loads into the long form, or says everything that is wrong with it and where."""

import base64
import json
from uuid import NAMESPACE_URL, uuid5

import pytest

from tpharness.errors import InputError, ScenarioError
from tpharness.findings import Kind, Level
from tpharness.protocol.versions import Version
from tpharness.readings import UnfinishedRule
from tpharness.scenario import (
    ClientCut,
    Compare,
    CutAt,
    CutPlan,
    CutSide,
    CutUnit,
    UserInput,
    WireEnd,
    find_scenarios,
    load_scenario,
    problems,
    scenario_id,
)

SMALL = """\
description: A test.
clauses: [turn.one]
turns:
  - user: hi
  - steps:
      - response: [{text: hello there}]
"""
CALL = "response: [{call: f, id: c, args: {a: 1}, label: call}]\n        label: resp"


def with_keys(**keys: str) -> str:
    """Return the small scenario with more top-level keys."""
    return SMALL + "".join(f"{key}: {value}\n" for key, value in keys.items())


def test_what_is_not_said_has_its_default(load):
    """A minimal file gives every version, exact comparison, carriers, one agent, derived thread id and times."""
    scenario = load(SMALL)
    assert scenario.id == "theme/name"
    assert scenario.versions == tuple(Version)
    assert (scenario.compare, scenario.carriers, scenario.cut, scenario.recorded) == (Compare.EXACT, True, None, None)
    assert scenario.thread_id == str(uuid5(NAMESPACE_URL, "tpharness:theme/name"))
    assert scenario.created_at == "2025-01-20T10:00:00Z"
    assert scenario.agents == {
        "assistant": {
            "agent_id": "assistant",
            "agent_name": "Assistant",
            "model_name": "test-model",
            "provider_name": "test",
            "created_at": "2025-01-20T10:00:00Z",
        }
    }
    user, run = scenario.turns
    assert user == UserInput(
        parts=({"part_kind": "user-prompt", "content": "hi"},), submitted_at="2025-01-20T10:00:00Z"
    )
    assert (run.agent_id, run.started_at, run.interrupt, run.wire) == (
        "assistant",
        "2025-01-20T10:00:00.1Z",
        None,
        None,
    )
    assert scenario.expect.findings is None


def test_every_top_level_key_is_read(load):
    """What a file says stands in the scenario."""
    scenario = load(
        with_keys(
            rulings="[R20]",
            tags="[cancel, two-words]",
            versions="[0.0.4, '2.0.0']",
            compare="content",
            carriers="false",
            clock="{start: '2025-02-01T01:00:00+01:00', tick: 0}",
            thread_id="t-1",
            agents="{w: {agent_name: Weather, config_ref: x}, v: {provider_name: null}}",
            readings="{R20: complete-parts}",
            cut="{at: every-event, reasons: [timeout, mine], turn: 1, side: client}",
            recorded="{implementation: lib, version: '2.68', note: n}",
            expect="{findings: [done-missing, done-missing], outline: {0.0.4: ['user', 'agent  complete']}, "
            "thread: {turns: [{}]}}",
        )
    )
    assert scenario.rulings == ("R20",)
    assert scenario.tags == ("cancel", "two-words")
    assert scenario.versions == (Version.V2_0_0, Version.V0_0_4)
    assert (scenario.compare, scenario.carriers) == (Compare.CONTENT, False)
    assert scenario.clock.start == scenario.created_at == "2025-02-01T00:00:00Z"
    assert scenario.turns[1].events[-1]["at"] == "2025-02-01T00:00:00Z"
    assert scenario.thread_id == "t-1"
    assert scenario.agents["w"]["agent_name"] == "Weather"
    assert scenario.agents["w"]["config_ref"] == "x"
    assert scenario.agents["w"]["provider_name"] == "test"
    assert "provider_name" not in scenario.agents["v"]
    assert scenario.readings.R20 is UnfinishedRule.COMPLETE_PARTS
    assert scenario.cut == CutPlan(at=CutAt.EVERY_EVENT, reasons=("timeout", "mine"), turn=1, side=CutSide.CLIENT)
    assert (scenario.recorded.implementation, scenario.recorded.version) == ("lib", "2.68")
    assert scenario.expect.findings == ("done-missing", "done-missing")
    assert scenario.expect.outline == {Version.V0_0_4: ("user", "agent complete")}
    assert scenario.expect.thread == {version: {"turns": [{}]} for version in scenario.versions}


def test_without_carriers_the_content_comparison_is_owed(load):
    """R39: where the stream has no carrier, the default is the content comparison."""
    assert load(with_keys(carriers="false")).compare is Compare.CONTENT


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        ({"descriptoin": "x"}, "scenario-unknown-key", "did you mean 'description'?"),
        ({"rulings": "[R99]"}, "scenario-unknown-ruling", "'R99'"),
        ({"tags": "[A]"}, "scenario-bad-value", "lower-case"),
        ({"tags": "[a, a]"}, "scenario-bad-value", "twice"),
        ({"tags": "a"}, "scenario-bad-value", "tags"),
        ({"versions": "[0.0.5]"}, "scenario-bad-value", "there is no version '0.0.5'; did you mean '0.0.4'?"),
        ({"versions": "[]"}, "scenario-bad-value", "versions"),
        ({"compare": "exakt"}, "scenario-bad-value", "did you mean 'exact'?"),
        ({"carriers": "no"}, "scenario-bad-value", "carriers"),
        ({"compare": "exact", "carriers": "false"}, "scenario-contradiction", "carriers"),
        ({"clock": "{tick: -1}"}, "scenario-bad-value", "clock.tick"),
        ({"clock": "{start: 2025-01-20}"}, "scenario-bad-value", "clock.start"),
        ({"agents": "{}"}, "scenario-bad-value", "agents"),
        ({"agents": "{a: {agent_id: b}}"}, "scenario-contradiction", "agents.a.agent_id"),
        ({"agents": "{a: {modle_name: b}}"}, "scenario-unknown-key", "did you mean 'model_name'?"),
        ({"readings": "{R20: dorp}"}, "scenario-bad-value", "R20"),
        ({"readings": "{R1: drop}"}, "scenario-bad-value", "R1"),
        ({"cut": "every-evnt"}, "scenario-bad-value", "did you mean 'every-event'?"),
        ({"cut": "{reasons: [timeout]}"}, "scenario-missing-key", "'at'"),
        ({"cut": "{at: every-byte, turn: 0}"}, "scenario-cut-outside", "not an agent run"),
        ({"cut": "{at: every-byte, reasons: [timeuot]}"}, "scenario-bad-value", "did you mean 'timeout'?"),
        ({"recorded": "{implementation: x, version: 2.5}"}, "scenario-bad-value", "put it in quotes"),
        ({"expect": "{findings: [A]}"}, "scenario-bad-value", "expect.findings"),
        ({"expect": "{findings: [[done-missing]]}"}, "scenario-bad-value", "got a list"),
        (
            {"expect": "{findings: [done-mising]}"},
            "scenario-bad-value",
            "no finding has this code; did you mean 'done-m",
        ),
        ({"expect": "{outline: user}"}, "scenario-bad-value", "expect.outline"),
        ({"expect": "{outline: {0.0.9: [], 0.0.4: []}}"}, "scenario-bad-value", "there is no version '0.0.9'"),
        (
            {"expect": "{outline: {0.0.9: []}}"},
            "scenario-bad-value",
            "'0.0.9'; did you mean '0.0.4'?; got 0.0.9; expected",
        ),
        ({"expect": "{outline: {}}"}, "scenario-bad-value", "expect.outline names no version"),
        ({"expect": "{outline: {0.0.4: user}}"}, "scenario-bad-value", "a list of strings, one for each turn"),
        ({"expect": "{outline: [user, agent]}"}, "scenario-bad-value", "does not have the form of a turn; got agent;"),
        (
            {"expect": "{outline: {0.0.4: [agent interrupted user_canceled]}}"},
            "scenario-bad-value",
            "'user_cancelled'?",
        ),
        ({"versions": "[0.0.3]", "expect": "{outline: {0.0.4: []}}"}, "scenario-contradiction", "0.0.4"),
        ({"expect": "{thread: 1}"}, "scenario-bad-value", "expect.thread"),
        ({"expect": "{tread: {}}"}, "scenario-unknown-key", "did you mean 'thread'?"),
    ],
)
def test_a_slip_at_the_top_is_named(wrong, keys, code, words):
    """Each slip is one finding with line and column."""
    findings = wrong(with_keys(**keys))
    assert [f.code for f in findings] == [code]
    assert words in findings[0].line()
    assert findings[0].place.line >= 7


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("clauses: [turn.one]\nturns: [{user: a}]\n", "scenario-missing-key", "'description'"),
        ("description: a\nturns: [{user: a}]\n", "scenario-missing-key", "'clauses'"),
        ("description: a\nclauses: []\nturns: [{user: a}]\n", "scenario-bad-value", "clauses"),
        (
            "description: a\nclauses: [turn.on]\nturns: [{user: a}]\n",
            "scenario-unknown-clause",
            "did you mean 'turn.one'?",
        ),
        ("description: a\nclauses: [turn.one]\n", "scenario-missing-key", "'turns'"),
        ("description: a\nclauses: [turn.one]\nturns: []\n", "scenario-bad-value", "turns"),
        (f"description: {'a' * 201}\nclauses: [turn.one]\nturns: [{{user: a}}]\n", "scenario-bad-value", "200"),
        ("- a\n", "scenario-not-yaml", "a map"),
        ("# nothing\n", "scenario-not-yaml", "at 1:1: the file is empty; expected a map with description"),
    ],
)
def test_what_every_scenario_needs_is_missed(wrong, text, code, words):
    """Description, clauses and turns are required."""
    findings = wrong(text)
    assert [f.code for f in findings] == [code]
    assert words in findings[0].line()


@pytest.mark.parametrize(
    ("turn", "code", "words"),
    [
        ("{}", "scenario-missing-key", "steps, server or client"),
        ("5", "scenario-bad-value", "turns[0]"),
        ("{user: 5}", "scenario-bad-value", "turns[0].user"),
        ("{user: []}", "scenario-bad-value", "turns[0].user"),
        ("{user: [{url: x}]}", "scenario-bad-value", "turns[0].user[0] must be a text or a content item"),
        ("{user: {parts: [{content: x}]}}", "scenario-bad-value", "part_kind"),
        ("{user: a, agent: b}", "scenario-unknown-key", "'agent'"),
        ("{user: a, client_metadata: b}", "scenario-bad-value", "client_metadata"),
        ("{user: a, submitted_at: '2020-01-01T00:00:00Z'}", "scenario-contradiction", "before"),
        ("{agent: b, server: []}", "scenario-unknown-agent", "'b'"),
        ("{steps: [{error: x}], server: []}", "scenario-contradiction", "steps and server"),
        ("{server: [], finish: false}", "scenario-contradiction", "finish"),
        ("{server: [{event_kind: part_strat}]}", "scenario-bad-value", "did you mean 'part_start'?"),
        ("{server: [{event_kind: part_start, index: 0}]}", "scenario-missing-key", "'part'"),
        ("{server: [{event_kind: part_start, index: 0, part: 1}]}", "scenario-bad-value", "part"),
        ("{server: [{event_kind: error, error_text: x, at: now}]}", "scenario-bad-value", ".at"),
        ("{server: [{event_kind: error, error_text: x, label: start}]}", "scenario-bad-value", "label"),
        ("{server: [5]}", "scenario-bad-value", "event_kind"),
        ("{server: {}}", "scenario-bad-value", "file, jsonl"),
        ("{server: {jsonl: '{'}}", "scenario-bad-file", "line 1"),
        ("{server: {jsonl: '5'}}", "scenario-bad-file", "line 1"),
        ("{server: {file: x.jsonl}}", "scenario-unreadable", "without a folder"),
        ("{client: [5]}", "scenario-bad-value", "client[0]"),
        ("{client: {sse: a, jsonl: b}}", "scenario-bad-value", "only one of"),
        ("{client: {base64: '?'}}", "scenario-bad-value", "base64"),
        ("{client: [], history: {json: '{}'}}", "scenario-bad-file", "list of messages"),
    ],
)
def test_a_slip_in_a_turn_is_named(wrong, turn, code, words):
    """Each slip is one finding."""
    findings = wrong(turns=f"  - {turn}\n")
    assert [f.code for f in findings] == [code]
    assert words in findings[0].line()


def test_everything_that_is_wrong_is_said_at_once_from_top_to_bottom(wrong):
    """One load reports all problems, in the order of the file."""
    findings = wrong("description: a\nclauses: [x]\ntags: [A]\nturns:\n  - usr: a\n  - steps: [{stall: x}]\nfoo: 1\n")
    assert [f.place.line for f in findings] == [2, 3, 5, 5, 6, 7]


def test_the_error_names_file_and_place(tmp_path):
    """A file that does not load says where its first problem is, and how many more there are."""
    path = tmp_path / "theme" / "a-name.yaml"
    path.parent.mkdir()
    path.write_text("description: a\nturns: [{user: a}]\nfoo: 1\n")
    with pytest.raises(ScenarioError, match=r"a-name\.yaml:1:1: the key 'clauses' is missing \(and 1 more\)") as caught:
        load_scenario(path, clauses=(), rulings=())
    assert all(f.place.file == str(path) for f in caught.value.findings)


def test_a_label_or_a_count_places_an_interruption(play):
    """`after` is a label of the run or a number of server events; the wire's end follows from the reason."""
    run = play(CALL, run="interrupt: {reason: user_cancelled, after: call.mid}")
    # 1 request, 2 start, 3 and 4 deltas, 5 end of the part, 6 end of the response, 7 result
    cut = run.interrupt
    assert (cut.server_after, cut.client_after, cut.wire, cut.client_reason) == (3, None, WireEnd.ABORT, None)
    assert cut.at == "2025-01-20T10:00:00.5Z"
    assert run.events_before_cut == run.events[:3]
    for place, count in (("start", 0), ("end", 7), ("resp", 6), ("{event: 4}", 4)):
        assert play(CALL, run=f"interrupt: {{reason: mine, after: {place}}}").interrupt.server_after == count


@pytest.mark.parametrize(
    ("reason", "end"),
    [
        ("user_cancelled", WireEnd.ABORT),
        ("timeout", WireEnd.STALL),
        ("network_failure", WireEnd.CUT),
        ("safety_halt", WireEnd.FINISH),
        ("error", WireEnd.ERROR),
        ("mine", WireEnd.ABORT),
    ],
)
def test_each_reason_has_its_usual_end_on_the_wire(play, reason, end):
    """R27: how the server tells the client follows from the reason unless said otherwise."""
    assert play(CALL, run=f"interrupt: {{reason: {reason}, after: end}}").interrupt.wire is end
    assert play(CALL, run=f"interrupt: {{reason: {reason}, after: end, wire: cut}}").interrupt.wire is WireEnd.CUT


def test_the_client_may_see_less_than_the_server_sent(play):
    """R32: the two sides are cut at places of their own; without a server place the server went on to its end."""
    run = play(
        CALL, run="interrupt: {reason: timeout, after: resp, client: {after: call.mid, reason: network_failure}}"
    )
    assert run.interrupt.server_after == 6
    assert run.interrupt.client_after == ClientCut(unit=CutUnit.EVENT, count=3)
    assert run.interrupt.client_reason == "network_failure"
    alone = play(CALL, run="interrupt: {reason: network_failure, client: {after: {byte: 10}}}").interrupt
    assert (alone.server_after, alone.client_after) == (None, ClientCut(unit=CutUnit.BYTE, count=10))
    assert play(CALL, run="interrupt: {reason: mine, server: {after: call}}").interrupt.server_after == 5


@pytest.mark.parametrize(
    ("interrupt", "code", "words"),
    [
        ("{after: end}", "scenario-missing-key", "'reason'"),
        ("{reason: timeout}", "scenario-missing-key", "'after'"),
        ("{reason: user_canceled, after: end}", "scenario-bad-value", "did you mean 'user_cancelled'?"),
        ("{reason: timeout, after: cal}", "scenario-unknown-label", "did you mean 'call'?"),
        ("{reason: timeout, after: {event: 8}}", "scenario-cut-outside", "0 to 7 events"),
        ("{reason: timeout, after: {chunk: 1}}", "scenario-unknown-key", "'chunk'"),
        ("{reason: timeout, after: 3}", "scenario-bad-value", "{event: 3}"),
        ("{reason: timeout, after: end, client: {after: {chunk: 999}}}", "scenario-cut-outside", "chunks"),
        ("{reason: timeout, after: end, client: {after: {byte: 99999}}}", "scenario-cut-outside", "bytes"),
        ("{reason: timeout, after: call, client: {after: resp}}", "scenario-contradiction", "more than the server"),
        ("{reason: timeout, after: call, server: {after: resp}}", "scenario-contradiction", "different places"),
        ("{reason: timeout, after: end, wire: finish}", "scenario-contradiction", "safety_halt"),
        ("{reason: timeout, after: end, wire: cutt}", "scenario-bad-value", "did you mean 'cut'?"),
        ("{reason: timeout, after: end, when: now}", "scenario-unknown-key", "'when'"),
        ("{reason: timeout, after: end, at: now}", "scenario-bad-value", "interrupt.at"),
    ],
)
def test_an_interruption_that_cannot_be_is_refused(wrong, interrupt, code, words):
    """A place outside the stream, an unknown label or a contradiction is a finding."""
    findings = wrong(steps=[CALL], run=f"interrupt: {interrupt}")
    assert code in [f.code for f in findings]
    assert words in " ".join(f.line() for f in findings)


def test_a_sweep_and_an_interruption_of_the_same_run_exclude_each_other(wrong, load):
    """A run with its own interruption cannot be swept; another run of the scenario can."""
    turns = "  - steps: [{error: x}]\n    interrupt: {reason: error, after: end}\n  - steps: [{error: x}]\n"
    assert [f.code for f in wrong(turns=turns, cut="every-event")] == ["scenario-contradiction"]
    text = f"description: a\nclauses: [turn.one]\ncut: {{at: every-event, turn: 1}}\nturns:\n{turns}"
    assert load(text).cut.turn == 1


def test_a_sweep_over_events_needs_server_events(wrong, load):
    """A client-only run can be cut at every byte, not at every event."""
    turns = "  - client: {sse: 'data: [DONE]'}\n"
    assert [f.code for f in wrong(turns=turns, cut="every-event")] == ["scenario-contradiction"]
    assert load(f"description: a\nclauses: [turn.one]\ncut: every-byte\nturns:\n{turns}").cut.at is CutAt.EVERY_BYTE


def test_long_form_events_keep_their_fields_and_lose_their_labels(load):
    """Events are taken as they are; `label` is recorded and removed; a missing time comes from the clock."""
    scenario = load(
        "description: a\nclauses: [turn.one]\nturns:\n  - server:\n"
        "    - {event_kind: error, error_text: x, more: 1, label: [a, b.mid]}\n"
        "    - {event_kind: stall, seconds: 5, at: '2025-01-20T11:00:00Z'}\n"
        "    - {event_kind: agent_run_result}\n"
        "    interrupt: {reason: error, after: a}\n"
        "  - user: next\n"
    )
    run, user = scenario.turns
    assert run.started_at == "2025-01-20T10:00:00Z"
    assert run.events[0] == {"event_kind": "error", "error_text": "x", "more": 1, "at": "2025-01-20T10:00:00.1Z"}
    assert run.events[2]["at"] == "2025-01-20T11:00:05.1Z"
    assert run.labels == {"start": 0, "a": 1, "b.mid": 1, "end": 3}
    assert run.interrupt.server_after == 1
    assert user.submitted_at == "2025-01-20T11:00:05.2Z"


def test_events_chunks_and_messages_may_lie_in_files(load, wrong, tmp_path):
    """Files lie beside the scenario; recorded events get their time from `_t_ms`."""
    (tmp_path / "r.events.jsonl").write_text(json.dumps({"event_kind": "x", "_t_ms": 1500}) + "\n\n")
    (tmp_path / "r.sse").write_bytes(b"data: \xff\n\n")
    (tmp_path / "r.messages.json").write_text('[{"kind": "request"}]')
    (tmp_path / "r.chunks.jsonl").write_text('{"type": "start"}\n')
    turns = (
        "  - {server: {file: r.events.jsonl}, client: {file: r.sse}, history: {file: r.messages.json}}\n"
        "  - {client: {file: r.chunks.jsonl}}\n"
    )
    text = f"description: a\nclauses: [turn.one]\nturns:\n{turns}"
    run, other = load(text, base_dir=tmp_path).turns
    assert run.events == ({"event_kind": "x", "at": "2025-01-20T10:00:01.5Z"},)
    assert run.wire.data == b"data: \xff\n\n"
    assert run.library_messages == ({"kind": "request"},)
    assert other.wire.chunks == ({"type": "start"},)
    for name in ("../x.sse", "/etc/passwd", "none.sse"):
        found = wrong(turns=f"  - {{client: {{file: {name}}}}}\n", base_dir=tmp_path)
        assert [f.code for f in found] == ["scenario-unreadable"]


def test_a_client_stream_may_be_given_in_five_ways(load):
    """Chunks, chunk lines, text, and bytes as base64; JSON text may hold lone surrogates."""
    given = base64.b64encode(b"\x00\xff").decode()
    turns = (
        "  - client: [{type: start}]\n"
        """  - client: {jsonl: '{"type": "text-delta", "delta": "\\ud83d"}'}\n"""
        "  - client:\n      sse: |\n        data: x\n"
        f"  - client: {{base64: {given}}}\n    interrupt: {{reason: timeout, client: {{after: {{byte: 1}}}}}}\n"
    )
    wires = [t.wire for t in load(f"description: a\nclauses: [turn.one]\nturns:\n{turns}").turns]
    assert wires[0].chunks == ({"type": "start"},)
    assert wires[1].chunks[0]["delta"] == "\ud83d"
    assert wires[2].data == b"data: x\n"
    assert wires[3].data == b"\x00\xff"


def test_user_content_gets_the_identifiers_it_lacks(load):
    """Content items without identifier get the one that the model library derives."""
    items = "a, {kind: image-url, url: u}, {kind: binary, data: aGk=, media_type: m}, {kind: x, identifier: i}"
    turns = f"  - user: [{items}]\n"
    (turn,) = load(f"description: a\nclauses: [turn.one]\nturns:\n{turns}").turns
    got = turn.parts[0]["content"]
    # sha1(b"u") begins with 51e69892ab49, sha1(b"hi") with c22b5f
    assert [i if isinstance(i, str) else i["identifier"] for i in got] == ["a", "51e698", "c22b5f", "i"]


def test_ids_are_theme_and_kebab_name(tmp_path):
    """The id is the path below the root, in kebab case; without a root, folder and file."""
    path = tmp_path / "suite" / "recorded" / "pydantic-ai" / "Mid_Text.yaml"
    assert scenario_id(path, tmp_path / "suite") == "recorded/pydantic-ai/mid-text"
    assert scenario_id(path) == "pydantic-ai/mid-text"


def test_scenarios_are_found_in_folders_and_by_name(tmp_path):
    """Folders are searched in order of path, hidden ones left out; a missing root is an error of the caller."""
    for name in ("b/two.yaml", "a/one.yaml", "a/.hidden/x.yaml", "a/data.sse"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    found = find_scenarios([tmp_path, tmp_path / "a" / "one.yaml"])
    assert [str(p.relative_to(tmp_path)) for p in found] == ["a/one.yaml", "b/two.yaml"]
    with pytest.raises(InputError, match="no scenario"):
        find_scenarios([tmp_path / "none"])
    with pytest.raises(InputError, match="cannot read"):
        load_scenario(tmp_path / "none.yaml")


def test_every_kind_of_problem_fails_the_load():
    """All are at MUST, and their codes begin with `scenario-`."""
    kinds = [value for value in vars(problems).values() if isinstance(value, Kind)]
    assert len(kinds) == 16
    assert all(kind.code.startswith("scenario-") for kind in kinds)
    assert {kind.level for kind in kinds} == {Level.MUST}
