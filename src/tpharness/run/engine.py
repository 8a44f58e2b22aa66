"""The engine that the command line, the pytest plugin and the suite all use to play scenarios.

`run_suite` yields run events, which the reports consume. Scenarios are independent: with `jobs` worker processes play
them, and a remote target plays several concurrently. Events come in the order of the ids, or in that of
`RunOptions.order`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tpharness import run as runner
from tpharness.clauses import load_clauses
from tpharness.findings import Finding
from tpharness.printable import without_credentials
from tpharness.protocol.versions import Version
from tpharness.run.applicable import describe_target, find_common_versions
from tpharness.run.baselines import load_baseline
from tpharness.run.dispatch import check_places, choose_workers, open_session, play_selected
from tpharness.run.options import RunOptions
from tpharness.run.select import SelectedScenario
from tpharness.run.selection import choose_scenarios, strike
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.case_run import CaseRun, run_cases
from tpharness.verdict.events import RunEvent, RunStarted
from tpharness.verdict.traceability import count_as_played, find_unexercised_clauses, map_exercised_clauses
from tpharness.wires.registry import DEFAULT_WIRE

if TYPE_CHECKING:
    from tpharness.run.judged_before import JudgedBefore
    from tpharness.run.shard import Shard

__all__ = ["choose_baseline", "play_suite", "run_suite"]


def run_suite(options: RunOptions) -> Generator[RunEvent, None, None]:
    """Play the selected scenarios and yield the events of the run.

    Before the first event it may raise UsageError, InputError, or TargetError if a target cannot be reached or does not
    answer with its capabilities.
    """
    return play_suite(options)


def play_suite(options: RunOptions, judged_before: JudgedBefore | None = None) -> Generator[RunEvent, None, None]:
    """Play as `run_suite` does.

    `judged_before` has the results of earlier runs with these options on the same targets, and takes those of this one.
    """
    everything = list(strike(choose_scenarios(options), options))
    selected = everything if options.shard is None else options.shard.select_from(everything)
    baseline = choose_baseline(options)
    run = CaseRun(baseline)
    with ExitStack() as open_:
        session = open_session(options, judged_before)
        check_places(selected, options.ids, session.players, wire=session.wire)
        open_.enter_context(session)
        workers = choose_workers(selected, options, session)
        # The workers start before whoever shows the run has a thread.
        deal = None if workers is None else open_.enter_context(runner.started(workers))
        yield RunStarted(
            scenarios=len(selected),
            server=describe_target(session.players.server),
            client=describe_target(session.players.client),
            versions=tuple(
                str(v.value) for v in find_common_versions(options.versions or tuple(Version), session.players)
            ),
            wire="" if options.wire == DEFAULT_WIRE else options.wire,
            roots=options.roots,
            follow_links=options.follow_links,
            target_words=options.target_words,
            order="" if options.order is None else str(options.order),
            shard=None if options.shard is None else _describe_shard(options, options.shard, everything),
        )
        results = play_selected(selected, options, session, deal)
        ended = yield from run_cases(run, [one.id for one in selected], results, maxfail=options.maxfail)
    clauses, played = load_clauses(), run.played
    problems: list[Finding] = []
    if options.shard is None and (options.whole_suite or options.baseline is not None):
        problems += baseline.find_outdated(played, complete=not (ended or options.restricted or options.faults))
    if options.shard is None and options.whole_suite and not ended:
        problems += find_unexercised_clauses(clauses, map_exercised_clauses(map(count_as_played, played)))
    yield run.finish(
        problems,
        ended=ended,
        spared=options.shard is not None and options.shard.is_spared(everything),
        exercised=map_exercised_clauses(played),
        clause_count=len(clauses),
    )


def _describe_shard(options: RunOptions, shard: Shard, everything: Sequence[SelectedScenario]) -> dict[str, Any]:
    """Return what a report says of a shard. `merge_reports` adds what only the whole run shows."""
    baseline = None if options.baseline is None else options.baseline.read_bytes()
    spec = [without_credentials(options.server), without_credentials(options.client)]
    settings = {
        "dialect": [version.value for version in options.versions or ()],
        "compare": None if options.compare is None else options.compare.value,
        "fault": options.faults,
        "wire": options.wire,
        "server": spec[0],
        "client": spec[1],
        "baseline": baseline,
    }
    return {
        **shard.as_json(everything, settings),
        "whole_suite": options.whole_suite and options.baseline is None,
        "spec": spec,
    }


def choose_baseline(options: RunOptions) -> Baseline:
    """Return the named baseline, else the built-in ones for built-in scenarios, and none for others."""
    if options.baseline is not None:
        return load_baseline(options.baseline)
    if options.roots:
        return Baseline(entries={})
    judges_less = bool(options.versions) or options.compare is not None
    return load_baseline(server=options.server, client=options.client, judges_less=judges_less)
