"""Checks: the invariants that every case is judged by, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpharness.lazy_names import lazy_names

if TYPE_CHECKING:
    from tpharness.checks.catalogue import CHECKS
    from tpharness.checks.contract import (
        Check,
        Delivery,
        Evidence,
        NotApplicable,
        OpenCall,
        Resolution,
        SentRun,
        Side,
        Split,
        StreamChange,
        Thread,
        Variant,
    )
    from tpharness.checks.header import compare_header
    from tpharness.checks.plain import Plain, Unsaid
    from tpharness.checks.thread_answers import ThreadAnswer, judge_answers

__all__ = [
    "CHECKS",
    "Check",
    "Delivery",
    "Evidence",
    "NotApplicable",
    "OpenCall",
    "Plain",
    "Resolution",
    "SentRun",
    "Side",
    "Split",
    "StreamChange",
    "Thread",
    "ThreadAnswer",
    "Unsaid",
    "Variant",
    "compare_header",
    "judge_answers",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "tpharness.checks.catalogue": ("CHECKS",),
        "tpharness.checks.contract": (
            "Check",
            "Delivery",
            "Evidence",
            "NotApplicable",
            "OpenCall",
            "Resolution",
            "SentRun",
            "Side",
            "StreamChange",
            "Split",
            "Thread",
            "Variant",
        ),
        "tpharness.checks.header": ("compare_header",),
        "tpharness.checks.plain": ("Plain", "Unsaid"),
        "tpharness.checks.thread_answers": ("ThreadAnswer", "judge_answers"),
    },
)
