"""What a person should know beside the results: each thing once, and how often."""

from __future__ import annotations

from tpharness.cli.batch.work import BatchNote
from tpharness.printable import say

__all__ = ["Notes", "with_name"]

_MOST_KINDS = 100
"""Kinds of notes that are kept, so that memory does not grow with the documents."""


class Notes:
    """What was noted, each thing once, and how often."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._times: dict[str, int] = {}
        self._others = 0

    def add(self, note: BatchNote, kind: str, name: str = "") -> None:
        """Count a note of a kind; the first of it is kept, with the name of its document."""
        kind = kind or note.line
        if kind not in self._lines and len(self._lines) == _MOST_KINDS:
            self._others += 1
            return
        self._lines.setdefault(kind, with_name(note.line, name))
        self._times[kind] = self._times.get(kind, 0) + 1

    def print(self) -> None:
        """Print them on standard error."""
        for kind, line in self._lines.items():
            more = self._times[kind] - 1
            say(line + (f" (and {more:,} more like it)" if more else ""), err=True)
        if self._others:
            say(f"and {self._others:,} more of other kinds", err=True)


def with_name(line: str, name: str) -> str:
    """Return a line with the name of its document before it, if it does not have it."""
    return line if not name or name in line or line.startswith("  ") else f"{name}: {line}"
