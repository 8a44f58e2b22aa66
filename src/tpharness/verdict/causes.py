"""Why something failed, as far as two failures can have the same cause: finding codes, clauses and rulings. Pure.

In: the findings of a case. Out: a `Cause`; equal causes are one failure, reported once. Crashes are distinguished by
the place in the code that raised.

There are three grains. `cause_of` takes all findings together: what fails otherwise is another cause. `leading_cause`
takes the one finding that says most about the mistake, with its symptom: what one correction would repair has one
cause, however many consequences a case shows. `causes_of` parts what may be several mistakes in one case: each code,
or, where nothing is wrong but that threads differ, each thing that differs.
"""

from __future__ import annotations

import hashlib
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tpharness.findings import Finding, Kind, Place

__all__ = [
    "CRASHED",
    "HANGS",
    "ORDER",
    "ROUND_TRIP",
    "Cause",
    "by_change",
    "by_use",
    "cause_of",
    "causes_of",
    "crash",
    "independent_codes",
    "leading_cause",
    "symptom_of",
]

CRASHED = Kind("fuzz-crashed")
HANGS = Kind("fuzz-hangs")
ROUND_TRIP = Kind("round-trip-differs")
ORDER = Kind("order-matters")

_CONSEQUENCES = frozenset(
    {
        "baseline-stale",
        "canonical-shrank",
        "canonical-unstable",
        "chunking-matters",
        "expected-findings-differ",
        "expected-thread-differs",
        "history-rewritten",
        "history-says-otherwise",
        "identity-differs",
        "library-differs",
        "not-converged",
        "outline-differs",
        "prefix-broken",
        "repeat-matters",
        "thread-departs",
    }
)
"""Codes that follow from any mistake: of checks that compare two threads, and of a baseline that knows another one."""

_DEPARTS = frozenset({"identity-differs", "thread-departs"})
"""Both say that a side does not hold the right thread: the one where both sides are whole, the other elsewhere."""

_NAME_A_CHANGE = _DEPARTS | {"outline-differs", "expected-thread-differs"}
"""Those of them that know the right value or item, and say in their advice how it comes there."""

