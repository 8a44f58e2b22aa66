"""The kill matrix: what counts as killed, as killed for the right clause, as harmless; and how its module is found."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tpharness.dialects import thread
from tpharness.errors import UsageError
from tpharness.explore.mutation import (
    Defect,
    Harmless,
    Kill,
    Matrix,
    Row,
    killers,
    load_changes,
    load_scenarios,
    play_change,
    smoke,
    unharmed,
)
from tpharness.explore.mutation.settling import play_until_settled
from tpharness.journal import survivors
from tpharness.readings import AnswerRule, Readings
from tpharness.scenario import Scenario
from tpharness.targets.reference import ReferenceServer

HALF = "interruptions/one-of-two-tools-done"
PLAIN = "basics/tool-call-and-answer"


def any_return() -> AbstractContextManager[Any]:
    """Seed that one return is enough for a response of several calls."""
    real = survivors
    return mock.patch.object(thread, "survivors", lambda tail, _: real(tail, Readings(R21=AnswerRule.ANY_RETURN)))


def defect(name: str = "any-return", clauses: tuple[str, ...] = ("cycle.all-returns",), **more: Any) -> Defect:
    """Return a defect; by default one that breaks R21."""
    seed = more.pop("seed", any_return)
    return Defect(name=name, sentence="It is wrong.", side="both", clauses=clauses, seed=seed, **more)


def kill(scenario: str, named: str = "", about: str = "") -> Kill:
    """Return a failure that cites these, between blanks."""
    cited = frozenset(named.split()), frozenset(about.split())
    return Kill(scenario=scenario, case=scenario, codes=("x",), named=cited[0], about=cited[1])


def row(change: Defect | Harmless, *kills: Kill) -> Row:
    """Return the row of a change that these scenarios failed."""
    return Row(change=change, kills=kills, played=0, seconds=0.1)


def scenarios(*ids: str) -> tuple[Scenario, ...]:
    """Load built-in scenarios."""
    return load_scenarios(ids)


def test_a_defect_is_killed_by_a_scenario_that_fails_with_it() -> None:
    """R21: a call without its return is kept, which the rule on cycles finds and names."""
    found = play_change(defect(), scenarios(HALF, "parts/file"))
    assert [one.scenario for one in found.kills] == [HALF]
    assert found.played == 2
    assert {"cycle.all-returns", "R21"} <= found.kills[0].named
    assert found.right
    assert found.confirmed == ("cycle.all-returns",)


def test_a_failure_for_another_clause_is_not_right() -> None:
    """What a defect is said to break has to be what the failure cites."""
    found = play_change(defect(clauses=("sse.bom", "cycle.all-returns")), scenarios(HALF))
    assert found.confirmed == ("cycle.all-returns",)
    wrong = play_change(defect(clauses=("sse.bom",)), scenarios(HALF))
    assert wrong.killed
    assert not wrong.right


def settle(change: Defect | Harmless, given: tuple[Scenario, ...], failing: dict[str, Kill]) -> tuple[Row, list[str]]:
    """Return the row of a change that these scenarios fail, and the scenarios in the order of playing."""
    played: list[str] = []

    def play(scenario: Scenario) -> Kill | None:
        played.append(scenario.id)
        return failing.get(scenario.id)

    left = {one.id: one for one in given}
    return play_until_settled(row(change), left, play, 9), played


def test_what_is_about_the_clause_is_played_first_and_nothing_once_it_is_cited() -> None:
    """Among scenarios that are about it the one that is about little."""
    given = scenarios("parts/file", "interruptions/client-loses-a-running-tool", HALF)
    assert all("cycle.all-returns" in one.clauses for one in given[:2])
    found, played = settle(defect(), given, {HALF: kill(HALF, "cycle.all-returns")})
    assert played == [HALF]
    assert found.played == 1
    assert [one.scenario for one in found.kills] == [HALF]


def test_everything_is_played_as_long_as_a_clause_is_owed() -> None:
    """Of two clauses both have to be cited; a failure for another one, or none, settles nothing."""
    given = scenarios("parts/file", "sse/byte-order-mark", HALF)
    two = defect(clauses=("cycle.all-returns", "sse.bom"))
    half, file = kill(HALF, "cycle.all-returns"), kill("parts/file", "part.file")
    found, played = settle(two, given, {HALF: half, "parts/file": file})
    assert sorted(played) == sorted(one.id for one in given)
    assert (found.killed, found.confirmed, found.settled) == (True, ("cycle.all-returns",), False)
    found, played = settle(two, given, {HALF: half, "sse/byte-order-mark": kill("s", "sse.bom"), "parts/file": file})
    assert found.settled
    assert "parts/file" not in played
    found, played = settle(defect(), given, {})
    assert len(played) == len(given)
    assert not found.killed


def test_one_failure_settles_what_is_harmless_and_one_ruling_what_breaks_no_clause() -> None:
    """No clause is owed there."""
    given = scenarios("parts/file", HALF)
    failing = {one.id: kill(one.id, "R21") for one in given}
    harmless = Harmless(name="free", sentence="It is free.", side="both", seed=nullcontext)
    assert settle(harmless, given, failing)[0].played == 1
    assert settle(defect(clauses=(), rulings=("R21",)), given, failing)[0].played == 1
    assert settle(defect(clauses=(), rulings=("R22",)), given, failing)[0].played == 2


def test_a_ruling_is_right_as_well() -> None:
    """Many findings name rulings alone."""
    assert play_change(defect(clauses=("sse.bom",), rulings=("R21",)), scenarios(HALF)).right


def test_a_crash_kills_and_is_never_right() -> None:
    """A defect that makes the reference raise is seen, but for no clause."""

    def raising() -> AbstractContextManager[Any]:
        return mock.patch.object(ReferenceServer, "begin", side_effect=KeyError("gone"))

    found = play_change(defect(seed=raising, clauses=("tool.ids-match",)), scenarios(PLAIN))
    assert found.killed
    assert not found.right
    assert found.kills[0].reason == "KeyError: 'gone'"


def test_a_known_failure_of_a_recording_is_no_kill() -> None:
    """Cases that the baseline says fail do not fail for the defect."""
    known = "recorded/pydantic-ai/output-validator-retry"
    assert not play_change(defect(seed=nullcontext), scenarios(known)).killed


def test_the_change_is_undone_when_playing_raises() -> None:
    """The seed is a context that is left whatever happens."""
    left = []

    @contextmanager
    def seed() -> Any:
        try:
            yield
        finally:
            left.append(True)

    def broken() -> Any:
        yield from scenarios(PLAIN)
        raise RuntimeError("the scenarios ended badly")

    with pytest.raises(RuntimeError, match="ended badly"):
        play_change(defect(seed=seed), broken())
    assert left == [True]


def test_scenarios_that_fail_anyway_are_refused() -> None:
    """With the defect there before, a failure says nothing."""
    assert unharmed(scenarios(PLAIN))[PLAIN] > 10  # a sweep
    with any_return(), pytest.raises(UsageError, match=HALF):
        unharmed(scenarios(HALF))


def test_the_matrix_tells_survivors_misjudged_and_accused() -> None:
    """Each list holds what its name says, and nothing passes with any of them."""
    harmless = Harmless(name="free", sentence="It is free.", side="both", seed=nullcontext)
    good = row(defect("good"), kill("a/one", named="cycle.all-returns"))
    rows = (good, row(defect("alive")), row(defect("beside"), kill("a/one", named="sse.bom")))
    matrix = Matrix(rows=(*rows, row(harmless, kill("a/two"))), scenarios=(), elsewhere={})
    assert [r.change.name for r in matrix.survivors] == ["alive"]
    assert [r.change.name for r in matrix.misjudged] == ["beside"]
    assert [r.change.name for r in matrix.accused] == ["free"]
    assert matrix.score == pytest.approx(1 / 3)
    assert matrix.unconfirmed == {"beside": ("cycle.all-returns",)}
    assert not matrix.passed
    assert Matrix(rows=(good, row(harmless)), scenarios=(), elsewhere={}).passed
    assert not Matrix(rows=(), scenarios=(), elsewhere={}).passed  # nothing played proves nothing


def test_clauses_that_no_defect_breaks_are_told() -> None:
    """A MUST clause that a scenario exercises is owed a defect, one that is broken elsewhere is not."""
    given = scenarios("sse/byte-order-mark", "parts/file", HALF)
    broken = row(defect(), kill(HALF, about="cycle.all-returns"))
    matrix = Matrix(rows=(broken,), scenarios=given, elsewhere={"part.file": "tests/x.py::test_y"})
    assert set(matrix.unbroken) == {"sse.bom", "cycle.returns-go-with-response", "tool.no-orphan-return"}
    assert matrix.idle == ("parts/file", "sse/byte-order-mark")
    assert matrix.passed
    assert not replace(matrix, complete=True).passed  # only who promises all clauses fails for those that are left


def test_scenarios_that_find_only_what_many_find_are_told() -> None:
    """With ten scenarios a defect that two of them find is a plain one, whoever finds nothing else is blunt."""
    given = scenarios("sse")
    assert len(given) >= 10
    one, two, three = (scenario.id for scenario in given[:3])
    rows = (row(defect("plain"), kill(one), kill(two)), row(defect("fine"), kill(two)))
    matrix = Matrix(rows=rows, scenarios=given[:10], elsewhere={})
    assert matrix.blunt == (one,)
    assert three in matrix.idle


def test_rows_without_all_kills_say_nothing_of_scenarios() -> None:
    """A scenario that was not played found nothing because of that."""
    given = scenarios("sse/byte-order-mark")
    known = Matrix(rows=(row(defect()),), scenarios=given, elsewhere={}).as_json()
    assert known["all_kills"]
    some = Matrix(rows=(row(defect()),), scenarios=given, elsewhere={}, all_kills=False).as_json()
    assert known.keys() - some.keys() == {"smoke", "idle", "blunt"}
    assert not some["all_kills"]


def test_the_smoke_set_kills_all_that_can_be_killed() -> None:
    """The scenario that finds most is taken first, until every defect is found; survivors need none."""
    rows = [
        row(defect("a"), kill("s/1"), kill("s/2")),
        row(defect("b"), kill("s/2")),
        row(defect("c"), kill("s/3"), kill("s/1")),
        row(defect("d")),
    ]
    assert smoke(rows) == ("s/1", "s/2")


def test_killers_cover_every_clause_with_few_and_short_scenarios() -> None:
    """A sweep of many cases is taken only when no other scenario cites the clause."""
    both = defect(clauses=("cycle.all-returns", "sync.monotonic"))
    kills = (
        kill("s/sweep", named="cycle.all-returns sync.monotonic"),
        kill("s/text", about="cycle.all-returns sse.bom"),
        kill("s/named", named="cycle.all-returns"),
    )
    assert killers(row(both, *kills), {"s/sweep": 400}) == ("s/named", "s/sweep")
    assert killers(row(both, *kills), {}) == ("s/sweep",)
    assert killers(row(both), {}) == ()


def test_a_module_is_found_where_the_command_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of one's own with DEFECTS is enough."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "my_defects.py").write_text(OWN, "utf-8")
    changes = load_changes("my_defects")
    assert [one.name for one in changes.all()] == ["turns-lost"]
    assert changes.folder == tmp_path
    assert play_change(changes.named("turns-lost"), scenarios(HALF, PLAIN)).killed


OWN = """
from unittest import mock
from tpharness.dialects.thread import ThreadRenderer
from tpharness.explore.mutation import Defect

