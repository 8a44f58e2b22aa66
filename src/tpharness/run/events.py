"""What a run tells while it goes on. Every report, the pytest plugin and the console consume the same events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.findings import Finding
from tpharness.run.judge import Outcome, Result

__all__ = ["ResultReady", "RunEvent", "RunFinished", "RunStarted", "ScenarioFinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run begins: how many scenarios are played, on which server and client, in which versions.

    `history` is the history dialect that they are played through, empty where threads are played.
    """

    scenarios: int
    server: str
    client: str
    versions: tuple[str, ...]
    history: str = ""
    shard: Mapping[str, Any] | None = None
    """Which part of a run this is, as the report of a shard tells it; None for a whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReady:
    """One verdict: a scenario, or one failing place of its sweep, or `…@event-*` for all its places that passed."""

    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFinished:
    """All verdicts of one scenario are in; for progress."""

    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """The verdict on the whole run.

    `counts` adds up cases by outcome. `problems` are findings about the run itself: a stale baseline, a clause that no
    scenario exercised. `exercised` maps each clause id to the ids of the scenarios that exercised it.
    """

    passed: bool
    counts: dict[Outcome, int]
    seconds: float
    problems: tuple[Finding, ...] = ()
    exercised: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clauses_owed: int = 0


RunEvent = RunStarted | ResultReady | ScenarioFinished | RunFinished
