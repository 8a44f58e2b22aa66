"""Play a scenario through one history dialect and check what the dialect keeps at each interruption.

In: a scenario and a history. Out: results, one for the case, and one for each place of its sweep that did not pass.
At each place four things are checked: reading the stored document gives what was written; a UI shows the interruption
once; each API accepts the model's next input; and that input continues the model's earlier input (append-only).
Nothing is sent anywhere.

The earlier input is, while a response streams, the input for that response; otherwise the history up to the model's
last message. Results that have not been sent to the model are not part of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

from tpharness.errors import TpharnessError, UsageError
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.message_parts import interrupt_findings
from tpharness.histories.moments import Moment, case_moments, every_moment, sweep_moments
from tpharness.histories.projections import HistoryDialect, ShowsInterruptions
from tpharness.journal import Journal, Response
from tpharness.model_apis.append_only import check_append_only, first_difference
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import PLAYED_APIS, ApiName
from tpharness.run.plan import base_case
from tpharness.scenario.records import CutAt, Scenario
from tpharness.verdict.result import CheckState, Outcome, Result

__all__ = ["CHECK_NAMES", "NEXT_USER", "check_moment", "next_input", "play_history", "with_provider"]

NOT_READ_BACK = Kind("history-not-read-back")
CHECK_NAMES = ("read-back", "interruption-shown", "append-only", *(f"accepted-{name}" for name in PLAYED_APIS))

NEXT_USER = "Go on."
"""What the user sends after each interruption."""


def play_history(scenario: Scenario, history: HistoryDialect, place: str | None = None) -> list[Result]:
    """Play a scenario and its sweep through a history, or only one place of it.

    `place` is the id of a place of the sweep, or, in any scenario, `theme/name@cancelled-turn-1-event-12`, where the
    user cancels turn 1 after its twelfth event.
    """
    begun = time.perf_counter()
    clauses = scenario.clauses
    case = base_case(scenario)
    results = [] if place is not None else [_result(scenario.id, case_moments(case), history, clauses)]
    passed, unsupported, checks = 0, 0, _no_checks()
    anywhere = every_moment(case) if place is not None else ()
    # A place of a sweep over bytes can be at several events, of which some send nothing.
    for name, moments in groupby(chain(sweep_moments(case), anywhere), key=lambda moment: moment.id):
        if place in (None, name):
            result = _result(name, list(moments), history, clauses)
            if result.outcome is Outcome.PASSED:
                passed += 1
                checks = _merge(checks, result.checks)
            elif result.outcome is Outcome.NOT_APPLICABLE and place is None:
                unsupported += 1
            else:
                results.append(result)
    word = "event" if scenario.cut is None or scenario.cut.at is CutAt.EVERY_EVENT else "byte"
    name = place or f"{scenario.id}@{word}-*"
    if passed:
        results.append(Result(id=name, outcome=Outcome.PASSED, checks=checks, cases=passed, clauses=clauses))
    if unsupported:
        reason = "the dialect cannot hold what happened before these places"
        results.append(
            Result(id=name, outcome=Outcome.NOT_APPLICABLE, reason=reason, cases=unsupported, clauses=clauses)
        )
    seconds = time.perf_counter() - begun
    return [replace(results[0], seconds=seconds), *results[1:]] if results else []


def check_moment(moment: Moment, history: HistoryDialect) -> dict[str, list[Finding]]:
    """Return the findings of each check at one place; a check that does not apply there is missing."""
    moment = moment.seen_by(history)
    document = history.store(moment.after)
    found: dict[str, list[Finding]] = {"read-back": list(_read_back_findings(document, history))}
    if isinstance(history, ShowsInterruptions):
        events = history.replay(document)
        found["interruption-shown"] = interrupt_findings(events, interrupted=history.interruptions(moment.after))
    earlier = None if moment.before is None else history.store(moment.before)
    for provider in PLAYED_APIS:
        payload = next_input(history, document, provider)
        if payload is None:
            continue
        found[f"accepted-{provider}"] = with_provider(provider, check_payload(provider, payload))
        if earlier is not None and moment.before is not None:
            past = _earlier_input(moment.before, moment.at_model_call, earlier, history, provider)
            differences = check_append_only(_with_text_blocks(past), _with_text_blocks(payload))
            found.setdefault("append-only", []).extend(with_provider(provider, differences))
    return found


def next_input(history: HistoryDialect, document: Any, provider: ApiName) -> Any:
    """Return what an API would be sent with the user's next message.

    None if the history has a file that the API does not accept in any form, which is not the history's fault.
    """
    try:
        return history.model_input(document, provider, next_user=NEXT_USER)
    except UsageError:
        return None


# ------------------------------------------------------------------------------------------------ the checks


def _read_back_findings(document: Any, history: HistoryDialect) -> Iterator[Finding]:
    try:
        read = history.loads(history.dumps(document))
    except (TpharnessError, ValueError) as error:
        yield NOT_READ_BACK.at(Place(pointer=""), str(error))
        return
    difference = first_difference([document], [read])
    if difference is not None:
        yield NOT_READ_BACK.at(Place(pointer=difference.inside), got=difference.got, expected=difference.expected)


def _earlier_input(
    before: Journal, at_model_call: Journal | None, document: Any, history: HistoryDialect, provider: ApiName
) -> Any:
    """Return what the model was sent or said before the cut, in the API's format; `document` is that of `before`."""
    if _is_streaming(before) and at_model_call is not None:
        return history.model_input(history.store(at_model_call), provider)
    return _until_last_answer(history.model_input(document, provider))


