"""Read the `interrupt` of a run: resolve its labels and counts to places in the stream.

In: the node and the expanded run. Out: an `Interrupt` whose places all lie inside the stream and whose client never saw
more than the server sent (R32).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tpharness.protocol.reasons import KNOWN_REASONS, find_misspelt_reason
from tpharness.scenario.eventlog import RESERVED_LABELS, EventLog
from tpharness.scenario.fields import Fields, describe_node
from tpharness.scenario.problems import BAD_VALUE, CONTRADICTION, CUT_OUTSIDE, UNKNOWN_LABEL, suggest_name
from tpharness.scenario.records import ClientCut, CutUnit, GivenStream, Interrupt, WireEnd
from tpharness.scenario.yaml_nodes import ScalarNode
from tpharness.server_events.events import shift
from tpharness.server_events.shapes import SECONDS
from tpharness.wires.registry import default_wire
from tpharness.wires.sse.frames import split_frames

__all__ = ["INTERRUPT_KEYS", "ExpandedRun", "check_reason", "read_interrupt"]

INTERRUPT_KEYS = ("reason", "at", "wire", "after", "client", "server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedRun:
    """The expanded run that an interruption refers to. `log` is None if the run has no server side."""

    log: EventLog | None
    wire: GivenStream | None
    agent_id: str
    message_id: str | None
    started_at: str
    user_parts: tuple[Mapping[str, Any], ...]
    carriers: bool
    derivable: bool
    """Whether the events are well-formed by construction, so that the length of the client's stream is known."""


def read_interrupt(fields: Fields, run: ExpandedRun) -> Interrupt | None:
    """Return the interruption, or None if it has no reason; problems are reported."""
    reason = fields.text("reason", required=True)
    check_reason(fields, "reason", reason)
    end = fields.choice("wire", WireEnd) or WireEnd.default_for(reason or "")
    at = fields.time("at")
    server = _subfields(fields, "server", ("after",))
    client = _subfields(fields, "client", ("after", "reason"))
    _check_end(fields, reason, end)
    shared = _read_event_cut(fields, run) if "after" in fields else None
    own = _read_event_cut(server, run) if server is not None else None
    seen = _read_client_cut(client, run) if client is not None and "after" in client else None
    happened = own if own is not None else shared
    if (
        run.log is not None
        and happened is None
        and seen is None
        and not {"after", "server", "client"} & _present_keys(fields)
    ):
        fields.report_missing("after")
    if own is not None and shared is not None and own != shared:
        message = f"{fields.where}: after and server.after name different places"
        fields.problems.add(CONTRADICTION, fields.key_position("server"), message, got=own, expected=shared)
    if client is not None and seen is not None and seen.unit is CutUnit.EVENT:
        limit = happened if happened is not None else (len(run.log.events) if run.log else seen.count)
        if seen.count > limit:
            message = f"{client.where}: the client cannot see more than the server sent"
            expected = f"≤ {limit} server events"
            fields.problems.add(
                CONTRADICTION, client.value_position("after"), message, got=seen.count, expected=expected
            )
    if reason is None:
        return None
    return Interrupt(
        reason=reason,
        at=at or _default_time(run, happened, seen),
        wire=end,
        server_after=happened,
        client_after=seen,
        client_reason=client.text("reason") if client is not None else None,
    )


def check_reason(fields: Fields, key: str, reason: str | None) -> None:
    """Report a reason that looks like a misspelt known one."""
    meant = None if reason is None else find_misspelt_reason(reason)
    if meant is not None:
        fields.report_bad(key, f"{', '.join(KNOWN_REASONS)}, or a word of your own", f"; did you mean {meant!r}?")


def _present_keys(fields: Fields) -> set[str]:
    return {key for key in INTERRUPT_KEYS if key in fields}


def _subfields(fields: Fields, key: str, allowed: tuple[str, ...]) -> Fields | None:
    node = fields.node(key)
    return None if node is None else Fields(node, fields.problems, fields.path(key), allowed)


def _check_end(fields: Fields, reason: str | None, end: WireEnd) -> None:
    signalled = {WireEnd.FINISH: "safety_halt", WireEnd.ERROR: "error"}.get(end)
    if reason is not None and signalled is not None and reason != signalled:
        message = f"{fields.where}: wire {end.value} signals {signalled} to the client, not {reason}"
        fields.problems.add(CONTRADICTION, fields.value_position("wire"), message, got=reason, expected=signalled)


