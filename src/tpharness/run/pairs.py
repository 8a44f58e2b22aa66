"""Expand one request into runs: every server with every client, and every history by itself. Pure.

In: names of servers, clients, dialects and faults as users write them. Out: the options of each run, by the pair that
plays it. UsageError says which names cannot be combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tpharness.clauses import load_app_clauses, load_clauses
from tpharness.errors import UsageError, did_you_mean
from tpharness.faults import FAULTS
from tpharness.printable import without_credentials
from tpharness.protocol.compare import refuse_unknown_mode
from tpharness.protocol.versions import Version, parse_version
from tpharness.rooms import histories_room
from tpharness.run.engine import run_suite
from tpharness.run.options import RunOptions
from tpharness.scenario.records import Compare
from tpharness.verdict.events import RunEvent

__all__ = ["Pair", "parse_clauses", "parse_compare", "parse_dialects", "parse_faults", "plan_runs", "play_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The server and the client of a run, as named with `--server` and `--client`; prints without their tokens."""

    server: str
    client: str

    def __str__(self) -> str:
        return without_credentials(f"server {self.server}, client {self.client}")


def parse_compare(name: str | None) -> Compare | None:
    """Return the named comparison of threads (R39), None for that of each scenario. UsageError for another name."""
    if name is None:
        return None
    refuse_unknown_mode(name, "--compare")
    return Compare(name)


def parse_dialects(names: Sequence[str]) -> tuple[tuple[Version, ...], tuple[str, ...]]:
    """Return the named versions and histories. A history named without a variant stands for all of its variants."""
    room = histories_room() if names else None  # it takes a tenth of the start of a run, which has none as a rule
    versions: dict[Version, None] = {}
    histories: dict[str, None] = {}
    for name in names:
        named = [] if room is None else room.find_names(name)
        histories.update(dict.fromkeys(named))
        if not named:
            versions[parse_version(name, others=[] if room is None else room.all_names())] = None
    return tuple(versions), tuple(histories)


def parse_clauses(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named clauses, each once. UsageError for one that no scenario can cite."""
    known = load_clauses()
    for name in names:
        if name in load_app_clauses():
            raise UsageError(f"{name} is a clause about applications", hint="no scenario cites it: see `tpharness app`")
        if name not in known:
            hint = did_you_mean(name, known, "`tpharness list clauses` names them")
            raise UsageError(f"no clause is called {name!r}", hint=hint)
    return tuple(dict.fromkeys(names))


def parse_faults(names: Sequence[str]) -> tuple[str, ...]:
    """Return the named faults in the order of the catalogue, without repetitions; `all` names every one."""
    wanted = {name for given in names for name in given.split(",")}
    unknown = sorted(wanted - set(FAULTS) - {"all"})
    if unknown:
        hint = did_you_mean(unknown[0], FAULTS, "`tpharness list faults` names them")
        raise UsageError(f"no fault is called {unknown[0]!r}", hint=hint)
    return tuple(name for name in FAULTS if name in wanted or "all" in wanted)


def plan_runs(
    options: RunOptions, *, servers: Sequence[str], clients: Sequence[str], dialects: Sequence[str]
) -> Mapping[Pair, RunOptions]:
    """Return the runs by pair. The reference plays a side for which no target is named.

    `options` are shared by all runs. UsageError for a shard of several runs, and for a history with a target or fault.
    """
    versions, histories = parse_dialects(dialects)
    if histories and (servers or clients or options.faults or options.compare):
        raise UsageError(
            "histories are kept by the reference in this process, by themselves and without faults",
            hint="leave --server, --client, --fault and --compare away, or name a version: --dialect 0.0.4",
        )
    if options.order is not None and (histories or options.jobs > 1 or options.cluster or options.shard is not None):
        raise UsageError(
            "an order is that of one process, which plays one case after the other",
            hint="leave --jobs, --cluster, --shard and histories away",
        )
    if options.shard is not None and (histories or len(servers) > 1 or len(clients) > 1):
        raise UsageError("a shard is a part of one run on one pair", hint="run the pairs, or histories, one by one")
    shared = replace(options, versions=versions or None)
    runs: dict[Pair, RunOptions] = {}
    if versions or not histories:
        for server, client in product(servers or ["reference"], clients or ["reference"]):
            runs[Pair(server=server, client=client)] = replace(shared, server=server, client=client)
    for name in histories:
        runs[Pair(server="reference", client=f"history {name}")] = replace(shared, history=name)
    return runs


def play_run(options: RunOptions) -> Iterator[RunEvent]:
    """Play one run, on targets or through the history that the options name, and yield its events."""
    room = histories_room() if options.history else None
    return run_suite(options) if room is None else room.run_history(options)
