"""A target is asked only what it declares and what the scenario is about; what it answers is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import load_all

from tpharness.clauses import load_clauses
from tpharness.errors import TargetError
from tpharness.protocol.versions import Version
from tpharness.run.judge import judge
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.run.questions import ask_sides, unasked_clauses
from tpharness.targets import Capabilities, Reference
from tpharness.targets.contract import QUESTIONS, Script, TargetOutput

SCENARIO = load_all()["threads/everything-in-each-version"]


class Mute:
    """A server that plays as the reference does; it declares `answers`, and has nothing that answers."""

    def __init__(self, *answers: str) -> None:
        self.capabilities = replace(Reference().capabilities, name="mine", answers=answers)

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script."""
        return await Reference().serve(script)


class Answering(Mute):
    """It answers as the reference does, and notes what it was asked."""

    def __init__(self, *answers: str) -> None:
        super().__init__(*answers)
        self.asked: list[str] = []

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer a question."""
        self.asked.append(question)
        return await Reference().answer(question, request)


class Wrong(Answering):
    """It migrates nothing."""

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give the thread back."""
        self.asked.append(question)
        return {"thread": request["thread"], "dropped": []}


def findings(server: Any, *, clauses: tuple[str, ...] = SCENARIO.clauses) -> list[tuple[str, str]]:
    """Return the codes and sides of what is found when a server plays the scenario beside the reference."""
    case = base_case(replace(SCENARIO, clauses=clauses))
    evidence = asyncio.run(play(case, Players(server=server, client=Reference())))
    return [(finding.code, str(finding.place.side)) for finding in judge(case.id, evidence).findings]


def test_a_target_is_asked_what_it_declares() -> None:
    """And nothing else, though the scenario is about all of it."""
    server = Answering("hash", "history")
    assert findings(server) == []
    assert set(server.asked) == {"hash", "history"}


def test_a_target_is_asked_what_the_scenario_is_about() -> None:
    """Most scenarios are about nothing that a target is asked."""
    server = Answering(*QUESTIONS)
    assert findings(server, clauses=("migrate.downgrade", "cycle.kept")) == []
    assert set(server.asked) == {"migrate"}


def test_a_wrong_answer_is_the_targets() -> None:
    """The client, which is the reference, is asked as well and is right."""
    assert set(findings(Wrong("migrate"))) == {("migration-differs", "server")}


def test_nobody_is_asked_for_the_hash_of_what_has_none() -> None:
    """A number that JSON does not have is found by the checks of threads, and ends nothing here (R38)."""
    server = Answering("hash")
    thread = {"thread_id": "t", "turns": [{"turn_type": "user", "parts": [{"part_kind": "user-prompt", "n": 1e999}]}]}
    output = TargetOutput(threads={Version.V0_0_4: thread})
    assert asyncio.run(ask_sides({"hash"}, [("server", server, (output,))])) == ()
    assert server.asked == []


def test_who_declares_an_answer_has_to_give_one() -> None:
    """The case is an error: nothing was learnt about the target."""
    with pytest.raises(TargetError, match="declares hash and lacks answer"):
        findings(Mute("hash"))


def test_clauses_count_for_nobody_who_is_not_asked() -> None:
    """Each of them asks one thing; two targets have to answer both."""
    asking = {clause.id for clause in load_clauses().values() if clause.asks}
    assert unasked_clauses([QUESTIONS]) == frozenset()
    assert unasked_clauses([()]) == unasked_clauses([QUESTIONS, ()]) == asking
    assert {name.partition(".")[0] for name in unasked_clauses([("hash", "migrate")])} == {"history"}
    assert Capabilities(name="of contract 1.1").answers == ()
