"""Identity: both sides, and the implementation's own history where it is known, hold the same thread (R39)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Delivery, Evidence, NotApplicable, Side
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.compare import same_content, same_exact
from tpharness.protocol.diff import diff
from tpharness.scenario.records import Compare

__all__ = ["IDENTITY"]

DIFFERS = Kind("identity-differs")
LIBRARY_DIFFERS = Kind("library-differs")
_MOST = 3  # differences shown; later ones often follow from the first


def _judge(evidence: Evidence) -> list[Finding]:
    findings: list[Finding] = []
    if evidence.server is not None and evidence.client is not None and evidence.delivery is Delivery.WHOLE:
        findings += _compare(evidence, evidence.server, evidence.client, DIFFERS, evidence.mode)
    if evidence.server is not None and evidence.library is not None:
        ours, theirs = _last_turn(evidence.server), _last_turn(evidence.library)
        findings += _compare(evidence, ours, theirs, LIBRARY_DIFFERS, Compare.CONTENT)
    return findings


def _last_turn(side: Side) -> Side:
    """Return the side with its last turn only, and without events: a model library's history has none."""
    turns = []
    for turn in side.thread["turns"][-1:]:
        messages = [m for m in turn.get("messages", ()) if m["message_type"] != "system"]
        if messages:
            turns.append({**turn, "messages": messages})
    return Side(name=side.name, thread={**side.thread, "turns": turns})


def _compare(evidence: Evidence, one: Side, other: Side, kind: Kind, mode: Compare) -> list[Finding]:
    same = same_exact if mode is Compare.EXACT else same_content
    if (kind is DIFFERS and evidence.sides_equal) or same(one.thread, other.thread):
        return []
    differences = diff(one.thread, other.thread, names=(one.name, other.name), mode=mode.value)[:_MOST]
    if not differences:
        return [kind.at(Place(case=evidence.case), "the threads differ in a place that the diff does not name")]
    return [
        kind.at(Place(case=evidence.case, pointer=d.pointer), f"{d.text}{f' ({d.cites})' if d.cites else ''}")
        for d in differences
    ]


_BYTES_LOST = NotApplicable(reason="bytes were lost between the two sides, so a prefix is owed (R32)")
_ONE_SIDE = NotApplicable(reason="only one side has a thread of this version")


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    if evidence.server is not None and evidence.library is not None:
        return None
    if evidence.server is None or evidence.client is None or evidence.delivery is Delivery.UNRELATED:
        return _ONE_SIDE
    return None if evidence.delivery is Delivery.WHOLE else _BYTES_LOST


IDENTITY = Check(
    name="identity",
    title="both sides hold the same thread",
    not_applicable=_not_applicable,
    judge=_judge,
)
