"""Chunking: how bytes are split into reads, and text into deltas, changes nothing (SPEC, invariant 5)."""

from __future__ import annotations

from tpharness.checks.contract import Check
from tpharness.checks.variants import compare_variants
from tpharness.findings import Kind, Level

__all__ = ["CHUNKING"]

SPLIT_MATTERS = Kind(
    code="chunking-matters",
    level=Level.MUST,
    title="the same stream gives another thread when it is split differently",
    remedy="buffer bytes until a line and an event are whole; join deltas as text, never one by one",
    rulings=("R43",),
)

CHUNKING = Check(
    name="chunking",
    title="splitting reads and deltas differently changes nothing",
    kinds=(SPLIT_MATTERS,),
    applies=lambda evidence: bool(evidence.rechunked),
    judge=lambda evidence: compare_variants(evidence, evidence.rechunked, SPLIT_MATTERS),
)
