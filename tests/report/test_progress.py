"""Without a terminal a run says within ten seconds that it goes on, and then seldom; the test gives the time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tpharness.report import progress
from tpharness.report.progress import ProgressLines, RunProgress, watch_items, watch_run_events
from tpharness.run import RunOptions, run_suite


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
    assert told[0] == (8, "done with 0 of 418 scenarios, 8 s")
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
    assert lines.take() == "done with 3 of 10 scenarios, 2 failed, 9 s"
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


def test_other_things_are_called_by_their_name() -> None:
    """`mutate` plays defects."""
    clock = Clock()
    lines = ProgressLines(2, clock, word="defect")
    clock.now += 8
    assert lines.take() == "done with 0 of 2 defects, 8 s"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is told to the progress, call by call."""
    calls: list[str] = []
    for name in ("start", "advance", "count_failures", "pause", "resume", "stop"):
        monkeypatch.setattr(
            progress.RunProgress, name, lambda _, *args, name=name: calls.append(" ".join(map(str, (name, *args))))
        )
    return calls


def test_items_are_counted_as_they_come_and_the_bar_is_away_while_one_is_printed(told: list[str]) -> None:
    """Also if their reader breaks off."""
    assert list(watch_items("ab", 2)) == ["a", "b"]
    assert told == ["start 2 scenario", "advance", "advance", "stop"]
    told.clear()
    items = watch_items("ab", 2, "defect", printed=True)
    assert next(items) == "a"
    assert told == ["start 2 defect", "advance", "pause"]
    items.close()  # type: ignore[attr-defined]
    assert told[3:] == ["stop"]


def test_a_run_without_a_console_report_shows_how_far_it_is(told: list[str]) -> None:
    """Its events are passed on as they are."""
    options = RunOptions(ids=("basics/tool-call-and-answer", "cycles/late-return"))
    assert list(map(type, watch_run_events(run_suite(options)))) == list(map(type, run_suite(options)))
    assert told == ["start 2", "advance", "advance", "stop"]
