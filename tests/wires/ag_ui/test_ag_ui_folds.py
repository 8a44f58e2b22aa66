"""What a client makes of streams of AG-UI: by hand, of recordings, and as on the other wire wherever a run is cut."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.distribution import Sample
from tests.scenarios import load_all, load_builtin
from tests.wires.ag_ui.both_wires import differences, findings_of
from tests.wires.ag_ui.lossy import FOUND_IN, IN_NO_THREAD, LOSSY, Lossy
from tests.wires.ag_ui.streams import FOLDS, STATEMENTS, differing_fold
from tests.wires.ag_ui.test_ag_ui_servers import RECORDED

from tpharness import check, fold
from tpharness.errors import UsageError
from tpharness.findings import Level
from tpharness.resources import docs_dir
from tpharness.run import ResultReady, RunOptions, run_suite
from tpharness.scenario import Scenario, load_text
from tpharness.scenario.outline import outline
from tpharness.wires.ag_ui.encode import AgUiEncoder
from tpharness.wires.ag_ui.fold import AgUiAssembler


@pytest.mark.parametrize("vector", FOLDS, ids=[vector["name"] for vector in FOLDS])
def test_a_stream_makes_the_thread_that_a_person_has_read_in_it(vector: dict[str, Any]) -> None:
    """As bytes and as events; the outline, and the values that the ruling is about."""
    assert differing_fold(vector) == ""


def test_every_ruling_has_a_vector_and_every_part() -> None:
    """And no vector cites one that there is not."""
    text = (STATEMENTS / "ag-ui-rulings.md").read_text("utf-8")
    sections = re.split(r"^## (G\d+) — .+$", text, flags=re.MULTILINE)[1:]
    rulings = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(rulings) == [f"G{number}" for number in range(1, len(rulings) + 1)]
    assert {ruling for vector in FOLDS for ruling in vector["rulings"]} == set(rulings)
    for ruling, section in rulings.items():
        assert [word for word in ("Question", "Decision", "Reason") if f"**{word}.**" not in section] == [], ruling


# What a person has read in the recordings: the agent's turn, "" where nothing of it is kept.
TURNS = {
    "pydantic-ai-2.68.0/one-tool": (
        "agent complete: response(text tool-call:call_a1) request(tool-return:call_a1) response(text)"
    ),
    "pydantic-ai-2.68.0/err-args": "agent interrupted error: event(data-tp-error)",
    "pydantic-ai-2.68.0/slow-text": "",
    "pydantic-ai-2.68.0/approval": "agent complete: response(text tool-call:call_d1)",
    "pydantic-ai-2.68.0+cancel/slow-args": "",
    "pydantic-ai-2.68.0+cancel/slow-tool": (
        "agent interrupted user_cancelled: response(text tool-call:call_s1) request(tool-return:call_s1)"
    ),
    "ag-ui-strands-1.0.2/two-tools": (
        "agent complete: response(tool-call:call_a1 tool-call:call_b1)"
        " request(tool-return:call_a1 tool-return:call_b1) response(text)"
    ),
    "ag-ui-langgraph-0.0.47/slow-tool": "",
    "agent-framework-ag-ui-1.7.0/frontend": "agent complete: response(text tool-call:call_f1)",
    "tanstack-ai-0.58.0/one-tool": "agent complete: response(text tool-call:call_a1)",
}


@pytest.mark.parametrize("case", TURNS)
def test_a_recording_makes_the_turn_that_a_person_has_read_in_it(case: str) -> None:
    """Of real servers, with their own ids, order and omissions."""
    stream = RECORDED / f"{case}.sse"
    assert outline(fold("Hi", stream).thread)[1:] == ([TURNS[case]] if TURNS[case] else [])


def test_every_recording_makes_a_valid_thread() -> None:
    """None raises, whatever it breaks."""
    files = [file for file in sorted(RECORDED.glob("*/*.sse")) if file.read_bytes()]
    assert len(files) == 177
    for file in files:
        assert [one.code for one in check(fold("Hi", file).thread) if one.level is Level.MUST] == [], file


def test_streams_of_two_wires_are_not_one_conversation() -> None:
    """They are of two servers; the error says what to do."""
    with pytest.raises(UsageError, match="several wires: vsp, ag-ui"):
        fold("Hi", b'data: {"type":"start"}\n\n', "And?", b'data: {"type":"RUN_STARTED"}\n\n')


SCRIPTED = [scenario for scenario in load_all().values() if scenario.scripted]


@pytest.mark.sampled
def test_a_thread_does_not_depend_on_the_wire(sample: Sample[Scenario]) -> None:
    """What a model did, cut at the same event, is the same thread over both wires."""
    for scenario in sample(SCRIPTED):
        assert list(differences(scenario)) == []


@pytest.mark.sampled
def test_what_the_reference_sends_keeps_the_rules_of_ag_ui(sample: Sample[Scenario]) -> None:
    """Whatever the model does; a connection that breaks is not the server's doing."""
    for scenario in sample(SCRIPTED):
        assert {finding.code for finding in findings_of(scenario)} <= {"ag-ui-truncated"}, scenario.id


