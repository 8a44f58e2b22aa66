"""Expand one request into runs: every server with every client, and with every history. Pure.

In: names of servers, clients, dialects and faults as users write them. Out: the options of each run, by the pair that
plays it. UsageError says which names cannot be combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tpharness import targets
from tpharness.errors import UsageError
from tpharness.rooms import histories_room
from tpharness.run.engine import run_suite
from tpharness.run.options import RunOptions
from tpharness.run.requests import parse_dialects
from tpharness.verdict.events import RunEvent
from tpharness.verdict.pair import Pair
from tpharness.wires.registry import DEFAULT_WIRE, WIRES

__all__ = ["plan_runs", "play_run"]


def plan_runs(
    options: RunOptions, *, servers: Sequence[str], clients: Sequence[str], dialects: Sequence[str]
) -> Mapping[Pair, RunOptions]:
    """Return the runs by pair. The reference plays a side for which no target is named.

    `options` are shared by all runs. UsageError for a shard of several runs, and for a history with a client or fault.
    """
    versions, histories = parse_dialects(dialects)
    wires = tuple(WIRES) if options.wire == "all" else (options.wire,)
    if histories and (clients or options.faults or options.compare):
        raise UsageError(
            "histories are kept by a server, without a client and without faults",
            hint="leave --client, --fault and --compare away, or name a version: --dialect 0.0.4",
        )
    if options.order is not None and (histories or options.jobs > 1 or options.cluster or options.shard is not None):
        raise UsageError(
            "an order is that of one process, which plays one case after the other",
            hint="leave --jobs, --cluster, --shard and histories away",
        )
    if options.shard is not None and (histories or len(servers) > 1 or len(clients) > 1 or len(wires) > 1):
        raise UsageError("a shard is a part of one run on one pair", hint="run the pairs, or histories, one by one")
    for wire in wires:
        if servers or clients or wire != DEFAULT_WIRE:
            targets.require_wire(wire, (*servers, *clients), plain=not histories)
    shared = replace(options, versions=versions or None)
    runs: dict[Pair, RunOptions] = {}
    if versions or not histories:
        for server, client in product(servers or ["reference"], clients or ["reference"]):
            for wire in wires:
                pair = Pair(server=server, client=client, wire=wire if len(wires) > 1 else "")
                runs[pair] = replace(shared, server=server, client=client, wire=wire)
    for server, name in product(servers or ["reference"], histories):
        runs[Pair(server=server, client=f"history {name}")] = replace(shared, server=server, history=name)
    return runs


def play_run(options: RunOptions) -> Iterator[RunEvent]:
    """Play one run, on targets or through the history that the options name, and yield its events."""
    room = histories_room() if options.history else None
    return run_suite(options) if room is None else room.run_history(options)
