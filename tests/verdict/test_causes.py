"""What is read first of a failure is the change that corrects it, and not a rule that is broken because of it."""

from __future__ import annotations

import pytest
from tests.scenarios import load_builtin
from tests.seeded_defects import DEFECTS

from tpharness.findings import Kind, Place
from tpharness.report.failures import first_to_read
from tpharness.run import RunOptions, play_one
from tpharness.verdict.causes import by_change
from tpharness.verdict.grouping import group_failures

RULE = Kind("call-id-in-use")
DIFFERS = Kind("expected-thread-differs")
IN_TURN = Place(side="server", pointer="/turns/1/messages/2/parts/0/tool_call_id")

CHANGES = {
    "ids-of-calls-stored-trimmed": ("tools/ids-with-characters-of-every-kind", "`tool_call_id`"),
    "interrupted-when-the-turn-began": (
        "documents/0-0-4-structured-interruption",
        "a turn is interrupted when its run was cut",
    ),
    "empty-text-dropped": ("parts/empty-text", "keep part 0 of message 0 of the second turn"),
    "usage-of-the-last-response-alone": ("threads/usage-told-again-by-the-result", "`input_tokens`: 230, not 130"),
    "server-names-the-tool-of-the-result": (
        "tools/result-that-names-another-tool",
        '`tool_name`: "book", not "book_v2"',
    ),
}
"""Defects that break a rule of threads by what they do to a value or an item, and what is to be done about that."""


@pytest.mark.parametrize("name", CHANGES)
def test_what_brings_about_that_a_rule_is_broken_is_read_first(name: str) -> None:
    """The rule alone would have a call given another id, or a message left out of which a part was lost."""
    scenario, change = CHANGES[name]
    with {defect.name: defect for defect in DEFECTS}[name].seed():
        results = play_one(load_builtin(scenario), RunOptions())
    group, *_ = group_failures(results)
    first = first_to_read(group)
    assert first is not None
    assert change in first.remedy
    assert group.cause.codes[0] not in ("expected-thread-differs", "outline-differs"), "the cause is still the rule"


@pytest.mark.parametrize(
    ("rule", "is_first"),
    [
        (Place(side="server", pointer="/turns/1/messages/0"), False),
        (Place(side="server", pointer="/turns/3/messages/0"), True),
        (Place(side="client", pointer="/turns/1/messages/0"), True),
        (Place(side="client", event=3), False),
        (Place(side="server"), True),
    ],
)
def test_a_rule_that_is_broken_elsewhere_stays_first(rule: Place, *, is_first: bool) -> None:
    """In another turn, on the other side, or not in a document at all: it does not follow from the value."""
    findings = [DIFFERS.at(IN_TURN, advice="write it"), RULE.at(rule)]
    assert (by_change(findings)[0].kind == RULE) is is_first
    assert sorted(found.code for found in by_change(findings)) == sorted(found.code for found in findings)


def test_what_is_lost_of_an_earlier_turn_is_read_before_what_it_breaks_later() -> None:
    """A call that is lost leaves its return in a later turn alone; a value of an earlier turn breaks nothing there."""
    lost = DIFFERS.at(Place(side="server", pointer="/turns/1/messages/0"), advice="keep it")
    rule = RULE.at(Place(side="server", pointer="/turns/2/messages/0/parts/0"))
    assert by_change([rule, lost])[0] is lost
    later = DIFFERS.at(Place(side="server", pointer="/turns/3"), advice="keep it")
    assert by_change([later, rule])[0] is rule


def test_what_a_reader_did_not_notice_is_read_first() -> None:
    """It read on where the stream says that nothing more counts, and so has another thread."""
    unseen = Kind("expected-findings-differ").at(Place(), symptom="no chunk-after-finish", advice="it changes nothing")
    more = Kind("expected-findings-differ").at(Place(), symptom="done-missing not expected", advice="send it")
    named = DIFFERS.at(IN_TURN, advice="leave it out")
    assert by_change([named, unseen])[0] is unseen
    assert by_change([named, more])[0] is named


def test_two_sides_that_differ_are_read_by_what_one_of_them_should_hold() -> None:
    """Where nobody knows which side is right, the scenario may: its value comes before that the two differ."""
    differ = Kind("identity-differs").at(Place(pointer="/turns/1/messages/2/parts/0/tool_call_id"))
    named = DIFFERS.at(IN_TURN, advice="write it")
    assert by_change([differ, named])[0] is named


def test_what_names_no_change_is_not_read_first() -> None:
    """Two threads of which nobody knows which is right say less than a rule that one of them breaks."""
    assert by_change([DIFFERS.at(IN_TURN), RULE.at(IN_TURN)])[0].kind == RULE
