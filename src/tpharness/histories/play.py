"""Scenarios played through one history dialect: what is kept at each interruption, and whether it is of use.

In: a case and a history. Out: results, one for the case and one for each place of its sweep that did not pass. Checked
at each place: the stored document is read back as it was written; a UI is shown the interruption, and once; the model's
next input is taken by each API; and it goes on where it was before (append-only). Nothing is sent anywhere.

What the model was sent or said before is, while a response streams, its input for that response; else the view of the
history up to the model's last message. Results that have come and not been sent are nobody's past yet.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from tpharness.acceptance import PROVIDERS, Provider, check_append_only, check_payload
from tpharness.acceptance.append_only import first_difference
from tpharness.errors import TpharnessError, UsageError
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.message_parts import interrupt_findings
from tpharness.histories.moments import Moment, case_moments, every_moment, sweep_moments
from tpharness.histories.registry import NamedHistory
from tpharness.journal import AgentTurn, Interrupted, Journal, Response
from tpharness.run.judge import CheckState, Outcome, Result
from tpharness.run.plan import base_case
from tpharness.scenario.records import CutAt, Scenario

__all__ = ["CHECK_NAMES", "check_moment", "next_view", "play_history"]

NOT_READ_BACK = Kind("history-not-read-back")
CHECK_NAMES = ("read-back", "interruption-shown", "append-only", *(f"accepted-{name}" for name in PROVIDERS))

NEXT_USER = "Go on."
"""What the user says after each interruption."""

_Checked = dict[str, list[Finding]]


def play_history(scenario: Scenario, history: NamedHistory, place: str | None = None) -> list[Result]:
    """Play a scenario and its sweep through a history; `place` restricts that to one place.

    A place is one of the sweep, or, without a sweep, `theme/name@cancelled-turn-1-event-12`: the user cancels there.
    """
    begun = time.perf_counter()
    clauses = scenario.clauses
    case = base_case(scenario)
    results = [] if place is not None else [_result(scenario.id, case_moments(case), history, clauses)]
    passed, unsupported, checks = 0, 0, _nothing_checked()
    anywhere = every_moment(case) if place is not None else ()
    for moment in chain(sweep_moments(case), anywhere):
        if place in (None, moment.id):
            result = _result(moment.id, [moment], history, clauses)
            if result.outcome is Outcome.PASSED:
                passed += 1
                checks = _joined(checks, result.checks)
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
        told = Result(id=name, outcome=Outcome.NOT_APPLICABLE, reason=reason, cases=unsupported, clauses=clauses)
        results.append(told)
    seconds = time.perf_counter() - begun
    return [replace(results[0], seconds=seconds), *results[1:]] if results else []


def check_moment(moment: Moment, history: NamedHistory) -> _Checked:
    """Return what each check finds at one place; a check that does not apply there is missing."""
    document = history.dialect.store(moment.after)
    found: _Checked = {"read-back": list(_read_back(document, history))}
    if history.shows_interruptions:
        shown = history.dialect.replay(document)
        found["interruption-shown"] = interrupt_findings(shown, interrupted=_user_cuts(moment.after))
    earlier = None if moment.before is None else history.dialect.store(moment.before)
    for provider in PROVIDERS:
        view = next_view(history, document, provider)
        if view is None:
            continue
        found[f"accepted-{provider}"] = _of(provider, check_payload(provider, view))
        if earlier is not None and moment.before is not None:
            past = _past(moment.before, moment.asked, earlier, history, provider)
            differences = check_append_only(_in_blocks(past), _in_blocks(view))
            found.setdefault("append-only", []).extend(_of(provider, differences))
    return found


def next_view(history: NamedHistory, document: Any, provider: Provider) -> Any:
    """Return what an API would be sent when the user goes on; None if the history has a file that it takes in no form.

    That is nothing that a history loses or does wrong.
    """
    try:
        return history.dialect.model_input(document, provider, next_user=NEXT_USER)
    except UsageError:
        return None


# ------------------------------------------------------------------------------------------------ the checks


def _read_back(document: Any, history: NamedHistory) -> Iterator[Finding]:
    try:
        read = history.loads(history.dumps(document))
    except (TpharnessError, ValueError) as error:
        yield NOT_READ_BACK.at(Place(pointer=""), str(error))
        return
    difference = first_difference([document], [read])
    if difference is not None:
        yield NOT_READ_BACK.at(Place(pointer=difference.inside), got=difference.got, expected=difference.expected)


def _user_cuts(journal: Journal) -> int:
    ends = (turn.end for turn in journal.turns() if isinstance(turn, AgentTurn))
    return sum(isinstance(end, Interrupted) and end.reason == "user_cancelled" for end in ends)


def _past(before: Journal, asked: Journal | None, document: Any, history: NamedHistory, provider: Provider) -> Any:
    """Return what the model was sent or said before the cut, as the provider has it; `document` is that of `before`."""
    if _streams(before) and asked is not None:
        return history.dialect.model_input(history.dialect.store(asked), provider)
    return _up_to_the_model(history.dialect.model_input(document, provider))


def _streams(journal: Journal) -> bool:
    """Whether the model's answer is still coming."""
    responses = [] if journal.last is None else [e for e in journal.last.tail.entries if isinstance(e, Response)]
    return bool(responses) and not responses[-1].finished


