"""Identity: both sides hold the same thread (R39), each of them the right one (R51), over every wire.

The right thread is what the reference makes of what the side was given. Where the two sides differ, the finding says
which of them departs; where they agree or cannot be compared, a side that departs has a finding of its own. The head
of a side's thread is compared with what it was given.
Without its carriers a server's stream gives its thread by content. The implementation's own history is compared too,
where it is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any

from tpharness import checks, protocol
from tpharness.checks.contract import ONE_SIDE, Check, Delivery, Evidence, NotApplicable, Side, Thread
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol.compare import same_content, same_exact
from tpharness.scenario.records import Compare

__all__ = ["IDENTITY"]

DIFFERS = Kind("identity-differs")
DEPARTS = Kind("thread-departs")
LIBRARY_DIFFERS = Kind("library-differs")
_CORRECTED = "the change of the first difference corrects this one, too"
_MOST = 3  # differences shown; later ones often follow from the first


def _judge(evidence: Evidence) -> list[Finding]:
    server, client, mode = evidence.server, evidence.client, evidence.mode
    departing = [side for side in (server, client) if side is not None and _departs(side, mode)]
    findings: list[Finding] = []
    if server is not None and client is not None and evidence.delivery is Delivery.WHOLE and not evidence.sides_equal:
        who, words = _blame(departing, server)
        stream = who == server.name and not departing
        right = next((side.name for side in (server, client) if who in ("server", "client") and side.name != who), "")
        right = server.name if stream else right
        findings = _compare(evidence, server, client, DIFFERS, mode, right=right, stream=stream)
        findings = [replace(f, message=f.message + words, place=replace(f.place, side=who)) for f in findings]
    if not findings:
        findings = [f for side in departing for f in _describe_departure(evidence, side)]
    if evidence.plain is not None and not findings:
        findings = resolve_name("tpharness.checks.plain:compare_plain")(evidence, _compare)  # few runs need it
    for side in (server, client):
        if side is not None and side.truth is not None:
            findings += checks.compare_header(evidence.case, side)
    if server is not None and evidence.library is not None:
        ours, theirs = _last_turn(server), _last_turn(evidence.library)
        findings += _compare(evidence, ours, theirs, LIBRARY_DIFFERS, Compare.CONTENT)
    if evidence.over_wires:
        findings += resolve_name("tpharness.checks.wires:compare_wires")(evidence, _compare)  # few runs need it
    return findings


def _departs(side: Side, mode: Compare) -> bool:
    """Whether a side holds another thread than the reference makes of the same input (R51)."""
    return side.truth is not None and not _same(side.thread, side.truth, mode)


def _blame(departing: list[Side], server: Side) -> tuple[str | None, str]:
    """Return which side of two that differ departs, None if that is not known, and the same in words."""
    if len(departing) > 1:
        return "server and client", "; the server and the client are wrong (R51)"
    if departing:
        name = departing[0].name
        return name, f"; the {name} is wrong, the {'client' if name == 'server' else 'server'} is right (R51)"
    if server.truth is not None:
        return server.name, "; the server's stream does not say what its thread does (R51)"
    return None, ""


def _describe_departure(evidence: Evidence, side: Side) -> list[Finding]:
    truth = Side(name="reference", thread=side.truth or {})
    found = _compare(evidence, truth, side, DEPARTS, evidence.mode, right=truth.name)
    return [finding.with_place(side=side.name) for finding in found]


def _last_turn(side: Side) -> Side:
    """Return the side with its last turn only, and without events: a model library's history has none."""
    turns = []
    for turn in side.thread["turns"][-1:]:
        messages = [m for m in turn.get("messages", ()) if m["message_type"] != "system"]
        if messages:
            turns.append({**turn, "messages": messages})
    return Side(name=side.name, thread={**side.thread, "turns": turns})


