"""Entries of a baseline for patterns and causes explain every failure that fits, and have to explain one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tpharness.errors import InputError, UsageError
from tpharness.findings import Finding, Kind, Place
from tpharness.report.failures import group_line
from tpharness.run.baselines import load_baseline
from tpharness.verdict import Outcome, Result
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.baseline_write import baseline_text
from tpharness.verdict.grouping import group_failures

DIFFERS, OUTLINE = Kind("identity-differs"), Kind("outline-differs")
CAUSE = "identity-differs at server: a part (text) differs [R39]"


def wrong(symptom: str = "a part (text) differs", kind: Kind = DIFFERS) -> Finding:
    """Return a finding on the server's side."""
    return kind.at(Place(side="server"), symptom=symptom)


def failed(case: str, *findings: Finding) -> Result:
    """Return a failure."""
    return Result(id=case, outcome=Outcome.FAILED, findings=findings or (wrong(),), clauses=("sync.identity",))


def baseline(tmp_path: Path, text: str) -> Baseline:
    """Return the baseline of a text."""
    file = tmp_path / "known.yaml"
    file.write_text(text, encoding="utf-8")
    return load_baseline(file)


def test_a_pattern_explains_failures_with_its_findings_and_lets_others_pass(tmp_path: Path) -> None:
    """Another finding is no known failure; a case of its own entry is judged by that."""
    known = baseline(
        tmp_path,
        "- {id: 'cycles/*', findings: [identity-differs], reason: known}\n"
        "- {id: cycles/own, findings: [outline-differs], reason: other}\n",
    )
    explained = known.apply(failed("cycles/a@event-3"))
    assert (explained.outcome, explained.reason) == (Outcome.EXPECTED, "known")
    assert known.apply(failed("cycles/a", wrong(kind=OUTLINE))).outcome is Outcome.FAILED
    assert known.apply(failed("tools/a")).outcome is Outcome.FAILED
    assert known.apply(failed("cycles/own")).outcome is Outcome.STALE
    passed = Result(id="cycles/b", outcome=Outcome.PASSED)
    assert known.apply(passed) is passed
    assert known.apply(failed("cycles/a@fault-reset")).outcome is Outcome.EXPECTED


@pytest.mark.parametrize("cause", [CAUSE, CAUSE.removesuffix(" [R39]"), CAUSE.replace("[", "[cycle.kept, ")])
def test_a_cause_explains_failures_wherever_they_are(tmp_path: Path, cause: str) -> None:
    """With what it cites or without; an id beside it restricts it."""
    known = baseline(tmp_path, f"- {{cause: '{cause}', reason: known}}\n")
    assert known.apply(failed("a/b")).outcome is Outcome.EXPECTED
    assert known.apply(failed("a/b", wrong(), wrong(kind=OUTLINE))).outcome is Outcome.EXPECTED
    assert known.apply(failed("a/b", wrong("a part (file) differs"))).outcome is Outcome.FAILED
    restricted = baseline(tmp_path, f"- {{cause: '{cause}', id: 'c/*', reason: known}}\n")
    assert restricted.apply(failed("a/b")).outcome is Outcome.FAILED
    assert restricted.apply(failed("c/b")).outcome is Outcome.EXPECTED


def test_a_cause_is_known_as_the_console_prints_it(tmp_path: Path) -> None:
    """The line has the first ruling of several, and a clause of the scenarios where the finding cites none."""
    with_more = DIFFERS.at(Place(side="server"), "a turn is missing (R18, R24)", symptom="a turn is missing")
    result = failed("a/b", with_more)
    (group,) = group_failures([result])
    (printed,) = re.findall(r"identity-differs .*?\]", group_line(group))
    assert printed != str(group.cause)
    known = baseline(tmp_path, f"- {{cause: '{printed}', reason: known}}\n")
    assert known.apply(result).outcome is Outcome.EXPECTED
    other = baseline(tmp_path, f"- {{cause: '{printed.replace('R39', 'R20')}', reason: known}}\n")
    assert other.apply(result).outcome is Outcome.FAILED


