"""Cases on an application that has mounted the ledger: its tool is held where the case is cut, each run is known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import aiohttp
import pytest
from tests.apps.chat_app import ChatApp, Defect, Json, ToolError
from tests.apps.playing import STOP, playing, together

from tpharness.apps.cases.case import AppCase
from tpharness.apps.checks.effects import runs_of_calls
from tpharness.apps.effects import MCP_VARIABLE, URL_VARIABLE, LedgerRunState, MountedLedger, ToolRunSeen
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.errors import UsageError
from tpharness.findings import Finding, Level
from tpharness.model_apis.plan import Call, Plan
from tpharness.verdict import Outcome as Verdict
from tpharness.verdict import Result

IN_TOOL = (
    "user-leaves/while-tool-runs",
    "user-leaves/while-two-tools-run",
    "stop-button/while-tool-runs",
    "second-message/while-tool-runs",
    "second-tab/while-tool-runs",
    "user-leaves/before-effect",
    "stop-button/before-effect",
)
LEAVES = tuple(name for name in IN_TOOL if not name.startswith("second"))


def played(app: ChatApp, *ids: str) -> list[Result]:
    """Play on an application whose tool would end at once, if the ledger did not hold it."""
    (results,) = each_played([app], *ids)
    return results


def each_played(apps: Iterable[ChatApp], *ids: str) -> list[list[Result]]:
    """Play on several at the same time."""
    return together(*(playing(app, *ids, effects="ledger", stop=STOP, on_disconnect="stop") for app in apps))


def found(results: list[Result]) -> dict[str, list[Finding]]:
    """Return the findings at MUST and SHOULD by case, without the cases that have none."""
    told = {r.id: [finding for finding in r.findings if finding.level is not Level.MAY] for r in results}
    return {name: findings for name, findings in told.items() if findings}


def test_an_honest_application_passes_and_what_its_tool_did_is_said() -> None:
    """Cancelled or not, the model is told of the call; one that was cancelled before its effect is owed nothing."""
    apps = [ChatApp(cancels_tools=one, says_call_ids=other) for one in (True, False) for other in (True, False)]
    for app, results in zip(apps, each_played(apps, *IN_TOOL), strict=True):
        which = (app.cancels_tools, app.says_call_ids)
        assert found(results) == {}, which
        assert {result.outcome for result in results} == {Verdict.PASSED}, which
        cancels = app.cancels_tools
        words = "the application cancelled its tool" if cancels else "the application let its tool run to its end"
        assert {result.id for result in results if words in result.reason} == set(LEAVES), which


class OverMcp(ChatApp):
    """Mounts the ledger as an MCP server."""

    async def _book(self, call: Json) -> str:
        from mcp import Client  # a second, which collecting the tests does not take

        async with Client(self.environment[MCP_VARIABLE]) as client:
            answer = await client.call_tool(call["name"], json.loads(call["arguments"]))
        text = str(getattr(answer.content[0], "text", ""))
        if answer.is_error:
            raise ToolError(text)
        return text


def test_the_ledger_is_mounted_over_mcp_too() -> None:
    """A run has no id of its call then, and is held and known all the same."""
    ids = ("uncut/tool-call", "user-leaves/while-tool-runs", "user-leaves/before-effect")
    results = played(OverMcp(cancels_tools=True), *ids)
    assert found(results) == {}
    assert [result.outcome for result in results] == [Verdict.PASSED] * 3
    assert all("the application cancelled its tool" in result.reason for result in results[1:])


def test_every_other_case_is_played_with_the_ledger_as_without_it() -> None:
    """Nothing is held where no tool is cut. The model of this application shows no thoughts."""
    results = played(ChatApp(), "basic", "uncut", "tool-fails")
    assert found(results) == {}
    assert {result.id for result in results if result.outcome is not Verdict.PASSED} == {"uncut/thinking"}


def test_a_tool_that_runs_twice_is_found_with_both_runs() -> None:
    """For one call, and for two calls with the same arguments, whether or not the tool says which call it is of."""
    ids = ("uncut/tool-call", "uncut/two-calls", "user-leaves/while-tool-runs")
    apps = [ChatApp(Defect.RUNS_TWICE, says_call_ids=says_call_ids) for says_call_ids in (True, False)]
    for told in map(found, each_played(apps, *ids)):
        assert set(told) == set(ids)
        assert {finding.code for findings in told.values() for finding in findings} == {"tool-ran-twice"}
        (finding,) = told["uncut/tool-call"]
        assert str(finding.got).startswith("2 effects for the call call_tp_")
        assert len(told["uncut/two-calls"]) == 2


def test_an_effect_that_is_forgotten_is_found_with_what_the_ledger_saw() -> None:
    """The tool had its effect and was cancelled: the model has to be told of it all the same."""
    told = found(played(ChatApp(Defect.FORGETS_EFFECT, cancels_tools=True), *LEAVES))
    assert set(told) == {name for name in LEAVES if not name.endswith("before-effect")}
    assert {finding.code for findings in told.values() for finding in findings} == {"effect-forgotten"}
    (finding,) = told["user-leaves/while-tool-runs"]
    assert "had its effect and is cancelled" in str(finding.expected)


def test_an_effect_that_came_after_the_user_had_left_is_owed_too() -> None:
    """The tool was held before its effect, nobody cancelled it, and then it had one."""
    told = found(played(ChatApp(Defect.FORGETS_EFFECT), "user-leaves/before-effect"))
    (finding,) = told["user-leaves/before-effect"]
    assert finding.code == "effect-forgotten"
    assert "had its effect and is completed" in str(finding.expected)


ONE_ENDED = ("user-leaves/one-of-two-ended", "stop-button/one-of-two-ended")


@pytest.mark.parametrize("at_once", [True, False], ids=["beside", "behind"])
def test_the_effect_of_one_tool_is_owed_when_the_other_is_cut(at_once: bool) -> None:
    """One has ended before its user's eyes, the other never had its effect; whether they run at once or not."""
    right, wrong = each_played(
        [
            ChatApp(cancels_tools=True, tools_at_once=at_once),
            ChatApp(Defect.STORES_TOGETHER, cancels_tools=True, tools_at_once=at_once),
        ],
        *ONE_ENDED,
        *LEAVES,
    )
    assert found(right) == {}
    assert {result.outcome for result in right} == {Verdict.PASSED}
    cuts = {result.id: result.reason for result in right}
    assert all(cuts[name].startswith("cut when one of two tools had ended") for name in ONE_ENDED)
    told = found(wrong)
    assert set(told) == set(ONE_ENDED)
    for findings in told.values():
        (finding,) = findings
        assert finding.code == "effect-forgotten"
        assert "had its effect and is completed" in str(finding.expected)
        assert finding.got == "no call of it and no result"


