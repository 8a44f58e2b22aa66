"""The one engine: everything that plays scenarios (command line, pytest plugin, suite) comes through here.

`run_suite` yields run events; what is done with them is the reports' business. Scenarios are independent, so with
`jobs` they are dealt out to worker processes, and given to a remote target several at a time; events come in the order
of ids whatever finishes first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tpharness.clauses import load_clauses
from tpharness.findings import Finding
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.applicable import label, written
from tpharness.run.baseline import Baseline, load_baseline
from tpharness.run.dealing import open_session, play_selected
from tpharness.run.events import ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished
from tpharness.run.judge import Outcome, Result
from tpharness.run.options import RunOptions
from tpharness.run.select import Selected, find
from tpharness.run.shard import Shard
from tpharness.run.trace import as_if_played, exercised, unexercised

__all__ = ["judged_events", "run_finished", "run_suite"]


def run_suite(options: RunOptions) -> Iterator[RunEvent]:
    """Play the selected scenarios and yield what happens.

    UsageError and InputError come before the first event, and so does TargetError for a target that cannot be played
    at all: one that is not there, or whose capabilities cannot be had.
    """
    begun = time.perf_counter()
    everything = find(options.ids, options.roots or (scenarios_dir(),))
    selected = everything if options.shard is None else options.shard.of_selected(everything)
    baseline = _baseline(options)
    with open_session(options) as session:
        yield RunStarted(
            scenarios=len(selected),
            server=label(session.players.server),
            client=label(session.players.client),
            versions=tuple(str(v.value) for v in written(options.versions or tuple(Version), session.players)),
            shard=None if options.shard is None else _part(options, options.shard, everything),
        )
        played: list[Result] = []
        yield from judged_events(selected, play_selected(selected, options, session), baseline, played)
    clauses = load_clauses()
    found = exercised(played)
    problems: list[Finding] = []
    if options.shard is None and (options.whole_suite or options.baseline is not None):
        problems += baseline.unmatched(result.id for result in played)
    if options.shard is None and options.whole_suite:
        problems += unexercised(clauses, exercised(map(as_if_played, played)))
    finished = run_finished(played, problems, time.perf_counter() - begun)
    yield replace(finished, exercised=found, clauses_owed=len(clauses))


def _part(options: RunOptions, shard: Shard, everything: Sequence[Selected]) -> dict[str, Any]:
    """Return what a report says of a shard; what only the whole can tell is owed by whoever puts it together."""
    baseline = None if options.baseline is None else options.baseline.read_bytes()
    settings = (options.versions, options.compare, options.faults, options.server, options.client, baseline)
    return {
        **shard.as_json(everything, *settings),
        "whole_suite": options.whole_suite and options.baseline is None,
        "spec": [options.server, options.client],
    }


def judged_events(
    selected: Sequence[Selected], results: Iterable[list[Result]], baseline: Baseline, played: list[Result]
) -> Iterator[RunEvent]:
    """Yield the verdicts as the baseline sees them, and add them to `played`."""
    for one, some in zip(selected, results, strict=True):
        for result in some:
            judged = baseline.judged(result)
            played.append(judged)
            yield ResultReady(result=judged)
        yield ScenarioFinished(id=one.id)


def run_finished(played: Sequence[Result], problems: Sequence[Finding], seconds: float) -> RunFinished:
    """Return the end of a run: what was played counted by outcome, and whether it passed."""
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


def _baseline(options: RunOptions) -> Baseline:
    if options.baseline is not None:
        return load_baseline(options.baseline)
    if options.roots:
        return Baseline(entries={})
    return load_baseline(server=options.server, client=options.client)
