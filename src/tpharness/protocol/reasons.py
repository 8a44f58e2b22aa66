"""Why a run is interrupted: the words that the protocol has for it. Other words are allowed, misspelt ones are not."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal, TypeAlias, get_args

from tpharness.errors import UsageError

__all__ = ["KNOWN_REASONS", "Reason", "find_misspelt_reason", "refuse_misspelt_reason"]

Reason: TypeAlias = Literal["user_cancelled", "timeout", "network_failure", "safety_halt", "error"]
"""The known words, so that a type checker finds a misspelt one. At run time others are taken as well."""

KNOWN_REASONS: tuple[Reason, ...] = get_args(Reason)


def find_misspelt_reason(reason: str) -> str | None:
    """Return the known reason that this word looks like a misspelling of; None for a known one and for other words."""
    near = get_close_matches(reason, KNOWN_REASONS, n=1, cutoff=0.85)
    return near[0] if near and reason not in KNOWN_REASONS else None


def refuse_misspelt_reason(reason: str) -> None:
    """Raise UsageError for a word that looks like a misspelt reason."""
    meant = find_misspelt_reason(reason)
    if meant is not None:
        raise UsageError(f"unknown reason {reason!r}", hint=f"did you mean {meant}?")
