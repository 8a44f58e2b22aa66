"""Which of the rules of AG-UI a run has judged, and which were broken, in three classes: what a verdict needs to see.

In: results. Out: for each class the rules that bind a server, and those that are broken, as lines and for a badge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tpharness.clauses import WireRule, load_wire_rules
from tpharness.findings import Level
from tpharness.verdict import Outcome, Result

__all__ = ["CLASSES", "ClassOfRules", "count_rules", "judged_rules", "rule_lines", "rules_badge"]

CLASSES = {
    "wire": "by the wire alone",
    "input": "by the wire and the input",
    "posts": "by what is posted and answered",
    "model": "by the wire and what the model was given",
}
"""What a rule is judged by, as the statements name it, and in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOfRules:
    """One class of rules: those that are judged here, and those that the results break, each at its level."""

    name: str
    rules: tuple[WireRule, ...]
    broken: tuple[WireRule, ...]

    @property
    def kept(self) -> int:
        """How many were not seen to be broken."""
        return len(self.rules) - len(self.broken)


@cache
def judged_rules() -> Mapping[str, WireRule]:
    """Return the rules that bind a server and that a run of posts judges, by id."""
    return {
        rule.id: rule
        for rule in load_wire_rules().values()
        if rule.judged in ("wire", "input", "posts") and rule.binds in ("producer", "both")
    }


def count_rules(results: Iterable[Result]) -> list[ClassOfRules]:
    """Return the classes that are judged, with what the results break. A known departure breaks its rules too."""
    rules = judged_rules().values()
    broken = {
        next((clause for clause in (*finding.clauses, *finding.kind.clauses) if clause in judged_rules()), "")
        for result in results
        if result.outcome is not Outcome.ERRORED
        for finding in result.findings
        if finding.level is not Level.MAY
    }
    return [
        ClassOfRules(
            name=name,
            rules=tuple(rule for rule in rules if rule.judged == name),
            broken=tuple(rule for rule in rules if rule.judged == name and rule.id in broken),
        )
        for name in ("wire", "input", "posts")
    ]


def rules_badge(results: Iterable[Result]) -> dict[str, Any]:
    """Return what shields.io's endpoint badge reads: how many of the rules that a run judges were kept."""
    classes = count_rules(results)
    kept, known = sum(one.kept for one in classes), sum(len(one.rules) for one in classes)
    must = any(rule.level == "MUST" for one in classes for rule in one.broken)
    colour = "brightgreen" if kept == known else "red" if must else "yellow"
    words = f"{kept} of {known} rules that are seen from outside are kept"
    return {"schemaVersion": 1, "label": "AG-UI 1.0 producer", "message": words, "color": colour}


def rule_lines(results: Iterable[Result]) -> list[str]:
    """Return a line for each class of verdict."""
    lines = []
    for one in count_rules(results):
        broken = ", ".join(f"{rule.id} ({rule.level})" for rule in one.broken)
        lines.append(
            f"{CLASSES[one.name]}: {one.kept} of {len(one.rules)} rules kept{broken and f'; broken: {broken}'}"
        )
    unseen = sum(rule.verdict == "model" for rule in load_wire_rules().values())
    both = "tpharness app URL --history ag-ui stands on both sides"
    return [*lines, f"{CLASSES['model']}: {unseen} rules, not judged here; {both}"]
