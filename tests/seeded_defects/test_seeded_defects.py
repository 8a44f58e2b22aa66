"""The suite bites: each defect fails the scenarios of its row in `killers.json`, for the clauses that it breaks.

The whole matrix is the task of `tpharness mutate tests.seeded_defects --jobs 2`; with `--update` it writes the table.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from functools import cache
from pathlib import Path

import pytest
from conformance.vectors import load_vectors, run_vector
from tests.about import about
from tests.distribution import Sample
from tests.scenarios import load_all
from tests.seeded_defects import DEFECTS, DOCUMENT_DEFECTS, ELSEWHERE, HARMLESS

from tpharness.clauses import load_clauses, load_rulings, load_violations
from tpharness.explore.mutation import Defect, Harmless, play_change, unharmed
from tpharness.protocol.canonical import thread_hash
from tpharness.run.plan import base_case, make_script
from tpharness.scenario import Scenario
from tpharness.targets import Reference

KILLERS: dict[str, list[str]] = json.loads((Path(__file__).parent / "killers.json").read_text("utf-8"))
SCENARIOS = load_all()
VARIED = (
    "basics/tool-call-and-answer",
    "parts/every-kind-in-one-response",
    "cycles/preliminary-outputs",
    "numbers/composed-and-decomposed",
)
"""Scenarios that show every harmless variant: calls, thinking, files, progress, letters that are not ASCII."""


def of(*ids: str) -> list[Scenario]:
    """Return scenarios by their ids."""
    return [SCENARIOS[one] for one in ids]


@cache
def busiest() -> tuple[str, ...]:
    """Return the scenarios that stand most often in the table, which together see most of what there is."""
    tally: dict[str, int] = {}
    for ids in KILLERS.values():
        for one in ids:
            tally[one] = tally.get(one, 0) + 1
    return tuple(sorted(tally, key=lambda one: (-tally[one], one))[:40])


@pytest.mark.sampled
def test_a_defect_fails_for_the_clauses_that_it_breaks(sample: Sample[Defect]) -> None:
    """Every scenario of its row fails, and each clause that it breaks is cited by a failure."""
    for defect in sample(DEFECTS):
        with about(defect.name):
            row = play_change(defect, of(*KILLERS[defect.name]))
            assert [kill.scenario for kill in row.kills] == KILLERS[defect.name]
            assert all(row.is_right(kill) for kill in row.kills)
            assert set(row.confirmed) == set(defect.clauses)


@pytest.mark.parametrize("defect", DOCUMENT_DEFECTS, ids=lambda defect: defect.name)
def test_a_wrong_reader_of_documents_fails_for_the_clauses_that_it_breaks(defect: Defect) -> None:
    """Some vector fails, and those that do cite each clause; test_vectors holds that none fails without the defect."""
    broken = set(defect.clauses)
    about_them = {name: broken & set(vector["clauses"]) for name, vector in load_vectors().items()}
    with defect.seed():
        cited = [clauses for name, clauses in about_them.items() if clauses and run_vector(name)]
    assert set().union(*cited) == broken


@pytest.mark.sampled
@pytest.mark.parametrize("variant", HARMLESS, ids=lambda variant: variant.name)
def test_what_is_free_does_not_fail(variant: Harmless, sample: Sample[str]) -> None:
    """The suite holds nobody to what no rule says."""
    row = play_change(variant, of(*{*sample(busiest()), *VARIED}))
    assert not row.kills


@pytest.mark.parametrize("variant", HARMLESS, ids=lambda variant: variant.name)
def test_a_harmless_variant_is_one(variant: Harmless) -> None:
    """It does change something: the bytes that are sent, or how a document is written."""
    with variant.seed():
        changed = [played(scenario) for scenario in of(*VARIED)]
    assert changed != [played(scenario) for scenario in of(*VARIED)]


def played(scenario: Scenario) -> str:
    """Return everything that the reference server says in a scenario."""
    told = asyncio.run(Reference().serve(make_script(base_case(scenario))))
    sent = [packet.data.decode() for stream in told.streams for packet in stream]
    return json.dumps([sent, list(told.threads.values())])


def test_nothing_stays_seeded() -> None:
    """After each change the reference is what it was."""
    before = [played(scenario) for scenario in of(*VARIED)]
    for change in (*DEFECTS, *DOCUMENT_DEFECTS, *HARMLESS):
        with change.seed():
            pass
    assert [played(scenario) for scenario in of(*VARIED)] == before
    unharmed(of(*VARIED))


def test_the_table_names_each_defect_and_no_other() -> None:
    """No defect survives, and no row is left over."""
    assert list(KILLERS) == [defect.name for defect in DEFECTS]
    assert all(KILLERS.values())
    assert len(DEFECTS) >= 80
    assert len(HARMLESS) >= 8


def test_a_defect_says_what_it_does() -> None:
    """A kebab-case name, a sentence, and clauses and rulings that exist."""
    for defect in (*DEFECTS, *DOCUMENT_DEFECTS):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", defect.name), defect.name
        assert re.fullmatch(r"[A-Z][^\n]{10,150}\.", defect.sentence), defect.name
        assert defect.clauses, defect.name
        assert set(defect.clauses) <= set(load_clauses()), defect.name
        assert set(defect.rulings) <= set(load_rulings()), defect.name


def test_names_and_sentences_are_unique() -> None:
    """No two changes are called alike or say the same."""
    changes = [*DEFECTS, *DOCUMENT_DEFECTS, *HARMLESS]
    assert len({change.name for change in changes}) == len(changes)
    assert len({change.sentence for change in changes}) == len(changes)


def test_each_must_clause_that_a_scenario_exercises_is_broken_by_a_defect() -> None:
    """Of the clauses that a defect names, the test above shows that a failure cites them; ELSEWHERE names the rest."""
    exercised = {clause for scenario in SCENARIOS.values() for clause in scenario.clauses}
    musts = {clause.id for clause in load_clauses().values() if clause.level == "MUST"}
    broken = {clause for defect in DEFECTS for clause in defect.clauses}
    in_documents = {clause for defect in DOCUMENT_DEFECTS for clause in defect.clauses}
    in_documents |= {name for name, found in load_violations().items() if any(one.kind == "document" for one in found)}
    assert exercised & musts - broken == set(ELSEWHERE)
    assert {name for name, why in ELSEWHERE.items() if "document" in why} <= in_documents


def test_the_hash_is_sha256_over_the_canonical_bytes() -> None:
    """canon.hash, R37: keys are sorted, and root fields beside version and turns do not count."""
    document = {"version": "0.0.4", "thread_id": "t", "agents": {}, "turns": []}
    digest = hashlib.sha256(b'{"turns":[],"version":"0.0.4"}').hexdigest()
    assert thread_hash(document) == f"sha256:{digest}"


def test_a_clause_that_is_broken_elsewhere_names_its_test() -> None:
    """The tests that ELSEWHERE names exist."""
    top = Path(__file__).parents[2]
    for reason in ELSEWHERE.values():
        file, test = re.findall(r"((?:conformance|tests)/[\w/]+\.py)::(\w+)", reason)[0]
        assert f"def {test}(" in (top / file).read_text("utf-8")
