"""Every check passes what is right and finds what is wrong: no check is toothless."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tpharness.checks import (
    CHECKS,
    Check,
    Delivery,
    Evidence,
    OpenCall,
    Resolution,
    SentRun,
    Side,
    ThreadAnswer,
    Unsaid,
    Variant,
)
from tpharness.checks.expectations import EXPECTATIONS
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.protocol import history
from tpharness.protocol.versions import Version
from tpharness.run.judge import holds, judge
from tpharness.scenario import Compare, Expectation
from tpharness.verdict.result import Outcome

Document = dict[str, Any]


def at(second: int) -> str:
    """Return a time in the thread's minute."""
    return f"2025-01-20T10:00:{second:02d}Z"


def reply(second: int, *parts: Document) -> Document:
    """Return a response."""
    return {"message_type": "response", "timestamp": at(second), "agent_id": "a", "parts": list(parts)}


def returns(second: int, *ids: str) -> Document:
    """Return a request of returns."""
    parts = [
        {"part_kind": "tool-return", "tool_name": "t", "tool_call_id": i, "status": "success", "content": 1}
        for i in ids
    ]
    return {"message_type": "request", "timestamp": at(second), "agent_id": "a", "parts": parts}


def call(call_id: str) -> Document:
    """Return a call."""
    return {"part_kind": "tool-call", "tool_name": "t", "tool_call_id": call_id, "args": {}}


def words(content: str) -> Document:
    """Return a text."""
    return {"part_kind": "text", "content": content}


