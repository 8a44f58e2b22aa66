"""Exchange: one request of the application to its model, what it tells the model, and what became of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tpharness.errors import TargetError
from tpharness.findings import Finding
from tpharness.model_apis.messages import HistoryMessage
from tpharness.model_apis.plan import Plan
from tpharness.model_apis.registry import ApiName
from tpharness.printable import counted

__all__ = ["Exchange", "ExchangeOutcome", "WaitError"]


class WaitError(TargetError):
    """Something that was awaited did not happen in time, or cannot happen any more."""


class ExchangeOutcome(StrEnum):
    """What became of an answer."""

    ANSWERING = "answering"  # it is being written
    HELD = "held"  # it waits for `Exchange.release`
    COMPLETED = "completed"  # all of it was written
    DISCONNECTED = "disconnected"  # the application closed the connection before the end
    BROKEN = "broken"  # it failed as planned
    REFUSED = "refused"  # the API would not take this request; the real one's error was answered
    ERRORED = "errored"  # the provider could not answer: its own mistake, or it was closed


_OPEN = (ExchangeOutcome.ANSWERING, ExchangeOutcome.HELD)


@dataclass(slots=True, kw_only=True, eq=False)
class Exchange:
    """One request and its answer.

    `api` names the API as `model_apis` does; `number` counts the requests of the provider from 1; `mark` is that of
    its conversation, None for a request that belongs to none; `aside` says why a request with a mark was taken for one
    beside the conversation (a title, a summary), None otherwise; `unplanned` that its conversation had no plan left;
    `retry_of` is the number of the request that this one repeats. `refusals` are the findings of the API's rules, of
    every level, also where the provider is not strict. `status` is the HTTP status of the answer, 0 before there is
    one. Times are `loop.time()`. `payload` is what the model reads: messages, contents, or the items of Responses with
    references resolved and those of the previous response before them; findings point into it. `missing` are ids of
    items that a Responses request refers to and the store does not have. `written` is the answer as it was written,
    `held_at` after how many of these pieces it was held, None where it was not.
    """

    api: ApiName
    path: str
    headers: Mapping[str, str]
    body: Any
    number: int
    payload: Any = None
    model: str = ""
    stream: bool = True
    history: tuple[HistoryMessage, ...] = ()
    tools: Mapping[str, Any] = field(default_factory=dict)
    mark: str | None = None
    aside: str | None = None
    unplanned: bool = False
    retry_of: int | None = None
    refusals: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    status: int = 0
    error_text: str = ""
    plan: Plan | None = None
    pieces_written: int = 0
    bytes_written: int = 0
    content_type: str = "application/json"
    written: list[bytes] = field(default_factory=list)
    held_at: int | None = None
    outcome: ExchangeOutcome = ExchangeOutcome.ANSWERING
    started_at: float = 0.0
    ended_at: float | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _released: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _hold_at: int | None = None

    # ---------------------------------------------------------------------------------- what the model is sent

    @property
    def system(self) -> str:
        """The system prompt: all texts of role system, joined by empty lines."""
        return "\n\n".join(message.text for message in self.history if message.role == "system" and message.text)

    @property
    def user_texts(self) -> tuple[str, ...]:
        """The texts of the user's messages, in order."""
        return tuple(message.text for message in self.history if message.role == "user")

    @property
    def agent(self) -> str:
        """What the application calls itself: its User-Agent."""
        return next((value for name, value in self.headers.items() if name.lower() == "user-agent"), "")

    def knows(self, words: str) -> bool:
        """Whether the request holds these words in a message of the user."""
        return words in "\n".join(self.user_texts)

    # ---------------------------------------------------------------------------------- for who judges

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be written."""
        return self.outcome not in _OPEN

    async def held(self, timeout: float = 10.0) -> None:  # noqa: ASYNC109  # the limit of every wait is an argument
        """Wait until the answer holds. WaitError if it does not in so many seconds, or ends before."""
        await self._wait_for((ExchangeOutcome.HELD,), timeout, "its answer holds")

    async def ended(self, timeout: float = 10.0) -> ExchangeOutcome:  # noqa: ASYNC109
        """Wait until nothing more will be written, and return the outcome. WaitError after so many seconds."""
        await self._wait_for(tuple(o for o in ExchangeOutcome if o not in _OPEN), timeout, "its answer has ended")
        return self.outcome

    def release(self, hold_at: int | None = None) -> None:
        """Let an answer that holds or stalls go on, to hold again after `hold_at` pieces if that is given.

        An answer that does not hold yet will not hold at its planned place any more.
        """
        self._hold_at = hold_at
        self._released.set()

    # ---------------------------------------------------------------------------------- for who answers

    def begin(self, plan: Plan) -> None:
        """Note the plan that answers."""
        self.plan, self._hold_at = plan, plan.hold_at

    def wants_hold(self) -> bool:
        """Whether the answer waits now, after the pieces that were written."""
        return self._hold_at is not None and self._hold_at <= self.pieces_written

    def wrote_body(self, body: Any) -> None:
        """Note an answer that was written as a whole."""
        self.written.append(bytes(body))
        self.bytes_written = len(self.written[-1])

    async def hold(self) -> None:
        """Wait for `release`."""
        self._released.clear()
        self._hold_at = None
        self.held_at = len(self.written)
        self.change(ExchangeOutcome.HELD)
        await self._released.wait()
        self.change(ExchangeOutcome.ANSWERING)

    def change(self, outcome: ExchangeOutcome, at: float | None = None) -> None:
        """Note what became of the answer; `at` is the time of its end."""
        if self.is_over:
            return
        self.outcome = outcome
        if at is not None:
            self.ended_at = at
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _wait_for(self, outcomes: tuple[ExchangeOutcome, ...], limit: float, what: str) -> None:
        try:
            async with asyncio.timeout(limit):
                while self.outcome not in outcomes:
                    if self.is_over:
                        raise WaitError(
                            f"{self}: waited until {what}, but it is over: {self.outcome}",
                            hint="is the place of the hold before the end of the plan?",
                        )
                    await self._changed.wait()
        except TimeoutError:
            written = counted(self.pieces_written, "piece")
            raise WaitError(
                f"{self}: waited {limit:g} s until {what}; it is {self.outcome} after {written}",
                hint="an answer that holds goes on with release()",
            ) from None

    def __str__(self) -> str:
        mark = f" of {self.mark}" if self.mark else ""
        return f"request {self.number}{mark} ({self.api}, {self.path})"
