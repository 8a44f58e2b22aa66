"""The tools of the ledger in one case: held where the case is cut, released after it, and what was seen of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.apps.effects.ledger import EffectLedger, LedgerRun, LedgerRunState, ToolAnswer
from tpharness.apps.looking import until

__all__ = ["CaseTools", "ToolRunSeen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRunSeen:
    """A run of a tool as the ledger has it; the fields are those of `LedgerRun`."""

    number: int
    tool: str
    arguments: Any
    call_id: str
    effect_at: float | None
    state: LedgerRunState
    answer: Mapping[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    ended_at: float | None = None

    @classmethod
    def of(cls, run: LedgerRun) -> ToolRunSeen:
        """Take what a run holds now."""
        return cls(
            number=run.number,
            tool=run.tool,
            arguments=run.arguments,
            call_id=run.call_id,
            effect_at=run.effect_at,
            answer=run.answer,
            state=run.state,
            started_at=run.started_at,
            ended_at=run.ended_at,
        )

    def __str__(self) -> str:
        happened = "had its effect" if self.effect_at is not None else "had no effect"
        return f"run {self.number} {happened} and is {self.state}"


class CaseTools:
    """The runs of one case, whose calls have ids that begin with `word`, from now on until `close`."""

    def __init__(self, ledger: EffectLedger, word: str) -> None:
        self._ledger, self._case = ledger, word
        self._first = len(ledger.runs)
        ledger.begin(word)

    @property
    def runs(self) -> list[LedgerRun]:
        """The runs of the case."""
        return [run for run in self._ledger.runs[self._first :] if run.case == self._case]

    def hold(self, *, before_effect: bool) -> None:
        """Let runs that start from now on wait: before their effect, or after it."""
        self._ledger.hold(before_effect=before_effect, case=self._case)

    def answer_next(self, answers: tuple[ToolAnswer, ...]) -> None:
        """Let the next runs answer this in place of what their tools return, and no run after the turn."""
        self._ledger.answer_next(*answers, case=self._case)

    def release(self) -> None:
        """Let every run go on, and those that start from now on."""
        self._ledger.stop_holding(case=self._case)
        for run in self.runs:
            run.release()

    async def reach(self, count: int, limit: float) -> None:
        """Wait until so many runs wait, at most so many seconds: where one starts after the other there is one."""
        await until(lambda: len(self.held) >= count, limit)

    async def end_last_first(self, limit: float, *, pause: float) -> None:
        """Let the runs that wait end, the last one first, and wait for each at most so many seconds."""
        for run in reversed(self.held):
            await self.end(run, limit)
            await asyncio.sleep(pause)

    async def end(self, run: LedgerRun, limit: float) -> None:
        """Let one run go on alone, and wait until it has ended, at most so many seconds."""
        run.release()
        await until(lambda: run.ended_at is not None, limit)

    def close(self) -> None:
        """The case is over: let every run go on, and leave those that still come to no other case."""
        self.release()
        self._ledger.end(self._case)

    @property
    def held(self) -> list[LedgerRun]:
        """The runs that wait, in the order in which they started."""
        return [run for run in self.runs if run.state is LedgerRunState.HELD]

    def are_held(self) -> bool:
        """Whether a run waits."""
        return bool(self.held)

    def are_over(self) -> bool:
        """Whether every run has ended."""
        return all(run.ended_at is not None for run in self.runs)

    def seen(self) -> tuple[ToolRunSeen, ...]:
        """Return the runs as they are now."""
        return tuple(map(ToolRunSeen.of, self.runs))
