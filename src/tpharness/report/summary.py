"""The fold of run events that every report reads: what was played, on whom, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tpharness.run import Result, ResultReady, RunEvent, RunFinished, RunStarted, ScenarioFinished

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
