"""Cases that are played beside each other: their effects are told apart by the calls, and each verdict is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from tests.apps.chat_app import ChatApp, Defect, Json, Stored
from tests.apps.playing import STOP, THREAD, codes_of, play, playing, together

from tpharness.apps.effects import CaseTools, EffectLedger
from tpharness.findings import Level
from tpharness.verdict import Outcome, Result

CASES = (
    *(
        "uncut/tool-call",
        "uncut/two-calls",
        "uncut/second-call-ends-first",
        "user-leaves/in-text",
        "model-drops/in-text",
    ),
    *("user-leaves/while-tool-runs", "user-leaves/before-effect", "stop-button/in-answer", "two-chats/*"),
    *("tool-fails/one-of-two", "second-message/in-text"),
)
CONFIG: dict[str, Any] = {"effects": "ledger", "stop": STOP, "thread": THREAD, "on_disconnect": "stop"}


class Counted(ChatApp):
    """Counts how many of its answers go on at the same time."""

    now = most = 0

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await super()._answer(chat, body, request)
        finally:
            self.now -= 1


def verdicts(results: list[Result]) -> dict[str, tuple[Outcome, frozenset[str]]]:
    """Return the outcome of each case, with the codes of what was found at MUST and SHOULD."""
    return {
        result.id: (result.outcome, frozenset(f.code for f in result.findings if f.level is not Level.MAY))
        for result in results
    }


@pytest.mark.parametrize("says_call_ids", [True, False])
def test_cases_run_beside_each_other_where_the_tool_names_its_call(says_call_ids: bool) -> None:
    """Nothing is found, and without the ids a run could be of any case: then they run one by one."""
    app = Counted(says_call_ids=says_call_ids)
    results = play(app, "basic", "uncut/two-calls", concurrency=None, **CONFIG)
    assert codes_of(results) == set()
    assert (app.most > 2) is says_call_ids


def test_after_one_failure_nothing_more_is_played() -> None:
    """With -x cases run one by one, also where they could be told apart."""
    app = Counted(Defect.FORGETS_EFFECT)
    results = play(app, "uncut/tool-call", "user-leaves", options={"exit_first": True}, concurrency=None, **CONFIG)
    assert app.most == 1
    assert [result.outcome.green for result in results].count(False) == 1


class NamesFirstRun(ChatApp):
    """Its tool runs twice, and names the call only in the first of two runs, but for the run before the cases."""

    booked = 0

    async def _book(self, call: Json) -> str:
        self.booked += 1
        self.says_call_ids = self.booked <= 2 or self.booked % 2 == 1
        return await super()._book(call)


@pytest.mark.parametrize(
    "app",
    [
        lambda: ChatApp(Defect.FORGETS_EFFECT),
        lambda: ChatApp(Defect.STOPS_ALL),
        lambda: ChatApp(Defect.MIXES_CHATS),
        lambda: NamesFirstRun(Defect.RUNS_TWICE),
    ],
    ids=["forgets-effects", "ends-other-chats", "mixes-chats", "runs-without-a-call"],
)
def test_the_verdicts_are_those_of_cases_one_by_one(app: Callable[[], ChatApp]) -> None:
    """What fails beside others, or whose effects could be of another case, is played alone, and that counts."""
    alone, beside = together(
        playing(app(), *CASES, **{**CONFIG, "concurrency": 1}),
        playing(app(), *CASES, **{**CONFIG, "concurrency": None}),
    )
    assert verdicts(beside) == verdicts(alone)
    assert codes_of(beside)


def test_a_run_is_of_the_case_whose_call_it_names_also_when_that_is_over() -> None:
    """A run that names no call is of the only case that is played; of none, and counted, where there are several."""

    async def main() -> None:
        ledger = EffectLedger()
        first, second = CaseTools(ledger, "call_a"), CaseTools(ledger, "call_b")
        first.hold(before_effect=False)
        held = asyncio.create_task(ledger.perform("book_hotel", {}, "http", "call_a"))
        await (await ledger.next_run()).held()
        await ledger.perform("book_hotel", {}, "http", "call_b1")  # is not held
        await ledger.perform("book_hotel", {}, "http")
        assert ([run.number for run in first.runs], [run.number for run in second.runs]) == ([1], [2])
        assert ledger.doubtful == 1
        first.close()
        await held
        await ledger.perform("book_hotel", {}, "http", "call_a")  # too late for the first, and not of the second
        await ledger.perform("book_hotel", {}, "http", "own_id")
        assert [run.number for run in second.runs] == [2, 5]
        assert ledger.doubtful == 1

    asyncio.run(main())
