"""The long form of a run: server events given literally.

In: the nodes of a `server` list, or events from a file. Out: the same events with their times, appended to an
`EventLog`, without their labels. Events in the scenario itself must be of a known kind and have its fields, by the
table of the recorder (`server_events.shapes`), since a deviation there is probably a mistake. A file or `jsonl` may
hold anything (R7, R36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.scenario.eventlog import EventLog
from tpharness.scenario.fields import describe_node, normalize_time
from tpharness.scenario.position import Position
from tpharness.scenario.problems import BAD_VALUE, MISSING_KEY, suggest_name
from tpharness.scenario.yaml_nodes import ListNode, MapNode, Node, ScalarNode, plain
from tpharness.server_events.events import EventKind, event_time
from tpharness.server_events.forms import Mismatch
from tpharness.server_events.shapes import EVENT, MILLISECONDS, SECONDS

__all__ = ["add_event_nodes", "add_events"]

_KINDS = tuple(kind.value for kind in EventKind)


def add_event_nodes(log: EventLog, node: ListNode, where: str, started_at: str) -> None:
    """Append the events of a `server` list."""
    for number, item in enumerate(node.items):
        place = f"{where}[{number}]"
        if not _check_event(log, item, place) or not isinstance(item, MapNode):
            continue
        event = plain(item)
        label = event.pop("label", None)
        position = item.keys.get("at", item.position)
        _add_event(log, event, started_at, place, position)
        if label is not None:
            _set_labels(log, item.items["label"], place)


def add_events(log: EventLog, events: list[dict[str, Any]], where: str, started_at: str, position: Position) -> None:
    """Append events that were read from a file or from `jsonl`."""
    for number, event in enumerate(events):
        _add_event(log, dict(event), started_at, f"{where}[{number}]", position)


def _add_event(log: EventLog, event: dict[str, Any], started_at: str, place: str, position: Position) -> None:
    elapsed = event.get("_t_ms")
    if not MILLISECONDS.mismatches(elapsed):  # a wrong value stays, for the recorder to find
        event.pop("_t_ms", None)
    at = event.get("at")
    if at is not None and (not isinstance(at, str) or normalize_time(at) is None):
        expected = "an ISO 8601 time with an offset"
        log.problems.add(BAD_VALUE, position, f"{place}.at must be {expected}", got=at, expected=expected)
        at = None
    if at is None and "_t_ms" not in event:
        at = event_time({"_t_ms": elapsed, "event_kind": ""}, started_at, "") or None  # none beyond the calendar
    if at is None:
        at = log.script_clock.next()
    log.script_clock.advance_to(at)
    event["at"] = at
    log.events.append(event)
    part = event.get("part")
    if isinstance(part, Mapping) and part.get("part_kind") == "tool-call":
        log.add_call(part)
        call_id = part.get("tool_call_id")
        if event.get("event_kind") == "function_tool_call" and isinstance(call_id, str) and call_id in log.calls:
            log.calls[call_id].started = True
    if event.get("event_kind") == "stall" and not SECONDS.mismatches(event.get("seconds")):
        log.script_clock.advance(event["seconds"])


def _check_event(log: EventLog, item: Node, place: str) -> bool:
    kind = item.items.get("event_kind") if isinstance(item, MapNode) else None
    if not isinstance(item, MapNode) or kind is None:
        log.problems.add(BAD_VALUE, item.position, f"{place} must be a map with event_kind", got=describe_node(item))
        return False
    if not isinstance(kind, ScalarNode) or kind.value not in _KINDS:
        near = suggest_name(str(describe_node(kind)), _KINDS)
        message = f"{place}.event_kind is not known{near}"
        log.problems.add(BAD_VALUE, kind.position, message, got=describe_node(kind), expected=", ".join(_KINDS))
        return False
    mismatches = EVENT.mismatches(plain(item))
    for mismatch in mismatches:
        _report_mismatch(log, item, kind.value, mismatch, place)
    return not mismatches


def _report_mismatch(log: EventLog, item: MapNode, kind: str, mismatch: Mismatch, place: str) -> None:
    """Report a mismatch at the wrong value, or at the map that lacks the key."""
    node: Node = item
    for step in mismatch.path:
        node = node.items[step]  # type: ignore[union-attr,index]  # the path was read from this very node
    if mismatch.missing is not None:
        owner = Mismatch(path=mismatch.path, expected="").where()
        whose = f"{place}.{owner} of" if owner else f"{place}:"
        message = f"{whose} a {kind} event needs the key {mismatch.missing!r}"
        log.problems.add(MISSING_KEY, node.position, message, expected=mismatch.expected)
    else:
        message = f"{place}.{mismatch.where()} has a wrong value"
        log.problems.add(BAD_VALUE, node.position, message, got=describe_node(node), expected=mismatch.expected)


def _set_labels(log: EventLog, node: Node, place: str) -> None:
    names = node.items if isinstance(node, ListNode) else [node]
    for name in names:
        if isinstance(name, ScalarNode) and isinstance(name.value, str):
            log.set_label(name.value, len(log.events), name.position)
        else:
            message = f"{place}.label must be a label, or a list of labels"
            log.problems.add(BAD_VALUE, name.position, message, got=describe_node(name))
