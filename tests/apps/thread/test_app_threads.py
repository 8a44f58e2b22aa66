"""An application that answers ThreadProtocol is judged by it, too: apart from its verdict on interruptions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from aiohttp import web
from tests.apps.chat_app import Json
from tests.apps.playing import NOT_ASKED_FOR, STOP, THREAD, play, playing, together
from tests.apps.thread_app import AGENT, Spoil, ThreadApp, trims_returns
from tests.distribution import Sample
from tests.places import places, replace_at

from tpharness.apps.cases.case import AppCase, CaseTool
from tpharness.apps.cases.catalogue import all_cases
from tpharness.apps.client import Fetched
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.apps.thread.document import find_thread
from tpharness.apps.thread.judge import judge_thread
from tpharness.findings import Level
from tpharness.model_apis.plan import Call, Plan, Text
from tpharness.protocol.versions import Version, newest_version
from tpharness.readings import Readings, UnfinishedRule
from tpharness.resources import conformance_dir
from tpharness.verdict import CheckState, Outcome, Result
from tpharness.verdict.result import THREAD_SUFFIX

CASES = ("uncut/tool-call", "user-leaves/in-text", "user-leaves/in-answer", "model-drops/in-answer")
CHECKS = ("thread-rules", "thread-grows", "thread-agrees", "thread-unfinished")


def split(results: list[Result]) -> tuple[list[Result], list[Result]]:
    """Return the verdicts on cases, and those on threads."""
    threads = [result for result in results if result.id.endswith(THREAD_SUFFIX)]
    return [result for result in results if result not in threads], threads


def played(app: ThreadApp, *ids: str) -> list[Result]:
    """Return the verdicts on the threads; every case is interruption-safe, whatever the thread is."""
    (threads,) = each_played([app], *ids)
    return threads


def each_played(apps: Iterable[ThreadApp], *ids: str) -> list[list[Result]]:
    """Return the verdicts on the threads of several, which are played on at the same time."""
    plays = together(*(playing(app, *(ids or CASES), thread=THREAD, on_disconnect="stop") for app in apps))
    for cases, _ in map(split, plays):
        assert {case.outcome for case in cases} == {Outcome.PASSED}
    return [threads for _, threads in map(split, plays)]


def codes(results: list[Result]) -> set[str]:
    """Return the codes at MUST."""
    return {code for result in results for code in result.failing_codes}


# ------------------------------------------------------------------------------------------------ right threads


@pytest.mark.sampled
def test_right_threads_of_every_version_pass_in_every_case(sample: Sample[str]) -> None:
    """The reference's recorder writes them; the client's fold of the streams agrees, and nothing unfinished is kept."""
    every = [case.id for case in all_cases(CaseTool(name="book_hotel"))]
    chosen = sample(every)
    assert len(every) >= 31
    kinds = [*((version, False) for version in Version), (newest_version(), True)]  # and one that asks for approval
    apps = [ThreadApp(version=version, approvals=approvals) for version, approvals in kinds]
    plays = together(*(playing(app, *chosen, thread=THREAD, stop=STOP, on_disconnect="stop") for app in apps))
    for which, results in zip(kinds, plays, strict=True):
        cases, threads = split(results)
        assert {result.outcome for result in threads} == {Outcome.PASSED}, which
        assert [finding for result in threads for finding in result.findings] == [], which
        judged = {case.id + THREAD_SUFFIX for case in cases if case.outcome is Outcome.PASSED}
        assert {result.id for result in threads} == judged, which
        left_out = {case.id for case in cases} - {one.removesuffix(THREAD_SUFFIX) for one in judged}
        assert left_out <= NOT_ASKED_FOR, which


def test_what_was_compared_with_what_is_said() -> None:
    """Equality is owed where nothing was lost, an extension where the client left, nothing where two streams ran."""
    ids = ("uncut/tool-call", "user-leaves/in-answer", "second-message/while-tool-runs")
    uncut, left, second = played(ThreadApp(), *ids)
    assert uncut.reason == "0.0.4, compared with the client's whole thread"
    assert left.reason == "0.0.4, compared with as much as the client has seen to its end"
    assert "not compared" in second.reason
    assert second.checks["thread-agrees"] is CheckState.NOT_APPLICABLE
    assert dict(uncut.checks) == dict.fromkeys(CHECKS, CheckState.PASSED)


def test_a_thread_may_stand_in_a_field_of_the_answer() -> None:
    """Pointers then begin at the root of the answer."""

    def without_end(thread: Json) -> Json:
        thread["turns"][-1].pop("completed_at", None)
        return thread

    assert codes(played(ThreadApp(wrap="thread"))) == set()
    (result,) = played(ThreadApp(wrap="thread", spoil=without_end), "uncut/tool-call")
    assert {str(finding.place.pointer).split("/")[1] for finding in result.findings} == {"thread"}


# ------------------------------------------------------------------------------------------------ wrong ones


def no_end(thread: Json) -> Json:
    """Complete turns do not say when they ended."""
    for turn in thread["turns"]:
        turn.pop("completed_at", None)
    return thread


def other_version(thread: Json) -> Json:
    """A version that nobody has written down."""
    return {**thread, "version": "0.0.9"}


def only_the_last_turns(thread: Json) -> Json:
    """A window over the conversation: what was canonical goes away."""
    return {**thread, "turns": thread["turns"][-2:]}


def without_cut_turns(thread: Json) -> Json:
    """Interrupted turns are left out, cycles and all."""
    kept = [turn for turn in thread["turns"] if turn.get("completion_status") != "interrupted"]
    return {**thread, "turns": kept}


def all_complete(thread: Json) -> Json:
    """An interrupted turn is written as a complete one."""
    for turn in thread["turns"]:
        if turn.get("completion_status") == "interrupted":
            turn["completion_status"], turn["completed_at"] = "complete", turn.pop("interruption")["interrupted_at"]
    return thread


def a_page(_: Json) -> Json:
    """The address answers something else after the first turn."""
    raise web.HTTPInternalServerError(text="no")


def gone_after(turns: int) -> Spoil:
    """Answer an error once the thread has more turns."""
    return lambda thread: a_page(thread) if len(thread["turns"]) > turns else thread


WRONG: list[tuple[str, dict[str, Any], str, set[str]]] = [
    ("no-end", {"spoil": no_end}, "thread-rules", {"complete-turn-without-end"}),
    ("other-version", {"spoil": other_version}, "thread-rules", {"thread-version-unknown"}),
    (
        "window",
        {"spoil": only_the_last_turns},
        "thread-grows",
        {"canonical-shrank", "identity-differs", "prefix-broken"},
    ),
    ("gone", {"spoil": gone_after(2)}, "thread-grows", {"canonical-shrank"}),
    ("trimmed", {"spoil": trims_returns}, "thread-agrees", {"identity-differs", "prefix-broken"}),
    ("cut-turns-left-out", {"spoil": without_cut_turns}, "thread-agrees", {"prefix-broken"}),
    ("all-complete", {"spoil": all_complete}, "thread-unfinished", {"thread-turn-not-cut"}),
    (
        "as-streamed",
        {"readings": Readings(R20=UnfinishedRule.AS_STREAMED)},
        "thread-unfinished",
        {"thread-keeps-unfinished"},
    ),
]


def test_a_wrong_thread_is_found_and_the_case_stays_safe() -> None:
    """Each of the four properties, by threads that break it."""
    every = each_played(ThreadApp(**how) for _, how, _, _ in WRONG)
    for (name, _, check, expected), threads in zip(WRONG, every, strict=True):
        assert codes(threads) == expected, name
        assert any(result.checks[check] is CheckState.FAILED for result in threads), name
        assert len(threads) == len(CASES), name


def test_complete_turns_of_a_version_without_interrupted_ones_are_found() -> None:
    """Such a version leaves a cut turn out (R18): one that is there says that it is complete."""

    def kept(thread: Json) -> Json:
        at = thread["turns"][0]["submitted_at"]
        turn = {"turn_type": "agent", "agent_id": AGENT, "started_at": at, "completed_at": at, "messages": []}
        return {**thread, "turns": [thread["turns"][0], turn, *thread["turns"][1:]]}

    threads = played(ThreadApp(version=Version.V0_0_3, spoil=kept), "user-leaves/in-text")
    assert codes(threads) == {"thread-turn-not-cut"}


def test_the_verdict_on_a_thread_can_be_asked_for_by_its_id() -> None:
    """It comes with its case."""
    results = play(ThreadApp(), f"uncut/tool-call{THREAD_SUFFIX}", thread=THREAD)
    assert [result.id for result in results] == ["uncut/tool-call", f"uncut/tool-call{THREAD_SUFFIX}"]


# ------------------------------------------------------------------------------------------------ any answer at all


def judged(*answers: Any) -> Result | None:
    """Judge a case whose turns were followed by these answers of the address `thread`; the model was cut in each."""
    plan = Plan(items=(Text(pieces=("It is ", "eighteen")), Call(call_id="c1", name="get_weather", pieces=("{}",))))
    asked = Asked(number=1, plan=plan, pieces=1, outcome=ExchangeOutcome.DISCONNECTED)
    turns = tuple(
        TurnSeen(number=n, says="weather", asked=(asked,), view=Fetched(status=200, text=json.dumps(a), value=a))
        for n, a in enumerate(answers, 1)
    )
    return judge_thread(AppEvidence(case=AppCase(id="a/b", title="", turns=()), turns=turns))


GOLDEN = json.loads((conformance_dir() / "golden" / "basics" / "cancelled-in-arguments.json").read_text("utf-8"))
WHOLE = {
    **GOLDEN,
    "version": "0.0.4",
    "thread_id": "t",
    "created_at": "2025-01-20T10:00:00Z",
    "updated_at": "2025-01-20T10:00:03.1Z",
    "agents": {"assistant": {"agent_id": "assistant", "agent_name": "A", "created_at": "2025-01-20T10:00:00Z"}},
}


@pytest.mark.parametrize("new", [None, 0, "x", [], {}, [{}], {"content": [1]}], ids=repr)
def test_no_answer_breaks_the_judge(new: Any) -> None:
    """Whatever stands in any place of a thread, there is a verdict, or the answer is not a thread."""
    result = judged(WHOLE)
    assert result is not None
    assert result.checks["thread-rules"] is CheckState.PASSED
    for path in places(WHOLE):
        judged(WHOLE, replace_at(WHOLE, path, new))


def test_an_application_that_cannot_be_reached_has_not_lost_its_thread() -> None:
    """It has exited, say: the other verdict tells that."""
    turn = TurnSeen(number=1, says="x", view=Fetched(status=200, text=json.dumps(WHOLE), value=WHOLE))
    gone = TurnSeen(number=2, says="y", view=Fetched(status=0, text="refused"))
    result = judge_thread(AppEvidence(case=AppCase(id="a/b", title="", turns=()), turns=(turn, gone)))
    assert result is not None
    assert result.checks["thread-grows"] is CheckState.NOT_APPLICABLE


# ------------------------------------------------------------------------------------------------ what is a thread


@pytest.mark.parametrize(
    ("value", "is_thread"),
    [
        ({"version": "0.0.4", "turns": []}, True),
        ({"thread_id": "x", "turns": "none"}, True),
        ({"chat": {"version": "9", "agents": {}}}, True),
        ({"messages": [{"role": "user", "parts": []}]}, False),
        ([{"role": "user", "parts": []}], False),
        ({"version": 3, "messages": []}, False),
        (None, False),
    ],
)
def test_a_thread_is_known_by_its_fields(value: Any, is_thread: bool) -> None:
    """Two of them are enough, so that a wrong thread is judged as one; messages alone are the view after a reload."""
    assert (find_thread(value) is not None) is is_thread


def test_a_view_that_is_a_thread_is_not_held_against_the_screen() -> None:
    """A thread leaves out what was unfinished, by R20."""
    cases, _ = split(play(ThreadApp(), "user-leaves/in-text", thread=THREAD))
    assert cases[0].checks["same-view"] is CheckState.NOT_APPLICABLE
    assert not [finding for finding in cases[0].findings if finding.level is not Level.MAY]
