"""The `interrupt` of a run: from labels and counts to places in its stream.

In: the node, and what the run has been expanded to. Out: an `Interrupt` whose every place lies inside the stream and
whose two sides can both be true: a client never saw more than the server sent (R32).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.scenario.eventlog import RESERVED_LABELS, EventLog
from tpharness.scenario.fields import Fields, shown
from tpharness.scenario.locate import ScalarNode
from tpharness.scenario.problems import (
    BAD_VALUE,
    CONTRADICTION,
    CUT_OUTSIDE,
    UNKNOWN_LABEL,
    did_you_mean,
)
from tpharness.scenario.records import ClientCut, CutUnit, Interrupt, Wire, WireEnd
from tpharness.server_events.encoder import Encoder
from tpharness.server_events.events import shift
from tpharness.server_events.shapes import SECONDS
from tpharness.vsp.encode import DONE, encode_sse

__all__ = ["INTERRUPT_KEYS", "KNOWN_REASONS", "RunSoFar", "check_reason", "read_interrupt"]

KNOWN_REASONS = ("user_cancelled", "timeout", "network_failure", "safety_halt", "error")
INTERRUPT_KEYS = ("reason", "at", "wire", "after", "client", "server")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSoFar:
    """What the places of an interruption refer to. `log` is None when the run has no server side."""

    log: EventLog | None
    wire: Wire | None
    agent_id: str
    message_id: str | None
    started_at: str
    user_parts: tuple[Mapping[str, Any], ...]
    carriers: bool
    derivable: bool
    """Whether the events are well-formed by construction, so that the client's stream can be measured."""


def read_interrupt(fields: Fields, run: RunSoFar) -> Interrupt | None:
    """Return the interruption; None when problems leave none."""
    reason = fields.text("reason", required=True)
    check_reason(fields, "reason", reason)
    end = fields.choice("wire", WireEnd) or WireEnd.usual(reason or "")
    at = fields.time("at")
    server = _sub(fields, "server", ("after",))
    client = _sub(fields, "client", ("after", "reason"))
    _check_end(fields, reason, end)
    shared = _event_cut(fields, run) if "after" in fields else None
    own = _event_cut(server, run) if server is not None else None
    seen = _client_cut(client, run) if client is not None and "after" in client else None
    happened = own if own is not None else shared
    if run.log is not None and happened is None and seen is None and not {"after", "server", "client"} & _there(fields):
        fields.missing("after")
    if own is not None and shared is not None and own != shared:
        said = f"{fields.where}: after and server.after name different places"
        fields.problems.add(CONTRADICTION, fields.key_spot("server"), said, got=own, expected=shared)
    if client is not None and seen is not None and seen.unit is CutUnit.EVENT:
        limit = happened if happened is not None else (len(run.log.events) if run.log else seen.count)
        if seen.count > limit:
            said = f"{client.where}: the client cannot see more than the server sent"
            expected = f"≤ {limit} server events"
            fields.problems.add(CONTRADICTION, client.value_spot("after"), said, got=seen.count, expected=expected)
    if reason is None:
        return None
    return Interrupt(
        reason=reason,
        at=at or _time(run, happened, seen),
        wire=end,
        server_after=happened,
        client_after=seen,
        client_reason=client.text("reason") if client is not None else None,
    )


def check_reason(fields: Fields, key: str, reason: str | None) -> None:
    """Report a reason that is nearly, but not quite, a known one; any other word may be a reason."""
    if reason is None or reason in KNOWN_REASONS:
        return
    near = did_you_mean(reason, KNOWN_REASONS, cutoff=0.85)
    if near:
        fields.bad(key, f"{', '.join(KNOWN_REASONS)}, or a word of its own", near)


def _there(fields: Fields) -> set[str]:
    return {key for key in INTERRUPT_KEYS if key in fields}


def _sub(fields: Fields, key: str, allowed: tuple[str, ...]) -> Fields | None:
    node = fields.node(key)
    return None if node is None else Fields(node, fields.problems, fields.path(key), allowed)


def _check_end(fields: Fields, reason: str | None, end: WireEnd) -> None:
    said = {WireEnd.FINISH: "safety_halt", WireEnd.ERROR: "error"}.get(end)
    if reason is not None and said is not None and reason != said:
        message = f"{fields.where}: wire {end.value} tells the client {said}, not {reason}"
        fields.problems.add(CONTRADICTION, fields.value_spot("wire"), message, got=reason, expected=said)