def _read_event_cut(fields: Fields, run: ExpandedRun) -> int | None:
    found = _read_place(fields, run, (CutUnit.EVENT,))
    return None if found is None else found.count


def _read_client_cut(fields: Fields, run: ExpandedRun) -> ClientCut | None:
    return _read_place(fields, run, tuple(CutUnit))


def _read_place(fields: Fields, run: ExpandedRun, units: tuple[CutUnit, ...]) -> ClientCut | None:
    """Return the place that `after` names: a label, or a count of one unit."""
    node = fields.node("after", required=True)
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return _resolve_label(fields, run, node)
    names = tuple(unit.value for unit in units)
    count = Fields(node, fields.problems, fields.path("after"), names)
    name = count.one_of(names, what="a place that is not a label")
    number = count.count(name) if name is not None else None
    if name is None or number is None:
        return None
    unit = CutUnit(name)
    length = _stream_length(run, unit)
    if unit is CutUnit.EVENT and run.log is None:
        message = f"{fields.path('after')} counts server events, and this run has none"
        fields.problems.add(CUT_OUTSIDE, node.position, message, expected="chunk or byte, under client")
        return None
    if length is not None and number > length:
        message = f"{fields.path('after')} lies outside the stream"
        fields.problems.add(CUT_OUTSIDE, node.position, message, got=number, expected=f"0 to {length} {name}s")
        return None
    return ClientCut(unit=unit, count=number)


def _resolve_label(fields: Fields, run: ExpandedRun, node: ScalarNode) -> ClientCut | None:
    labels = _all_labels(run)
    if not isinstance(node.value, str):
        message = f"{fields.path('after')} must be a label or a count such as {{event: 3}}"
        fields.problems.add(BAD_VALUE, node.position, message, got=describe_node(node))
        return None
    if run.log is None:
        message = f"{fields.path('after')} names a label, and this run has no server events"
        fields.problems.add(UNKNOWN_LABEL, node.position, message, got=node.value, expected="{chunk: N} or {byte: N}")
        return None
    if node.value not in labels:
        near = suggest_name(node.value, labels)
        message = f"no label {node.value!r} in this run{near}"
        fields.problems.add(UNKNOWN_LABEL, node.position, message, expected=", ".join(labels))
        return None
    return ClientCut(unit=CutUnit.EVENT, count=labels[node.value])


def _all_labels(run: ExpandedRun) -> dict[str, int]:
    if run.log is None:
        return {}
    start, end = RESERVED_LABELS
    return {start: 0, **run.log.labels, end: len(run.log.events)}


def _stream_length(run: ExpandedRun, unit: CutUnit) -> int | None:
    """Return the length of the stream in a unit; None if only the server under test determines it."""
    if unit is CutUnit.EVENT:
        return None if run.log is None else len(run.log.events)
    wire = default_wire()
    if run.wire is not None and run.wire.data is not None:
        return len(run.wire.data) if unit is CutUnit.BYTE else None
    if run.wire is not None and run.wire.chunks is not None:
        stream = wire.encode(run.wire.chunks)
    elif run.log is not None and run.derivable and not run.log.problems.findings:
        writer = wire.open_writer(agent_id=run.agent_id, carriers=run.carriers, message_id=run.message_id)
        opened = writer.start(run.started_at, run.user_parts)
        stream = b"".join((opened, *map(writer.feed, run.log.events)))
    else:
        return None
    return len(split_frames(stream)) if unit is CutUnit.CHUNK else len(stream + wire.end)


def _default_time(run: ExpandedRun, happened: int | None, seen: ClientCut | None) -> str:
    """Return the default time of an interruption: one tick after the last event that happened or was seen."""
    if run.log is None:
        return run.started_at
    count = happened
    if count is None and seen is not None and seen.unit is CutUnit.EVENT:
        count = seen.count
    events = run.log.events[:count]
    if not events:
        return run.log.script_clock.one_tick_after(run.started_at)
    stalls = events[-1].get("event_kind") == "stall" and SECONDS.holds(events[-1].get("seconds"))
    silence = events[-1]["seconds"] if stalls else 0.0
    return run.log.script_clock.one_tick_after(
        shift(events[-1]["at"], silence)
    )  # a stall is over when its seconds have passed