TEXT = "{event_kind: part_start, index: 0, part: {part_kind: text, content: ''}}"
CALL = "{event_kind: part_start, index: 1, part: {part_kind: tool-call, tool_name: find, tool_call_id: c1}}"
WORDS = "{event_kind: part_delta, index: 0, delta: {part_delta_kind: text, content_delta: Wait}}"
TEXT_ENDS = "{event_kind: part_end, index: 0, part: {part_kind: text, content: '%s'}}"
CALL_ENDS = (
    "{event_kind: part_end, index: 1, part: {part_kind: tool-call, tool_name: find, tool_call_id: c1, args: '{}'}}"
)
ODD = {
    "a call beside a text that has no word": [TEXT, CALL, CALL_ENDS, TEXT_ENDS % ""],
    "a call before the first word of a text": [TEXT, CALL, WORDS, CALL_ENDS, TEXT_ENDS % "Wait"],
    "a call after a text that was taken back": [TEXT, "{event_kind: response_reset}", CALL, CALL_ENDS],
    "arguments that the start of the tool says as another kind of value": [
        CALL,
        '{event_kind: part_delta, index: 1, delta: {part_delta_kind: tool_call, args_delta: "[1]"}}',
        '{event_kind: function_tool_call, part: {tool_name: find, tool_call_id: c1, args: "[true]"}}',
        "{event_kind: function_tool_result, part: {tool_name: find, tool_call_id: c1, content: 1}}",
    ],
    "an answer that stops after another agent has failed": [
        "{event_kind: error, error_text: it failed}",
        "{event_kind: agent_start, agent_id: helper}",
        *(TEXT, WORDS, TEXT_ENDS % "Wait"),
        "{event_kind: agent_run_result, finish_reason: interrupted}",
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_what_generated_cases_have_found_does_not_depend_on_the_wire(name: str) -> None:
    """Each was another thread over AG-UI, or an exception, before `fuzz --wire ag-ui` played it."""
    events = "".join(f"\n      - {event}" for event in ["{event_kind: model_request, model_name: m}", *ODD[name]])
    agents = "".join(f"  {one}: {{agent_id: {one}, agent_name: A}}\n" for one in ("assistant", "helper"))
    text = (
        f"description: {name}.\nclauses: [sync.identity]\nagents:\n{agents}turns:\n  - user: Hi\n  - server:{events}\n"
    )
    assert list(differences(load_text(text, id="odd/case"))) == []


def forgets(_right: Any) -> Any:
    """Return a handler that makes nothing of what it is given."""
    return lambda _self, _given: []


def says_less(right: Any) -> Any:
    """Return a handler that leaves out our metadata."""

    def wrong(self: Any, given: Any) -> list[dict[str, Any]]:
        return [{name: item for name, item in event.items() if name != "metadata"} for event in right(self, given)]

    return wrong


DEFECTS = [
    *((AgUiEncoder, kind, forgets) for kind in AgUiEncoder.HANDLERS),
    *((AgUiEncoder, kind, says_less) for kind in AgUiEncoder.HANDLERS),
    *((AgUiAssembler, kind, forgets) for kind in AgUiAssembler.HANDLERS),
]


def name_of(defect: tuple[Any, Any, Any]) -> str:
    """Return what a defect is called."""
    side, kind, wrong = defect
    return f"{side.__name__} {wrong.__name__} {getattr(kind, '__name__', kind)}"


@pytest.mark.parametrize("defect", DEFECTS, ids=name_of)
def test_a_side_that_loses_something_is_found(defect: tuple[Any, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each handler of both halves in turn forgets what it is given, or leaves out what it has to say of it."""
    side, kind, wrong = defect
    where = FOUND_IN[name_of(defect)]
    if not where.startswith("harmless: "):
        monkeypatch.setitem(side.HANDLERS, kind, wrong(side.HANDLERS[kind]))
        assert list(differences(load_builtin(where)))
        results = [e.result for e in run_suite(RunOptions(wire="ag-ui", ids=(where,))) if isinstance(e, ResultReady)]
        assert "wire-matters" in {finding.code for result in results for finding in result.findings}


@pytest.mark.parametrize("lossy", LOSSY, ids=[one.name for one in LOSSY])
def test_a_side_that_is_wrong_in_one_way_is_found(lossy: Lossy, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the run itself; and by the comparison of the wires, but where no thread shows it."""
    where = FOUND_IN[lossy.name]
    lossy.break_it(monkeypatch)
    results = [e.result for e in run_suite(RunOptions(wire="ag-ui", ids=(where,))) if isinstance(e, ResultReady)]
    found = {finding.code for result in results for finding in result.findings}
    assert IN_NO_THREAD.get(lossy.name, "wire-matters") in found


def test_every_defect_has_its_row() -> None:
    """And most of them are found; the rest say why no thread can show them. None stands here under two names."""
    assert set(FOUND_IN) == {*map(name_of, DEFECTS), *(one.name for one in LOSSY)}
    assert len({one.sentence for one in LOSSY}) == len(LOSSY)
    found = sum(not where.startswith("harmless: ") for where in FOUND_IN.values())
    assert f"breaks a side in {found} ways" in (docs_dir() / "AG_UI.md").read_text("utf-8")
    assert found >= 60
