"""The faults by name: what each does on the wire, what is owed nevertheless, and what it needs. Pure.

In: a recorded response. Out: a plan for the next one, None where the fault finds no place in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tpharness.faults.places import PLACES, RecordedResponse
from tpharness.faults.plan import Deaf, Fin, Gather, Gzip, Notify, Pass, Permute, Pieces, Plan, Reset, Step, Wait

__all__ = ["CANCEL", "FAULTS", "KILL", "Comeback", "Fault", "Owed"]

CANCEL = "cancel"
"""What a plan calls when the user is to press stop."""

KILL = "kill"
"""What a plan calls when the server is to be ended with SIGKILL."""

_STALL = 0.1  # seconds: shorter than any limit
_DRIP = 0.002
_FOR_EVER = 3600.0


class Owed(Enum):
    """What holds in spite of a fault."""

    IDENTITY = "identity"  # nothing is lost: both threads are as they would have been
    PREFIX = "prefix"  # the client holds a prefix of the server's thread, and all of it after a fetch (R32)
    CONTENT = "content"  # the same, but for what depends on the order of arrival: times (R39)
    AGREEMENT = "agreement"  # whichever came first: both sides tell the same


class Comeback(Enum):
    """How the client comes back for the rest of a stream that broke off (R31)."""

    AFTER_THE_LAST = "after the last frame"  # with Last-Event-ID, the last frame that it has whole
    AFTER_AN_EARLIER = "after an earlier frame"  # some frames come twice
    FROM_THE_START = "from the start"  # without Last-Event-ID: all frames come again


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `plan` makes it of a recorded response; `comeback` needs a server that resumes."""

    name: str
    title: str
    owed: Owed
    place: str = ""
    steps: Callable[[int], tuple[Step, ...]] = lambda _: ()
    comeback: Comeback | None = None
    rulings: tuple[str, ...] = ()

    @property
    def kills(self) -> bool:
        """Whether the server has to be one that can be ended and started again."""
        return Notify(KILL) in self.steps(1)

    @property
    def falls_silent(self) -> bool:
        """Whether the client sees a silence that does not end."""
        return any(step in (Deaf(), Wait(_FOR_EVER)) for step in self.steps(1))

    def offset(self, response: RecordedResponse) -> int | None:
        """Return where it strikes, None where the response has no such place."""
        return PLACES[self.place](response) if self.place else 0

    def plan(self, response: RecordedResponse) -> Plan | None:
        """Return the plan, None where the response has no place for it."""
        offset = self.offset(response)
        if offset is None:
            return None
        if self.owed is Owed.CONTENT:
            found = response.outputs()
            return None if found is None else Plan((Pass(offset), Permute(found[1])))
        return Plan(self.steps(offset))


def _cut(offset: int) -> tuple[Step, ...]:
    return (Pass(offset), Fin())


def _fin(name: str, place: str) -> Fault:
    title = f"the connection is closed {place}"
    return Fault(name=name, title=title, owed=Owed.PREFIX, place=place, steps=_cut, rulings=("R27", "R32"))


def _back(name: str, title: str, comeback: Comeback) -> Fault:
    return Fault(
        name=name,
        title=f"the connection is closed in the middle, and the client comes back {title}",
        owed=Owed.IDENTITY,
        place="in the middle",
        steps=_cut,
        comeback=comeback,
        rulings=("R31",),
    )


def _unharmed(name: str, title: str, *steps: Step) -> Fault:
    return Fault(name=name, title=title, owed=Owed.IDENTITY, steps=lambda _: steps, rulings=("R35",))


_ALL = (
    _fin("fin-before-first-byte", "before the first byte"),
    _fin("fin-in-head", "in the head of the response"),
    _fin("fin-after-head", "after the head"),
    _fin("fin-in-middle", "in the middle"),
    _fin("fin-in-character", "inside a UTF-8 character"),
    _fin("fin-in-string", "inside a JSON string"),
    _fin("fin-between-newlines", "between the two newlines of an event"),
    _fin("fin-in-chunk-size", "inside the size line of a chunk"),
    _fin("fin-before-last-chunk", "before the last chunk"),
    Fault(
        name="reset",
        title="the connection is reset in the middle",
        owed=Owed.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Reset()),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="half-open",
        title="nothing passes any more from the middle on, and nobody is told",
        owed=Owed.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Deaf()),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="stall-for-ever",
        title="nothing comes any more from the middle on, and the connection stays",
        owed=Owed.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Wait(_FOR_EVER)),
        rulings=("R27", "R32"),
    ),
    Fault(
        name="stall",
        title=f"nothing comes for {_STALL:g} s in the middle, which is shorter than any limit",
        owed=Owed.IDENTITY,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Wait(_STALL)),
        rulings=("R27",),
    ),
    Fault(
        name="drip",
        title="everything comes in small pieces, slowly",
        owed=Owed.IDENTITY,
        steps=lambda _: (Pieces((97,), pause=_DRIP),),
        rulings=("R35",),
    ),
    _unharmed("rechunk", "every write is split and joined otherwise", Pieces((1, 2, 3, 5, 8, 13, 21, 34, 55, 89))),
    _unharmed("buffer", "a proxy keeps everything back until it is whole", Gather()),
    _unharmed("gzip", "a proxy compresses the body", Gzip()),
    Fault(
        name="reorder",
        title="the outputs of two parallel calls change places",
        owed=Owed.CONTENT,
        place="before the outputs of two parallel calls",
        rulings=("R11", "R39"),
    ),
    _back("resume", "with the id of the last frame that it has", Comeback.AFTER_THE_LAST),
    _back("resume-twice-told", "with the id of an earlier frame, so that some come twice", Comeback.AFTER_AN_EARLIER),
    _back("resume-from-start", "without an id, so that all come again", Comeback.FROM_THE_START),
    Fault(
        name="kill",
        title="the server is ended with SIGKILL in the middle, and started again",
        owed=Owed.PREFIX,
        place="in the middle",
        steps=lambda offset: (Pass(offset), Notify(KILL), Reset()),
        rulings=("R32",),
    ),
    Fault(
        name="cancel-race",
        title="the user presses stop while the last bytes are on their way",
        owed=Owed.AGREEMENT,
        place="before the last chunk",
        steps=lambda offset: (Pass(offset), Notify(CANCEL)),
        rulings=("R26",),
    ),
)
FAULTS = {fault.name: fault for fault in _ALL}
"""Every fault by its name."""
