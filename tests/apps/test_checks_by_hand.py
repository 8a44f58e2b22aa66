"""What single checks find of evidence that is made by hand: calls told again, words lost, effects, views, streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from tests.apps.by_hand import (
    ASKS,
    CALL,
    CHECKS,
    DONE,
    HISTORY,
    PART,
    SCREEN,
    TOLD_CALL,
    WHOLE,
    asked,
    evidence,
    found,
)
from tests.apps.chat_app import ChatApp, Defect, Json, Writer
from tests.apps.playing import play

from tpharness.apps.cases.case import Cut, CutBy
from tpharness.apps.checks.effects import runs_of_calls
from tpharness.apps.client import End, Fetched
from tpharness.apps.effects import LedgerRunState, ToolRunSeen, reference_of
from tpharness.apps.evidence import AppEvidence, CutSeen, ReplySeen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.findings import Kind, Level, Place
from tpharness.model_apis.messages import HistoryCall, HistoryMessage, HistoryResult
from tpharness.model_apis.plan import Call, Plan, Text

OTHER = Call(call_id="c2", name="book", pieces=('{"city":"Ro', 'me"}'))
TOLD_OTHER = HistoryCall(call_id="c2", name="book", args={"city": "Rome"}, raw='{"city": "Rome"}')
BOTH = Plan(items=(CALL, OTHER))


def two_calls(*results: HistoryResult, calls: tuple[HistoryCall, ...] = (TOLD_CALL, TOLD_OTHER)) -> AppEvidence:
    """A run in which the model makes two calls at once, and is told these results with them, then and later."""
    told = (HISTORY[0], HistoryMessage(role="assistant", calls=calls), HistoryMessage(role="tool", results=results))
    seen = evidence(*told, DONE, ASKS)
    first, second = seen.turns
    requests = (replace(first.asked[0], plan=BOTH, pieces=BOTH.piece_count), replace(first.asked[1], history=told))
    return replace(seen, turns=(replace(first, asked=requests, screen=()), replace(second, screen=())))


# ------------------------------------------------------------------------------------------------ prefix


@pytest.mark.parametrize(
    ("calls", "codes"),
    [
        ((TOLD_CALL, TOLD_OTHER), []),
        ((TOLD_CALL, TOLD_OTHER, TOLD_CALL), ["call-doubled"]),
        ((TOLD_CALL, TOLD_OTHER, replace(TOLD_CALL, call_id="own")), ["call-doubled"]),
        ((replace(TOLD_CALL, call_id="own-1"), replace(TOLD_OTHER, call_id="own-2")), []),
        ((replace(TOLD_OTHER, call_id="own-2"), replace(TOLD_CALL, call_id="own-1")), []),
        ((replace(TOLD_OTHER, call_id="own-1"), replace(TOLD_OTHER, call_id="own-2")), ["arguments-invented"]),
        ((TOLD_CALL, replace(TOLD_OTHER, call_id="own", name="send")), ["call-invented"]),
    ],
)
def test_a_call_is_told_as_often_as_it_was_made(calls: tuple[HistoryCall, ...], codes: list[str]) -> None:
    """Under the id that the model gave it or another one; each call of the model stands for one."""
    assert found("prefix", two_calls(calls=calls)) == codes


# ------------------------------------------------------------------------------------------------ accepted


@pytest.mark.parametrize(("pieces", "said"), [(1, "leave the call out"), (BOTH.piece_count, "send {} or")])
def test_the_advice_for_half_arguments_is_not_what_another_check_forbids(pieces: int, said: str) -> None:
    """`{}` in place of arguments that were cut would be `arguments-invented`."""
    seen = two_calls()
    first, second = seen.turns
    finding = Kind("chat-arguments-not-object").at(Place())
    requests = (replace(first.asked[0], pieces=pieces), replace(first.asked[1], refusals=(finding,)))
    seen = replace(seen, turns=(replace(first, asked=requests), second))
    (check,) = [check for check in CHECKS.values() if check.name == "accepted"]
    (judged,) = check.find(seen)
    assert judged.remedy.startswith(said)


# ------------------------------------------------------------------------------------------------ cycles-kept


def test_the_words_of_an_answer_stay_with_its_calls_once_these_are_complete() -> None:
    """The user has read them. Where the call is lost, that says it; where it is not complete, it may go with them."""
    wordless = HistoryMessage(role="assistant", calls=(TOLD_CALL,))
    assert found("cycles-kept", evidence(HISTORY[0], wordless, HISTORY[2], DONE, ASKS)) == ["answer-lost"]
    assert found("cycles-kept", evidence(HISTORY[0], DONE, ASKS)) == ["cycle-lost"]
    seen = evidence(HISTORY[0], wordless, HISTORY[2], DONE, ASKS)
    first, second = seen.turns
    unseen = (SCREEN[0], {"role": "assistant", "parts": [{"type": "text", "text": "Let me see."}]})
    assert found("cycles-kept", replace(seen, turns=(replace(first, screen=unseen), second))) == []


def test_what_is_left_of_a_cycle_is_said_in_words() -> None:
    """Both are lost here: `no its call and no its result` was said of it."""
    (check,) = [check for check in CHECKS.values() if check.name == "cycles-kept"]
    (finding,) = check.find(evidence(HISTORY[0], DONE, ASKS))
    assert finding.got == "neither its call nor its result"


def run(number: int, call: Mapping[str, Any], call_id: str = "") -> ToolRunSeen:
    """A run of the ledger that had its effect."""
    state = LedgerRunState.COMPLETED
    return ToolRunSeen(number=number, tool="book", arguments=call, call_id=call_id, effect_at=1.5, state=state)


@pytest.mark.parametrize(
    ("first", "second", "codes"),
    [(1, 2, []), (2, 1, ["result-misplaced"]), (9, 10, []), (1, 1, ["result-misplaced"])],
)
def test_a_result_that_names_the_run_of_another_call_is_misplaced(first: int, second: int, codes: list[str]) -> None:
    """Whatever the user has seen: the ledger knows with which arguments each run was started."""
    told = [json.dumps({"booked": True, "reference": reference_of(number)}) for number in (first, second)]
    results = (HistoryResult(call_id="c1", content=told[0]), HistoryResult(call_id="c2", content=told[1]))
    runs = (run(1, {"city": "Paris"}), run(2, {"city": "Rome"}))
    assert found("cycles-kept", replace(two_calls(*results), tool_runs=runs)) == codes


class Zips(ChatApp):
    """Gives the results of parallel tools to their calls in the order in which they came, or to their own calls."""

    keeps_order = False

    async def _run_tools(self, calls: list[tuple[Json, Json]], out: Writer) -> None:
        came: list[tuple[str, str]] = []

        async def one(call: Json) -> None:
            url = f"{self.effects_url}/tools/{call['name']}"
            headers = {"X-Tpharness-Call": call["id"]}
            async with (
                aiohttp.ClientSession() as session,
                session.post(url, data=call["arguments"], headers=headers) as answer,
            ):
                came.append((call["id"], await answer.text()))

        await asyncio.gather(*(one(call) for call, _ in calls))
        if self.keeps_order:
            came.sort(key=lambda pair: [call["id"] for call, _ in calls].index(pair[0]))
        for (call, answer), (_, result) in zip(calls, came, strict=True):
            answer["content"] = result
            await out.send({"type": "tool-output-available", "toolCallId": call["id"], "output": result})


def test_results_that_are_zipped_with_calls_as_they_come_are_found_where_the_second_call_ends_first() -> None:
    """The user and the model are told the same wrong results, so that only the ledger knows."""
    case = "uncut/second-call-ends-first"
    app = Zips()
    (result,) = play(app, case, effects="ledger")
    assert {finding.code for finding in result.findings} == {"result-misplaced"}
    app = Zips()
    app.keeps_order = True
    (result,) = play(app, case, effects="ledger")
    assert result.findings == ()


class Equal(ChatApp):
    """Its results name the arguments alone."""

    async def _tool(self, call: Json, answer: Json) -> str:
        await super()._tool(call, answer)
        answer["content"] = f"booked {call['arguments']}"
        return str(answer["content"])


def test_results_change_places_unseen_only_where_both_calls_are_given_the_same_arguments() -> None:
    """`tools.args` takes other ones for a second call."""
    first, second = {"city": "Paris", "nights": 2}, {"city": "Rome", "nights": 3}
    for args, codes in (((first, second), {"result-misplaced"}), ((first,), set())):
        (result,) = play(Equal(Defect.SWAPS_RESULTS), "uncut/two-calls", args={"book_hotel": args})
        assert {finding.code for finding in result.findings if finding.level is Level.MUST} == codes


# ------------------------------------------------------------------------------------------------ effects


def test_a_run_with_the_arguments_of_another_call_is_a_run_of_that_call() -> None:
    """Although it says the id of its own: a loop that keeps its last variable executes the last call twice."""
    wrong = (run(1, {"city": "Rome"}, "c1"), run(2, {"city": "Rome"}, "c2"))
    results = (HistoryResult(call_id="c1", content="one"), HistoryResult(call_id="c2", content="two"))
    seen = replace(two_calls(*results), tool_runs=wrong)
    assert [one.number for one in runs_of_calls(seen, wrong)["c2"]] == [1, 2]
    assert found("effects", seen) == ["tool-ran-twice"]
    completed = (run(1, {"city": "Paris", "stars": 3}, "c1"), run(2, {"city": "Rome", "stars": 3}, "c2"))
    assert found("effects", replace(seen, tool_runs=completed)) == []


def test_a_tool_that_ran_before_its_answer_was_whole_is_not_to_be_forgotten() -> None:
    """Some frameworks start a tool when its arguments are there; the command has counted it. Half are too few."""
    for pieces, runs, codes in ((4, 1, ["effect-forgotten"]), (4, 0, []), (3, 1, ["half-call-ran"])):
        seen = evidence(HISTORY[0], HistoryMessage(role="assistant", text="Let me see."), ASKS, runs=runs)
        first, second = seen.turns
        cut = replace(first.asked[0], pieces=pieces, outcome=ExchangeOutcome.DISCONNECTED)
        turns = (replace(first, asked=(cut,), screen=SCREEN[:1]), second)
        assert found("effects", replace(seen, turns=turns, runs_before=0)) == codes


@pytest.mark.parametrize(
    ("approval", "codes"),
    [
        ({"id": "a", "approved": False}, ["tool-ran-unapproved"]),
        ({"id": "a"}, ["tool-ran-unapproved"]),
        ({"id": "a", "approved": True}, []),
        ({"id": "a", "isAutomatic": True}, []),
        (None, []),
    ],
)
def test_a_tool_does_not_run_without_the_approval_that_was_asked_for(
    approval: dict[str, Any] | None, codes: list[str]
) -> None:
    """Known from the command or from the ledger; denied and unanswered are the same. Where it came, the tool runs."""
    part = {**PART, "approval": approval} if approval is not None else PART
    screen = (SCREEN[0], {"role": "assistant", "parts": [part]})
    seen = evidence(*WHOLE, runs=1)
    turns = tuple(replace(turn, screen=screen, runs=1) for turn in seen.turns)
    assert found("effects", replace(seen, turns=turns, runs_before=0)) == codes
    assert found("effects", replace(seen, turns=turns, tool_runs=(run(1, {"city": "Paris"}, "c1"),))) == codes
    unrun = tuple(replace(turn, runs=0) for turn in turns)
    idle = ["approved-not-run"] if approval is not None and approval.get("approved") else []
    assert found("effects", replace(seen, turns=unrun, runs_before=0)) == idle
    assert found("effects", replace(seen, turns=unrun, tool_runs=())) == idle
    cut = replace(unrun[0], cut=CutSeen(cut=Cut(by=CutBy.LEAVE)))
    assert found("effects", replace(seen, turns=(cut, unrun[1]), tool_runs=())) == []


# ------------------------------------------------------------------------------------------------ history-grows


@pytest.mark.parametrize(
    ("told", "codes"),
    [
        (WHOLE, []),
        (
            (
                HISTORY[0],
                HistoryMessage(role="assistant", text="Let me see.It is done.", calls=(TOLD_CALL,)),
                HISTORY[2],
            ),
            True,
        ),
        ((HISTORY[0], DONE, *HISTORY[1:]), True),
        (
            (
                HISTORY[0],
                HistoryMessage(role="assistant", calls=(TOLD_CALL,)),
                HISTORY[2],
                HistoryMessage(role="assistant", text="Let me see."),
            ),
            True,
        ),
        ((*HISTORY, HistoryMessage(role="assistant", text="It is")), []),
    ],
)
def test_an_answer_stands_behind_what_the_model_knew_when_it_gave_it(
    told: tuple[HistoryMessage, ...], codes: Any
) -> None:
    """In front of the results that it speaks of, or behind the call that it announces, it was never given."""
    assert found("history-grows", evidence(*told)) == (["history-reordered"] if codes else [])


# ------------------------------------------------------------------------------------------------ answered


@pytest.mark.parametrize(
    ("outcome", "pieces", "shown", "codes"),
    [
        (ExchangeOutcome.COMPLETED, 2, "So far so good.", []),
        (ExchangeOutcome.DISCONNECTED, 2, "So far so good.", []),
        (ExchangeOutcome.DISCONNECTED, 1, "So far ", ["answer-unseen"]),
        (ExchangeOutcome.COMPLETED, 2, "", ["answer-unseen"]),
        (ExchangeOutcome.REFUSED, 0, "", []),
        (ExchangeOutcome.BROKEN, 1, "So far ", []),
    ],
)
def test_the_answer_after_an_interruption_is_shown(
    outcome: ExchangeOutcome, pieces: int, shown: str, codes: list[str]
) -> None:
    """A refused request is another check's, and so is a model that fails."""
    seen = replace(evidence(*WHOLE), shows_answers=True)
    first, second = seen.turns
    plan = Plan(items=(Text(pieces=("So far ", "so good.")),))
    screen = (*SCREEN, {"role": "assistant", "parts": [{"type": "text", "text": shown}]})
    given = replace(second.asked[0], plan=plan, pieces=pieces, outcome=outcome)
    seen = replace(seen, turns=(first, replace(second, asked=(given,), screen=screen)))
    assert found("answered", seen) == codes
    assert not CHECKS["answered"].applies(replace(seen, shows_answers=False))
    for changed in (replace(given, unplanned=True), asked(1, Plan())):
        turns = (first, replace(seen.turns[1], asked=(changed,)))
        assert found("answered", replace(seen, turns=turns)) == []
    meanwhile = replace(first, cut=CutSeen(cut=Cut(by=CutBy.SECOND_MESSAGE)))
    assert found("answered", replace(seen, turns=(meanwhile, seen.turns[1]))) == []


