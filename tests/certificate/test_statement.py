"""A certificate is public: the address of a target is shown, and no secret in it; a claim says of how much it is."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.certificate import CONFORMS, IN_PART, badge_endpoint, describe_side, verdict_line
from tpharness.certificate.claims import as_before, make_claims
from tpharness.certificate.counts import count_reports, find_extents
from tpharness.certificate.statement import find_unasked
from tpharness.readings import Readings
from tpharness.targets import Reference
from tpharness.targets.contract import QUESTIONS

ALL = dict.fromkeys(QUESTIONS, True)
Row = tuple[str, str, int, list[str]]
KEPT: Row = ("cycles/a", "passed", 3, ["cycle.kept"])
RETURNS: Row = ("cycles/b", "passed", 2, ["cycle.all-returns", "cycle.kept"])
UNDECLARED: Row = ("cycles/b", "not-applicable", 2, ["cycle.all-returns", "cycle.kept"])
NO_PART: Row = ("cycles/c", "no-part", 5, ["cycle.partial-text-dropped"])


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("https://me:s3cret-token@host/chat", "https://host/chat"),
        ("stdio:serve --api-key=s3cret-token", "stdio:serve --api-key=(left out)"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_addresses_are_shown_without_secrets(spec: str, shown: str) -> None:
    """Credentials of URLs, and what looks like a secret in a command."""
    assert describe_side(Reference(), spec, "server")["address"] == shown


def _result(row: Row) -> dict[str, Any]:
    id_, outcome, cases, clauses = row
    return {"id": id_, "outcome": outcome, "cases": cases, "clauses": clauses, "findings": []}


def claim(*playings: list[Row], profile: str = "cycles") -> dict[str, Any]:
    """Return the claim for a profile, by the results of a server with each of its clients."""
    side = {"capabilities": {"readings": Readings().as_json()}}
    reports = [
        {
            "versions": ["0.0.4"],
            "problems": [],
            "results": [_result(row) for row in rows],
        }
        for rows in playings
    ]
    known = (
        *("cycle.kept", "cycle.all-returns", "cycle.partial-text-dropped", "interrupt.user-cancelled"),
        *("thread.one-version", "migrate.downgrade"),
    )
    unasked = find_unasked({"server": {**side, "address": "stdio:mine"}, "client": {**side, "address": "reference"}})
    counted = [{"server": side, "client": side, **count_reports([report], unasked)} for report in reports]
    (made,) = make_claims(counted, [find_extents(report, known, unasked) for report in reports], [profile], "0.0.4")
    return made


def test_a_claim_is_whole_if_every_clause_that_the_target_has_a_part_in_was_judged() -> None:
    """A case in which it has none is nobody's to judge it by."""
    made = claim([KEPT, RETURNS, NO_PART])
    assert (made["status"], made["why"]) == (CONFORMS, "")
    assert (made["cases"], made["clauses"]) == ({"judged": 5, "of": 5}, {"judged": 2, "of": 2})


def test_a_clause_that_no_case_judged_makes_it_a_claim_in_part() -> None:
    """It is named, however many cases of other clauses have passed."""
    made = claim([KEPT, UNDECLARED, NO_PART])
    assert (made["status"], made["why"]) == (IN_PART, "1 of 2 clauses were not judged: cycle.all-returns")
    assert (made["cases"], made["clauses"]) == ({"judged": 3, "of": 5}, {"judged": 1, "of": 2})
    assert as_before(made) == {"profile": "cycles", "status": CONFORMS, "why": ""}


def test_with_several_clients_a_clause_has_to_be_judged_with_each() -> None:
    """A claim holds with all of them."""
    made = claim([KEPT, RETURNS], [KEPT, UNDECLARED])
    assert (made["status"], made["clauses"]) == (IN_PART, {"judged": 1, "of": 2})


def test_without_a_clause_that_was_judged_nothing_is_claimed() -> None:
    """Cases of the profile that are about other clauses do not count for it."""
    rows: list[Row] = [
        ("interruptions/a", "passed", 3, ["cycle.kept"]),
        ("interruptions/b", "not-applicable", 1, ["interrupt.user-cancelled"]),
    ]
    made = claim(rows, profile="interruptions")
    assert (made["status"], made["clauses"]) == ("not-judged", {"judged": 0, "of": 1})
    assert made["why"] == "1 of 1 clauses were not judged: interrupt.user-cancelled"


def test_a_failure_goes_before_what_was_not_judged() -> None:
    """And is told with its extent."""
    made = claim([("cycles/a", "failed", 3, ["cycle.kept"]), UNDECLARED])
    assert (made["status"], made["why"], made["clauses"]) == ("fails", "3 of 3 cases failed", {"judged": 1, "of": 2})


def test_the_line_and_the_badge_tell_what_is_claimed_in_part() -> None:
    """Nobody takes it for a profile that conforms."""
    wanted = {"version": "0.0.4", "set": "2026-11", "passed": ["a"], "failed": ["b"], "not_judged": ["c", "d"]}
    predicate = {"claims": [claim([KEPT, UNDECLARED])], "requirements": wanted, "playings": [{}]}
    assert verdict_line(predicate) == "none of 1 profile and 1 in part of 0.0.4 (set 2026-11), 1 of 4 clauses"
    assert badge_endpoint(predicate)["message"] == "none of 1 profile and 1 in part"
    assert badge_endpoint(predicate)["color"] == "yellow"


def test_a_target_is_not_certified_for_what_it_was_not_asked() -> None:
    """The reference beside a target answers everything, and shows nothing of the target; alone it is the target."""
    rows: list[Row] = [("versions/a", "passed", 2, ["thread.one-version", "migrate.downgrade"])]
    report = {"versions": ["0.0.4"], "problems": [], "results": [_result(row) for row in rows]}
    known = ("thread.one-version", "migrate.downgrade")
    mute, reference = {"address": "stdio:mine", "capabilities": {}}, {"address": "reference", "capabilities": ALL}
    asked = {"address": "stdio:mine", "capabilities": {"migrate": True, "hash": False}}
    for server, client, judged in [
        (mute, reference, 1),
        (reference, mute, 1),
        (asked, reference, 2),
        (asked, mute, 1),
        (reference, reference, 2),
    ]:
        unasked = find_unasked({"server": server, "client": client})
        extent = find_extents(report, known, unasked)["versions"]
        assert (len(extent.judged), len(extent.owed)) == (judged, 2)
        assert (count_reports([report], unasked)["clauses"]["migrate.downgrade"]["passed"] > 0) is (judged == 2)


def test_a_claim_says_what_the_target_does_not_answer() -> None:
    """In part where other clauses of the profile were judged."""
    made = claim([("versions/a", "passed", 2, ["thread.one-version", "migrate.downgrade"])], profile="versions")
    why = "1 of 2 clauses were not judged: migrate.downgrade; the target does not declare that it answers migrate"
    assert (made["status"], made["why"]) == (IN_PART, why)
