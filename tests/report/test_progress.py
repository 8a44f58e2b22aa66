"""Without a terminal a run says within ten seconds that it goes on, and then seldom; the test gives the time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tpharness.report.progress import ProgressLines, RunProgress


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


def test_the_first_line_comes_within_ten_seconds_and_later_ones_ever_more_seldom() -> None:
    """An hour is some twenty lines; one that is not due is not told, whatever was played."""
    clock = Clock()
    lines = ProgressLines(418, clock)
    told = []
    for second in range(3600):
        clock.now = 100.0 + second
        line = lines.take()
        if line:
            told.append((second, line))
    assert told[0] == (8, "played 0 of 418 scenarios, 8 s")
    assert [second for second, _ in told[:5]] == [8, 24, 56, 120, 248]
    assert 10 < len(told) < 25
    assert max(b - a for (a, _), (b, _) in pairwise(told)) == 300


def test_a_line_says_what_was_played_and_what_failed() -> None:
    """The wait is until the line that is due next."""
    clock = Clock()
    lines = ProgressLines(10, clock)
    lines.done, lines.failed = 3, 2
    assert lines.wait == 8
    clock.now += 9
    assert lines.wait == 0
    assert lines.take() == "played 3 of 10 scenarios, 2 failed, 9 s"
    assert lines.take() == ""
    assert lines.wait == 16


def test_a_short_run_without_a_terminal_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Most runs take seconds; what is not wanted is not shown at all."""
    for shown in (True, False):
        progress = RunProgress(shown=shown)
        progress.start(2)
        progress.advance()
        progress.count_failures(1)
        progress.stop()
        progress.stop()
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