# ------------------------------------------------------------------------------------------------ seen-and-told


def test_what_is_told_in_answer_to_a_message_meanwhile_is_not_compared_with_the_screen_afterwards() -> None:
    """The screen has the answer to that message, too, which the model had not given yet."""
    seen = evidence(*HISTORY, ASKS)
    (told,) = CHECKS["seen-and-told"].find(seen)
    assert (told.code, told.got, told.expected) == ("told-less-than-seen", "Let me see.", "Let me see. It is done.")
    first, second = seen.turns
    cut = CutSeen(cut=Cut(by=CutBy.SECOND_MESSAGE))
    assert found("seen-and-told", replace(seen, turns=(replace(first, cut=cut), second))) == []


# ------------------------------------------------------------------------------------------------ same-view, streams


def message(role: str, *parts: dict[str, Any] | str) -> dict[str, Any]:
    """A UI message; a text is a part of text."""
    return {"role": role, "parts": [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]}


USER, ANSWER = message("user", "(1) Do it."), message("assistant", "Let me see.", PART, "It is done.")
NEXT, LAST = message("user", "(2) And?"), message("assistant", "That is all.")


@pytest.mark.parametrize(
    ("view", "codes"),
    [
        ([USER, ANSWER, NEXT, LAST], []),
        ([LAST, NEXT, ANSWER, USER], []),
        ([USER, message("assistant", "Let me see.", PART), message("assistant", "It is done."), NEXT, LAST], []),
        ([ANSWER, USER, LAST, NEXT], ["view-differs"]),
        ([USER, NEXT, ANSWER, LAST], ["view-differs"]),
        (
            [USER, message("assistant", "Let me see.", {**PART, "output": None}, "It is done."), NEXT, LAST],
            ["view-differs"],
        ),
        ([USER, message("assistant", "Let me see.", {**PART, "output": '"booked"'}, "It is done."), NEXT, LAST], []),
        ([USER, message("assistant", "Let me see.", {**PART, "output": "paid"}, "It is done."), NEXT, LAST], []),
        ([{"role": "user", "content": "(1) Do it."}], ["view-unreadable"]),
    ],
)
def test_the_view_has_what_was_on_the_screen_as_it_was(view: list[Any], codes: list[str]) -> None:
    """In the order of the screen, or the newest first; a result is not empty, and another value may have come later."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    fetched = Fetched(status=200, text="", value=view)
    turns = (first, replace(second, screen=(USER, ANSWER, NEXT, LAST), view=fetched))
    assert found("same-view", replace(seen, turns=turns)) == codes
    cut = CutSeen(cut=Cut(by=CutBy.SECOND_MESSAGE))
    meanwhile = replace(seen, turns=(replace(first, cut=cut), turns[1]))
    moved = codes == ["view-differs"] and len(view) == 4 and ANSWER in view
    assert found("same-view", meanwhile) == ([] if moved else codes)


def test_the_view_gives_each_call_its_own_result() -> None:
    """Two results that change places are those of other calls."""
    parts = [{**PART, "toolCallId": name, "output": output} for name, output in (("c1", "one"), ("c2", "two"))]
    swapped = [{**part, "output": output} for part, output in zip(parts, ("two", "one"), strict=True)]
    seen = evidence(*WHOLE)
    first, second = seen.turns
    for shown, codes in ((parts, []), (swapped, ["view-differs"])):
        view = Fetched(status=200, text="", value=[USER, message("assistant", *shown)])
        turns = (first, replace(second, screen=(USER, message("assistant", *parts)), view=view))
        assert found("same-view", replace(seen, turns=turns)) == codes


TAKEN_UP = ReplySeen(types=("start", "text-start", "text-delta", "text-end", "finish", "[DONE]"))


@pytest.mark.parametrize(
    ("resumed", "screen", "codes"),
    [
        (TAKEN_UP, (USER, message("assistant", "Let me see.")), []),
        (TAKEN_UP, (USER, message("assistant", "see.")), ["view-differs"]),
        (TAKEN_UP, (message("assistant", "Let me see."),), ["view-differs"]),
        (replace(TAKEN_UP, end=End.ENDLESS), (USER,), []),
        (replace(TAKEN_UP, types=("start", "finish")), (USER,), []),
        (replace(TAKEN_UP, status=204, types=()), (USER,), []),
        (None, (USER,), None),
    ],
)
def test_a_page_that_takes_up_its_answer_has_what_was_on_the_page_before(
    resumed: ReplySeen | None, screen: tuple[Any, ...], codes: list[str] | None
) -> None:
    """The beginning of the answer and the user's own message, too."""
    seen = evidence(*WHOLE, left=(USER, message("assistant", "Let me")), resumed=resumed)
    first, second = seen.turns
    seen = replace(seen, turns=(replace(first, screen=screen), second))
    assert CHECKS["same-view"].applies(seen) is (codes is not None)
    assert [finding.code for finding in CHECKS["same-view"].find(seen)] == (codes or [])


