"""What a command that judges documents says of one among several that it does not judge."""

from __future__ import annotations

from tpharness.cli.batch.work import BatchNote, DocumentDone
from tpharness.errors import TpharnessError

__all__ = ["not_judged"]


def not_judged(error: TpharnessError) -> DocumentDone:
    """Return what is said of one document among several that the command does not judge.

    "Refused" would be what an API does with a request.
    """
    facts = {"error": error.line, "findings": [finding.as_json() for finding in error.findings]}
    return DocumentDone(outcome="not judged", code=2, notes=(BatchNote(line=error.line),), facts=facts)