def seed():
    return mock.patch.object(ThreadRenderer, "_turn", lambda self, turn: None)

DEFECTS = [Defect(name="turns-lost", sentence="No turn is kept.", side="both", clauses=("turn.one-run",), seed=seed)]
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("tests.no_such_module", "cannot import"),
        ("tests/seeded_defects", "is not the name of a module"),
        ("json", "does not define DEFECTS"),
    ],
)
def test_a_module_without_defects_is_refused(module: str, words: str) -> None:
    """The error says what is wrong with it."""
    with pytest.raises(UsageError, match=words):
        load_changes(module)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("DEFECTS = []", "none has an empty list of DEFECTS"),
        ("DEFECTS = ['one']", "none has DEFECTS that are not a list of defects"),
        ("DEFECTS = None", "none has DEFECTS that are not a list of defects"),
        (
            "from tests.seeded_defects import DEFECTS\nHARMLESS = DEFECTS",
            "none has HARMLESS that are not a list of harmless variants",
        ),
    ],
)
def test_what_is_wrong_with_the_defects_of_a_module_is_told(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that is empty is not one that is missing."""
    (tmp_path / "none.py").write_text(source, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "none", raising=False)
    with pytest.raises(UsageError, match=words):
        load_changes("none")


@pytest.mark.parametrize(
    ("source", "words"), [("def f(:", "importing broken gave SyntaxError: "), ("1 / 0", "gave ZeroDivisionError: ")]
)
def test_what_a_module_raises_is_an_error_of_the_module(
    source: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1 would say that a defect was not found."""
    (tmp_path / "broken.py").write_text(source, "utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=words):
        load_changes("broken")
