"""Chunking: how bytes are split into reads, and text into deltas, changes nothing (SPEC, invariant 5)."""

from __future__ import annotations

from tpharness.checks.contract import Check
from tpharness.checks.variants import compare_variants
from tpharness.findings import Kind

__all__ = ["CHUNKING"]

SPLIT_MATTERS = Kind("chunking-matters")

CHUNKING = Check(
    name="chunking",
    title="splitting reads and deltas differently changes nothing",
    kinds=(SPLIT_MATTERS,),
    applies=lambda evidence: bool(evidence.rechunked),
    judge=lambda evidence: compare_variants(evidence, evidence.rechunked, SPLIT_MATTERS),
)