@pytest.mark.parametrize(
    ("refused", "reported", "codes"), [("", False, []), ("delta", False, ["stream-refused"]), ("no", True, [])]
)
def test_the_stream_that_a_reloaded_page_takes_up_is_read_like_any_other(
    refused: str, reported: bool, codes: list[str]
) -> None:
    """One that begins in the middle of a text is refused by the client; an error that it tells is none of the form."""
    resumed = replace(TAKEN_UP, refused=refused, reports_error=reported)
    assert found("stream-valid", evidence(*WHOLE, resumed=resumed)) == codes


# ------------------------------------------------------------------------------------------------ advice


@pytest.mark.parametrize(
    ("status", "body", "fits"),
    [
        (409, "", True),
        (423, "", True),
        (400, '{"error":"a run is active"}', True),
        (500, '{"error":"a call has no result"}', False),
        (400, '{"error":"the last message is empty"}', False),
    ],
)
def test_a_chat_that_says_that_a_run_goes_on_is_to_be_unlocked(status: int, body: str, fits: bool) -> None:
    """Otherwise its history is to be completed. The view need not show a message that was refused so."""
    first, second = evidence(*WHOLE).turns
    reply = ReplySeen(status=status, content_type="application/json", body=body, types=())
    view = Fetched(status=200, text="", value=[USER, ANSWER])
    refused = replace(second, asked=(), reply=reply, screen=(USER, ANSWER, NEXT), view=view)
    seen = replace(evidence(*WHOLE), turns=(first, refused))
    (finding,) = CHECKS["alive"].find(seen)
    assert ("release the lock" in finding.remedy) is fits
    assert found("same-view", seen) == ([] if status in (409, 423) else ["view-differs"])


