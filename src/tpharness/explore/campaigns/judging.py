"""The oracles of a campaign: subject in, findings out.

A subject is a scenario (programs, streams, bytes), the text of a scenario file, or a thread document. For all of them,
nothing may raise or hang, and the invariants hold; one of these is that each side has the right thread (R51).
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from tpharness.checks import Delivery, Evidence, Side
from tpharness.errors import ScenarioError, TargetError, TpharnessError
from tpharness.explore.generate.kinds import FuzzKind, Subject
from tpharness.findings import Finding, Level, Place
from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.compare import identical
from tpharness.protocol.diff import diff
from tpharness.protocol.migrate import convert
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version
from tpharness.run.judge import judge
from tpharness.run.plan import Case
from tpharness.run.play import play
from tpharness.run.session import Session
from tpharness.scenario import Compare, Scenario, dump, load_text
from tpharness.targets.remote import CannotPlayError
from tpharness.verdict.causes import CRASHED, HANGS, ROUND_TRIP, crash

__all__ = ["HANG_SECONDS", "CampaignJudge", "HangError", "time_limit"]

HANG_SECONDS = 10.0
"""How long one case may take in this process."""

_PINS = frozenset({"outline-differs", "expected-thread-differs", "expected-findings-differ", "unexpected-finding"})
_VALUES = frozenset({"json-not-interoperable", "no-canonical-form"})
"""Codes for values of a stream that a thread cannot hold as JSON (R38): they are reported as the sender's mistake."""
_THOROUGH_BYTES = 2000


class HangError(Exception):
    """A case took longer than the limit."""


@dataclass(frozen=True, slots=True)
class CampaignJudge:
    """Judges subjects on the two targets of an opened session."""

    session: Session
    thorough: bool = True

    def findings(self, kind: FuzzKind, subject: Subject) -> tuple[Finding, ...]:
        """Return what is wrong with the subject, findings at MUST only; a crash and a hang are findings too."""
        try:
            with (
                nullcontext() if self.session.has_remote else time_limit()
            ):  # who is far away is not waited for ever anyway
                found = tuple(self._found(kind, subject))
        except HangError as error:
            return (crash(error, HANGS),)
        except TargetError:
            raise
        except (Exception, RecursionError) as error:  # noqa: BLE001  # whatever it is, it is what we look for
            return (crash(error, CRASHED),)
        return tuple(finding for finding in found if finding.level is Level.MUST)

    def _found(self, kind: FuzzKind, subject: Subject) -> Iterator[Finding]:
        if isinstance(subject, dict):
            return _document(subject)
        if isinstance(subject, str):
            return self._text(subject)
        legal = kind is FuzzKind.PROGRAMS
        return self._scenario(subject, legal=legal)

    # ---------------------------------------------------------------- scenarios

    def _scenario(self, scenario: Scenario, *, legal: bool) -> Iterator[Finding]:
        case, reason = self.session.run(self.session.adapt(scenario))
        if reason:
            return
        size = sum(len(run.wire.data or b"") for _, run in scenario.runs if run.wire is not None)
        try:
            found = list(self._played(case, legal=legal, thorough=False))
            # What fails when played once is reported as that, without all that follows from it.
            if not found and self.thorough and size <= _THOROUGH_BYTES:
                found = list(self._played(case, legal=legal, thorough=True))
        except CannotPlayError:
            return  # as a scenario that does not apply to these targets
        except TargetError as error:
            found = [CRASHED.at(Place(case=scenario.id), str(error), got=type(error).__name__)]
        yield from found

    def _played(self, case: Case, *, legal: bool, thorough: bool) -> Iterator[Finding]:
        evidence = self.session.run(play(case, self.session.players, thorough=thorough))
        if not legal:  # a stream that is not legal may be reported in any way
            evidence = [replace(piece, client=_bare(piece.client), server=_bare(piece.server)) for piece in evidence]
        found = [f for f in judge(case.id, evidence).findings if f.level is Level.MUST]
        hostile = not legal and any(finding.code in _VALUES for finding in found)
        yield from (finding for finding in found if not hostile and (legal or finding.code not in _PINS))

    # ---------------------------------------------------------------- files

    def _text(self, text: str) -> Iterator[Finding]:
        try:
            scenario = load_text(text, id="fuzz/file")
        except ScenarioError as error:
            if not error.findings or any(finding.place.line is None for finding in error.findings):
                yield CRASHED.at(Place(), "a scenario is refused without saying where", got=str(error))
            return
        try:
            again = load_text(dump(scenario), id="fuzz/file")
        except ScenarioError as error:
            yield ROUND_TRIP.at(Place(), f"what was written does not load: {error.findings[0].message}")
            return
        except TpharnessError:
            return  # a lone surrogate, which YAML cannot say
        if again != scenario:
            yield ROUND_TRIP.at(Place(), "the scenario that was written loads to another one")
        yield from (f for f in self._scenario(scenario, legal=True) if f.code not in _PINS)


def _bare(side: Side | None) -> Side | None:
    return None if side is None else replace(side, findings=())


# ------------------------------------------------------------------------------------------------ documents


def _document(document: dict[str, Any]) -> Iterator[Finding]:
    """Yield what the checks find in a valid thread, and what is wrong with how it is read, written and converted."""
    parsed = parse_json(json.dumps(document, ensure_ascii=False).encode())
    yield from parsed.findings
    evidence = Evidence(
        case="fuzz/document",
        version=Version(document["version"]),
        mode=Compare.EXACT,
        delivery=Delivery.UNRELATED,
        client=Side(name="document", thread=document),
    )
    yield from judge(evidence.case, [evidence]).findings
    if not identical(parsed.value, document):
        yield ROUND_TRIP.at(Place(), "reading back the written document gives another one")
    if thread_hash(_reversed(document)) != thread_hash(document):
        yield ROUND_TRIP.at(Place(), "the order of keys changes the hash")
    yield from _converted(document)
    if diff(document, document):
        yield ROUND_TRIP.at(Place(), "a document differs from itself")


def _converted(document: dict[str, Any]) -> Iterator[Finding]:
    """R1: an upgrade and the downgrade after it are the identity; nothing unknown gets lost (R7)."""
    own = Version(document["version"])
    for newer in Version:
        if newer.order > own.order:
            there = convert(document, newer).thread
            if not identical(convert(there, own).thread, document):
                yield ROUND_TRIP.at(Place(), f"converting to {newer.value} and back gives another document")
            yield from (finding for finding in check_thread(there) if finding.level is Level.MUST)


def _reversed(value: Any) -> Any:
    """Return the value with the keys of every object in the opposite order."""
    if isinstance(value, Mapping):
        return {key: _reversed(value[key]) for key in reversed(list(value))}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


# ------------------------------------------------------------------------------------------------ hanging


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise HangError in here after HANG_SECONDS; only where the operating system and the thread can be woken.

    Python drops an exception in a destructor or in the callback of a weak reference, and the hang would go on. So none
    is raised there, and the alarm rings again until one was raised elsewhere.
    """
    seconds, over = HANG_SECONDS, False
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def _ring(number: int, frame: FrameType | None) -> None:
        del number
        if not over and not _drops_exceptions(frame):
            raise HangError(f"longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds / 10)
    try:
        yield
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _drops_exceptions(frame: FrameType | None) -> bool:
    """Whether what runs is a destructor, or what a weak collection does when one of its objects goes."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or Path(code.co_filename).name in ("weakref.py", "_weakrefset.py"):
            return True
        frame = frame.f_back
    return False
