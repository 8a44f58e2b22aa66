"""The fold of run events that every report reads: what was played, on whom, and how it came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tpharness.printable import counted
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished

if TYPE_CHECKING:
    from tpharness.report.comparison import Earlier

__all__ = ["Report"]


@dataclass(slots=True)
class Report:
    """A run so far. `finished` is None until the last event; `error` says why it will not come.

    `scenarios` counts those that were played to their end, `signal` names the signal that ended the run early.
    `trace` is where the run leaves a trace, None if it leaves none. `earlier` is the report that it is compared with.
    """

    started: RunStarted | None = None
    finished: RunFinished | None = None
    results: list[Result] = field(default_factory=list)
    scenarios: int = 0
    error: str = ""
    trace: Path | None = None
    signal: str = ""
    earlier: Earlier | None = None

    def feed(self, event: RunEvent) -> None:
        """Take in one event."""
        match event:
            case RunStarted():
                self.started = event
            case ResultReady():
                self.results.append(event.result)
            case ScenarioFinished():
                self.scenarios += 1
            case RunFinished():
                self.finished = event

    def stop(self, reason: str, signal: str = "") -> None:
        """Take in that the run ends early, and why; after its last event this changes nothing."""
        if self.finished is None and not self.error:
            self.error, self.signal = reason, signal

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How many cases had each outcome, also of a run that has not ended."""
        if self.finished is not None:
            return self.finished.counts
        counts: Counter[Outcome] = Counter()
        for result in self.results:
            counts[result.outcome] += result.cases
        return +counts

    @property
    def words(self) -> str:
        """How much was played, and with which outcomes: what stands behind PASSED or FAILED."""
        counts = ", ".join(outcome.counted(count) for outcome, count in self.counts.items()) or "nothing played"
        cases = counted(sum(self.counts.values()), "case")
        over = self.started.over if self.started is not None else ""
        text = f"{counted(self.scenarios, 'scenario')}{over}, {cases} ({counts})"
        if self.finished is None:
            return text
        exercised, known = len(self.finished.exercised), self.finished.clause_count
        clauses = f", {exercised} of {known} rules tested" if known else ""
        return f"{text}{clauses}, {self.finished.seconds:.1f} s"

    @property
    def incomplete(self) -> dict[str, Any] | None:
        """What the documents say of a run that did not come to its end, None for one that did."""
        if self.finished is not None and not self.finished.ended:
            return None
        wanted = {"scenarios": self.started.scenarios} if self.started is not None else {}
        return {"played": self.scenarios, **wanted, **({"signal": self.signal} if self.signal else {})}

    @property
    def passed(self) -> bool:
        """Whether the run is finished and green."""
        return self.finished is not None and self.finished.passed
