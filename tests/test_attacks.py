"""The attacks that once got through are played again from outside, each row in the form that it was found with."""

from __future__ import annotations

import pytest
from benchmarks import attacks
from benchmarks.attacks_parts import HERE
from tests.distribution import Sample


@pytest.mark.sampled
def test_what_once_got_through_is_withstood(sample: Sample[int]) -> None:
    """Of fifteen rows some; `python -m benchmarks.attacks` plays all, `--checkout` on an older checkout."""
    rows = sample(tuple(attacks.ROWS))
    played = list(attacks.play(rows, HERE))
    assert [one.row for one in played] == list(rows)
    assert [(one.row, seen.text) for one in played for seen in one.seen if not seen.held] == []
    assert all(one.seen for one in played)
