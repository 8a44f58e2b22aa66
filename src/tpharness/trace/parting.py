"""Where a side and the reference part: the first place of the wire from which they hold something else. Pure.

In: a traced case. Out: the finding that decides, the side, and the place: after which event of the server, at which
chunk and byte. A finding about a thread names a place in it; the place on the wire is then the step at which the
reference came to hold what belongs there, or ceased to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.errors import TpharnessError
from tpharness.protocol.canonical import canonical_thread
from tpharness.protocol.compare import content_thread
from tpharness.trace.read import TracedCase, TracedStep

__all__ = ["Parting", "find_parting"]

_ABSENT = object()
_NOT_A_THREAD = (TpharnessError, LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """A place. `finding` is the first that fails the case, None where none does.

    `step` is the step of `side` at which the two part, None where no place of the wire is known. `pointer` is the place
    in the threads, `held` and `right` the numbers of the threads in the end, `version` theirs.
    """

    side: str
    finding: Mapping[str, Any] | None = None
    step: TracedStep | None = None
    pointer: str = ""
    version: str = ""
    held: int | None = None
    right: int | None = None


def find_parting(case: TracedCase) -> Parting:
    """Return where the failing side of a case parts from the reference."""
    finding = next((one for one in case.findings if one["level"] == "must"), None)
    place = {} if finding is None else finding["place"]
    side = _side(case, place)
    finals = [final for final in case.finals if final.side == side]
    differing = [final for final in finals if _differ(case, final.held, final.right)]
    wrong_in = () if finding is None else finding.get("versions", ())
    version = wrong_in[-1] if wrong_in else case.about.get("version", "")
    final = next((one for one in (*differing, *finals) if one.version == version), (*differing, *finals, None)[0])
    pointer = place.get("pointer", "")
    steps = case.steps_of(side)
    step = _at_event(steps, int(place["event"])) if "event" in place else None
    if step is None:
        step = _first_other(case, steps) or _settled(case, steps, pointer)
    return Parting(
        side=side,
        finding=finding,
        step=step,
        pointer=pointer,
        version="" if final is None else final.version,
        held=None if final is None else final.held,
        right=None if final is None else final.right,
    )


def _side(case: TracedCase, place: Mapping[str, Any]) -> str:
    """Return the side that a finding blames; else the one that is not the reference."""
    named = str(place.get("side", "")).split(" ")[0]
    if named in ("server", "client"):
        return named
    foreign = [side for side in ("server", "client") if not case.is_reference(side)]
    parted = [final.side for final in case.finals if _differ(case, final.held, final.right)]
    return (*parted, *foreign, "client")[0]


def _differ(case: TracedCase, held: int | None, right: int | None) -> bool:
    """Whether two threads are different as the case compares them."""
    if held is None or right is None or held == right:
        return False
    form = canonical_thread if case.about.get("compare") == "exact" else content_thread
    try:
        return bool(form(case.thread(held)) != form(case.thread(right)))
    except _NOT_A_THREAD:  # not a thread at all
        return True


def _at_event(steps: Sequence[TracedStep], event: int) -> TracedStep | None:
    """Return the step at or before an event of the last run that has one."""
    runs = [step.run for step in steps]
    before = [step for step in steps if runs and step.run == runs[-1] and step.event <= event + 1]
    return before[-1] if before else None


def _first_other(case: TracedCase, steps: Sequence[TracedStep]) -> TracedStep | None:
    """Return the first step at which a side that can be asked within its run holds something else."""
    return next((step for step in steps if _differ(case, step.held, step.right)), None)


def _settled(case: TracedCase, steps: Sequence[TracedStep], pointer: str) -> TracedStep | None:
    """Return the step from which on the reference holds at a place of the thread what it holds there in the end.

    A place that the reference has never held anything at belongs to what the other side has too much: the last step.
    """
    keys = pointer.split("/")[1:5]  # turn and message: what is within one comes with it
    known = [step for step in steps if step.right is not None]
    if not known or len(keys) < 2:
        return known[-1] if known else None
    wanted = _at(case, known[-1], keys)
    if wanted is _ABSENT:
        held = [step for step in known if _at(case, step, keys) is not _ABSENT]
        return held[-1] if held else known[-1]
    settled = known[-1]
    for step in reversed(known):
        if _at(case, step, keys) != wanted:
            break
        settled = step
    return settled


def _at(case: TracedCase, step: TracedStep, keys: Sequence[str]) -> Any:
    """Return what the reference holds at a place when a step is done. Places are those of the canonical form."""
    thread = case.thread(step.right) if step.right is not None else {}
    try:
        value: Any = canonical_thread(thread)
    except _NOT_A_THREAD:
        value = thread
    for key in keys:
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            return _ABSENT
    if isinstance(value, Mapping) and "messages" in value:  # of a turn: whether it is there, not how far it has got
        return {name: one for name, one in value.items() if name in ("turn_type", "agent_id")}
    return value
