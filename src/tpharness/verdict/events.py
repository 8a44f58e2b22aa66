"""The events of a run in progress. The reports, the pytest plugin and the console all consume them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpharness.findings import Finding, Place
from tpharness.verdict.result import Outcome, RecordedCase, Result

__all__ = ["ResultReady", "RunEvent", "RunFinished", "RunStarted", "ScenarioFinished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The run begins: how many scenarios it plays, on which server and client, in which versions.

    `history` is the history dialect that the scenarios are played through, empty for ThreadProtocol.
    """

    scenarios: int
    server: str
    client: str
    versions: tuple[str, ...]
    history: str = ""
    wire: str = ""
    """The name of what runs between server and client; empty for the one that is meant where none is named."""
    order: str = ""
    """The order that was asked for, such as `random:17`; empty where scenarios are played by id."""
    roots: tuple[Path, ...] | None = None
    """The folders that the scenarios were found in, empty for the built-in ones; None for a run of something else."""
    follow_links: bool = False
    """Whether links in these folders were followed."""
    target_words: tuple[str, ...] = ()
    """The options of a command that plays on the same targets in the same way, without tokens."""
    shard: Mapping[str, Any] | None = None
    """Which part of a run this is, as the report of a shard says it; None for a whole run."""
    application: str = ""
    """The name of the chat application that is judged; empty where scenarios are played."""
    unseen: str = ""
    """What a run with these settings cannot see, and how it could; empty where nothing is left out."""
    described: Place | None = None
    """Where the application is described; None for one that has no file."""

    @property
    def over(self) -> str:
        """The wire as words of a sentence."""
        return f" over {self.wire}" if self.wire else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReady:
    """One verdict: a scenario, or one failing place of its sweep, or `…@event-*` for all its places that passed.

    `record` is there for a trace; no result keeps it, since a run has many.
    """

    result: Result
    record: RecordedCase | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFinished:
    """All results of one scenario have been yielded; for progress displays."""

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
    ended: str = ""
    """Why the run ended before everything was played; empty if it was. Such a run has never passed."""
    exercised: dict[str, tuple[str, ...]] = field(default_factory=dict)
    clause_count: int = 0


RunEvent = RunStarted | ResultReady | ScenarioFinished | RunFinished
