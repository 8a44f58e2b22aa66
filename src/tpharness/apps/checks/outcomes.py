"""What the model is sent for a tool that has had its effect: its result, or that nobody knows, never that it has not.

No language is interpreted. A run of the ledger is known by its reference, and that nobody knows by words which the
application has declared. Another text in place of the result may deny the effect, or say in other words that nobody
knows; where nothing is declared, that cannot be distinguished. Pure; asked by the checks `effects` and `seen-and-told`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tpharness.apps.checks.contract import at
from tpharness.apps.checks.truth import normal, same_result
from tpharness.apps.effects import ToolRunSeen, reference_of
from tpharness.apps.evidence import AppEvidence, Asked, TurnSeen, shown_outputs
from tpharness.findings import Finding, Kind
from tpharness.model_apis.plan import Call

__all__ = ["DENIED", "IN_DOUBT", "UNPROVEN", "doubtful_outcomes", "unproven_outcomes"]

DENIED = Kind("effect-denied")
IN_DOUBT = Kind("effect-in-doubt")
UNPROVEN = Kind("result-without-its-run")
_WORDS = re.compile(r"[\w-]+")
_REFERENCE = re.compile(rf"{re.escape(reference_of(0)[:-1])}\d+")


def doubtful_outcomes(
    evidence: AppEvidence, turn: TurnSeen, asked: Asked, runs: Mapping[str, Sequence[ToolRunSeen]]
) -> Iterator[Finding]:
    """Yield the results of a request that are not those of the run which had its effect, as the ledger knows them.

    Judged where the application was seen to tell its model the reference of a run. Results that it was to return
    otherwise, and those that it clears on purpose, have none.
    """
    if not evidence.tells_references or "tools" in evidence.trims:
        return
    odd = {turn.number for turn, planned in zip(evidence.turns, evidence.case.turns, strict=False) if planned.tools}
    contents = {result.call_id: result.content for result in asked.sent_results()}
    for earlier in evidence.branch(turn)[:-1]:
        for call in (call for one in earlier.asked for call in one.called if earlier.number not in odd):
            effects = [run for run in runs.get(call.call_id, ()) if run.effect_at is not None]
            content = contents.get(call.call_id)
            if effects and content is not None and not _speaks_of_a_run(content) and not _is_unknown(content, evidence):
                kind = DENIED if evidence.outcome_unknown else IN_DOUBT
                names = " or ".join(reference_of(run.number) for run in effects)
                words = ", or one of the texts of outcome_unknown" if evidence.outcome_unknown else ""
                yield kind.at(at(turn, request=asked.number), got=content, expected=f"a result with {names}{words}")


def unproven_outcomes(
    evidence: AppEvidence, turn: TurnSeen, asked: Asked, ran: Sequence[tuple[TurnSeen, Call]]
) -> Iterator[Finding]:
    """Yield what the model is sent for calls that ran, without the ledger, if nobody has ever seen it as a result.

    It is the result, or what the application says in its place: a policy, as nobody knows the result.
    """
    contents = {result.call_id: result.content for result in asked.sent_results()}
    for earlier, call in ran:
        content = contents.get(call.call_id)
        known = {result.content for one in earlier.asked for result in one.sent_results()}
        seen = [*shown_outputs(earlier.screen).values(), *known]
        seen += [] if evidence.known_result is None else [evidence.known_result]
        if content is not None and not any(same_result(content, one) for one in seen):
            place = at(turn, request=asked.number)
            yield UNPROVEN.at(place, got=content, expected="a result that the user or the model has seen before")


def _speaks_of_a_run(content: str) -> bool:
    """Whether a result names a run of the ledger; one of another call is another check's."""
    return any(_REFERENCE.fullmatch(word) for word in _WORDS.findall(content))


def _is_unknown(content: str, evidence: AppEvidence) -> bool:
    return any(normal(words) in normal(content) for words in evidence.outcome_unknown)
