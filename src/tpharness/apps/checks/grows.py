"""history-grows: what the model was told stays as it was; later requests only add to it.

What is lost, doubled, invented or given to another call belongs to other checks; this one looks at what is still there,
and was changed or moved. A model's cache begins anew at the first change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.cycles import misplaced_results
from tpharness.apps.checks.truth import normal
from tpharness.apps.evidence import AppEvidence, Asked
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

REWRITTEN = Kind("history-changed")
MOVED = Kind("history-reordered")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first change between two requests that follow each other."""
    requests = list(evidence.asked)
    for (_, before), (turn, after) in pairwise(requests):
        place = at(turn, request=after.number)
        for what, old, new in _changes(before, after):
            yield REWRITTEN.at(place, f"{what} is not as it was told before", got=new, expected=old)
            return
        old_order = _order(before)
        new_order = [atom for atom in _order(after) if atom in set(old_order)]
        if new_order != [atom for atom in old_order if atom in set(new_order)]:
            yield MOVED.at(place, got=[" ".join(a) for a in new_order], expected=[" ".join(a) for a in old_order])
            return


def _changes(before: Asked, after: Asked) -> Iterator[tuple[str, str, str]]:
    systems = [normal("\n".join(t.text for t in asked.history if t.role == "system")) for asked in (before, after)]
    if systems[0] and systems[0] != systems[1]:
        yield "the system prompt", systems[0], systems[1]
    misplaced = {result.call_id for result, _ in misplaced_results(before, after)}
    now = {result.call_id: result for result in after.told_results() if result.call_id not in misplaced}
    for result in before.told_results():
        later = now.get(result.call_id)
        if later is not None and normal(later.content) != normal(result.content):
            yield f"the result of {result.call_id}", result.content, later.content


def _order(asked: Asked) -> list[tuple[str, str]]:
    """Return the calls and results of a request in order, each once."""
    atoms: dict[tuple[str, str], None] = {}
    for told in asked.history:
        for call in told.calls:
            atoms.setdefault(("call", call.call_id))
        for result in told.results:
            atoms.setdefault(("result", result.call_id))
    return list(atoms)


CHECK = AppCheck(
    name="history-grows",
    clause="app.history-grows",
    kinds=(REWRITTEN, MOVED),
    find=find,
    applies=lambda evidence: sum(1 for _ in evidence.asked) > 1,
)
