"""Checks: the invariants that every case is judged by, one file each."""

from tpharness.checks.arguments import ARGUMENTS
from tpharness.checks.chunking import CHUNKING
from tpharness.checks.contract import (
    Check,
    Delivery,
    Evidence,
    NotApplicable,
    OpenCall,
    Resolution,
    Side,
    Thread,
    Variant,
)
from tpharness.checks.convergence import CONVERGENCE
from tpharness.checks.expectations import EXPECTATIONS
from tpharness.checks.idempotence import IDEMPOTENCE
from tpharness.checks.identity import IDENTITY
from tpharness.checks.integrity import INTEGRITY
from tpharness.checks.monotonicity import MONOTONICITY
from tpharness.checks.prefix import PREFIX
from tpharness.checks.resumable import RESUMABLE
from tpharness.checks.validity import VALIDITY

__all__ = [
    "CHECKS",
    "Check",
    "Delivery",
    "Evidence",
    "NotApplicable",
    "OpenCall",
    "Resolution",
    "Side",
    "Thread",
    "Variant",
]

CHECKS: tuple[Check, ...] = (
    IDENTITY,
    VALIDITY,
    PREFIX,
    CONVERGENCE,
    MONOTONICITY,
    CHUNKING,
    IDEMPOTENCE,
    RESUMABLE,
    INTEGRITY,
    ARGUMENTS,
    EXPECTATIONS,
)
"""Every check, in the order in which their findings are most useful."""
