"""Every check, in one order."""

from __future__ import annotations

from tpharness.checks.arguments import ARGUMENTS
from tpharness.checks.asked import ASKED
from tpharness.checks.chunking import CHUNKING
from tpharness.checks.contract import Check
from tpharness.checks.convergence import CONVERGENCE
from tpharness.checks.expectations import EXPECTATIONS
from tpharness.checks.idempotence import IDEMPOTENCE
from tpharness.checks.identity import IDENTITY
from tpharness.checks.integrity import INTEGRITY
from tpharness.checks.monotonicity import MONOTONICITY
from tpharness.checks.prefix import PREFIX
from tpharness.checks.resumable import RESUMABLE
from tpharness.checks.said import SAID
from tpharness.checks.validity import VALIDITY

__all__ = ["CHECKS"]

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
    ASKED,
    ARGUMENTS,
    SAID,
    EXPECTATIONS,
)
"""Every check, in the order in which their findings are most useful."""
