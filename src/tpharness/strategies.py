"""Hypothesis strategies of threads, model programs and streams, for tests of your own; needs the extra `fuzz`.

    from hypothesis import given
    from tpharness.strategies import threads

    @given(threads())
    def test_my_store_keeps_a_thread(thread): ...

`tpharness docs STRATEGIES` has what each one draws. Each shrinks to short conversations of plain texts.
"""

from __future__ import annotations

from tpharness.explore.strategies import (
    cut_programs,
    documents,
    generated,
    programs,
    recorded_streams,
    scenario_files,
    streams,
    threads,
)

__all__ = [
    "cut_programs",
    "documents",
    "generated",
    "programs",
    "recorded_streams",
    "scenario_files",
    "streams",
    "threads",
]
