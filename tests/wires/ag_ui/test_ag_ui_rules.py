"""The 114 rules, the findings and the streams that violate them fit together."""

from __future__ import annotations

from tests.apps.ag_ui.servers import DEFECTS
from tests.wires.ag_ui.streams import STREAMS

from tpharness.clauses import load_wire_rules
from tpharness.findings import Level, load_kinds
from tpharness.wires.ag_ui import violations

RULES = load_wire_rules()
KINDS = {code: kind for code, kind in load_kinds().items() if code.startswith("ag-ui-")}


def test_there_is_a_row_for_each_rule() -> None:
    """In order, and none twice; a rule that is not judged says why."""
    assert list(RULES) == [f"agui.{number}" for number in range(1, 115)]
    assert [rule.id for rule in RULES.values() if (rule.judged == "nowhere") != bool(rule.why)] == []


def test_a_rule_says_what_has_to_be_seen_for_a_verdict() -> None:
    """What is judged by the stream or by posts needs no more; what needs the model binds a server, not judged here."""
    needs = {"wire": "wire", "input": "input", "posts": "input"}
    assert [rule.id for rule in RULES.values() if needs.get(rule.judged, rule.verdict) != rule.verdict] == []
    rest = [rule for rule in RULES.values() if rule.judged == "nowhere"]
    assert {rule.verdict for rule in rest} == {"model", "none"}
    of_model = [rule for rule in rest if rule.verdict == "model"]
    assert {rule.binds for rule in of_model} == {"producer"}
    assert {rule.level for rule in of_model} <= {"MUST", "SHOULD"}


def test_a_rule_names_the_findings_that_cite_it() -> None:
    """Both ways: neither the catalogue nor the rules can be changed alone."""
    cited = {rule: {code for code, kind in KINDS.items() if rule in kind.clauses} for rule in RULES}
    assert {rule.id: {code for code in rule.findings if code in KINDS} for rule in RULES.values()} == cited


def test_every_judged_rule_is_violated_by_a_stream_that_is_found() -> None:
    """And the row names exactly the streams that say so."""
    by_rule: dict[str, list[str]] = {}
    for stream in STREAMS:
        for number in stream.get("rules", ()):
            by_rule.setdefault(f"agui.{number}", []).append(stream["name"])
    named = {rule.id: [name for name in rule.violated_by if name not in DEFECTS] for rule in RULES.values()}
    assert named == {id_: by_rule.get(id_, []) for id_ in RULES}
    assert [rule.id for rule in RULES.values() if rule.judged != "nowhere" and not rule.violated_by] == []
    found = {stream["name"]: set(stream.get("findings", ())) for stream in STREAMS}
    wrong = [
        (rule.id, name)
        for rule in RULES.values()
        for name in by_rule.get(rule.id, ())
        if not found[name] & set(rule.findings)
    ]
    assert wrong == []


def test_every_kind_of_finding_is_found_in_a_stream() -> None:
    """Each constant of the module is a kind, and has a stream in which it is found."""
    found = {code for stream in STREAMS for code in stream.get("findings", ())}
    assert found == set(KINDS)
    assert {getattr(violations, name).code for name in violations.__all__ if name != "FATAL"} == set(KINDS)


def test_a_must_that_binds_the_server_is_found_at_must() -> None:
    """And what only SHOULD hold does not fail a check."""
    strengths = {"MUST": Level.MUST, "SHOULD": Level.SHOULD, "MAY": Level.MAY}
    for code, kind in KINDS.items():
        bound = [strengths[RULES[rule].level] for rule in kind.clauses if RULES[rule].binds in ("producer", "both")]
        if bound and kind.level is Level.MUST:
            assert Level.MUST in bound, code
        elif bound:
            assert Level.MUST not in bound or kind.level is Level.MUST, code