def test_answers_with_one_id_are_to_have_ids_of_their_own() -> None:
    """Of the other differences the ids are not the cause."""
    seen = evidence(*WHOLE)
    first, second = seen.turns
    for ids, fits in ((("one", "one"), True), (("one", "two"), False)):
        shown = [USER, {**ANSWER, "id": ids[0]}, NEXT, {**LAST, "id": ids[1]}]
        on_screen = (shown[0], shown[3], shown[2])
        turns = (first, replace(second, screen=on_screen, view=Fetched(status=200, text="", value=shown)))
        (finding,) = CHECKS["same-view"].find(replace(seen, turns=turns))
        assert ("an id of its own" in finding.remedy) is fits


def test_what_a_client_reads_otherwise_is_named_with_what_to_do_there() -> None:
    """The rule of the stream is one that `tpharness explain` has, and its own advice is given."""
    rule = Kind("open-part-discarded")
    seen = evidence(DONE, ASKS)
    reply = ReplySeen(types=("start", "finish", "[DONE]"), findings=(rule.at(Place(event=3)),))
    first = replace(seen.turns[0], reply=reply)
    (finding,) = CHECKS["stream-valid"].find(replace(seen, turns=(first, seen.turns[1])))
    assert finding.code == "stream-irregular"
    assert finding.remedy == f"{rule.remedy} (`tpharness explain open-part-discarded`)"
