"""What the end of a run says: what is open, outcome, pending calls, interrupts, usage (rules 3 to 13, 40 to 44).

In: the terminal event, and what the run has done. Out: findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET

from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.items import Items, Report
from tpharness.wires.ag_ui.objects import Cancelled, InterruptOutcome, Succeeded, TokenUsage, given
from tpharness.wires.ag_ui.states import FAMILIES
from tpharness.wires.ag_ui.subagents import Invocations, Steps

__all__ = ["MEANT_BY_CUSTOM", "check_calls", "check_open", "check_usage"]

MEANT_BY_CUSTOM: Mapping[str, str] = {"on_interrupt": "the interrupt outcome", "usage": "usage"}
"""Names of CUSTOM events that servers were seen to send in place of a member of RUN_FINISHED, with that member."""


def check_open(
    items: Items, steps: Steps, invocations: Invocations, report: Report, *, cancelled: bool = False
) -> None:
    """Find what is open at the end of a run that did not fail, by the rules that speak of such things."""
    open_items = items.open_items()
    left = [
        *(f"the {one.family.word} {one.id!r}" for one in open_items),
        *(f"the step {name!r}" for _, name in steps.open),
        *(f"the subagent {name!r} ({id_})" for id_, name in invocations.active.items()),
    ]
    rules = {
        "agui.21": any(one.family != FAMILIES["span"] for one in open_items),
        "agui.6": cancelled,
        "agui.19": bool(steps.open),
        "agui.49": any(one.family == FAMILIES["span"] for one in open_items),
        "agui.54": bool(invocations.active),
    }
    if left:
        verb, broken = "is" if len(left) == 1 else "are", tuple(rule for rule, is_broken in rules.items() if is_broken)
        said = f"{', '.join(left)} {verb} still open where the run finishes"
        report(v.OPEN_AT_END, said, got=left, decided=broken)


def check_calls(
    event: r.RunFinishedEvent, items: Items, advertised: frozenset[str] | None, custom: Iterable[str], report: Report
) -> None:
    """Find what the outcome says wrongly of calls and interrupts; `advertised` are the page's tools, if known."""
    pending = [call for call in items.calls if call not in items.answered]
    outcome = given(event.outcome)
    frontend = [call for call in pending if advertised is not None and items.calls[call] in advertised]
    if isinstance(outcome, InterruptOutcome):
        ids = [interrupt.id for interrupt in outcome.interrupts]
        if len(set(ids)) < len(ids):
            report(v.INTERRUPT_REPEATED, "two interrupts of the run have the same id", got=ids)
        about = {given(interrupt.tool_call_id) for interrupt in outcome.interrupts}
        if frontend and about <= set(frontend):
            named = f"{items.calls[frontend[0]]!r}, a tool of the page"
            report(
                v.FRONTEND_INTERRUPT, f"the run ends as interrupted by the call of {named}", got=sorted(map(str, about))
            )
    asks = "on_interrupt" in custom and not isinstance(outcome, InterruptOutcome)
    if asks:
        report(v.INTERRUPT_UNSAID, "the run asks by the CUSTOM event on_interrupt, and its outcome does not say so")
    if isinstance(outcome, Cancelled) and event.result is not UNSET:
        report(v.CANCELLED_RESULT, "the cancelled run has a result", got=event.result)
    if not asks and (outcome is None or isinstance(outcome, Succeeded)):
        _check_pending(outcome, pending, items.calls, advertised, report)
    if "usage" in custom and event.usage is UNSET:
        report(
            v.STANDARD_AS_CUSTOM, "the usage of the run is in a CUSTOM event alone, and RUN_FINISHED does not have it"
        )


def _check_pending(
    outcome: Succeeded | None,
    pending: list[str],
    calls: Mapping[str, str],
    advertised: frozenset[str] | None,
    report: Report,
) -> None:
    named = given(outcome.pending_tool_call_ids) if outcome is not None else None
    if named and named != pending:
        said = "pendingToolCallIds is not the calls that the run has started and not answered"
        report(v.PENDING_WRONG, said, got=named, expected=pending)
    elif pending and not named:
        said = f"the run leaves {', '.join(map(repr, pending))} unanswered, and its outcome does not name them"
        report(v.PENDING_UNNAMED, said, expected=pending)
    unasked = [call for call in pending if advertised is not None and calls[call] not in advertised]
    if unasked:
        said = f"{unasked[0]!r} is left to the page, which does not have the tool {calls[unasked[0]]!r}"
        report(v.TOOL_UNADVERTISED, said, got=calls[unasked[0]])


def check_usage(usage: Iterable[TokenUsage], report: Report) -> None:
    """Find sums that do not fit: the total is both totals, and a part is not larger than what it is a part of."""
    for one in usage:
        into, out, total = given(one.input_tokens), given(one.output_tokens), given(one.total_tokens)
        if None not in (into, out, total) and into + out != total:
            report(v.USAGE_SUM, f"totalTokens is {total}, and the two totals are {into} and {out}", got=total)
        cached = (given(one.cached_input_tokens) or 0) + (given(one.cache_write_input_tokens) or 0)
        for name, part, whole in (("cache", cached, into), ("reasoning", given(one.reasoning_tokens) or 0, out)):
            if whole is not None and part > whole:
                report(
                    v.USAGE_SUM,
                    f"the tokens for {name} are {part}, and the total that they are in is {whole}",
                    got=part,
                )
