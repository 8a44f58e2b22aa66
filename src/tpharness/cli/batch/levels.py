"""`--level` of the commands on documents: the weakest findings that are printed, and the others counted once a kind."""

from __future__ import annotations

from collections.abc import Sequence

from tpharness.cli.batch.work import BatchNote
from tpharness.findings import Finding, Level

__all__ = ["split_by_level"]


def split_by_level(found: Sequence[Finding], level: Level) -> tuple[list[Finding], list[BatchNote]]:
    """Return the findings that are printed, and for each of the others a note, of which the first of a kind is."""
    shown = [finding for finding in found if finding.level.rank <= level.rank]
    hidden = [
        BatchNote(line=f"{finding.level.name} {finding.code} is not printed (--level)", why=finding.code)
        for finding in found
        if finding.level.rank > level.rank
    ]
    return shown, hidden
