"""How much of each profile has passed, and which one to take on next."""

from __future__ import annotations

from tpharness.findings import Kind, Place
from tpharness.report.html_tables import profiles_table
from tpharness.report.profiles import profile_lines
from tpharness.verdict import Outcome, Result
from tpharness.verdict.profile_tally import next_profile, tallies_json, tally_profiles

DIFFERS = Kind("identity-differs")


def result(case: str, clause: str, outcome: Outcome = Outcome.PASSED, symptom: str = "", cases: int = 1) -> Result:
    """Return a result of a scenario that cites one clause."""
    findings = (DIFFERS.at(Place(), symptom=symptom),) if outcome is Outcome.FAILED else ()
    return Result(id=case, outcome=outcome, clauses=(clause,), cases=cases, findings=findings, reason=symptom)


RESULTS = [
    result("mine/a", "turn.fields"),
    result("mine/a@event-*", "turn.fields", cases=7),
    result("mine/a@event-3", "turn.fields", Outcome.FAILED, "x"),
    result("mine/b", "turn.fields", Outcome.FAILED, "y"),
    result("mine/c", "turn.fields", Outcome.NOT_APPLICABLE),
    result("mine/d", "stream.text", Outcome.EXPECTED),
    result("mine/d@event-*", "stream.text", cases=4),
    result("mine/e", "tool.denied", Outcome.FAILED, "x"),
    result("mine/f", "tool.denied", Outcome.FAILED, "x"),
    result("mine/g", "carrier.scope", Outcome.ERRORED, "gone"),
    result("mine/d@fault-reset", "stream.text"),
]


def test_each_profile_is_counted_by_scenarios_and_cases() -> None:
    """A scenario is whole if nothing of it failed; what does not apply counts nowhere but beside."""
    counted = {
        tally["name"]: tuple(
            tally[key] for key in ("whole", "scenarios", "passed", "expected", "failed", "cases", "not_judged")
        )
        for tally in tallies_json(tally_profiles(RESULTS))["profiles"]
    }
    assert counted == {
        "documents": (0, 2, 8, 0, 2, 10, 1),
        "stream": (1, 1, 4, 1, 0, 5, 0),
        "tools": (0, 2, 0, 0, 2, 2, 0),
        "carriers": (0, 1, 0, 0, 1, 1, 0),
        "faults": (1, 1, 1, 0, 0, 1, 0),
    }


def test_the_next_profile_is_the_first_of_those_that_build_on_one_another() -> None:
    """What they say has to hold before the others can, however few causes these have; what is whole is done."""
    tallies = tally_profiles([*RESULTS, result("mine/i", "cycle.kept", Outcome.FAILED, "x")])
    following = next_profile(tallies)
    assert following is not None
    assert (following.profile.name, len(following.causes)) == ("documents", 2)
    assert tallies_json(tallies)["next_profile"] == "documents"


def test_the_next_of_the_other_profiles_has_the_fewest_causes_and_is_the_first_of_several() -> None:
    """Two failures of one cause are less work than two causes."""
    others = [one for one in RESULTS if "turn.fields" not in one.clauses]
    assert tallies_json(tally_profiles(others))["next_profile"] == "tools"
    more = [*others, result("mine/j", "tool.denied", Outcome.FAILED, "y")]
    assert tallies_json(tally_profiles(more))["next_profile"] == "carriers"


def test_nothing_is_next_where_nothing_failed() -> None:
    """Nor where nothing was played."""
    whole = tally_profiles([one for one in RESULTS if one.outcome.green])
    assert next_profile(whole) is None
    assert tallies_json(whole)["next_profile"] is None
    assert tallies_json([]) == {"profiles": [], "next_profile": None}


def test_profiles_are_lines_for_people() -> None:
    """Aligned; causes, known departures, what was not judged and faults that were not played are notes."""
    lines = profile_lines(tally_profiles([*RESULTS, result("mine/h", "sync.convergence")]))
    assert lines == [
        "profiles, by scenarios and cases that passed (tpharness list profiles):",
        "  documents  0 of 2 scenarios  8 of 10 cases  2 causes, 1 not judged",
        "  stream     1 of 1 scenarios   4 of 5 cases  1 known",
        "  tools      0 of 2 scenarios   0 of 2 cases  1 cause",
        "  carriers   0 of 1 scenarios   0 of 1 cases  1 cause",
        "  resume     1 of 1 scenarios   1 of 1 cases  its faults: --profile resume",
        "  faults     1 of 1 scenarios   1 of 1 cases",
        "next: documents, where 2 causes are left (with --profile documents the same command plays it alone)",
    ]
    assert profile_lines([]) == []


def test_a_profile_that_was_played_alone_is_not_the_next_to_play() -> None:
    """Some of its cases may be of others, too. In the same way on a page."""
    tools = [one for one in RESULTS if "tool.denied" in one.clauses]
    for results, told in (([*tools, result("mine/k", "stream.text")], True), (tools, False)):
        tallies = tally_profiles(results)
        assert any(line.startswith("next: tools") for line in profile_lines(tallies)) is told
        assert ("--profile tools" in profiles_table(tallies)) is told
