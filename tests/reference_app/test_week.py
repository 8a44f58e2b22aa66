"""A small part of `python -m benchmarks.week`: the reference server in virtual time, while everything fails."""

from __future__ import annotations

from pathlib import Path

from benchmarks import week
from benchmarks.soak import Held


def test_a_small_part_of_the_week_holds(tmp_path: Path) -> None:
    """And it has everything of the whole: deaths, failures of the disk, streams gone on with, a second run."""
    played = week.play(tmp_path, runs=150, seed=11, days=2)
    assert played.wrong == []
    counts = played.counts
    assert counts["threads judged"] > 50
    assert counts["threads compared later, and deleted"] > 25
    assert counts["streams gone on with after a death"] > 5
    assert counts["second runs, answered with 409"] > 2
    for what in ("the server was killed", "the machine lost power", "the server was ended in order"):
        assert counts[what], what
    assert counts["a write or sync fails"] + counts["a write or sync tears"] > 1


def test_a_process_that_grows_is_found() -> None:
    """The first day loads what is loaded once; nothing may come after the second."""
    flat, more = (100, Held(9, 1, 50.0)), (700, Held(10, 1, 67.0))
    assert week.grown([(0, Held(0, 1, 0.0)), flat, flat]) == []
    found = [f"{what} more than after the second day" for what in ("600 objects", "1 descriptors", "17 MiB")]
    assert week.grown([flat, flat, more]) == found


def test_memory_that_is_free_again_is_not_held() -> None:
    """The C library keeps what is freed for a while: a day that used much seemed to hold more than one before."""
    _, before = week.held_now()
    blocks = [bytearray(100_000) for _ in range(1_000)]
    last = bytearray(100_000)  # behind the others: without it they would be handed back at once
    _, meanwhile = week.held_now()
    del blocks
    _, after = week.held_now()
    assert meanwhile.memory - before.memory > 80
    assert after.memory - before.memory < 5
    del last