def thread(*messages: Document, cut: bool = False) -> Document:
    """Return a thread with one user turn and one agent turn."""
    turn: Document = {"turn_type": "agent", "agent_id": "a", "started_at": at(1), "messages": list(messages)}
    if cut:
        turn |= {"completion_status": "interrupted", "interruption": {"reason": "timeout", "interrupted_at": at(50)}}
    else:
        turn |= {"completion_status": "complete", "completed_at": at(50)}
    user = {"turn_type": "user", "submitted_at": at(0), "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}
    return {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": at(0),
        "updated_at": at(50),
        "agents": {"a": {"agent_id": "a", "agent_name": "A", "created_at": at(0)}},
        "turns": [user, turn],
    }


def later(*ids: str, content: Any = 1) -> Document:
    """Return a thread whose interrupted turn has returns to calls of the turn before, the last one at its own time."""
    made = thread(reply(2, call("c1"), call("c2")))
    answer = returns(55 + len(ids), *ids)
    answer["parts"] = [{**part, "content": content} for part in answer["parts"]]
    made["turns"].append({**thread(*([answer] if ids else []), cut=True)["turns"][1], "started_at": at(55)})
    return made


NO_CALL = {"part_kind": "retry-prompt", "content": "a number, please", "tool_name": None, "tool_call_id": None}
CYCLE = (reply(2, call("c1")), returns(3, "c1"))
GOOD = thread(*CYCLE, reply(4, words("done")))
RENAMED = thread(reply(2, call("c9")), returns(3, "c9"), reply(4, words("done")))
LESS = thread(*CYCLE, cut=True)
OTHER = thread(*CYCLE, reply(4, words("other")))
DANGLING = thread(reply(2, call("c1")), cut=True)
PAIR = reply(2, call("c1"), call("c2"))
AGAIN = (
    reply(2, words("four")),
    {"message_type": "request", "timestamp": at(3), "agent_id": "a", "parts": [NO_CALL]},
)
AGENT = {"agent_id": "a", "agent_name": "A", "created_at": at(0)}
OTHER_HEADS: tuple[Document, ...] = (
    {"thread_id": "u"},
    {"created_at": at(1)},
    {"updated_at": at(49)},
    {"agents": {}},
    {"agents": {"a": {**AGENT, "agent_name": "B"}}},
)
"""Of a thread that was created at 0 and changed at 50."""
SAME_HEADS: tuple[Document, ...] = (
    {"created_at": "2025-01-20T11:00:00+01:00"},
    {"updated_at": at(51)},
    {"agents": {"a": {**AGENT, "role": "guide"}, "b": {**AGENT, "agent_id": "b"}}},
)
VIOLATION = Kind("part-without-start")
INVENTED = {"type": "tool-input-available", "toolCallId": "c1", "toolName": "t", "input": {"city": "Par"}}


def evidence(**changes: Any) -> Evidence:
    """Return evidence of a case in which both sides agree, with changes."""
    given: dict[str, Any] = {
        "case": "theme/case",
        "version": Version.V0_0_4,
        "mode": Compare.EXACT,
        "delivery": Delivery.WHOLE,
        "server": Side(name="server", thread=GOOD),
        "client": Side(name="client", thread=copy.deepcopy(GOOD)),
    }
    return Evidence(**{**given, **changes})


def client(document: Document, **more: Any) -> dict[str, Any]:
    """Return the change that gives the client this thread."""
    return {"client": Side(name="client", thread=document, **more)}


def held(document: Document) -> Side:
    """Return a server that holds this thread and should hold `GOOD`."""
    return Side(name="server", thread=document, truth=GOOD)


def test_what_is_wrong_on_both_sides_is_reported_for_both() -> None:
    """Equal threads are searched once; a thread that only Python calls equal is searched by itself."""
    validity = next(check for check in CHECKS if check.name == "validity")
    same = evidence(server=Side(name="server", thread=DANGLING), **client(copy.deepcopy(DANGLING)))
    assert same.sides_equal
    assert [(f.code, f.place.side) for f in validity.judge(same)] == [
        ("cycle-incomplete", "server"),
        ("cycle-incomplete", "client"),
    ]
    one, true = ({**DANGLING, "x": value} for value in (1, True))
    assert not evidence(server=Side(name="server", thread=one), **client(true)).sides_equal
    assert not evidence(**client(DANGLING)).sides_equal


def resolution(right: bytes | None, given: bytes | None) -> Resolution:
    """Return what a client gave out where this was right."""
    return Resolution(stored="one byte is another one", right=right, given=given)


def answer(question: str, got: Any, right: Any) -> Evidence:
    """Return evidence of a server that answered this where that was right."""
    asked = "the messages for its model"
    one = ThreadAnswer(question=question, side="server", version=Version.V0_0_4, asked=asked, got=got, right=right)
    return evidence(answers=(one,))


def migrated(document: Document, *dropped: str) -> Document:
    """Return the answer to a question for another version."""
    return {"thread": document, "dropped": list(dropped)}


def told(**fields: Any) -> list[Document]:
    """Return messages for a model: a response with one call."""
    return [{"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "t", **fields}]}]


RIGHT: dict[str, list[Evidence]] = {
    "identity": [
        evidence(),
        evidence(library=Side(name="library", thread=GOOD)),
        evidence(server=held(GOOD), **client(GOOD, truth=GOOD)),
        evidence(delivery=Delivery.PART, **client(LESS, truth=LESS)),
        *(evidence(server=held({**GOOD, **head})) for head in SAME_HEADS),
        evidence(
            wire="ag-ui", over_wires=tuple(Variant(name="vsp", side=s, thread=GOOD) for s in ("server", "client"))
        ),
        evidence(mode=Compare.CONTENT, wire="ag-ui", over_wires=(Variant(name="vsp", side="client", thread=RENAMED),)),
    ],
    "validity": [evidence()],
    "prefix": [
        evidence(delivery=Delivery.PART, **client(LESS)),
        evidence(delivery=Delivery.PART, server=Side(name="server", thread=later("c1", "c2")), **client(later("c2"))),
    ],
    "convergence": [evidence(adopted=copy.deepcopy(GOOD))],
    "monotonicity": [evidence(trail=(thread(), LESS, GOOD)), evidence(trail=(later(), later("c2"), later("c1", "c2")))],
    "chunking": [evidence(rechunked=(Variant(name="1 byte", side="client", thread=copy.deepcopy(GOOD)),))],
    "idempotence": [evidence(repeated=(Variant(name="again", side="server", thread=copy.deepcopy(GOOD)),))],
    "resumable": [evidence()],
    "integrity": [evidence(resolutions=(resolution(b"x", b"x"), resolution(None, None)))],
    "asked": [
        answer("hash", "sha256:a", "sha256:a"),
        answer("migrate", migrated(GOOD), migrated(copy.deepcopy(GOOD))),
        answer("history", told(args='{"a": 1}', own=True), told(args={"a": 1.0})),
        answer("import", told(args=None), told()),
    ],
    "arguments": [evidence(open_calls=(OpenCall(call_id="c1", given=None),))],
    "said": [
        evidence(sent=(SentRun(asked="m1", named="m1"), SentRun(asked="m1"), SentRun())),
        evidence(
            sent=(
                *(SentRun(ended=end, said_end=end) for end in ("finished", "stopped", "failed")),
                SentRun(ended="stopped", said_end="failed"),  # what cannot be closed in order
                *(SentRun(ended=end, said_end="") for end in ("finished", "stopped")),  # the threads differ then
                SentRun(waits=("c1", "c2"), asks=("c2", "c1")),
            )
        ),
    ],
    "expectations": [
        evidence(
            expectation=Expectation(
                findings=(),
                outline={
                    Version.V0_0_4: (
                        "user",
                        "agent complete: response(tool-call:c1) request(tool-return:c1) response(text)",
                    )
                },
                thread={Version.V0_0_4: {"turns": [{}, {"completion_status": "complete"}]}},
            )
        )
    ],
}
NO_WRONG_EVIDENCE = {"resumable"}
"""It judges what `model_history` makes of a thread that is right: the tests below make that wrong."""
WRONG: dict[str, list[tuple[str, Evidence]]] = {
    "identity": [
        ("identity-differs", evidence(**client(OTHER))),
        ("identity-differs", evidence(mode=Compare.CONTENT, **client(OTHER))),
        ("thread-departs", evidence(server=held(OTHER), **client(OTHER))),
        ("thread-departs", evidence(server=None, delivery=Delivery.UNRELATED, **client(OTHER, truth=GOOD))),
        ("thread-departs", evidence(delivery=Delivery.PART, **client(LESS, truth=GOOD))),
        *(("header-differs", evidence(server=held({**GOOD, **head}))) for head in OTHER_HEADS),
        ("header-differs", evidence(**client({**GOOD, "thread_id": "u"}, truth=GOOD))),
        ("library-differs", evidence(library=Side(name="library", thread=OTHER))),
        *(
            ("wire-matters", evidence(wire="ag-ui", over_wires=(Variant(name="vsp", side=side, thread=OTHER),), **more))
            for side in ("server", "client")
            for more in ({}, {"mode": Compare.CONTENT}, {"delivery": Delivery.PART})
        ),
        ("wire-matters", evidence(wire="ag-ui", over_wires=(Variant(name="vsp", side="client", thread=RENAMED),))),
    ],
    "validity": [("cycle-incomplete", evidence(**client(DANGLING)))],
    "prefix": [
        ("prefix-broken", evidence(delivery=Delivery.PART, **client(OTHER))),
        ("prefix-broken", evidence(delivery=Delivery.PART, server=Side(name="server", thread=LESS), **client(GOOD))),
    ],
    "convergence": [("not-converged", evidence(adopted=LESS))],
    "monotonicity": [
        ("canonical-shrank", evidence(trail=(GOOD, LESS))),
        ("canonical-shrank", evidence(trail=(LESS, thread(reply(2, call("c1"), words("more")), returns(3, "c1"))))),
        ("canonical-shrank", evidence(trail=(later("c1", "c2"), later("c2")))),
        ("canonical-shrank", evidence(trail=(later("c1", "c2"), later("c2", "c1")))),
        ("canonical-shrank", evidence(trail=(later("c1"), later("c1", "c2", content=2)))),
        ("canonical-shrank", evidence(trail=(thread(PAIR, returns(3, "c1")), thread(PAIR, returns(3, "c1", "c2"))))),
        ("canonical-shrank", evidence(trail=(thread(*AGAIN), thread(*AGAIN[::-1])))),
    ],
    "chunking": [("chunking-matters", evidence(rechunked=(Variant(name="1 byte", side="client", thread=LESS),)))],
    "idempotence": [("repeat-matters", evidence(repeated=(Variant(name="again", side="client", thread=OTHER),)))],
    "integrity": [
        ("content-not-verified", evidence(resolutions=(resolution(b"x", b"y"),))),
        ("content-not-verified", evidence(resolutions=(resolution(None, b""),))),
        ("content-refused", evidence(resolutions=(resolution(b"x", None),))),
    ],
    "asked": [
        ("hash-differs", answer("hash", "sha256:b", "sha256:a")),
        ("migration-differs", answer("migrate", migrated(LESS), migrated(GOOD))),
        ("migration-differs", answer("migrate", migrated(GOOD, "/turns/1"), migrated(GOOD))),
        ("migration-differs", answer("migrate", migrated({**GOOD, "x": 1}), migrated(GOOD))),
        ("history-differs", answer("history", told(args={"a": 1}) * 2, told(args={"a": 1}))),
        ("history-differs", answer("history", told(args={"a": 1, "b": 2}), told(args={"a": 1}))),
        ("history-differs", answer("history", None, told())),
        ("import-differs", answer("import", "turn-malformed: …", told())),
    ],
    "arguments": [("arguments-look-whole", evidence(open_calls=(OpenCall(call_id="c1", given=INVENTED),)))],
    "said": [
        ("message-id-differs", evidence(sent=(SentRun(asked="m1", named="m2"),))),
        ("message-id-differs", evidence(sent=(SentRun(asked="m1", named="m1"), SentRun(asked="m2", named="")))),
        *(
            ("end-differs", evidence(sent=(SentRun(ended=ended, said_end=said),)))
            for ended, said in (
                ("failed", "finished"),
                ("failed", "stopped"),
                ("failed", ""),
                ("stopped", "finished"),
                ("finished", "failed"),
                ("finished", "stopped"),
            )
        ),
        ("approvals-differ", evidence(sent=(SentRun(waits=("c1",)),))),
        ("approvals-differ", evidence(sent=(SentRun(asks=("c1",)),))),
        ("text-looks-whole", evidence(sent=(SentRun(closed=({"type": "text-end", "id": "t"},)),))),
        *(
            (code, evidence(unsaid=(Unsaid(sort=sort, where="at server event 0", event={"type": "finish"}),)))
            for code, sort in (
                ("event-not-sent", "answer"),
                ("event-not-sent", "approval"),
                ("transient-event-not-sent", "transient"),
            )
        ),
    ],
    "expectations": [
        ("outline-differs", evidence(expectation=Expectation(outline={Version.V0_0_4: ("user",)}))),
        ("expected-thread-differs", evidence(expectation=Expectation(thread={Version.V0_0_4: {"turns": []}}))),
        ("expected-findings-differ", evidence(expectation=Expectation(findings=("part-without-start",)))),
        ("unexpected-finding", evidence(**client(GOOD, findings=(VIOLATION.at(Place(event=3)),)))),
    ],
}


def judged(name: str, piece: Evidence) -> set[str]:
    """Return the codes at MUST of one check."""
    check = next(check for check in CHECKS if check.name == name)
    if check.not_applicable(piece) is not None:
        return {"not-applicable"}
    return {f.code for f in check.judge(piece) if f.level is Level.MUST}


def test_each_check_has_evidence_that_is_right_and_evidence_that_is_wrong() -> None:
    """RIGHT and WRONG have an entry for it: a check that was never seen to find something may find nothing."""
    names = {check.name for check in CHECKS}
    assert set(RIGHT) == names
    assert set(WRONG) == names - NO_WRONG_EVIDENCE


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_what_is_right_passes(check: Any) -> None:
    """Each check has right evidence that it looks at and passes."""
    for piece in RIGHT[check.name]:
        assert judged(check.name, piece) == set()


@pytest.mark.parametrize("check", WRONG)
def test_what_is_wrong_is_found(check: str) -> None:
    """Each check has wrong evidence that it finds under its own code."""
    for code, piece in WRONG[check]:
        assert code in judged(check, piece)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_what_holds_is_what_a_verdict_passes(check: Check) -> None:
    """A campaign asks only whether something is wrong; what is wrong at SHOULD alone is not."""
    for piece in (*RIGHT[check.name], *(piece for _, piece in WRONG.get(check.name, ()))):
        assert holds([piece], [check]) is (judge("", [piece], checks=[check]).outcome is Outcome.PASSED)


def test_a_history_that_is_rewritten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 7: what was sent to a model before stays as it was."""
    real = history.model_history

    def rewriting(document: Document, **options: Any) -> Any:
        built = real(document, **options)
        if len(document["turns"]) > 1:
            built.messages[0] = {"kind": "request", "parts": [words("[interrupted] Hi")]}
        return built

    monkeypatch.setattr(history, "model_history", rewriting)
    assert judged("resumable", evidence()) == {"history-rewritten", "history-says-otherwise"}


@pytest.mark.parametrize("lost", [0, 3], ids=["what the user said", "the answer"])
def test_a_history_that_lacks_what_was_said_is_found(monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    """R9: a user turn is a request of its parts; an answer that is kept is part of the history."""
    messages = history.model_history(GOOD).messages
    assert [m["kind"] for m in messages] == ["request", "response", "request", "response"]
    shorter = messages[:lost] + messages[lost + 1 :]
    shortened = history.ModelHistory(messages=list(shorter))
    monkeypatch.setattr(history, "model_history", lambda *_, **__: shortened)
    assert "history-says-otherwise" in judged("resumable", evidence())


def test_a_history_that_an_api_rejects_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Invariant 7: a dangling call is found by the oracle, which shares no code with what rebuilds the history."""
    messages = [{"kind": "request", "parts": [words("Hi")]}, {"kind": "response", "parts": [call("c1")]}]
    monkeypatch.setattr(history, "model_history", lambda *_, **__: history.ModelHistory(messages=messages))
    assert "history-call-unanswered" in judged("resumable", evidence())


def test_a_check_without_its_evidence_does_not_apply() -> None:
    """A check says itself when there is nothing to judge; that is not a pass."""
    bare = evidence(server=None, client=None)
    silent = {check.name: why for check in CHECKS if (why := check.not_applicable(bare)) is not None}
    assert set(silent) == {check.name for check in CHECKS} - {"expectations"}
    assert all(why.reason and not why.by_version for why in silent.values())


def test_only_the_default_readings_owe_monotonicity() -> None:
    """R20: a reading that is known to shrink is not certified, and not blamed."""
    shrinking = evidence(trail=(GOOD, LESS))
    assert "canonical-shrank" in judged("monotonicity", shrinking)
    older = evidence(trail=(GOOD, LESS), version=Version.V0_0_3)
    assert judged("monotonicity", older) == {"not-applicable"}
    why = next(check for check in CHECKS if check.name == "monotonicity").not_applicable(older)
    assert why is not None
    assert why.by_version


ADVICE = Kind("done-missing").at(Place(side="client"))


@pytest.mark.parametrize(
    ("expected", "codes"),
    [(None, ["done-missing"]), (("done-missing",), []), ((), ["expected-findings-differ"])],
)
def test_what_a_fold_reports_at_should_is_shown_unless_it_is_expected(
    expected: tuple[str, ...] | None, codes: list[str]
) -> None:
    """It fails nothing by itself, and somebody wants to read it."""
    piece = evidence(**client(GOOD, findings=(ADVICE,)), expectation=Expectation(findings=expected))
    result = judge(piece.case, [piece], checks=[EXPECTATIONS])
    assert [finding.code for finding in result.findings] == codes
    assert result.outcome is (Outcome.FAILED if codes == ["expected-findings-differ"] else Outcome.PASSED)
    assert all(finding.place.case == piece.case for finding in result.findings)


@pytest.mark.parametrize(
    ("reported", "expected", "symptom"),
    [
        ((ADVICE,), (), "done-missing not expected"),
        ((), ("done-missing",), "no done-missing"),
        ((ADVICE,), ("part-without-start",), "done-missing not expected; no part-without-start"),
    ],
)
def test_the_cause_of_other_findings_names_them(
    reported: tuple[Finding, ...], expected: tuple[str, ...], symptom: str
) -> None:
    """A line for a cause says which finding it is about."""
    piece = evidence(**client(GOOD, findings=reported), expectation=Expectation(findings=expected))
    (finding,) = EXPECTATIONS.judge(piece)
    assert finding.symptom == symptom


def test_a_value_that_should_be_absent_is_said_to_be_so() -> None:
    """A scenario writes null for it; the finding shows more than what was got (R37)."""
    wanted = Expectation(thread={Version.V0_0_4: {"turns": None}})
    (finding, *_) = EXPECTATIONS.judge(evidence(expectation=wanted))
    assert finding.shown()["expected"] == "(absent)"


LATENCY = {"message_type": "system", "timestamp": at(3), "event_type": "data-sys-latency", "event_data": 1}
NOTE = {**LATENCY, "event_type": "data-app-note"}


@pytest.mark.parametrize(
    ("held", "fitting"),
    [
        ((LATENCY, LATENCY), True),
        ((), True),
        ((LATENCY,), False),
        ((NOTE, NOTE), False),
    ],
    ids=["all of it", "none of it", "half of it", "under another name"],
)
def test_telemetry_may_be_left_out_of_what_is_stored(held: tuple[Document, ...], *, fitting: bool) -> None:
    """R37: all of it or none; an outline and a part of a thread fit both."""
    event = {"event_type": "data-sys-latency"}
    wanted = Expectation(
        outline={Version.V0_0_4: ("user", "agent complete: event(data-sys-latency) event(data-sys-latency)")},
        thread={Version.V0_0_4: {"turns": [{}, {"messages": [event, event]}]}},
    )
    kept = thread(*held)
    found = EXPECTATIONS.judge(
        evidence(server=Side(name="server", thread=kept), **client(copy.deepcopy(kept)), expectation=wanted)
    )
    assert {f.code for f in found} == (set() if fitting else {"outline-differs", "expected-thread-differs"})


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        ("2025-01-20T10:00:00Z", True),
        ("2025-01-20T12:00:00.000+02:00", True),
        ("2025-01-20T10:00:00.001Z", False),
        ("2025-01-20T10:00:00+02:00", False),
    ],
)
def test_an_expected_time_may_be_written_in_another_way(wanted: str, *, fitting: bool) -> None:
    """With another offset or fraction it is the same time (R37)."""
    held = {**thread(reply(2)), "created_at": "2025-01-20T10:00:00Z"}
    piece = evidence(
        server=Side(name="server", thread=held),
        client=Side(name="client", thread=held),
        expectation=Expectation(thread={Version.V0_0_4: {"created_at": wanted}}),
    )
    assert (not EXPECTATIONS.judge(piece)) is fitting


def fits(got: Document, wanted: Document) -> bool:
    """Whether a part fits what a scenario expects of it."""
    expected: Document = {"turns": [{}, {"messages": [{"parts": [wanted]}]}]}
    held_by_both = thread(reply(2, got))
    piece = evidence(
        server=Side(name="server", thread=held_by_both),
        client=Side(name="client", thread=held_by_both),
        expectation=Expectation(thread={Version.V0_0_4: expected}),
    )
    return not EXPECTATIONS.judge(piece)


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        ({"args": {"n": 1, "nil": None}}, True),
        ({"args": {"nil": None}}, False),
        ({"args": {"n": 1}}, False),
        ({"args": {"n": 1, "nil": None, "more": None}}, False),
        ({"args": {}}, False),
        ({"id": None}, True),
    ],
)
def test_what_is_expected_of_data_is_all_of_it(wanted: Document, fitting: bool) -> None:
    """An argument that was left out, or made up, is seen; a field of the protocol that is null may be absent (R37)."""
    got = {**call("c1"), "args": {"n": 1, "nil": None}}
    assert fits(got, wanted) is fitting


