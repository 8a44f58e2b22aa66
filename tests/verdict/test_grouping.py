"""Failures of one mistake are one group, and the group comes first whose correction turns most cases green."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.findings import Finding, Kind, Place, parse_finding
from tpharness.protocol.diff import diff
from tpharness.run import RunOptions, play_one
from tpharness.run.plan import case_size
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import Baseline, BaselineEntry
from tpharness.verdict.causes import CRASHED, Cause, causes_of, crash, independent_codes, leading_cause
from tpharness.verdict.grouping import group_failures, groups_json, leading_cause_of_result
from tpharness.verdict.result import Outage

DIFFERS, RULE, OUTLINE = Kind("identity-differs"), Kind("message-empty"), Kind("outline-differs")
SHOULD = Kind("thinking-without-provider")
CHANGED = "python:tests.run.test_truth:Changed"


def wrong(symptom: str = "", side: str = "server", kind: Kind = DIFFERS) -> Finding:
    """Return a finding on a side."""
    return kind.at(Place(side=side, pointer="/turns/1"), "something of this case", symptom=symptom)


def failed(case: str, *findings: Finding, size: int = 0, clauses: tuple[str, ...] = (), cases: int = 1) -> Result:
    """Return a failed result."""
    return Result(id=case, outcome=Outcome.FAILED, findings=findings, size=size, clauses=clauses, cases=cases)


def test_what_says_most_about_a_mistake_leads() -> None:
    """A broken rule before the differences that follow from it, else the first; symptom and side belong to it."""
    rule, outline, differs = wrong(kind=RULE), wrong(kind=OUTLINE), wrong("a part (text) differs")
    assert leading_cause([differs, outline, rule]) == leading_cause([rule])
    found = leading_cause([differs, outline])
    assert found is not None
    assert str(found) == "identity-differs at server: a part (text) differs [R39]"
    assert leading_cause([wrong("a part (text) differs", "client")]) != found
    assert leading_cause([]) is None
    assert independent_codes([differs, rule, outline]) == {"message-empty"}


def test_what_may_be_several_mistakes_is_parted() -> None:
    """By code; by what differs, and for whom, where only threads differ, whoever they were compared with."""
    departs, prefix = Kind("thread-departs"), Kind("prefix-broken")
    rule, other = wrong(kind=RULE), wrong(kind=Kind("second-output"))
    assert [cause.codes for cause in causes_of([wrong("x"), rule, other, rule])] == [(RULE.code,), ("second-output",)]
    both = [wrong("a part (text) differs", "client"), wrong("args of a part (tool-call) differs", "client")]
    assert [cause.key for cause in causes_of([*both, wrong(kind=prefix)])] == [
        "client: a part (text) differs",
        "client: args of a part (tool-call) differs",
    ]
    whole, cut = (
        wrong("a part is only on the server side", "client"),
        wrong("a part is only on the reference side", "client"),
    )
    (one,), (another,) = causes_of([whole]), causes_of([replace(cut, kind=departs)])
    assert one.key == another.key == "client: a part is missing"
    (more,) = causes_of([wrong("a part is only on the client side", "client")])
    assert more.key == "client: a part is there alone"
    assert [str(cause) for cause in causes_of([wrong(kind=prefix)])] == ["prefix-broken [R32]"]
    assert len(causes_of([wrong("x"), crash(ValueError("x"))])) == 1
    assert causes_of([]) == ()


def test_the_rulings_on_what_differs_are_those_of_the_cause() -> None:
    """R39 says only how threads are compared."""
    decided = replace(wrong("args of a part (tool-call) differs"), decided=("R12",))
    assert [cause.rulings for cause in causes_of([decided])] == [("R12",)]


def test_a_crash_leads_with_its_place() -> None:
    """Two crashes at different places in the code are two causes."""
    first = leading_cause([crash(ValueError("x"))])
    assert first is not None
    assert first.codes == (CRASHED.code,)
    assert first.where == "ValueError from an unknown place"


def test_the_group_that_turns_most_green_comes_first_with_its_smallest_case() -> None:
    """Cases that another finding fails as well count less, however many they are."""
    other = Kind("second-output")
    results = [
        *(failed(f"a/both{n}", wrong(kind=RULE), wrong(kind=other)) for n in range(9)),
        failed("b/large", wrong("x"), size=30),
        failed("b/small", wrong("x"), wrong(kind=OUTLINE), size=3, cases=2),
        Result(id="c/ok", outcome=Outcome.PASSED),
        failed("d/alone", wrong("y"), size=1),
    ]
    groups = group_failures(results)
    assert [(g.cause.codes[0], g.cause.where, g.only, g.cases, g.smallest.id) for g in groups] == [
        ("identity-differs", "server: x", 3, 3, "b/small"),
        ("identity-differs", "server: y", 1, 1, "d/alone"),
        ("message-empty", "server", 0, 9, "a/both0"),
    ]
    first = groups_json(groups)[0]
    assert first == {
        "cause": "identity-differs at server: x [R39]",
        "codes": ["identity-differs"],
        "clauses": [],
        "rulings": ["R39"],
        "cases": 3,
        "only": 3,
        "smallest": "b/small",
        "ids": ["b/small", "b/large"],
    }


def test_a_group_is_about_what_its_scenarios_are_about_and_others_are_not() -> None:
    """A clause that everything cites says little; the places of a sweep are one scenario."""
    results = [
        failed("a/one", wrong(), clauses=("sync.identity", "cycle.kept")),
        failed("a/two", wrong(), clauses=("sync.identity", "cycle.kept")),
        *(failed(f"a/swept@event-{n}", wrong(), clauses=("tool.denied",)) for n in range(20)),
        *(Result(id=f"b/{n}", outcome=Outcome.PASSED, clauses=("sync.identity",)) for n in range(20)),
    ]
    (group,) = group_failures(results)
    assert group.clauses[:2] == ("cycle.kept", "tool.denied")
    (cited,) = group_failures([failed("a/one", wrong(kind=RULE), clauses=("sync.identity",))])
    assert cited.clauses == RULE.clauses == ("message.empty-left-out",)


def test_what_could_not_be_judged_is_grouped_by_its_reason() -> None:
    """Fifty cases after a server was gone are one group, apart from what failed."""
    gone = [Result(id=f"a/{n}", outcome=Outcome.COULD_NOT_RUN, reason="not tried") for n in range(50)]
    broke = Result(id="b/1", outcome=Outcome.ERRORED, reason="no answer", findings=(wrong(),))
    groups = group_failures([*gone, broke, failed("c/1", wrong())])
    assert [(group.cases, str(group.cause)) for group in groups] == [
        (50, "could-not-run at not tried"),
        (1, "errored at no answer"),
        (1, "identity-differs at server [R39]"),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("POST http://127.0.0.1:40001/threads answers 500", "POST http://127.0.0.1:5/threads answers 500"),
        ("GET http://[::1]:40001/x: refused", "GET http://[::1]:40002/x: refused"),
        ("not HTTP: b'b9'", "not HTTP: b'it\\'s'"),
        ("not HTTP: b'b9'", 'not HTTP: b"it\'s"'),
        ("breaks off after 1 byte: reset", "breaks off after 1200 bytes: reset"),
        (f"404: no thread {uuid.UUID(int=1)}", f"404: no thread {uuid.UUID(int=2)}"),
    ],
)
def test_one_error_is_one_cause_whatever_is_of_the_case_in_it(one: str, other: str) -> None:
    """A relay has another port in each case, an answer breaks off elsewhere."""
    results = [Result(id=f"a/{n}", outcome=Outcome.ERRORED, reason=reason) for n, reason in enumerate((one, other))]
    (group,) = group_failures(results)
    assert group.cases == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GET http://127.0.0.1:1/x answers 404", "GET http://127.0.0.1:1/x answers 500"),
        ("GET http://127.0.0.1:1/x", "GET http://127.0.0.2:1/x"),
        ("exits: KeyError: 'delta'", "exits: KeyError: 'index'"),
        ("GET /threads/{thread_id}?version=0.0.3 answers 404", "GET /threads/{thread_id}?version=0.0.4 answers 404"),
    ],
)
def test_other_errors_are_other_causes(one: str, other: str) -> None:
    """What says what is wrong stays in the cause."""
    results = [Result(id=f"a/{n}", outcome=Outcome.ERRORED, reason=reason) for n, reason in enumerate((one, other))]
    assert len(group_failures(results)) == 2


def test_cases_of_one_outage_are_one_cause_and_those_with_which_it_began_come_first() -> None:
    """What each of them was told is another line of the same story; a second outage is another one."""
    gone = Outage(what="nothing listens at http://127.0.0.1:1 any more")
    results = [
        Result(id="a/1", outcome=Outcome.ERRORED, reason="GET: refused", outage=gone),
        Result(id="b/1", outcome=Outcome.ERRORED, reason="POST: closed", outage=replace(gone, began=True), size=9),
        *(Result(id=f"c/{n}", outcome=Outcome.COULD_NOT_RUN, reason="not tried", outage=gone) for n in range(3)),
        Result(id="d/1", outcome=Outcome.ERRORED, reason="silent", outage=Outage(what="silent", began=True)),
    ]
    groups = group_failures(results)
    assert [(group.cases, str(group.cause)) for group in groups] == [
        (5, "no-answer at nothing listens at http://127.0.0.1:1 any more"),
        (1, "no-answer at silent"),
    ]
    assert [result.id for result in groups[0].results] == ["b/1", "a/1", "c/0", "c/1", "c/2"]


def test_a_stale_entry_of_a_baseline_is_a_cause_too() -> None:
    """It is corrected in the baseline."""
    stale = replace(failed("a/1", Kind("baseline-stale").at(Place()), wrong("x")), outcome=Outcome.STALE)
    assert leading_cause_of_result(stale) == Cause(codes=("baseline-stale",))


def test_what_fails_now_comes_before_an_entry_that_is_outdated() -> None:
    """After an upgrade: two cases of the baseline fail otherwise, a third that it does not have too; three pass."""
    old = frozenset({"identity-differs"})
    known = Baseline(entries={n: BaselineEntry(id=n, findings=old, clauses=(), reason="r") for n in "abcde"})
    new = Kind("arguments-look-whole").at(Place())
    passed = [Result(id=name, outcome=Outcome.PASSED, cases=1) for name in "cde"]
    results = [known.apply(one) for one in (*passed, failed("a", new), failed("b", new), failed("f", new))]
    first, last = group_failures(results)
    assert first.cause.codes == ("arguments-look-whole",)
    assert {result.id for result in first.results} == {"a", "b", "f"}
    assert first.only == 3
    assert last.cause.codes == ("baseline-stale",)
    assert {result.id for result in last.results} == {"c", "d", "e"}
    stale = next(result for result in first.results if result.id == "a")
    assert [finding.code for finding in stale.findings] == ["arguments-look-whole", "baseline-stale"]


def test_one_mistake_of_a_server_is_one_cause_over_scenarios() -> None:
    """A server that forgets thinking: other turns, other agents, other texts, one symptom; the smallest case leads."""
    results = []
    for name in ("threads/right-and-not-only-the-same", "stream/thinking-alias", "parts/thinking-redacted"):
        results += play_one(load_builtin(name), RunOptions(server=CHANGED))
    (group,) = group_failures(results)
    assert str(group.cause) == "identity-differs at server: a part (thinking) is only on the client side [R39]"
    assert len(group.results) > 3
    assert group.smallest.id.startswith("parts/thinking-redacted@event-")
    sizes = [result.size for result in group.results]
    assert sizes == sorted(sizes)
    assert sizes[0] > 0


def test_the_size_of_a_case_is_what_it_plays() -> None:
    """Events up to the cut, with the runs before it; chunks or bytes where a scenario gives the stream itself."""
    swept = load_builtin("interruptions/every-turn-of-a-thread")
    first, second = (len(run.events or ()) for _, run in swept.runs[:2])
    turn = swept.runs[1][0]
    assert case_size(swept, swept.id) == sum(len(run.events or ()) for _, run in swept.runs)
    assert case_size(swept, f"{swept.id}@turn-{turn}-event-3:timeout") == first + 3
    assert second
    alone = load_builtin("cycles/three-steps")
    assert case_size(alone, "cycles/three-steps@event-12") == 12
    assert case_size(alone, "cycles/three-steps@byte-1250") == 12
    assert case_size(load_builtin("stream/no-steps"), "stream/no-steps") > 0


THINKING = {"part_kind": "thinking", "content": "hm"}
CALL = {"part_kind": "tool-call", "tool_call_id": "c1", "args": {"parts": [{"city": "Paris"}]}}
ELSEWHERE = {**CALL, "args": {"parts": [{"city": "Berlin"}]}}


def thread(*parts: dict[str, Any], status: str = "complete") -> dict[str, Any]:
    """Return a thread of one response."""
    messages = [{"message_type": "response", "parts": list(parts)}]
    turn = {"turn_type": "agent", "agent_id": "a7", "completion_status": status, "messages": messages}
    return {"version": "0.0.4", "turns": [turn]}


@pytest.mark.parametrize(
    ("other", "symptom"),
    [
        (thread(CALL), "a part (thinking) is only on the server side"),
        (thread(THINKING, ELSEWHERE), "args of a part (tool-call) differs"),
        (thread(CALL, THINKING), "parts of a message (response) are in a different order"),
        (thread(THINKING, CALL, status="interrupted"), "completion_status of a turn (agent) differs"),
        ({**thread(THINKING, CALL), "turns": []}, "a turn (agent) is only on the server side"),
    ],
)
def test_a_symptom_has_neither_index_nor_id_nor_value(other: dict[str, Any], symptom: str) -> None:
    """The difference of two threads says which sort of thing differs, and how."""
    (found,) = diff(thread(THINKING, CALL), other, names=("server", "client"))
    assert found.symptom == symptom


def test_a_finding_is_read_back_from_a_report() -> None:
    """As shards are merged: its kind, place, words and symptom are those that were written."""
    finding = DIFFERS.at(Place(case="a/b", side="client", byte=3), "said", got="x", expected="y", symptom="a part")
    assert parse_finding(finding.as_json()) == finding
    assert leading_cause([parse_finding(finding.as_json())]) == leading_cause([finding])
    bare = SHOULD.at(Place())
    assert "symptom" not in bare.as_json()
    assert parse_finding(bare.as_json()) == bare
    for damage in ({"code": "no-such-code"}, {"place": {"turn": 1}}):
        with pytest.raises((TypeError, ValueError)):
            parse_finding({**finding.as_json(), **damage})