def test_an_entry_that_explains_nothing_is_told_after_a_whole_run(tmp_path: Path) -> None:
    """After a part of it only the entries of what was played are judged."""
    known = baseline(
        tmp_path,
        f"- {{cause: '{CAUSE}', reason: known}}\n"
        "- {id: 'cycles/*', findings: [outline-differs], reason: known}\n"
        "- {id: a/gone, findings: [outline-differs], reason: known}\n"
        "- {id: a/b@event-9, findings: [outline-differs], reason: known}\n",
    )
    played = [known.apply(failed("a/b")), Result(id="cycles/c", outcome=Outcome.PASSED)]
    assert [f.got for f in known.find_outdated(played)] == ["a/gone", "a/b@event-9", "cycles/*"]
    assert [f.got for f in known.find_outdated(played[1:])] == ["a/gone", "a/b@event-9", CAUSE, "cycles/*"]
    assert [f.got for f in known.find_outdated(played, complete=False)] == ["a/b@event-9"]
    place = [Result(id="a/b@event-3", outcome=Outcome.PASSED)]
    assert known.find_outdated(place, complete=False) == [], "one place was played, and not the others"


SWEPT = [
    Result(id="a/b", outcome=Outcome.PASSED),
    Result(id="a/b@event-*", outcome=Outcome.PASSED, cases=4),
    failed("a/b@event-2"),
]
"""A scenario with five places, of which one fails."""


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("id: a/b@event-3", "baseline-stale"),
        ("id: a/b@turn-1-event-3:cancelled", "baseline-stale"),
        ("id: a/b@event-5", "baseline-unmatched"),
        ("id: a/b@byte-3", "baseline-unmatched"),
        ("id: a/gone", "baseline-unmatched"),
        ("id: a/b@fault-reset", ""),
        ("id: 'a/*@fault-re*'", ""),
        ("id: a/gone@fault-reset", "baseline-unmatched"),
        ("id: a/b@fault-no-such", "baseline-unmatched"),
        ("id: 'gone/*@fault-reset'", "baseline-unmatched"),
        ("id: broken/*", ""),
        ("id: broken/one@event-3", ""),
        ("id: broken/one", ""),
    ],
)
def test_a_whole_run_without_faults_judges_what_it_plays(tmp_path: Path, entry: str, code: str) -> None:
    """Cases with faults are not in it, and of a case that could not be played nothing was learned."""
    known = baseline(tmp_path, f"- {{{entry}, findings: [outline-differs], reason: known}}\n")
    broken = Result(id="broken/one", outcome=Outcome.ERRORED, reason="no answer")
    assert known.apply(broken) is broken
    assert [finding.code for finding in known.find_outdated([*SWEPT, broken])] == [code] * bool(code)


def test_an_entry_for_a_cause_in_some_cases_is_named_with_both(tmp_path: Path) -> None:
    """Another one for the same cause may explain a failure."""
    text = f"- {{cause: '{CAUSE}', id: 'a/*', reason: one}}\n- {{cause: '{CAUSE}', id: 'gone/*', reason: other}}\n"
    known = baseline(tmp_path, text)
    problems = known.find_outdated([failed("a/b")])
    assert [finding.got for finding in problems] == [f"{CAUSE} in gone/*"]
    left = yaml.safe_load(baseline_text([], problems, tmp_path / "known.yaml"))
    assert [item["reason"] for item in left] == ["one"]


def test_a_run_of_a_part_judges_no_fault_that_it_does_not_play(tmp_path: Path) -> None:
    """The scenario was played without it. The places of its sweep were played."""
    known = baseline(
        tmp_path,
        "- {id: a/b@fault-reset, findings: [outline-differs], reason: known}\n"
        "- {id: a/b@event-3, findings: [outline-differs], reason: known}\n"
        "- {id: a/gone, findings: [outline-differs], reason: known}\n",
    )
    found = known.find_outdated(SWEPT, complete=False)
    assert [(one.code, one.place.case, one.got) for one in found] == [("baseline-stale", "a/b@event-3", "passed")]


