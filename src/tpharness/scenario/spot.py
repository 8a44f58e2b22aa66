"""A place in a scenario file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Spot"]


@dataclass(frozen=True, slots=True)
class Spot:
    """A position in the file; both count from 1."""

    line: int
    column: int
