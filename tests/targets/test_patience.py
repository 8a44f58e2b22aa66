"""How long the harness waits, made longer: all of it by a factor, or an answer by so many seconds."""

from __future__ import annotations

from dataclasses import astuple

from tpharness.targets.remote import Patience

PATIENCE = Patience(connect=1.0, answer=2.0, silence=3.0, total=4.0, settle=5.0, limit=6.0)


def test_a_factor_is_for_all_but_the_limit_of_a_run() -> None:
    """A run whose time limit is tested has the same limit on a slow machine."""
    assert astuple(PATIENCE.scaled(3)) == (3.0, 6.0, 9.0, 12.0, 15.0, 6.0)


def test_seconds_are_for_an_answer_until_it_begins_and_while_it_is_silent() -> None:
    """The whole of an answer may take as long, too."""
    assert astuple(PATIENCE.waiting(3.5)) == (1.0, 3.5, 3.5, 4.0, 5.0, 6.0)
    assert astuple(PATIENCE.waiting(60)) == (1.0, 60, 60, 60, 5.0, 6.0)
    assert PATIENCE.waiting(None) == PATIENCE
