"""The long form of a run: server events given as they are.

In: the nodes of a `server` list, or events from a file. Out: the same events with their times, written to an
`EventLog`; labels are taken off. Events that stand in the scenario itself are checked for a known kind and its fields,
since a slip of the pen is more likely there than a purpose; a file or `jsonl` may hold anything (R7, R36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.scenario.eventlog import EventLog
from tpharness.scenario.fields import iso_time, shown
from tpharness.scenario.locate import ListNode, MapNode, Node, ScalarNode, plain
from tpharness.scenario.problems import BAD_VALUE, MISSING_KEY, did_you_mean
from tpharness.scenario.spot import Spot
from tpharness.server_events.events import REQUIRED_FIELDS, EventKind, shift

__all__ = ["take_events", "take_nodes"]

_KINDS = tuple(kind.value for kind in EventKind)


def take_nodes(log: EventLog, node: ListNode, where: str, started_at: str) -> None:
    """Write down the events of a `server` list."""
    for number, item in enumerate(node.items):
        place = f"{where}[{number}]"
        if not _checked(log, item, place) or not isinstance(item, MapNode):
            continue
        event = plain(item)
        label = event.pop("label", None)
        spot = item.keys.get("at", item.spot)
        _take(log, event, started_at, place, spot)
        if label is not None:
            _place_labels(log, item.items["label"], place)


def take_events(log: EventLog, events: list[dict[str, Any]], where: str, started_at: str, spot: Spot) -> None:
    """Write down events that were read from somewhere else."""
    for number, event in enumerate(events):
        _take(log, dict(event), started_at, f"{where}[{number}]", spot)


def _take(log: EventLog, event: dict[str, Any], started_at: str, place: str, spot: Spot) -> None:
    elapsed = event.pop("_t_ms", None)
    at = event.get("at")
    if at is not None and (not isinstance(at, str) or iso_time(at) is None):
        expected = "an ISO 8601 time with an offset"
        log.problems.add(BAD_VALUE, spot, f"{place}.at must be {expected}", got=at, expected=expected)
        at = None
    if at is None and type(elapsed) in (int, float):
        at = shift(started_at, elapsed / 1000)
    if at is None:
        at = log.ticker.next()
    log.ticker.catch_up(at)
    event["at"] = at
    log.events.append(event)
    part = event.get("part")
    if isinstance(part, Mapping) and part.get("part_kind") == "tool-call":
        log.note_call(part)
        if event.get("event_kind") == "function_tool_call":
            log.calls[str(part.get("tool_call_id"))].started = True
    if event.get("event_kind") == "stall" and type(event.get("seconds")) in (int, float):
        log.ticker.wait(event["seconds"])


def _checked(log: EventLog, item: Node, place: str) -> bool:
    kind = item.items.get("event_kind") if isinstance(item, MapNode) else None
    if not isinstance(item, MapNode) or kind is None:
        log.problems.add(BAD_VALUE, item.spot, f"{place} must be a map with event_kind", got=shown(item))
        return False
    if not isinstance(kind, ScalarNode) or kind.value not in _KINDS:
        near = did_you_mean(str(shown(kind)), _KINDS)
        said = f"{place}.event_kind is not known{near}"
        log.problems.add(BAD_VALUE, kind.spot, said, got=shown(kind), expected=", ".join(_KINDS))
        return False
    good = True
    for name in REQUIRED_FIELDS.get(EventKind(kind.value), ()):
        if name not in item.items:
            log.problems.add(MISSING_KEY, item.spot, f"{place}: a {kind.value} event needs the key {name!r}")
            good = False
    for name in ("part", "delta"):
        if name in item.items and not isinstance(item.items[name], MapNode):
            log.problems.add(BAD_VALUE, item.items[name].spot, f"{place}.{name} must be a map", expected="a map")
            good = False
    return good


def _place_labels(log: EventLog, node: Node, place: str) -> None:
    names = node.items if isinstance(node, ListNode) else [node]
    for name in names:
        if isinstance(name, ScalarNode) and isinstance(name.value, str):
            log.place(name.value, len(log.events), name.spot)
        else:
            said = f"{place}.label must be a label, or a list of labels"
            log.problems.add(BAD_VALUE, name.spot, said, got=shown(name))
