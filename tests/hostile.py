"""Text that a terminal or a CI server would obey, and a check that a text is not such."""

from __future__ import annotations

import re

__all__ = ["HOSTILE", "HUGE", "harmless"]

HOSTILE = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\r\n::set-output name=x::y\n"
    "##[error]a\n##vso[task.complete]b\u202egnp.exe\u2028c[red]d"
)
HUGE = "N" * 250_000  # more than twice what a command may print
_WORKFLOW = re.compile(r"^\s*::|##\[|##vso\[|##teamcity\[", re.MULTILINE)


def harmless(text: str) -> None:
    """Fail for a text that a terminal or the log of a CI server would obey."""
    bad = {c for c in text if not c.isprintable() and c != "\n"}
    assert not bad
    assert not _WORKFLOW.search(text)