def _compare(
    evidence: Evidence, one: Side, other: Side, kind: Kind, mode: Compare, *, right: str = "", stream: bool = False
) -> list[Finding]:
    """Compare two threads, one of them `right` if that is known. `stream` says that the wrong one is what was sent."""
    if _same(one.thread, other.thread, mode):
        return []
    differences = protocol.diff.diff(one.thread, other.thread, names=(one.name, other.name), mode=mode.value)[:_MOST]
    if not differences:
        return [kind.at(Place(case=evidence.case), "the threads differ in a place that the diff does not name")]
    of_both = "" if stream else _change_of_both(evidence, one, other, right, differences[0])
    tried = _find_what_to_send(evidence, one.thread, differences[0]) if stream else ""
    return [
        kind.at(
            Place(case=evidence.case, pointer=d.pointer),
            f"{d.text}{f' ({d.cites})' if d.cites else ''}",
            **_held(d, right),
            symptom=d.symptom,
            decided=_deciding(kind, d),
            advice=(tried and (tried if d is differences[0] else _CORRECTED))
            or (of_both if d is differences[0] else "")
            or _change(d, (one.name, other.name), right, stream=stream),
        )
        for d in differences
    ]


def _change_of_both(
    evidence: Evidence, one: Side, other: Side, right: str, first: protocol.diff.ThreadDifference
) -> str:
    """Return what both threads say of the first difference, if one side is right; "" where it says enough by itself."""
    if right not in (one.name, other.name):
        return ""
    wrong, better = (other, one) if right == one.name else (one, other)
    misread = evidence.misreading(wrong.thread) if evidence.misreading and wrong.name == "client" else ""
    return misread or str(resolve_name("tpharness.checks.thread_change:change_of_threads")(wrong, better, first))


def _find_what_to_send(evidence: Evidence, thread: Thread, first: protocol.diff.ThreadDifference) -> str:
    """Return the change of the stream that was tried, "" if none was found."""
    if evidence.stream_change is None:
        return ""
    why = protocol.change.SENT_REASONS.get(first.pointer.rpartition("/")[2], "")
    return evidence.stream_change(thread, evidence.version, evidence.mode, why)


def _held(difference: protocol.diff.ThreadDifference, right: str) -> dict[str, Any]:
    """Return what differs: expected is what the side has that is right, got what the other one has.

    Of a turn, message or part that only one side has it is what that holds, in words.
    """
    if len(difference.values) == 1:
        ((side, value),) = difference.values.items()
        if not isinstance(value, Mapping) or not value.keys() & {"turn_type", "message_type", "part_kind"}:
            return {}
        return {"expected" if side == right else "got": protocol.diff.held_words(value)}
    if right not in difference.values:
        return {}
    return {"expected" if side == right else "got": value for side, value in difference.values.items()}


def _change(difference: protocol.diff.ThreadDifference, names: tuple[str, str], right: str, *, stream: bool) -> str:
    """Return the one change that corrects the side that is wrong; where that is not known, the rule and both values."""
    if right not in names:
        return protocol.change.rule_for(difference, names)
    wrong = names[1] if right == names[0] else names[0]
    if stream:
        return protocol.change.stream_change_for(difference, server=right, client=wrong)
    return protocol.change.change_for(difference, wrong=wrong, right=right)


def _deciding(kind: Kind, difference: protocol.diff.ThreadDifference) -> tuple[str, ...]:
    """Return the rulings on what differs; R39 says only how threads are compared."""
    if not difference.rulings:
        return ()
    return (*difference.rulings, *(ruling for ruling in kind.rulings if ruling != "R39"))


def _same(one: Thread, other: Thread, mode: Compare) -> bool:
    return same_exact(one, other) if mode is Compare.EXACT else same_content(one, other)


_BYTES_LOST = NotApplicable(reason="bytes were lost between the two sides, so a prefix is owed (R32)")


def _not_applicable(evidence: Evidence) -> NotApplicable | None:
    if evidence.over_wires or (evidence.server is not None and evidence.library is not None):
        return None
    if any(side.truth is not None for side in evidence.sides()):
        return None
    if evidence.server is None or evidence.client is None or evidence.delivery is Delivery.UNRELATED:
        return ONE_SIDE
    return None if evidence.delivery is Delivery.WHOLE else _BYTES_LOST


IDENTITY = Check(
    name="identity",
    title="both sides hold the same thread, the right one, and the same over every wire",
    not_applicable=_not_applicable,
    judge=_judge,
)
