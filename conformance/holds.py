"""Whether a value has what a vector wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["ABSENT", "holds"]

ABSENT = "(absent)"
"""Stands for a field that is not there."""


def holds(got: Any, wanted: Any) -> bool:
    """Whether `got` is what is wanted: objects may have more fields, but for `ABSENT`, lists not more items."""
    if isinstance(wanted, dict):
        absent = [key for key in wanted if wanted[key] == ABSENT]
        given = [key for key in wanted if key not in absent]
        return (
            isinstance(got, Mapping)
            and not any(key in got for key in absent)
            and all(key in got and holds(got[key], wanted[key]) for key in given)
        )
    if isinstance(wanted, list):
        return isinstance(got, list) and len(got) == len(wanted) and all(map(holds, got, wanted))
    return type(got) is type(wanted) and bool(got == wanted)
