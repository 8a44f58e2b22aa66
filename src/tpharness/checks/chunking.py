"""Chunking: the thread does not depend on how bytes are split into reads and text into deltas (SPEC, invariant 5)."""

from __future__ import annotations

from tpharness.checks.contract import Check, NotApplicable
from tpharness.checks.variants import compare_variants
from tpharness.findings import Kind

__all__ = ["CHUNKING"]

SPLIT_MATTERS = Kind("chunking-matters")

_PLAYED_ONCE = NotApplicable(reason="the case was played once, not once more in other reads and deltas")

CHUNKING = Check(
    name="chunking",
    title="the thread does not depend on how the stream is split",
    not_applicable=lambda evidence: None if evidence.rechunked else _PLAYED_ONCE,
    judge=lambda evidence: compare_variants(evidence, evidence.rechunked, SPLIT_MATTERS),
)
