"""stops-or-goes-on: when its user has left, an application does what it declares, and soon."""

from __future__ import annotations

from collections.abc import Iterator

from tpharness.apps.cases.case import CutBy
from tpharness.apps.checks.contract import AppCheck, at
from tpharness.apps.evidence import AppEvidence
from tpharness.findings import Finding, Kind, shorten
from tpharness.printable import counted

__all__ = ["CHECK"]

RUNS_ON = Kind("runs-on")
GIVES_UP = Kind("gives-up")
STOP_IGNORED = Kind("stop-ignored")
STOP_REFUSED = Kind("stop-refused")
_USER = (CutBy.LEAVE, CutBy.STOP, CutBy.RELOAD)


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield a departure from what is declared, with what was said to the application after its user had left."""
    for turn in evidence.turns:
        cut = turn.cut
        if cut is None or cut.cut.by not in _USER:
            continue
        stopped = not cut.asked_after and (cut.cut.in_tool or cut.left_after is not None)
        requests = counted(cut.asked_after, "more request")
        after = f"{counted(cut.pieces_after, 'more piece')} of the model's answer, {requests}"
        refused = cut.answered is not None and not 200 <= cut.answered.status < 400
        if cut.cut.by is CutBy.STOP and refused and cut.answered is not None:
            got = f"status {cut.answered.status}: {shorten(cut.answered.text, 200)}"
            yield STOP_REFUSED.at(at(turn), got=got, expected="a status below 400")
        elif cut.cut.by is CutBy.STOP and not stopped:
            yield STOP_IGNORED.at(at(turn), got=after, expected=f"no more after {evidence.stop_within:g} s")
        elif cut.cut.by is CutBy.LEAVE and evidence.on_disconnect == "stop" and not stopped:
            yield RUNS_ON.at(at(turn), got=after, expected=f"no more after {evidence.stop_within:g} s")
        elif cut.cut.by is CutBy.LEAVE and evidence.on_disconnect == "continue" and stopped:
            left = f"it left {cut.left_after:.2f} s after its client" if cut.left_after is not None else "no next step"
            yield GIVES_UP.at(at(turn), got=left, expected="the rest of the run")


CHECK = AppCheck(
    name="stops-or-goes-on",
    clause="app.stops-or-goes-on",
    kinds=(RUNS_ON, GIVES_UP, STOP_IGNORED, STOP_REFUSED),
    find=find,
    applies=lambda evidence: any(turn.cut is not None and turn.cut.cut.by in _USER for turn in evidence.turns),
)