@pytest.mark.parametrize(("kind", "fitting"), [("tool-return", False), ("builtin-tool-return", False), ("file", True)])
def test_what_is_expected_of_a_file_may_be_a_part_of_it(kind: str, fitting: bool) -> None:
    """The content of a result is data, that of a file has fields of the protocol."""
    assert fits({"part_kind": kind, "content": {"kind": "binary", "data": ""}}, {"content": {"data": ""}}) is fitting


def only(cut: Document) -> Document:
    """Return a thread of which nothing is kept of the turn that was cut, beside that of a side that keeps it."""
    return {**cut, "turns": cut["turns"][:1]}


HALF = thread(reply(2, words("It is eig")), cut=True)
TWICE = {**GOOD, "turns": [GOOD["turns"][0], *GOOD["turns"]]}


@pytest.mark.parametrize(
    ("held", "right", "decided", "shown"),
    [
        (HALF, only(HALF), "R20 R24", {"got": 'response(text "It is eig")'}),
        (only(HALF), HALF, "R20 R24", {"expected": 'response(text "It is eig")'}),
        (DANGLING, only(DANGLING), "R20 R21 R24", {"got": "response(tool-call c1 {})"}),
        (thread(cut=True), only(HALF), "R24", {"got": "no messages"}),
        (TWICE, GOOD, "R9", {"got": 'user-prompt "Hi"'}),
        (GOOD, LESS, "", None),
    ],
    ids=["half a text", "nothing", "a call without its return", "an empty turn", "the user twice", "another end"],
)
def test_what_only_one_side_has_is_shown_with_what_decides_it(
    held: Document, right: Document, decided: str, shown: dict[str, str] | None
) -> None:
    """R24 leaves a turn out that holds nothing; what a turn may hold, the rulings on its messages say."""
    server = Side(name="server", thread=held, truth=right)
    identity = next(check for check in CHECKS if check.name == "identity")
    (finding, *_) = identity.judge(evidence(server=server, client=Side(name="client", thread=right, truth=right)))
    assert finding.place.side == "server"
    if shown is not None:
        assert [ruling for ruling in finding.decided if ruling != "R51"] == decided.split()
        assert finding.shown() == shown


