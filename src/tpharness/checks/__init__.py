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
        Thread,
        Variant,
    )
    from tpharness.checks.header import compare_header

__all__ = [
    "CHECKS",
    "Check",
    "Delivery",
    "Evidence",
    "NotApplicable",
    "OpenCall",
    "Resolution",
    "SentRun",
    "Side",
    "Split",
    "Thread",
    "Variant",
    "compare_header",
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
            "Split",
            "Thread",
            "Variant",
        ),
        "tpharness.checks.header": ("compare_header",),
    },
)
