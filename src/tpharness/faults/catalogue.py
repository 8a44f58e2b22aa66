"""The faults by name: what each does on the wire, what both sides still guarantee, and what the fault needs. Pure.

In: a recorded response. Out: a plan for the next one, or None if the fault cannot be placed in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tpharness.faults.places import PLACES, RecordedResponse
from tpharness.faults.plan import (
    Blackhole,
    Buffer,
    CutBody,
    Fin,
    Gzip,
    Notify,
    Pass,
    Permute,
    Rechunk,
    RelayPlan,
    Reset,
    Step,
    Wait,
)

__all__ = ["CANCEL", "FAULTS", "KILL", "Fault", "Guarantee", "ResumeFrom"]

CANCEL = "cancel"
"""The notification of a plan upon which the user presses stop."""

KILL = "kill"
"""The notification of a plan upon which the server is killed with SIGKILL."""

_STALL = 0.1  # seconds: shorter than any limit
_DRIP = 0.002
_FOR_EVER = 3600.0


class Guarantee(Enum):
    """What both sides still guarantee under a fault."""

    IDENTITY = "identity"  # nothing is lost: both threads are as they would have been
    PREFIX = "prefix"  # the client holds a prefix of the server's thread, and all of it after a fetch (R32)
    CONTENT = "content"  # the same, but for what depends on the order of arrival: times (R39)
    AGREEMENT = "agreement"  # whichever came first, both sides have the same thread


class ResumeFrom(Enum):
    """From where a client asks for the rest of a stream that broke off (R31)."""

    LAST_FRAME = "after the last frame"  # with Last-Event-ID, the last frame that it has whole
    EARLIER_FRAME = "after an earlier frame"  # some frames come twice
    START = "from the start"  # without Last-Event-ID: all frames come again


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `plan` returns its plan for a recorded response; `resume_from` needs a server that resumes.

    `steps` are given the offset in the raw bytes, or with `in_body` how many bytes of the body come before it.
    """

    name: str
    title: str
    guarantee: Guarantee
    place: str = ""
    steps: Callable[[int], tuple[Step, ...]] = lambda _: ()
    resume_from: ResumeFrom | None = None
    rulings: tuple[str, ...] = ()
    in_body: bool = False

    @property
    def kills(self) -> bool:
        """Whether it needs a server that can be killed and started again."""
        return Notify(KILL) in self.steps(1)

    @property
    def falls_silent(self) -> bool:
        """Whether the client sees a silence without end."""
        return any(step in (Blackhole(), Wait(_FOR_EVER)) for step in self.steps(1))

    def offset(self, response: RecordedResponse) -> int | None:
        """Return the byte offset where it strikes, None if the response does not have such a place."""
        return PLACES[self.place](response) if self.place else 0

    def plan(self, response: RecordedResponse) -> RelayPlan | None:
        """Return the plan, None if the fault cannot be placed in the response."""
        offset = self.offset(response)
        if offset is None:
            return None
        if self.guarantee is Guarantee.CONTENT:
            found = response.outputs()
            return None if found is None else RelayPlan((Pass(offset), Permute(found[1])))
        return RelayPlan(self.steps(response.body_before(offset) if self.in_body else offset))


def _cut(offset: int) -> tuple[Step, ...]:
    return (Pass(offset), Fin())


def _closing_fault(name: str, place: str) -> Fault:
    title = f"the connection is closed {place}"
    return Fault(name=name, title=title, guarantee=Guarantee.PREFIX, place=place, steps=_cut, rulings=("R27", "R32"))


def _ending_fault(name: str, place: str) -> Fault:
    """What a proxy makes of an application that dies: nginx asks it over HTTP/1.0, and writes the last chunk itself."""
    return Fault(
        name=name,
        title=f"the response ends well {place}, as a proxy ends it whose application has died",
        guarantee=Guarantee.PREFIX,
        place=place,
        steps=lambda count: (CutBody(count, chunked=True), Fin()),
        rulings=("R27", "R32"),
        in_body=True,
    )