MESSAGES = "/turns/1/messages"


@pytest.mark.parametrize(
    ("turns", "pointer", "got", "expected"),
    [
        (
            [{}, {"messages": [{}, {}, {}, {"parts": [{"content": "x"}]}]}],
            f"{MESSAGES}/3/parts/0/content",
            "(absent)",
            "x",
        ),
        ([{}, {}, {}], "/turns/2", "(absent)", "(anything)"),
        ([{}], "/turns/1", GOOD["turns"][1], "(absent)"),
        ([{}, {"messages": [{"parts": []}, {}]}], f"{MESSAGES}/0/parts/0", call("c1"), "(absent)"),
        (
            [{}, {"messages": [{}, {}, {"parts": [{"content": "no"}]}, {}]}],
            f"{MESSAGES}/2/parts/0/content",
            "done",
            "no",
        ),
    ],
)
def test_a_thread_of_another_length_is_told_by_its_first_difference(
    turns: list[Any], pointer: str, got: Any, expected: Any
) -> None:
    """And not by the whole lists, of which a reader would see the beginning."""
    (finding, *_) = EXPECTATIONS.judge(evidence(expectation=Expectation(thread={Version.V0_0_4: {"turns": turns}})))
    assert (finding.place.pointer, finding.got, finding.expected) == (pointer, got, expected)