def _event_cut(fields: Fields, run: RunSoFar) -> int | None:
    found = _place(fields, run, (CutUnit.EVENT,))
    return None if found is None else found.count


def _client_cut(fields: Fields, run: RunSoFar) -> ClientCut | None:
    return _place(fields, run, tuple(CutUnit))


def _place(fields: Fields, run: RunSoFar, units: tuple[CutUnit, ...]) -> ClientCut | None:
    """Return the place that `after` names: a label, or a count of one unit."""
    node = fields.node("after", required=True)
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return _label(fields, run, node)
    names = tuple(unit.value for unit in units)
    count = Fields(node, fields.problems, fields.path("after"), names)
    name = count.one_of(names, what="a place that is no label")
    number = count.count(name) if name is not None else None
    if name is None or number is None:
        return None
    unit = CutUnit(name)
    length = _length(run, unit)
    if unit is CutUnit.EVENT and run.log is None:
        said = f"{fields.path('after')} counts server events, and this run has none"
        fields.problems.add(CUT_OUTSIDE, node.position, said, expected="chunk or byte, under client")
        return None
    if length is not None and number > length:
        said = f"{fields.path('after')} lies outside the stream"
        fields.problems.add(CUT_OUTSIDE, node.position, said, got=number, expected=f"0 to {length} {name}s")
        return None
    return ClientCut(unit=unit, count=number)


def _label(fields: Fields, run: RunSoFar, node: ScalarNode) -> ClientCut | None:
    labels = _labels(run)
    if not isinstance(node.value, str):
        said = f"{fields.path('after')} must be a label or a count such as {{event: 3}}"
        fields.problems.add(BAD_VALUE, node.position, said, got=shown(node))
        return None
    if run.log is None:
        said = f"{fields.path('after')} names a label, and this run has no server events"
        fields.problems.add(UNKNOWN_LABEL, node.position, said, got=node.value, expected="{chunk: N} or {byte: N}")
        return None
    if node.value not in labels:
        near = did_you_mean(node.value, labels)
        said = f"no label {node.value!r} in this run{near}"
        fields.problems.add(UNKNOWN_LABEL, node.position, said, expected=", ".join(labels))
        return None
    return ClientCut(unit=CutUnit.EVENT, count=labels[node.value])


def _labels(run: RunSoFar) -> dict[str, int]:
    if run.log is None:
        return {}
    start, end = RESERVED_LABELS
    return {start: 0, **run.log.labels, end: len(run.log.events)}


def _length(run: RunSoFar, unit: CutUnit) -> int | None:
    """Return how long the stream is in a unit; None where only the encoder of a server under test knows."""
    if unit is CutUnit.EVENT:
        return None if run.log is None else len(run.log.events)
    if run.wire is not None and run.wire.data is not None:
        return len(run.wire.data) if unit is CutUnit.BYTE else None
    if run.wire is not None and run.wire.chunks is not None:
        chunks = [dict(chunk) for chunk in run.wire.chunks]
    elif run.log is not None and run.derivable and not run.log.problems.findings:
        encoder = Encoder(agent_id=run.agent_id, carriers=run.carriers, message_id=run.message_id)
        chunks = encoder.start(run.started_at, run.user_parts)
        for event in run.log.events:
            chunks += encoder.feed(event)
    else:
        return None
    if unit is CutUnit.CHUNK:
        return len(chunks)
    return sum(len(encode_sse(chunk)) for chunk in chunks) + len(DONE)


def _time(run: RunSoFar, happened: int | None, seen: ClientCut | None) -> str:
    """Return one tick after the last event that happened, or that the client saw."""
    if run.log is None:
        return run.started_at
    count = happened
    if count is None and seen is not None and seen.unit is CutUnit.EVENT:
        count = seen.count
    events = run.log.events[:count]
    if not events:
        return run.log.ticker.after(run.started_at)
    stalls = events[-1].get("event_kind") == "stall" and SECONDS.holds(events[-1].get("seconds"))
    silence = events[-1]["seconds"] if stalls else 0.0
    return run.log.ticker.after(shift(events[-1]["at"], silence))  # a stall is over when its seconds have passed