def test_a_tool_that_ends_beside_one_that_is_cut_has_its_effect_once() -> None:
    """Where nobody cancels the other one, it has its effect afterwards, and the model is owed both."""
    apps = [ChatApp(*defects, tools_at_once=True) for defects in ((), (Defect.STORES_TOGETHER,))]
    right, wrong = each_played(apps, "user-leaves/one-of-two-ended")
    assert found(right) == {}
    (findings,) = found(wrong).values()
    assert [finding.code for finding in findings] == ["effect-forgotten"] * 2


def test_an_application_that_has_not_mounted_the_ledger_is_told_how() -> None:
    """Its own tool ran, and nothing would be known of it."""

    class Own(ChatApp):
        effects_url = property(lambda _: None, lambda _, __: None)

    with pytest.raises(UsageError, match="no run of it reached the ledger") as raised:
        played(Own(tool_seconds=0.0), "uncut/tool-call")
    assert URL_VARIABLE in str(raised.value.hint)
    assert MCP_VARIABLE in str(raised.value.hint)


def test_a_tool_of_any_name_that_is_allowed_is_offered() -> None:
    """The ledger answers it, and takes what the application's own schema allows."""

    async def main() -> tuple[dict[str, Any], int]:
        async with MountedLedger(("send_mail",)) as mounted, aiohttp.ClientSession() as session:
            url = mounted.environment[URL_VARIABLE]
            async with session.post(f"{url}/tools/send_mail", json={"to": "x"}) as answer:
                return await answer.json(), mounted.ledger.effects("send_mail")

    assert asyncio.run(main()) == ({"result": {"done": True, "reference": "TP-1"}}, 1)


# ------------------------------------------------------------------------------------------------ whose run it is


def call(name: str, call_id: str, city: str) -> Call:
    """Return a call with one argument."""
    return Call(call_id=call_id, name=name, pieces=('{"city":', f'"{city}"}}'))


def run(number: int, city: str, call_id: str = "", tool: str = "book") -> ToolRunSeen:
    """Return a run that had its effect."""
    return ToolRunSeen(
        number=number,
        tool=tool,
        arguments={"city": city},
        call_id=call_id,
        effect_at=1.0,
        state=LedgerRunState.COMPLETED,
    )


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([run(1, "Rome"), run(2, "Oslo")], {"a": [2], "b": [1], "": []}),
        ([run(1, "Oslo"), run(2, "Oslo")], {"a": [1, 2], "b": [], "": []}),
        ([run(1, "Lima", "b")], {"a": [], "b": [1], "": []}),
        ([run(1, "Rome", "a"), run(2, "Rome", "b")], {"a": [], "b": [1, 2], "": []}),
        ([run(1, "Lima"), run(2, "Rome")], {"a": [1], "b": [2], "": []}),
        ([run(1, "Oslo", tool="mail")], {"a": [], "b": [], "": [1]}),
    ],
    ids=["by-arguments", "again", "by-id", "with-the-arguments-of-another", "completed-arguments", "no-call"],
)
def test_a_run_belongs_to_a_call(runs: list[ToolRunSeen], expected: dict[str, list[int]]) -> None:
    """By the call's id, unless it has the arguments of another call; else by the arguments, else by the tool."""
    plan = Plan(items=(call("book", "a", "Oslo"), call("book", "b", "Rome")))
    asked = Asked(number=1, plan=plan, pieces=4, outcome=ExchangeOutcome.COMPLETED)
    turn = TurnSeen(number=1, says="x", asked=(asked,))
    evidence = AppEvidence(case=AppCase(id="a/b", title="", turns=()), turns=(turn,))
    told = {call_id: [one.number for one in own] for call_id, own in runs_of_calls(evidence, runs).items()}
    assert told == expected