def _is_streaming(journal: Journal) -> bool:
    """Whether the last response is unfinished."""
    responses = [] if journal.last is None else [e for e in journal.last.tail.entries if isinstance(e, Response)]
    return bool(responses) and not responses[-1].finished


def _until_last_answer(payload: Any) -> Any:
    if isinstance(payload, Mapping):
        name = next(name for name in ("messages", "contents", "input") if name in payload)
        return {**payload, name: _until_last_answer(payload[name])}
    last = max((index for index, entry in enumerate(payload) if _is_answer(entry)), default=-1)
    return payload[: last + 1]


def _is_answer(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is from the model: a message of its role with content, or an item of the Responses API."""
    role = entry.get("role")
    if role is not None:
        has_content = any(entry.get(name) for name in ("content", "parts", "tool_calls"))
        return role in ("assistant", "model") and has_content
    return not str(entry.get("type", "")).endswith("_output")


def _with_text_blocks(payload: Any) -> Any:
    """Write each user message whose content is a text as one text block, which means the same to an API."""
    if isinstance(payload, Mapping):
        return {name: _with_text_blocks(value) if isinstance(value, list) else value for name, value in payload.items()}
    return [
        {**entry, "content": [{"type": "text", "text": entry["content"]}]}
        if entry.get("role") == "user" and isinstance(entry.get("content"), str)
        else entry
        for entry in payload
    ]


def with_provider(provider: ApiName, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, each with the API that it is about."""
    return [finding.with_place(side=provider) for finding in findings]


# ------------------------------------------------------------------------------------------------ results


def _result(name: str, moments: Iterable[Moment], history: HistoryDialect, clauses: tuple[str, ...]) -> Result:
    checks = _no_checks()
    findings: dict[tuple[object, ...], Finding] = {}
    try:
        for moment in moments:
            for check, found in check_moment(moment, history).items():
                failed = any(finding.level is Level.MUST for finding in found)
                checks = _merge(checks, {check: CheckState.FAILED if failed else CheckState.PASSED})
                for finding in found:
                    key = (finding.code, finding.message, finding.place.side, finding.place.pointer)
                    findings.setdefault(key, finding.with_place(case=name))
    except UnsupportedError as error:
        return Result(id=name, outcome=Outcome.NOT_APPLICABLE, reason=str(error), clauses=clauses)
    outcome = Outcome.FAILED if CheckState.FAILED in checks.values() else Outcome.PASSED
    return Result(id=name, outcome=outcome, checks=checks, findings=tuple(findings.values()), clauses=clauses)


def _no_checks() -> dict[str, CheckState]:
    return dict.fromkeys(CHECK_NAMES, CheckState.NOT_APPLICABLE)


_STRENGTH = {CheckState.FAILED: 2, CheckState.PASSED: 1, CheckState.NOT_APPLICABLE: 0}


def _merge(one: Mapping[str, CheckState], other: Mapping[str, CheckState]) -> dict[str, CheckState]:
    """Return the stronger state of each check of the two."""
    return {**one, **{name: max(one[name], state, key=_STRENGTH.__getitem__) for name, state in other.items()}}
