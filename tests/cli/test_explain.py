"""`explain` says about a finding what the catalogue says."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest
from tests.cli.conftest import Call

from tpharness.apps.fixes import load_fixes
from tpharness.checks import CHECKS
from tpharness.clauses import load_app_clauses, load_clauses, load_rulings
from tpharness.faults import FAULTS
from tpharness.findings import load_kinds
from tpharness.model_apis.rules import RULES
from tpharness.profiles import load_profiles
from tpharness.resources import scenarios_dir
from tpharness.scenario_files import find_files
from tpharness.verdict import Outcome

PLAY = "tpharness run --clause"


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
    assert " app  violated by 3 applications: " in lines["app.alive"]
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


def test_a_fix_is_explained_with_the_cases_that_it_makes_pass(call: Call) -> None:
    """A finding of `tpharness app` names it."""
    for fix in load_fixes():
        printed = call("explain", fix.id)
        assert printed.code == 0
        assert set(fix.passes) <= set(printed.out.split())
    assert f"did you mean {load_fixes()[0].id}" in call("explain", load_fixes()[0].id + "s").err


def test_what_is_not_known_is_told_with_where_else_to_look(call: Call) -> None:
    """The id of a scenario of one's own, or of an application's case, is right, and not found here."""
    for name in ("chat/cancelled", "user-leaves/in-text"):
        called = call("explain", name)
        assert called.code == 2
        assert "--scenarios FOLDER finds your own; `tpharness app --list` has the cases" in called.err
    assert "--scenarios" not in call("explain", "nothing").err
    assert "did you mean cycles/three-steps" in call("explain", "cycles/three-step").err
    assert "did you mean" not in call("explain", "chat/cancelled").err  # no finding is meant, such as chat-calls-empty
    own = call("replay", "chat/mine")
    assert (own.code, "no built-in scenario is called 'chat/mine'" in own.err) == (2, True)
    assert "--scenarios FOLDER finds your own" in own.err


def test_no_two_things_share_a_name() -> None:
    """Within what is read from texts, so that the rest need not be looked for; only scenarios have a / in their ids."""
    others = [*FAULTS, *load_profiles(), *(check.name for check in CHECKS), *(one.value for one in Outcome)]
    numbered = {*load_rulings(), *(rule.id for rule in RULES)}  # which of the two is shown is not left to chance
    every = [numbered, load_clauses(), load_app_clauses(), load_kinds(), others, find_files([scenarios_dir()])]
    assert [sorted(set(a) & set(b)) for a, b in combinations(every, 2) if set(a) & set(b)] == []
    assert [name for names in every[:-1] for name in names if "/" in name] == []


def test_the_words_of_a_run_are_explained(call: Call) -> None:
    """Each check, outcome and profile, from where it is defined; a name of two things is explained as both."""
    for check in CHECKS:
        assert f"{check.name} (check of every case)\n  {check.title}\n" in call("explain", check.name).out
    for outcome in Outcome:
        assert call("explain", outcome.value).out == f"{outcome.value} (outcome of a case)\n  {outcome.meaning}\n"
    for profile in load_profiles().values():
        assert f"  {profile.title}. {profile.reader}\n" in call("explain", profile.name).out
    assert "user-turns (check of tpharness app)\n  app.user-turns: " in call("explain", "user-turns").out
    both = call("explain", "resume").out
    assert both.startswith("resume (profile)\n")
    assert "\nresume (fault)\n" in both
    assert "did you mean monotonicity" in call("explain", "monotonicty").err


def test_every_rule_of_an_api_is_explained(call: Call) -> None:
    """Findings of `accept` and `app` begin with its name; the id alone does where no ruling has it, which names it."""
    for rule in RULES:
        told = call("explain", rule.name).out
        assert (
            f"{rule.name} (rule of the API {rule.provider}, {rule.kind.level.name})\n  {rule.kind.entry.meaning}\n"
            in told
        )
        assert all(f"  the API says: {text}\n" in told for text in rule.texts())
        assert f"  to do: {rule.kind.remedy}\n" in told
        assert "  how sure: " in told
        assert f": {rule.source}" in told
        assert all(f"\n    {address}\n" in told for address in rule.links().values())
        assert rule.kind.code in told
        assert call("explain", rule.name.upper()).out == told
        assert call("explain", f"{rule.provider}/{rule.id}").out == told
        ruling = load_rulings().get(rule.id)
        short = call("explain", rule.id.lower()).out
        if ruling is None:
            assert short == told
        else:
            assert short.startswith(f"{rule.id}: {ruling.title}\n")
            assert short.endswith(f"called so too: tpharness explain {rule.name}\n")
    assert RULES[0].name == "chat/C1"
    assert {rule.name for rule in RULES if rule.id == "R6"} == {"responses/R6"}
    assert "nothing is called 'responses/R99'" in call("explain", "responses/R99").err


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_explained_with_what_still_holds(name: str, call: Call) -> None:
    """Each guarantee has its words."""
    assert f"  {FAULTS[name].title}\n  guarantee: " in call("explain", name).out


def test_the_scenarios_of_a_clause_are_found_however_they_cite_it(call: Call, tmp_path: Path) -> None:
    """A list that does not stand plainly on one line is read by loading the file."""
    body = "turns: [{user: Hi}, {steps: [{response: [{text: Hello}]}]}]\n"
    for name, cited in (
        ("plain", "[stream.text]"),
        ("long", "\n  - stream.steps\n  - stream.text"),
        ("no", "[cycle.kept]"),
    ):
        (tmp_path / f"{name}.yaml").write_text(f"description: One text.\nclauses: {cited}\n{body}")
    told = call("explain", "stream.text", "--scenarios", str(tmp_path)).out
    assert f"  scenarios:\n    long\n    plain\n  play them: {PLAY} stream.text --scenarios {tmp_path}\n" in told
    assert f"  play them: {PLAY} cycle.kept\n" in call("explain", "cycle.kept").out
    unused = call("explain", "cycle.all-returns", "--scenarios", str(tmp_path)).out
    assert "  scenarios: none\n  violated" in unused
