"""A finding as lines for people, in failures of runs and of assertions."""

from __future__ import annotations

from tpharness.clauses import clause_texts
from tpharness.findings import Finding, Level

__all__ = ["finding_lines"]

_LABELS = {Level.MUST: "MUST", Level.SHOULD: "SHOULD", Level.MAY: "policy"}


def finding_lines(finding: Finding, *, labelled: bool = False) -> list[tuple[str, str]]:
    """Return a finding as lines with a level: code, place, got and expected, what decides, what follows, what to do.

    `labelled` puts the level in front of the code, for a reader who sees findings of several levels without colours.
    """
    level = finding.level.value
    where, empty = str(finding.with_place(case=None).place), '""'
    label = f"{_LABELS[finding.level]} " if labelled else ""
    lines = [(level, f"{label}{finding.code}: {finding.message}")]
    if where:
        lines.append(("", f"  at        {where}"))
    if finding.versions:
        lines.append(("", f"  in        {', '.join(finding.versions)}"))
    lines += [("", f"  {word:<10}{text or empty}") for word, text in finding.shown(300).items()]
    known = clause_texts()
    lines += [("", f"  because   {c}: {known[c]}") for c in finding.clauses if c in known]
    if finding.rulings:
        lines.append(("", f"  decided   by {', '.join(finding.rulings)} (tpharness explain {finding.rulings[0]})"))
    if finding.for_user:
        lines.append(("", f"  for user  {finding.for_user}"))
    lines.append(("", f"  to do     {finding.remedy}"))
    return lines