def _up_to_the_model(payload: Any) -> Any:
    if isinstance(payload, Mapping):
        name = "messages" if "messages" in payload else "contents"
        return {**payload, name: _up_to_the_model(payload[name])}
    last = max((index for index, entry in enumerate(payload) if _by_model(entry)), default=-1)
    return payload[: last + 1]


def _by_model(entry: Mapping[str, Any]) -> bool:
    """Whether the model said something in an entry: in a message of its role, or an item of the Responses API."""
    role = entry.get("role")
    if role is not None:
        says = any(entry.get(name) for name in ("content", "parts", "tool_calls"))
        return role in ("assistant", "model") and says
    return not str(entry.get("type", "")).endswith("_output")


def _in_blocks(payload: Any) -> Any:
    """Write each text that is the whole content of a user's message as one block: to an API that is the same."""
    if isinstance(payload, Mapping):
        return {name: _in_blocks(value) if isinstance(value, list) else value for name, value in payload.items()}
    return [
        {**entry, "content": [{"type": "text", "text": entry["content"]}]}
        if entry.get("role") == "user" and isinstance(entry.get("content"), str)
        else entry
        for entry in payload
    ]


def _of(provider: Provider, findings: Iterable[Finding]) -> list[Finding]:
    return [finding.with_place(side=provider) for finding in findings]


# ------------------------------------------------------------------------------------------------ results


def _result(name: str, moments: Iterable[Moment], history: NamedHistory, clauses: tuple[str, ...]) -> Result:
    checks = _nothing_checked()
    findings: dict[tuple[object, ...], Finding] = {}
    try:
        for moment in moments:
            for check, found in check_moment(moment, history).items():
                failed = any(finding.level is Level.MUST for finding in found)
                checks = _joined(checks, {check: CheckState.FAILED if failed else CheckState.PASSED})
                for finding in found:
                    key = (finding.code, finding.message, finding.place.side, finding.place.pointer)
                    findings.setdefault(key, finding.with_place(case=name))
    except UnsupportedError as error:
        return Result(id=name, outcome=Outcome.NOT_APPLICABLE, reason=str(error), clauses=clauses)
    outcome = Outcome.FAILED if CheckState.FAILED in checks.values() else Outcome.PASSED
    return Result(id=name, outcome=outcome, checks=checks, findings=tuple(findings.values()), clauses=clauses)


def _nothing_checked() -> dict[str, CheckState]:
    return dict.fromkeys(CHECK_NAMES, CheckState.NOT_APPLICABLE)


_STRENGTH = {CheckState.FAILED: 2, CheckState.PASSED: 1, CheckState.NOT_APPLICABLE: 0}


def _joined(one: Mapping[str, CheckState], other: Mapping[str, CheckState]) -> dict[str, CheckState]:
    """Return the stronger state of each check."""
    return {**one, **{name: max(one[name], state, key=_STRENGTH.__getitem__) for name, state in other.items()}}
