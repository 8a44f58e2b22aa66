"""`explain` says about a finding what the catalogue says."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Call

from tpharness.findings import load_kinds


@pytest.mark.parametrize("code", ["stream-unfinished", "identity-differs", "json-too-deep", "chat-call-unanswered"])
def test_explain_shows_what_the_catalogue_says(code: str, call: Call) -> None:
    """Title, meaning, remedy, and the clauses in words."""
    called = call("explain", code)
    assert called.code == 0
    assert called.out.startswith(f"{code} (")
    kind = load_kinds()[code]
    assert kind.title in called.out
    assert kind.meaning in called.out
    assert kind.remedy in called.out


def test_a_clause_is_listed_with_what_exercises_and_what_violates_it(call: Call) -> None:
    """Scenarios, and what breaks the clause and is found, by kind; the JSON says what finds it."""
    lines = {line.split()[0]: line for line in call("list", "clauses").out.splitlines()}
    assert " tools  violated by 2 documents: " in lines["thread.links"]
    assert " app  violated by 2 applications: " in lines["app.alive"]
    assert " scenarios  violated by " in lines["cycle.kept"]
    rows = {row["id"]: row for row in json.loads(call("list", "clauses", "--json").out)}
    assert "cycles/three-steps" in rows["cycle.kept"]["scenarios"]
    link = {
        "kind": "document",
        "name": "link-to-a-name",
        "sentence": "A link to another thread does not name it by UUID.",
        "found_by": ["link-not-uuid"],
    }
    assert link in rows["thread.links"]["violations"]


def test_explain_shows_what_violates_a_clause(call: Call) -> None:
    """Kind, name and sentence, and what finds it; a clause that nothing violates says so."""
    assert "  violated and found:\n    document link-to-a-name: " in call("explain", "thread.links").out
    assert "Found by link-not-uuid." in call("explain", "thread.links").out
    assert "    application bricks: After an interruption" in call("explain", "app.alive").out
    assert "  violated and found: nothing\n" in call("explain", "interrupt.client-timeout").out


def test_what_is_not_known_is_told_with_where_else_to_look(call: Call) -> None:
    """The id of a scenario of one's own, or of an application's case, is right, and not found here."""
    for name in ("chat/cancelled", "user-leaves/in-text"):
        called = call("explain", name)
        assert called.code == 2
        assert "--scenarios FOLDER finds your own; `tpharness app --list` has the cases" in called.err
    assert "--scenarios" not in call("explain", "nothing").err