_OF_THE_CASE = re.compile(
    r"(?P<host>://(?:\[[^\]\s]*\]|[^\s/:\[]+)):\d+"  # the port: a relay has another one in each case
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|\bb(?P<quote>['\"])(?:\\.|(?!(?P=quote)).)*(?P=quote)"
    r"|\b\d+ bytes?\b"
)
"""What the words of an error have from its case: ports, UUIDs, bytes and how many bytes."""

_RULING = re.compile(r"\bR\d+\b")
_IN_A_TURN = re.compile(r"/turns/(\d+)")
_UNSEEN = re.compile(r"(?:^|; )no ")
_ALONE = re.compile(r" is only on the (\S+) side\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What makes two failures the same one.

    `where` is the place in the code for a crash; for a leading cause the side and the symptom; "" otherwise.
    """

    codes: tuple[str, ...]
    clauses: tuple[str, ...] = ()
    rulings: tuple[str, ...] = ()
    where: str = ""

    def __str__(self) -> str:
        cites = ", ".join((*self.clauses, *self.rulings))
        return " + ".join(self.codes) + (f" at {self.where}" if self.where else "") + (f" [{cites}]" if cites else "")

    def is_called(self, text: str) -> bool:
        """Whether a text names the cause: as a report has it, or without what it cites, or with some of the rulings.

        The clauses of a text are not compared: a line of the console may have one that the scenarios are about.
        """
        name = str(replace(self, clauses=(), rulings=()))
        lead, _, cites = text.removesuffix("]").rpartition(" [")
        return text in (name, str(self)) or (lead == name and set(_RULING.findall(cites)) <= set(self.rulings))

    @property
    def key(self) -> str:
        """A text that is equal for failures of one mistake, such as a side that departs in cut and in uncut runs."""
        return self.where if self.where and set(self.codes) <= _DEPARTS else str(self)

    @property
    def slug(self) -> str:
        """A name for a file: the first code and a few digits that make it unique."""
        digits = hashlib.sha256(str(self).encode()).hexdigest()[:6]
        return f"{self.codes[0] if self.codes else 'failure'}-{digits}"


def cause_of(findings: Iterable[Finding]) -> Cause | None:
    """Return the cause of the findings that fail the case, or None if there are none."""
    broken = [finding for finding in findings if finding.fails]
    if not broken:
        return None
    kinds = {finding.code: finding.kind for finding in broken}
    crashes = sorted({str(finding.got) for finding in broken if finding.kind in (CRASHED, HANGS)})
    return Cause(
        codes=tuple(sorted(kinds)),
        clauses=tuple(sorted({clause for kind in kinds.values() for clause in kind.clauses})),
        rulings=tuple(sorted({ruling for kind in kinds.values() for ruling in kind.rulings})),
        where=", ".join(crashes),
    )


def causes_of(findings: Iterable[Finding]) -> tuple[Cause, ...]:
    """Return the causes of the findings at MUST, in order: one for each code that is not a mere consequence.

    Where there is none, one for each thing that differs, and how. A crash is one cause with all that it brings.
    """
    broken = [finding for finding in findings if finding.fails]
    whole = cause_of(broken)
    if whole is None:
        return ()
    leads = [finding for finding in broken if finding.code not in _CONSEQUENCES]
    leads = leads or [finding for finding in broken if finding.symptom]
    if not leads or whole.where:
        return (whole,)
    found: dict[str, Cause] = {}
    for finding in leads:
        side = finding.place.side if finding.code in _CONSEQUENCES else ""
        where = ": ".join(word for word in (side, _seen_from(side, finding.symptom)) if word)
        cause = Cause(codes=(finding.code,), clauses=finding.kind.clauses, rulings=finding.rulings, where=where)
        found.setdefault(cause.key, cause)
    return tuple(found.values())


def _seen_from(side: str | None, symptom: str) -> str:
    """Return a symptom without the name of whom the side was compared with: the other side, or the reference."""
    alone = _ALONE.search(symptom)
    if alone is None or side not in ("server", "client"):
        return symptom
    return symptom[: alone.start()] + (" is there alone" if alone[1] == side else " is missing")


def leading_cause(findings: Sequence[Finding]) -> Cause | None:
    """Return the cause of the finding at MUST that says most about the mistake, or None if there is none.

    The first one that is not a mere consequence, otherwise the first: findings come in the order of their use.
    """
    broken = [finding for finding in findings if finding.fails]
    if not broken:
        return None
    lead = by_use(broken)[0]
    where = ": ".join(word for word in (lead.place.side, lead.symptom) if word)
    if lead.kind in (CRASHED, HANGS):
        where = str(lead.got)
    return Cause(codes=(lead.code,), clauses=lead.clauses, rulings=lead.kind.rulings, where=where)


def by_use(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with the one first that says most about the mistake: at MUST, and not a mere consequence."""
    return sorted(findings, key=lambda finding: (finding.level.rank, finding.code in _CONSEQUENCES))


def by_change(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order in which one reads them: `by_use`, but first what names the one change of this case.

    A rule that is broken as well often follows from the value that differs in the same turn, and its advice does not
    fit: ids that are cut give two calls one id, and neither is to have another. Before both comes what is wrong in a
    stream that the scenario plays and that was not noticed: who reads on has another thread.
    """
    found = by_use(findings)
    unseen = next(
        (f for f in found if f.fails and f.code == "expected-findings-differ" and _UNSEEN.search(f.symptom)), None
    )
    if unseen is not None:
        return [unseen, *(f for f in found if f is not unseen)]
    named = (f for f in found if f.fails and f.advice and f.code in _NAME_A_CHANGE and not _undecided(f))
    first = next((f for f in named if _may_bring_about(f.place, found[0].place)), None)
    return found if first is None else [first, *(f for f in found if f is not first)]


def _undecided(finding: Finding) -> bool:
    """Whether two threads differ, and nothing says which of them is right."""
    return finding.code in _DEPARTS and finding.place.side is None


def _may_bring_about(change: Place, rule: Place) -> bool:
    """Whether what is wrong at one place may be why a rule is broken at another: in its turn or an earlier one."""
    if rule.pointer is None:
        return rule.event is not None  # a rule of streams, whose thread differs
    turns = [_turn_of(place.pointer) for place in (change, rule)]
    if rule.side not in (None, change.side) or turns[0] is None or turns[1] is None:
        return False
    whole = (change.pointer or "").rpartition("/")[2].isdecimal()  # a turn, a message or a part that is lost
    return turns[0] <= turns[1] if whole else turns[0] == turns[1]


def _turn_of(pointer: str | None) -> int | None:
    """Return the index of the turn that a place is in, None if it is in none."""
    found = _IN_A_TURN.match(pointer or "")
    return None if found is None else int(found[1])


def symptom_of(reason: str) -> str:
    """Return the words of an error without what they have from the case, which is another in each."""
    return _OF_THE_CASE.sub(lambda found: f"{found['host']}:…" if found["host"] else "…", reason)


def independent_codes(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the codes at MUST that do not follow from others: more than one needs more than one correction."""
    return frozenset(f.code for f in findings if f.fails and f.code not in _CONSEQUENCES)


def crash(error: BaseException, kind: Kind = CRASHED) -> Finding:
    """Return the finding for an exception: `got` names its type and the innermost place that raised.

    What hangs is woken anywhere in its loop, so for a hang only the file is named.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if kind is HANGS:
        got = Path(frames[-2].filename).name if len(frames) > 1 else "an unknown place"
    else:
        where = f"{Path(frames[-1].filename).name} in {frames[-1].name}" if frames else "an unknown place"
        got = f"{type(error).__name__} from {where}"
    return kind.at(Place(), f"{kind.title}: {type(error).__name__}: {error}"[:400], got=got)
