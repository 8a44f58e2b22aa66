"""The engine that the command line, the pytest plugin and the suite all use to play scenarios.

`run_suite` yields run events, which the reports consume. Scenarios are independent: with `jobs` worker processes play
them, and a remote target plays several concurrently. Events come in the order of the ids, or in that of
`RunOptions.order`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

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
from tpharness.run.shard import Shard
from tpharness.run.workers import started
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.verdict.result import Outcome, Result
from tpharness.verdict.traceability import count_as_played, find_unexercised_clauses, map_exercised_clauses

__all__ = ["apply_baseline", "choose_baseline", "end_after", "finish_run", "run_suite"]


def run_suite(options: RunOptions) -> Generator[RunEvent, None, None]:
    """Play the selected scenarios and yield the events of the run.

    Before the first event it may raise UsageError, InputError, or TargetError if a target cannot be reached or does not
    answer with its capabilities.
    """
    begun = time.perf_counter()
    everything = list(strike(choose_scenarios(options), options))
    selected = everything if options.shard is None else options.shard.select_from(everything)
    baseline = choose_baseline(options)
    with ExitStack() as open_:
        session = open_session(options)
        check_places(selected, options.ids, session.players)
        open_.enter_context(session)
        workers = choose_workers(selected, options, session)
        deal = open_.enter_context(started(workers)) if workers else None  # before whoever shows the run has a thread
        yield RunStarted(
            scenarios=len(selected),
            server=describe_target(session.players.server),
            client=describe_target(session.players.client),
            versions=tuple(
                str(v.value) for v in find_common_versions(options.versions or tuple(Version), session.players)
            ),
            roots=options.roots,
            target_words=options.target_words,
            order="" if options.order is None else str(options.order),
            shard=None if options.shard is None else _describe_shard(options, options.shard, everything),
        )
        played: list[Result] = []
        results = play_selected(selected, options, session, deal)
        playing = apply_baseline(selected, results, baseline, played)
        ended = yield from end_after(options.maxfail, playing, len(selected))
    clauses = load_clauses()
    found = map_exercised_clauses(played)
    problems: list[Finding] = []
    if options.shard is None and (options.whole_suite or options.baseline is not None):
        problems += baseline.find_outdated(played, complete=not (ended or options.restricted or options.faults))
    if options.shard is None and options.whole_suite and not ended:
        problems += find_unexercised_clauses(clauses, map_exercised_clauses(map(count_as_played, played)))
    finished = finish_run(played, problems, time.perf_counter() - begun)
    spared = options.shard is not None and options.shard.is_spared(everything)
    passed = (finished.passed or spared) and not ended
    yield replace(finished, passed=passed, ended=ended, exercised=found, clause_count=len(clauses))


def end_after(maxfail: int, events: Generator[RunEvent, None, None], scenarios: int) -> Generator[RunEvent, None, str]:
    """Yield the events up to the end of the scenario with the last failure that is allowed, 0 for any number.

    Return why the run ended early, "" if it did not. However it ends, the events are closed: what still plays ends
    while its targets are open.
    """
    failed = done = 0
    with closing(events):
        for event in events:
            yield event
            if isinstance(event, ResultReady) and not event.result.outcome.green:
                failed += event.result.cases
            done += isinstance(event, ScenarioFinished)
            if isinstance(event, ScenarioFinished) and 0 < maxfail <= failed and done < scenarios:
                count = "one failure" if failed == 1 else f"{failed} failures"
                return f"ended after {count}; {scenarios - done} of {scenarios} scenarios were not played"
    return ""


def _describe_shard(options: RunOptions, shard: Shard, everything: Sequence[SelectedScenario]) -> dict[str, Any]:
    """Return what a report says of a shard. `merge_reports` adds what only the whole run shows."""
    baseline = None if options.baseline is None else options.baseline.read_bytes()
    spec = [without_credentials(options.server), without_credentials(options.client)]
    settings = {
        "dialect": [version.value for version in options.versions or ()],
        "compare": None if options.compare is None else options.compare.value,
        "fault": options.faults,
        "server": spec[0],
        "client": spec[1],
        "baseline": baseline,
    }
    return {
        **shard.as_json(everything, settings),
        "whole_suite": options.whole_suite and options.baseline is None,
        "spec": spec,
    }


def apply_baseline(
    selected: Sequence[SelectedScenario], results: Iterable[list[Result]], baseline: Baseline, played: list[Result]
) -> Generator[RunEvent, None, None]:
    """Apply the baseline to the results, yield them as events, and add them to `played`."""
    try:
        for one, some in zip(selected, results, strict=True):
            for result in some:
                judged = replace(baseline.apply(result), record=None)
                played.append(judged)
                yield ResultReady(result=judged, record=result.record)
            yield ScenarioFinished(id=one.id)
    finally:
        if isinstance(results, Generator):  # cases that still play end while their targets are open
            results.close()


def finish_run(played: Sequence[Result], problems: Sequence[Finding], seconds: float) -> RunFinished:
    """Return the last event of a run: the number of cases by outcome, and whether the run passed."""
    counts: Counter[Outcome] = Counter()
    for result in played:
        counts[result.outcome] += result.cases
    judged_any = bool(counts[Outcome.PASSED] + counts[Outcome.EXPECTED])
    counts = +counts
    return RunFinished(
        passed=judged_any and not problems and all(outcome.green for outcome in counts),
        counts=dict(counts),
        seconds=seconds,
        problems=tuple(problems),
    )


def choose_baseline(options: RunOptions) -> Baseline:
    """Return the named baseline, else the built-in ones for built-in scenarios, and none for others."""
    if options.baseline is not None:
        return load_baseline(options.baseline)
    if options.roots:
        return Baseline(entries={})
    judges_less = bool(options.versions) or options.compare is not None
    return load_baseline(server=options.server, client=options.client, judges_less=judges_less)
