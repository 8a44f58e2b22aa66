"""A run of cases, whatever plays them: what becomes of each result, and whether the run passed. Without I/O.

In: the results of each source of cases (a scenario, a case of an application), in order. Out: run events. Scenarios on
targets, histories and applications differ in where their cases come from and in what plays them, and in nothing that is
decided here: which failures the baseline explains, what a case counts that asks nothing of the target (`no-part`: it is
green, and a run of nothing else has not passed), after how many failures a run ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import monotonic

from tpharness.findings import Finding
from tpharness.verdict.baseline import Baseline
from tpharness.verdict.events import ResultReady, RunEvent, RunFinished, ScenarioFinished
from tpharness.verdict.result import Outcome, Result

__all__ = ["CaseRun", "finish_run", "run_cases"]


class CaseRun:
    """The verdict on a run while it is played: `take` the results of each source, then `finish`."""

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.played: list[Result] = []
        """Every result, with the outcome that the baseline gives it, and without its record."""
        self._begun = monotonic()

    def take(self, source: str, results: Iterable[Result]) -> Iterator[RunEvent]:
        """Yield the events of what one source of cases has given, each result judged by the baseline."""
        for result in results:
            judged = replace(self.baseline.apply(result), record=None)
            self.played.append(judged)
            yield ResultReady(result=judged, record=result.record)
        yield ScenarioFinished(id=source)

    def finish(
        self,
        problems: Sequence[Finding] = (),
        *,
        ended: str = "",
        spared: bool = False,
        exercised: Mapping[str, tuple[str, ...]] | None = None,
        clause_count: int = 0,
    ) -> RunFinished:
        """Return the last event. `ended` says why not everything was played; a shard may be `spared` from any case."""
        return finish_run(
            self.played,
            problems,
            monotonic() - self._begun,
            ended=ended,
            spared=spared,
            exercised=exercised,
            clause_count=clause_count,
        )


def run_cases(
    run: CaseRun, sources: Sequence[str], results: Iterable[Sequence[Result]], *, maxfail: int = 0
) -> Generator[RunEvent, None, str]:
    """Yield the events of the sources of cases, given by their ids, up to the end of the one with the last failure.

    `maxfail` is the number of failures that are allowed, 0 for any. Return why the run ended early, "" if it did not.
    However it ends, `results` is closed: what still plays ends while its targets are open.
    """
    failed = 0
    try:
        for done, (source, some) in enumerate(zip(sources, results, strict=True), 1):
            for event in run.take(source, some):
                yield event
                if isinstance(event, ResultReady) and not event.result.outcome.green:
                    failed += event.result.cases
            if 0 < maxfail <= failed and done < len(sources):
                count = "one failure" if failed == 1 else f"{failed} failures"
                return f"ended after {count}; {len(sources) - done} of {len(sources)} scenarios were not played"
    finally:
        if isinstance(results, Generator):
            results.close()
    return ""


def finish_run(
    played: Sequence[Result],
    problems: Sequence[Finding],
    seconds: float,
    *,
    ended: str = "",
    spared: bool = False,
    exercised: Mapping[str, tuple[str, ...]] | None = None,
    clause_count: int = 0,
) -> RunFinished:
    """Return the last event of a run: the number of cases by outcome, and whether the run passed.

    It has if something was judged, everything is green, and nothing is wrong with the run itself. A shard that is
    `spared`, because there are more shards than scenarios, need not have judged anything.
    """
    counts: Counter[Outcome] = Counter()
    for result in played:
        counts[result.outcome] += result.cases
    counts = +counts
    judged_any = bool(counts[Outcome.PASSED] + counts[Outcome.EXPECTED]) or spared
    return RunFinished(
        passed=judged_any and not problems and not ended and all(outcome.green for outcome, n in counts.items() if n),
        counts={outcome: count for outcome, count in counts.items() if count},
        seconds=seconds,
        problems=tuple(problems),
        ended=ended,
        exercised=dict(exercised or {}),
        clause_count=clause_count,
    )
