"""cycles-kept: what was complete before an interruption stays: a call with its result, and an answer to its end.

A cycle is complete when the model made the call, its result went back to the model, and the user saw it. An answer is
complete when the model said it to its end and the user saw all of it; the words of one that calls tools stay with its
calls, once these are complete. A result stays with its call, whatever else may be made of its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Any

from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.checks.trimmed import left_out
from tpharness.apps.checks.truth import args_of, is_part_of, normal, same_result
from tpharness.apps.effects import reference_of
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen, shown_calls, shown_outputs, shown_text
from tpharness.findings import Finding, Kind
from tpharness.model_apis.messages import HistoryResult
from tpharness.model_apis.plan import Call
from tpharness.ordinals import nth

__all__ = ["CHECK", "complete_cycles", "misplaced_results"]

CYCLE_LOST = Kind("cycle-lost")
MISPLACED = Kind("result-misplaced")
ANSWER_LOST = Kind("answer-lost")
_WORDS = re.compile(r"[\w-]+")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what was complete and is not sent, at the first later request that lacks it, and results of other calls."""
    yield from _misplaced(evidence)
    known: set[tuple[str, str]] = set()
    for turn, asked in evidence.followings:
        for earlier in evidence.branch(turn)[:-1]:
            for finding in _lost(evidence, turn, asked, earlier):
                if (finding.code, str(finding.expected)) not in known:
                    known.add((finding.code, str(finding.expected)))
                    yield finding


def complete_cycles(turn: TurnSeen) -> list[tuple[Call, str]]:
    """Return the calls of a turn that are complete, each with the content of the result that the model was sent."""
    shown = {call.call_id for call in shown_calls(turn.screen) if call.has_result}
    found = []
    for index, asked in enumerate(turn.asked):
        for call in asked.complete_calls:
            results = [
                r for later in turn.asked[index + 1 :] for r in later.sent_results() if r.call_id == call.call_id
            ]
            if results and call.call_id in shown:
                found.append((call, results[0].content))
    return found


def misplaced_results(before: Asked, after: Asked) -> list[tuple[HistoryResult, str]]:
    """Return the results that were another call's in the request before, each with what its own call had there.

    The other call has to have lost it: a sentence that takes the place of several old results is not one of these.
    """
    was = {result.call_id: normal(result.content) for result in before.sent_results()}
    changed = [one for one in after.sent_results() if was.get(one.call_id, normal(one.content)) != normal(one.content)]
    taken = {was[one.call_id] for one in changed}
    return [(one, was[one.call_id]) for one in changed if normal(one.content) in taken]


def _shown_for_others(turn: TurnSeen, asked: Asked) -> Iterator[tuple[HistoryResult, Any]]:
    """Yield the results that the user saw as another call's, each with what the user saw as that of its own call."""
    shown = shown_outputs(turn.screen)
    for result in asked.sent_results():
        if result.call_id not in shown or same_result(result.content, shown[result.call_id]):
            continue
        if any(same_result(result.content, output) for output in shown.values()):
            yield result, shown[result.call_id]


def _run_for_others(evidence: AppEvidence, asked: Asked) -> Iterator[tuple[HistoryResult, Any]]:
    """Yield the results that name a run of the ledger with the arguments of another call, each with its own call's."""
    calls = [call for _, one in evidence.asked for call in one.called if args_of(call) is not None]
    for result in asked.sent_results():
        own = next((call for call in calls if call.call_id == result.call_id), None)
        words = _WORDS.findall(result.content)
        runs = [run for run in evidence.tool_runs or () if reference_of(run.number) in words]
        if own is None or len(runs) != 1 or args_of(own) == runs[0].arguments:
            continue
        if any((call.name, args_of(call)) == (runs[0].tool, runs[0].arguments) for call in calls):
            yield result, f"the result of a run with the arguments {args_of(own)}"


def _misplaced(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield the first result of another call: by what the model was sent before, what the user saw, what has run."""
    requests = list(evidence.asked)
    changed = (
        (turn, asked, found)
        for (_, before), (turn, asked) in pairwise(requests)
        for found in misplaced_results(before, asked)
    )
    unlike = ((turn, asked, found) for turn, asked in requests for found in _shown_for_others(turn, asked))
    others = ((turn, asked, found) for turn, asked in requests for found in _run_for_others(evidence, asked))
    for turn, asked, (result, expected) in islice(chain(changed, unlike, others), 1):
        words = f"{MISPLACED.title} ({result.call_id})"
        yield MISPLACED.at(at(turn, request=asked.number), words, got=result.content, expected=expected)


def _lost(evidence: AppEvidence, turn: TurnSeen, asked: Asked, earlier: TurnSeen) -> Iterator[Finding]:
    place = at(turn, request=asked.number)
    gone = left_out(evidence, turn, asked)
    calls = {call.call_id for call in asked.sent_calls()}
    results = {result.call_id for result in asked.sent_results()}
    complete = [call for call, _ in complete_cycles(earlier)]
    for call in complete:
        missing = [word for word, ids in (("call", calls), ("result", results)) if call.call_id not in ids]
        meant = (earlier.number, "call", call.call_id) in gone or (len(missing) == 2 and "tools" in evidence.trims)
        if missing and not meant:
            expected = f"{call.name}({''.join(call.pieces)}) and its result"
            yield CYCLE_LOST.at(
                place,
                f"{CYCLE_LOST.title} ({nth(earlier.number - 1, 'turn')})",
                got="neither its call nor its result" if len(missing) == 2 else f"no {missing[0]} of it",
                expected=expected,
            )
    answers = "\n".join(t.text for t in asked.history if t.role == "assistant")
    screen = shown_text(earlier.screen)
    for answer in earlier.asked:
        kept = all(call in complete and call.call_id in calls for call in answer.called)
        whole = answer.is_whole and kept and normal(answer.said)
        if (earlier.number, "answer", answer.said) in gone:
            continue
        if whole and is_part_of(answer.said, screen) and not is_part_of(answer.said, answers):
            yield ANSWER_LOST.at(place, got=answers, expected=answer.said)


CHECK = AppCheck(
    name="cycles-kept",
    clause="app.cycles-kept",
    kinds=(CYCLE_LOST, MISPLACED, ANSWER_LOST),
    find=find,
    applies=lambda evidence: evidence.following is not None,
)
