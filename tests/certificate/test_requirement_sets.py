"""A requirement set means one thing for ever: what is in it is a clause at MUST, and what is new is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scripts.requirements import main

from tpharness.certificate import requirements
from tpharness.certificate.requirements import judge_requirements, load_requirements, new_since, relaxed_since
from tpharness.clauses import load_clauses, load_rulings


@pytest.mark.parametrize("wanted", load_requirements("0.0.4"), ids=str)
def test_what_is_in_a_set_never_disappears(wanted: requirements.RequirementSet) -> None:
    """A clause may become weaker or leave only with a new version of ThreadProtocol."""
    clauses = load_clauses()
    gone = [name for name in wanted.clauses if name not in clauses]
    assert gone == []
    weaker = [name for name in wanted.clauses if clauses[name].level != "MUST" or "0.0.4" not in clauses[name].versions]
    assert weaker == []
    assert list(wanted.clauses) == sorted(set(wanted.clauses))


def test_the_first_set_holds_what_everybody_relies_on() -> None:
    """The set of November 2026, by its name, with clauses of each subject."""
    wanted = load_requirements()[0]
    assert str(wanted) == "0.0.4 (set 2026-11)"
    assert {"thread.one-version", "cycle.kept", "sync.identity"} <= set(wanted.clauses)
    assert "thread.time-offset" not in wanted.clauses  # SHOULD


def test_a_clause_beyond_the_set_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named, and not part of what the set means."""
    older = replace(load_requirements()[0], clauses=("cycle.kept",))
    monkeypatch.setattr(requirements, "load_requirements", lambda _="": (older,))
    (line,) = new_since({"version": "0.0.4", "set": "2026-11"})
    assert line.startswith("new since 0.0.4 (set 2026-11), and not part of it: ")
    assert "sync.identity" in line
    assert "cycle.kept" not in line
    assert "not known" in new_since({"version": "0.0.4", "set": "1999-01"})[0]
    row = {"passed": 1, "departing": 0, "failed": 0, "not_judged": 0}
    judged = judge_requirements(older, [{"clauses": {"cycle.kept": row, "sync.identity": row}}])
    assert (judged["passed"], judged["failed"], judged["not_judged"]) == (["cycle.kept"], [], [])
    failing = judge_requirements(older, [{"clauses": {"cycle.kept": row | {"departing": 1}}}])
    assert (failing["passed"], failing["failed"]) == ([], ["cycle.kept"])


def test_a_set_that_exists_is_not_written_again(capsys: pytest.CaptureFixture[str]) -> None:
    """The script says so and changes nothing."""
    assert main("2026-11") == 1
    assert "never changed" in capsys.readouterr().err


@pytest.mark.parametrize("wanted", load_requirements("0.0.4"), ids=str)
def test_an_erratum_is_of_a_clause_of_its_set_and_cites_a_ruling_on_it(wanted: requirements.RequirementSet) -> None:
    """The sentence stands in a source document, so whoever doubts the ruling finds what it is about."""
    for one in wanted.errata:
        assert one.clause in wanted.clauses
        assert one.ruling in load_rulings()
        assert f"`{one.clause}`" in load_rulings()[one.ruling].text
        assert one.sentence
    named = {"version": wanted.version, "set": wanted.name}
    assert len(relaxed_since(named)) == len(wanted.errata)
    assert relaxed_since({"version": wanted.version, "set": "1999-01"}) == []