@pytest.mark.parametrize("reason", ["''", "", "'  '"])
@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("- id: a/b\n  findings: [outline-differs]\n", "a/b"),
        ("- cause: some cause\n", "some cause"),
        ("- departure: d-1\n  cases: {outline-differs: [a/b]}\n", "d-1"),
        ("- cases: {outline-differs: [a/b]}\n", "a/b"),
    ],
)
def test_an_empty_reason_is_refused(tmp_path: Path, entry: str, name: str, reason: str) -> None:
    """The first entry is named as in the file, with its line, the others are counted, and it says what to write."""
    empty = f"{entry}  reason: {reason}\n"
    first = "# known\n\n- {id: c/d, findings: [outline-differs], reason: known}\n"
    for text, others in ((empty, ""), (empty * 3, ", and that of 2 more")):
        with pytest.raises(UsageError) as refused:
            baseline(tmp_path, first + text)
        assert str(refused.value).endswith(f"known.yaml:4: entry 2 ({name}): the reason is empty{others}")
        assert "write why it is known to fail" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "- {id: a/c, findings: [outline-difers], reason: c}",
            "outline-difers: no finding has this code; did you mean 'outline-differs'?",
        ),
        ("- {id: a/c, cause: a, findings: [7], reason: c}", "7: no finding has this code"),
        ("- {reason: c, cases: {outline-differs outline: [a/c]}}", "outline: no finding has this code"),
    ],
)
def test_a_code_that_no_finding_has_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """In every kind of entry: such an entry explains nothing, and nobody would see why."""
    with pytest.raises(UsageError) as refused:
        baseline(tmp_path, f"- {{id: a/b, findings: [outline-differs], reason: c}}\n{text}")
    assert f"known.yaml:2: entry 2 (a/c): {said}" in str(refused.value)
    assert "`tpharness list findings`" in refused.value.hint


@pytest.mark.parametrize("key", ["clauses", "rulings", "rules"])
@pytest.mark.parametrize("value", ["sync.identity", "7", "1.5"])
def test_what_an_entry_cites_is_a_list(tmp_path: Path, key: str, value: str) -> None:
    """A text would be one for each letter, and a number ended the run with a traceback."""
    with pytest.raises(UsageError, match=rf"known\.yaml:1: entry 1 \(a/b\): {key} is not a list") as refused:
        baseline(tmp_path, f"- {{id: a/b, findings: [outline-differs], reason: c, {key}: {value}}}")
    assert refused.value.hint == f"write [{value}]"


