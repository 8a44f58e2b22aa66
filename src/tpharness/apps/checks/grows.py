"""history-grows: what the model was sent stays as it was; later requests only add to it.

What is lost, doubled, invented or given to another call belongs to other checks; this one looks at what is still there,
and was changed or moved. A model's cache begins anew at the first change. An answer stands behind what the model was
sent before it gave it: in front of the results that it speaks of, it was never given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.cycles import misplaced_results
from tpharness.apps.checks.truth import normal, same_output
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen
from tpharness.apps.provider.exchange import ExchangeOutcome
from tpharness.findings import Finding, Kind

__all__ = ["CHECK"]

REWRITTEN = Kind("history-changed")
MOVED = Kind("history-reordered")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first change between two requests that follow each other."""
    requests = list(evidence.asked)
    answers = _answers([asked for _, asked in requests])
    for index, ((_, before), (turn, after)) in enumerate(pairwise(requests), 1):
        place = at(turn, request=after.number)
        earlier = [asked for _, asked in requests[:index]]
        trims = evidence.trims_messages
        for what, old, new in (*_prompts(earlier, after, trims=trims), *_changes(evidence, turn, before, after)):
            yield REWRITTEN.at(place, f"{what} is not as it was before", got=new, expected=old)
            return
        old_order = list(dict.fromkeys([*_order(before, answers), *_given(before, answers)]))
        new_order = [atom for atom in _order(after, answers) if atom in set(old_order)]
        if new_order != [atom for atom in old_order if atom in set(new_order)]:
            yield MOVED.at(place, got=[" ".join(a) for a in new_order], expected=[" ".join(a) for a in old_order])
            return


def _prompts(earlier: Sequence[Asked], after: Asked, *, trims: bool) -> Iterator[tuple[str, str, str]]:
    """Yield a system prompt that changed. Agents that hand over have prompts of their own, and tools of their own.

    Where an application trims, a summary of what it leaves out may stand behind the first prompt, and grow.
    """
    alike = [asked for asked in earlier if asked.tools.keys() == after.tools.keys()] or [after]
    same = alike[0 if trims else -1]
    old, new = (normal("\n".join(t.text for t in a.history if t.role == "system")) for a in (same, after))
    if old and old != new and not (trims and new.startswith(old)):
        yield "the system prompt", old, new


def _changes(evidence: AppEvidence, turn: TurnSeen, before: Asked, after: Asked) -> Iterator[tuple[str, str, str]]:
    """Yield a result that changed. Where an application trims them, those of earlier turns may be cleared."""
    own = {call.call_id for asked in turn.asked for call in asked.called}
    clears = "tools" in evidence.trims
    misplaced = {result.call_id for result, _ in misplaced_results(before, after)}
    now = {result.call_id: result for result in after.sent_results() if result.call_id not in misplaced}
    for result in before.sent_results():
        later = now.get(result.call_id)
        cleared = clears and result.call_id not in own
        if later is not None and not same_output(later.content, result.content) and not cleared:
            yield f"the result of {result.call_id}", result.content, later.content


def _answers(requests: Iterable[Asked]) -> list[str]:
    """Return the texts of whole answers that are not taken for each other: none is a part of another."""
    said = [
        normal(a.said)
        for a in requests
        if a.outcome is ExchangeOutcome.COMPLETED and not a.unplanned and normal(a.said)
    ]
    return [text for text in said if sum(text in other for other in said) == 1]


def _order(asked: Asked, answers: Iterable[str]) -> list[tuple[str, str]]:
    """Return the answers, calls and results that a request holds, in order, each once."""
    atoms: dict[tuple[str, str], None] = {}
    for message in asked.history:
        text = normal(message.text) if message.role == "assistant" else ""
        for answer in sorted((one for one in answers if one in text), key=text.index):
            atoms.setdefault(("answer", answer))
        for call in message.calls:
            atoms.setdefault(("call", call.call_id))
        for result in message.results:
            atoms.setdefault(("result", result.call_id))
    return list(atoms)


def _given(asked: Asked, answers: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what the model has answered a request with: it comes behind what the request tells."""
    if normal(asked.said) in answers:
        yield "answer", normal(asked.said)
    for call in asked.complete_calls:
        yield "call", call.call_id


CHECK = AppCheck(
    name="history-grows",
    clause="app.history-grows",
    kinds=(REWRITTEN, MOVED),
    find=find,
    applies=lambda evidence: sum(1 for _ in evidence.asked) > 1,
)
