"""The fold of run events that every report reads: what was played, on whom, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tpharness.run import Outcome, Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished

__all__ = ["Report"]


@dataclass(slots=True)
class Report:
    """A run so far. `finished` is None until the last event; `error` says why it will not come."""

    started: RunStarted | None = None
    finished: RunFinished | None = None
    results: list[Result] = field(default_factory=list)
    scenarios: int = 0
    error: str = ""

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

    @property
    def passed(self) -> bool:
        """Whether the run is finished and green, and has played anything at all."""
        return self.finished is not None and self.finished.passed and any(self.finished.counts.values())

    def count(self, outcome: Outcome) -> int:
        """Return how many cases came out so."""
        return sum(result.cases for result in self.results if result.outcome is outcome)

    def not_green(self) -> list[Result]:
        """Return the results that keep the run from passing."""
        return [result for result in self.results if not result.outcome.green]