def test_findings_are_a_list(tmp_path: Path) -> None:
    """A text would be a code for each letter."""
    with pytest.raises(UsageError, match=r"known\.yaml:1: entry 1 \(a/b\): findings is not a list") as refused:
        baseline(tmp_path, "- {id: a/b, findings: outline-differs, reason: c}")
    assert refused.value.hint == "write [outline-differs]"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("- {id: 'a/*', reason: c}", "has no key findings"),
        ("- {cause: a}", "has no key reason"),
        ("- {cause: a, reason: b, odd: c}", "has an unknown key odd"),
        ("- {id: a/b, finding: [c], reason: d}", "has no key findings and has an unknown key finding"),
    ],
)
def test_an_entry_for_many_cases_says_enough(tmp_path: Path, text: str, wrong: str) -> None:
    """A pattern without findings would explain whatever goes wrong. The keys that there are are named."""
    with pytest.raises(UsageError, match=rf"entry 1 \(a\S*\) {wrong}\n") as refused:
        baseline(tmp_path, text)
    assert refused.value.hint.startswith("an entry has id or cause, findings, reason")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a: [1\n", ":2:1: the file is not YAML: "),
        (b"- id: a\n  reason: \xff\n", ":2:11: the file is not UTF-8"),
        (b"- {id: a, findings: [b], reason: c, id: d}", ":1:37: the key 'id' is here and also in line 1"),
        (b"[" * 100_000, ":1:201: lists and maps are nested too deep"),
    ],
)
def test_what_is_wrong_in_the_text_is_told_as_of_a_scenario(tmp_path: Path, data: bytes, said: str) -> None:
    """With line and column, in one line."""
    file = tmp_path / "known.yaml"
    file.write_bytes(data)
    with pytest.raises(InputError) as raised:
        load_baseline(file)
    assert str(raised.value).startswith(f"{file}{said}")
    assert "\n" not in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("known: []", "known.yaml is not a list of entries"),
        ("- {cause: 5, reason: c}", "entry 1 (5): cause is 5, and not a text"),
        ("- {departure: d, reason: r}", "entry 1 (d) has no key cases"),
        ("- {departure: d, reason: r, cases: [a]}", "entry 1 (d): cases is not a map from findings to lists of ids"),
        ("- {id: a, findings: [outline-differs], reason: r}\n- a/b", "known.yaml:2: entry 2 is not a map"),
    ],
)
def test_a_form_that_a_baseline_does_not_have_is_named(tmp_path: Path, text: str, said: str) -> None:
    """As what it is not: the sentence is about the file, and not about baselines."""
    with pytest.raises(UsageError) as raised:
        baseline(tmp_path, text)
    assert said in str(raised.value)


def test_the_baseline_of_the_documentation_is_read_and_has_every_key_that_is_written(tmp_path: Path) -> None:
    """Each kind of entry is there, so that what --write-baseline writes can be looked up."""
    page = (Path(__file__).parents[2] / "docs" / "CLI.md").read_text("utf-8")
    (example,) = re.findall(r"```yaml\n(- id: .*?)```", page, re.DOTALL)
    known = baseline(tmp_path, example)
    grouped = [one for one in known.entries.values() if one.departure]
    assert len(grouped) > 1
    assert {one.findings for one in grouped} == {frozenset({"identity-differs", "outline-differs"})}
    assert any(one.cause for one in known.many)
    (written,) = yaml.safe_load(baseline_text([failed("a/one")]))
    assert set(written) <= {key for item in yaml.safe_load(example) for key in item}


def test_an_empty_baseline_knows_no_failure(tmp_path: Path) -> None:
    """All that was known may have been corrected."""
    assert baseline(tmp_path, "# nothing any more\n").entries == {}


def test_a_written_baseline_explains_just_what_failed_once_it_has_reasons(tmp_path: Path) -> None:
    """As it is written it is refused; what was known keeps its reason; errors of the harness are not in it."""
    results = [
        failed("a/one"),
        failed("a/two@event-3", wrong(), wrong(kind=OUTLINE)),
        failed("b/other", wrong(kind=OUTLINE)),
        Result(id="c/known", outcome=Outcome.EXPECTED, reason="long: \u00fcblich", findings=(wrong(),)),
        Result(id="d/broken", outcome=Outcome.ERRORED, reason="no answer"),
        Result(id="e/ok", outcome=Outcome.PASSED),
    ]
    text = baseline_text(results)
    with pytest.raises(UsageError, match=r"entry 1 \(identity-differs-\w+\): the reason is empty, and that of 1 more"):
        baseline(tmp_path, text)
    items = yaml.safe_load(text)
    assert [(item.get("title"), item["reason"]) for item in items] == [
        (CAUSE, ""),
        ("outline-differs at server: a part (text) differs", ""),
        (None, "long: \u00fcblich"),
    ]
    known = baseline(tmp_path, text.replace("reason: ''", "reason: filled in"))
    outcomes = {result.id: known.apply(result).outcome for result in results if result.outcome is Outcome.FAILED}
    assert set(outcomes.values()) == {Outcome.EXPECTED}
    assert known.entries["c/known"].reason == "long: \u00fcblich"
    assert set(known.entries) == {"a/one", "a/two@event-3", "b/other", "c/known"}
