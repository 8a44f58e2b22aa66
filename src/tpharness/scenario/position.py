"""A place in a scenario file."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Position"]


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the file; both count from 1."""

    line: int
    column: int
