"""A finding as lines for people, in failures of runs and of assertions."""

from __future__ import annotations

from tpharness.clauses import clause_texts
from tpharness.findings import Finding

__all__ = ["finding_lines"]


def finding_lines(finding: Finding) -> list[tuple[str, str]]:
    """Return a finding as lines with a level: its code, the place, got and expected, what decides, what to do."""
    level = finding.level.value
    where, empty = str(finding.with_place(case=None).place), '""'
    lines = [(level, f"{finding.code}: {finding.message}")]
    if where:
        lines.append(("", f"  at        {where}"))
    if finding.versions:
        lines.append(("", f"  in        {', '.join(finding.versions)}"))
    lines += [("", f"  {word:<10}{text or empty}") for word, text in finding.shown(300).items()]
    known = clause_texts()
    lines += [("", f"  because   {c}: {known[c]}") for c in finding.kind.clauses if c in known]
    if finding.rulings:
        lines.append(("", f"  decided   by {', '.join(finding.rulings)} (tpharness explain {finding.rulings[0]})"))
    lines.append(("", f"  to do     {finding.remedy}"))
    return lines
