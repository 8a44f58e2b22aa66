"""Where an interruption strikes is told from the journal."""

from __future__ import annotations

import pytest
from tests.histories.message_parts.build import inline, journal_of

from tpharness.histories.phases import Phase, phase_of

ONE_RUN = """\
  - user: q
  - steps:
      - response: [{thinking: [hm, mm], label: th}, {text: [Let, me], label: t}, {call: a, id: c1, args: {}, label: c}, {call: b, id: c2, deltas: ['{"x', '": 1}'], label: d}]
      - {start_tools: true, label: run}
      - {returns: {c1: 1}, label: one}
      - {returns: {c2: 2}, label: all}
      - response: [{text: [It, is], label: u}, {call: a, id: c3, deltas: ['{"y', '": 1}'], label: e}]
      - {returns: {c3: 3}}
      - {response: [{text: done}], label: answer}
    interrupt: {reason: user_cancelled, after: PLACE}
"""  # noqa: E501  # one run, as it is written

PLACES = [
    ("start", Phase.BEFORE_FIRST_DELTA),
    ("{event: 1}", Phase.BEFORE_FIRST_DELTA),  # the model has been asked
    ("th.mid", Phase.MID_THINKING),
    ("th", None),  # the thought has ended and nothing follows yet
    ("t.mid", Phase.MID_TEXT),
    ("c", None),  # the end of a call was seen, its response goes on
    ("d.start", Phase.MID_ARGUMENTS),
    ("d.mid", Phase.MID_ARGUMENTS),
    ("run", Phase.TOOL_RUNNING),
    ("one", Phase.SOME_TOOLS_DONE),
    ("all", Phase.BETWEEN_STEPS),
    ("u.mid", Phase.SECOND_STEP_TEXT),
    ("e.mid", Phase.SECOND_STEP_ARGUMENTS),
    ("answer", None),  # nothing was left to do
]


@pytest.mark.parametrize(("place", "phase"), PLACES, ids=[place for place, _ in PLACES])
def test_each_phase_of_a_run_is_told(place: str, phase: Phase | None) -> None:
    """What the model or the tools were just doing; places between two of them have none."""
    assert phase_of(journal_of(inline(ONE_RUN.replace("PLACE", place)))) is phase


def test_an_error_is_one_while_the_model_is_asked() -> None:
    """In a text, and between results and the answer; not while tools run."""
    head = "  - user: q\n  - steps:\n"
    call = "      - response: [{call: a, id: c1, args: {}}]\n"
    error = "      - error: net down\n"
    in_text = head + "      - {response: [{text: Hel, unfinished: true}], unfinished: true}\n" + error
    assert phase_of(journal_of(inline(in_text))) is Phase.MODEL_ERROR
    assert phase_of(journal_of(inline(head + error))) is Phase.MODEL_ERROR
    assert phase_of(journal_of(inline(head + call + "      - returns: {c1: 1}\n" + error))) is Phase.MODEL_ERROR
    assert phase_of(journal_of(inline(head + call + error))) is None


def test_other_ends_have_no_phase() -> None:
    """A regular end, another reason, and a cut behind another cut, whose traces nobody could tell apart."""
    steps = "  - user: q\n  - steps: [{response: [{text: [a, b], label: t}]}]\n"
    cut = steps + "    interrupt: {reason: user_cancelled, after: t.mid}\n"
    assert phase_of(journal_of(inline(cut))) is Phase.MID_TEXT
    assert phase_of(journal_of(inline(steps))) is None
    assert phase_of(journal_of(inline(cut.replace("user_cancelled", "timeout")))) is None
    assert phase_of(journal_of(inline(cut + cut))) is None
    assert phase_of(journal_of(inline(steps + cut))) is Phase.MID_TEXT


def test_every_phase_has_a_title() -> None:
    """For the rows of the tables; no two are alike."""
    assert len({phase.title for phase in Phase}) == len(Phase)
