"""The legal orders of the events of one run, each class of equal ones once. Pure.

In: server events. Out: which must keep their order, and orders to try. Events that may swap:

- deltas and ends of different parts of one response (their starts keep their order: R11; the output of a provider's
  call stays behind the call, which it ends: R42),
- results and progress of different calls (a result stays behind its own call, calls keep their order, and a call whose
  arguments come only when its tool starts stays before all results: the first one finishes the response, R40),
- custom events with everything of the run but its boundaries: they are facts of their own (R25).

**Partial-order reduction.** Events that commute lead to the same state whatever their order: a state is the *set* of
events that have happened. The orders tried are such that every reachable state, with every event that may come next in
it, is part of one of them; each continuation of a state is tried once. Runs with more states than can be listed are
sampled with a fixed seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.protocol.versions import HANDOFF_EVENT, neutral_event_name
from tpharness.server_events.returns import custom_name

__all__ = ["Orders", "find_orders", "reorder"]

_PARTS = ("part_start", "part_delta", "part_end")
_CALLS = ("function_tool_call", "output_tool_call")
_LATE_CALL = "a call with its arguments"
_TOOLS = (*_CALLS, "function_tool_result", "output_tool_result", "tool_progress")
_PASSABLE = (*_PARTS, *_TOOLS, "model_request", "model_response_end")
_MOST_STATES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Orders of the events of a run, as lists of indices; the order that it has is not among them.

    `interleavings` counts all legal orders, or is None if there are too many; `states` the sets of events that are
    reached; `complete` says that `chosen` has every state with every event that may come next.
    """

    chosen: tuple[tuple[int, ...], ...]
    interleavings: int | None
    states: int
    complete: bool
    classes: int


def find_orders(events: Sequence[Mapping[str, Any]], *, bound: int, seed: int) -> Orders:
    """Return at most `bound` orders of the events besides their own."""
    before = _before(events)
    found = _all_steps(before)
    own = tuple(range(len(events)))
    if found is None:
        chosen = dict.fromkeys(_samples(before, bound, seed))
        chosen.pop(own, None)
        return Orders(
            chosen=tuple(chosen), interleavings=None, states=_MOST_STATES, complete=False, classes=len(chosen)
        )
    paths, steps, ways = found
    distinct = {order: None for mask, event in steps if (order := _order(before, paths, mask, event)) != own}
    every = tuple(distinct)
    chosen_all = every if len(every) <= bound else tuple(random.Random(seed).sample(every, bound))  # noqa: S311
    return Orders(
        chosen=chosen_all,
        interleavings=ways,
        states=len(paths),
        complete=len(every) <= bound,
        classes=len(every),
    )


def reorder(events: Sequence[Mapping[str, Any]], order: Sequence[int]) -> tuple[dict[str, Any], ...]:
    """Return the events in this order; each takes the time of its new place."""
    moved = []
    for slot, index in zip(events, order, strict=True):
        event = {k: v for k, v in events[index].items() if k not in ("at", "_t_ms")}
        event.update({k: slot[k] for k in ("at", "_t_ms") if k in slot})
        part = event.get("part")
        if isinstance(part, Mapping) and "timestamp" in part and "at" in slot:
            event["part"] = {**part, "timestamp": slot["at"]}
        moved.append(event)
    return tuple(moved)


# ------------------------------------------------------------------------------------------------ what may swap