def _resuming_fault(name: str, title: str, resume_from: ResumeFrom) -> Fault:
    return Fault(
        name=name,
        title=f"the connection is closed in the middle, and the client reconnects {title}",
        guarantee=Guarantee.IDENTITY,
        place="in the middle",
        steps=_cut,
        resume_from=resume_from,
        rulings=("R31",),
    )


def _harmless_fault(name: str, title: str, *steps: Step) -> Fault:
    return Fault(name=name, title=title, guarantee=Guarantee.IDENTITY, steps=lambda _: steps, rulings=("R35",))


_ALL = (
    _closing_fault("fin-before-first-byte", "before the first byte"),
    _closing_fault("fin-in-head", "in the head of the response"),
    _closing_fault("fin-after-head", "after the head"),
    _closing_fault("fin-in-middle", "in the middle"),
    _closing_fault("fin-in-character", "inside a UTF-8 character"),
    _closing_fault("fin-in-string", "inside a JSON string"),
    _closing_fault("fin-between-newlines", "between the two newlines of an event"),
    _closing_fault("fin-in-chunk-size", "inside the size line of a chunk"),
    _closing_fault("fin-before-last-chunk", "before the last chunk"),
    _ending_fault("end-after-head", "after the head"),
    _ending_fault("end-in-middle", "in the middle"),
    _ending_fault("end-in-character", "inside a UTF-8 character"),
    _ending_fault("end-in-string", "inside a JSON string"),
    _ending_fault("end-between-newlines", "between the two newlines of an event"),
    Fault(
        name="reset-without-framing",
        title="a body that only its connection ends is reset in the middle, which clients take for an end",
        guarantee=Guarantee.PREFIX,
        place="in the middle",
        steps=lambda count: (CutBody(count, chunked=False), Reset()),
        rulings=("R27", "R32"),
        in_body=True,
    ),
    Fault(
        name="reset",
        title="the connection is reset in the middle",
        guarantee=Guarantee.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Reset()),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="half-open",
        title="from the middle on nothing passes, and neither side is notified",
        guarantee=Guarantee.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Blackhole()),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="stall-for-ever",
        title="from the middle on nothing comes, and the connection stays open",
        guarantee=Guarantee.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Wait(_FOR_EVER)),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="stall",
        title=f"nothing comes for {_STALL:g} s in the middle, which is shorter than any limit",
        guarantee=Guarantee.IDENTITY,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Wait(_STALL)),
        rulings=("R27",),
    ),
    Fault(
        name="drip",
        title="everything comes in small pieces, slowly",
        guarantee=Guarantee.IDENTITY,
        steps=lambda _: (Rechunk((97,), pause=_DRIP),),
        rulings=("R35",),
    ),
    _harmless_fault(
        "rechunk", "all writes are split and joined differently", Rechunk((1, 2, 3, 5, 8, 13, 21, 34, 55, 89))
    ),
    _harmless_fault("buffer", "a proxy holds everything back until it is complete", Buffer()),
    _harmless_fault("gzip", "a proxy compresses the body", Gzip()),
    Fault(
        name="reorder",
        title="the outputs of two parallel calls are swapped",
        guarantee=Guarantee.CONTENT,
        place="before the outputs of two parallel calls",
        rulings=("R11", "R39"),
    ),
    _resuming_fault("resume", "with the id of the last frame that it has", ResumeFrom.LAST_FRAME),
    _resuming_fault(
        "resume-twice-told", "with the id of an earlier frame, so that some come twice", ResumeFrom.EARLIER_FRAME
    ),
    _resuming_fault("resume-from-start", "without an id, so that all come again", ResumeFrom.START),
    Fault(
        name="kill",
        title="the server is killed with SIGKILL in the middle, and started again",
        guarantee=Guarantee.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Notify(KILL), Reset()),
        rulings=("R32",),
    ),
    Fault(
        name="cancel-race",
        title="the user presses stop while the last bytes are on their way",
        guarantee=Guarantee.AGREEMENT,
        place="before the last chunk",
        steps=lambda offset: (Pass(offset), Notify(CANCEL)),
        rulings=("R26",),
    ),
)
FAULTS = {fault.name: fault for fault in _ALL}
"""Every fault by its name."""
