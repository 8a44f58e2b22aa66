"""Every scenario, clause and fault belongs to a profile, by the rules of `conformance/profiles.yaml` alone."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from tests.scenarios import load_all

from tpharness.clauses import load_clauses
from tpharness.errors import UsageError
from tpharness.faults import FAULTS
from tpharness.profiles import SuiteProfile, find_profiles, load_profiles, parse_profiles
from tpharness.resources import conformance_dir, scenarios_dir, schema_path
from tpharness.run.select import select_scenarios
from tpharness.scenario_files import read_clauses
from tpharness.suite_yaml import load_suite_yaml

SCENARIOS = {one.id: one for one in select_scenarios((), (scenarios_dir(),))}
CITED = {name: load_all()[name].clauses for name in SCENARIOS}


def names(case: str, *clauses: str) -> list[str]:
    """Return the names of the profiles of a case."""
    return [profile.name for profile in find_profiles(case, clauses)]


def test_the_file_fits_its_schema() -> None:
    """Nothing in profiles.yaml is unknown to the schema; the names are those of the levels that were promised."""
    raw = load_suite_yaml(conformance_dir() / "profiles.yaml")
    schema = json.loads(schema_path("profiles").read_text("utf-8"))
    jsonschema_rs.Draft202012Validator(schema).validate(raw)
    assert list(load_profiles()) == [item["name"] for item in raw]
    assert " ".join(load_profiles()) == (
        "documents stream cycles interruptions tools multi-agent carriers versions resume faults history"
    )


def test_every_scenario_belongs_to_a_profile() -> None:
    """A scenario that no profile has would count for nobody."""
    assert [name for name, clauses in CITED.items() if not find_profiles(name, clauses)] == []


def test_every_clause_and_every_fault_belong_to_a_profile() -> None:
    """A new area of clauses, or a new fault, needs a place."""
    profiles = load_profiles().values()
    assert [clause for clause in load_clauses() if not any(profile.has_clause(clause) for profile in profiles)] == []
    assert [fault for fault in FAULTS if not any(profile.has_fault(fault) for profile in profiles)] == []


@pytest.mark.parametrize("profile", load_profiles().values(), ids=str)
def test_every_pattern_of_a_profile_fits_something(profile: SuiteProfile) -> None:
    """A pattern that fits nothing is a mistake in writing, or left over from something that was renamed."""
    for field, known in (
        ("clauses", list(load_clauses())),
        ("scenarios", list(SCENARIOS)),
        ("struck", list(SCENARIOS)),
        ("faults", list(FAULTS)),
    ):
        for pattern in getattr(profile, field):
            alone = SuiteProfile(name="alone", title="", reader="", clauses=(pattern,))
            assert any(map(alone.has_clause, known)), f"{profile.name}: {field}: {pattern}"
    assert any(profile in find_profiles(name, clauses) for name, clauses in CITED.items())


def test_a_scenario_counts_for_the_last_core_profile_that_it_needs() -> None:
    """Who has cycles and no interruptions yet is not held to a scenario that needs both; other profiles add up."""
    assert names("mine/one", "turn.fields", "cycle.kept") == ["cycles"]
    assert names("mine/one", "cycle.kept", "interrupt.timeout", "stream.text") == ["interruptions"]
    assert names("mine/one", "turn.fields", "tool.denied") == ["documents", "tools"]
    assert names("interruptions/one", "cycle.kept") == ["interruptions"]
    assert names("mine/one@event-12", "sse.bom") == ["stream"]
    assert names("mine/one", "history.append-only") == ["history"]
    assert names("mine/one") == []


def test_a_case_with_a_fault_belongs_to_the_profile_of_the_fault() -> None:
    """What its scenario is about is not what the fault tries."""
    assert names("cycles/three-steps@fault-reset", "cycle.kept") == ["faults"]
    assert names("cycles/three-steps@fault-resume-from-start", "cycle.kept") == ["resume"]


def test_a_profile_that_does_not_exist_is_refused_with_its_neighbours() -> None:
    """The hint has the nearest names, or all of them."""
    assert parse_profiles(["tools", "cycles", "tools"]) == ("cycles", "tools")
    with pytest.raises(UsageError, match="no profile is called 'interuption'") as near:
        parse_profiles(["cycles", "interuption"])
    assert near.value.hint == "did you mean interruptions?"
    with pytest.raises(UsageError) as far:
        parse_profiles(["xyz"])
    assert all(name in far.value.hint for name in load_profiles())


def test_clauses_are_read_without_loading_the_file() -> None:
    """What is read from the beginning of a file is what loading it gives; few files need to be loaded."""
    read = {name: read_clauses(one.path) for name, one in SCENARIOS.items()}
    assert {name: clauses for name, clauses in read.items() if clauses not in (None, CITED[name])} == {}
    assert sum(clauses is None for clauses in read.values()) < len(read) / 10