def _before(events: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return for each event the mask of those that have to come before it."""
    groups = _groups(events)
    before = []
    for later, group in enumerate(groups):
        mask = 0
        for earlier in range(later):
            if not _swap(groups[earlier], group):
                mask |= 1 << earlier
        before.append(mask)
    return before


_Group = tuple[str, str, Any, int]


def _groups(events: Sequence[Mapping[str, Any]]) -> list[_Group]:
    """Return for each event its kind, the sort of thing it is, what it belongs to, and its response's number."""
    response = 0
    open_parts: set[Any] = set()
    owners: dict[Any, Any] = {}  # of parts, by their index
    groups: list[_Group] = []
    silent = _calls_without_arguments(events)
    for event in events:
        kind = str(event.get("event_kind"))
        index = event.get("index")
        if kind == "part_start":
            if index in open_parts:
                response, open_parts = response + 1, set()
            open_parts.add(index)
            owners[index] = _owner(index, event.get("part"))
        elif kind not in _PARTS and not _free(event):
            response, open_parts = (response, open_parts) if kind in _TOOLS else (response + 1, set())
        part = event.get("part")
        call = part.get("tool_call_id") if isinstance(part, Mapping) else event.get("tool_call_id")
        if kind in _PARTS:
            groups.append((kind, "part", owners.get(index, index), response))
        elif kind in _TOOLS:
            late = kind in _CALLS and call in silent
            groups.append((_LATE_CALL if late else kind, "tool", call, response))
        else:
            groups.append((kind, "free" if _free(event) else "fixed", None, response))
    return groups


def _owner(index: Any, part: Any) -> Any:
    """Return what the events of a part belong to: those of a provider's call and of its output to the call."""
    if isinstance(part, Mapping) and part.get("part_kind") in ("builtin-tool-call", "builtin-tool-return"):
        return ("call", part.get("tool_call_id"))
    return index


def _calls_without_arguments(events: Sequence[Mapping[str, Any]]) -> set[Any]:
    """Return the ids of calls whose response does not have their arguments."""
    begun: dict[Any, Any] = {}
    spelled = set()
    for event in events:
        part, delta = event.get("part") or {}, event.get("delta") or {}
        if event.get("event_kind") == "part_start" and part.get("part_kind") == "tool-call":
            begun[event.get("index")] = part.get("tool_call_id")
        if event.get("event_kind") in _PARTS and (part.get("args") is not None or delta.get("args_delta")):
            spelled.add(begun.get(event.get("index")))
    return {*begun.values()} - spelled


def _free(event: Mapping[str, Any]) -> bool:
    """Whether an event of the application may happen at any time."""
    kind = event.get("event_kind")
    name = event.get("event_type") if kind == "system_event" else custom_name(event)
    return kind in ("system_event", "custom") and bool(name) and not _is_bound(str(name))


def _is_bound(name: str) -> bool:
    """Whether an event belongs to its place: a source to its text, a handoff to the turn that it ends."""
    return name.startswith("source.") or neutral_event_name(name) == HANDOFF_EVENT


def _swap(one: _Group, other: _Group) -> bool:
    """Whether two events of these groups may stand in either order."""
    (kind, sort, owner, response), (kind2, sort2, owner2, response2) = one, other
    if "free" in (sort, sort2):
        return sort != sort2 and (kind2 if sort == "free" else kind) in _PASSABLE
    if sort == sort2 == "part":
        return response == response2 and owner != owner2 and not (kind == kind2 == "part_start")
    if sort == sort2 == "tool":
        calls = (*_CALLS, _LATE_CALL)
        return owner != owner2 and not (kind in calls and kind2 in calls) and _LATE_CALL not in (kind, kind2)
    return False


# ------------------------------------------------------------------------------------------------ which orders

_Paths = dict[int, tuple[int, int] | None]


def _enabled(before: Sequence[int], mask: int) -> Iterator[int]:
    """Yield the events that may come next; none that lies far behind the first that has not happened is looked at."""
    for event, needs in enumerate(before):
        if not mask >> event & 1 and needs & mask == needs:
            yield event


def _all_steps(before: Sequence[int]) -> tuple[_Paths, list[tuple[int, int]], int] | None:
    """Return how each state is first reached, every step out of a state, and how many orders there are."""
    paths: _Paths = {0: None}
    steps: list[tuple[int, int]] = []
    layer = {0: 1}
    for _ in before:
        following: dict[int, int] = {}
        for mask, ways in layer.items():
            for event in _enabled(before, mask):
                reached = mask | 1 << event
                if reached not in paths:
                    paths[reached] = (mask, event)
                steps.append((mask, event))
                following[reached] = following.get(reached, 0) + ways
        if len(paths) > _MOST_STATES:
            return None
        layer = following
    return paths, steps, sum(layer.values())


def _order(before: Sequence[int], paths: _Paths, mask: int, event: int) -> tuple[int, ...]:
    """Return an order that takes this step: as the state was first reached, then the rest as it was."""
    begun: list[int] = [event]
    came = paths[mask]
    while came is not None:
        begun.append(came[1])
        came = paths[came[0]]
    begun.reverse()
    happened = mask | 1 << event
    # What remains in its own order is legal: whatever has to come before an event also came before it there.
    return (*begun, *(later for later in range(len(before)) if not happened >> later & 1))


def _samples(before: Sequence[int], bound: int, seed: int) -> Iterator[tuple[int, ...]]:
    chance = random.Random(seed)  # noqa: S311  # a fixed choice, no secret
    for _ in range(bound):
        mask, order = 0, []
        for _ in before:
            event = chance.choice(list(_enabled(before, mask)))
            order.append(event)
            mask |= 1 << event
        yield tuple(order)
