"""Which items of a run become one task of a cluster, and when: few large tasks first, small ones at the end.

In: items, and a crew of workers that plays batches of them. Out: the results, in the order of the items. No I/O and no
clock: a crew says how long a batch took, so a test can have it play on a clock of its own.

A task costs its scheduler some milliseconds, one after another, so what takes as long is not worth one. A batch that is
large when little is left has the other workers wait for it. So a batch is a part of what is left for each worker
(guided self-scheduling), at least what takes `_LEAST` seconds, and at most `_MOST`, after which its results are seen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import Any, Generic, Protocol, TypeVar

__all__ = ["BatchAnswer", "Crew", "deal_batches"]

_LEAST, _MOST = 0.03, 0.5  # seconds
_FIRST = 4  # items, before it is known how long one takes
_SHARES = 2  # batches for each worker that what is left would make
_AHEAD = 2  # tasks for each worker that are not done
_BUFFERED = 4  # tasks for each worker that are not taken, because an earlier one is not done

A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
B = TypeVar("B")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAnswer(Generic[B]):
    """What became of a batch: the results of its first items, all of them if nothing went wrong, in so many seconds.

    `error` is why there is not one more, known only of a batch of one item.
    """

    results: Sequence[B]
    seconds: float = 0.0
    error: Exception | None = None


class Crew(Protocol[A_contra, B]):
    """Workers that play batches."""

    def size(self) -> int:
        """Return how many workers there are now."""
        ...

    def submit(self, items: Sequence[A_contra]) -> Any:
        """Have a batch played; return what stands for it."""
        ...

    def wait(self) -> tuple[Any, BatchAnswer[B]]:
        """Return a batch that is done, once each, and its answer; wait until there is one."""
        ...


@dataclass(slots=True, kw_only=True)
class _Batch(Generic[A, B]):
    items: Sequence[A]
    answer: BatchAnswer[B] | None = None


@dataclass(slots=True)
class _Pace:
    """How long an item takes, by the items that were played last."""

    items: int = 0
    seconds: float = 0.0
    left: int | None = None
    """How many items are not submitted, if that is known."""

    def size(self, workers: int) -> int:
        """Return how many items the next batch has."""
        share = self.left if self.left is None else ceil(self.left / (_SHARES * workers))
        if not self.items:
            return 1 if share is None else max(1, min(_FIRST, share))
        each = max(self.seconds / self.items, 1e-6)
        most = int(_MOST / each)
        return max(1, most if share is None else min(most, max(share, ceil(_LEAST / each))))

    def learn(self, items: int, seconds: float) -> None:
        """Take a batch into account; each earlier batch counts half as much from now on."""
        self.items, self.seconds = self.items // 2 + items, self.seconds / 2 + seconds


@dataclass(slots=True)
class _Deal(Generic[A, B]):
    crew: Crew[A, B]
    more: Iterator[A]
    pace: _Pace
    waiting: deque[_Batch[A, B]] = field(default_factory=deque)
    under_way: dict[Any, _Batch[A, B]] = field(default_factory=dict)

    def submit(self, batch: _Batch[A, B]) -> None:
        self.under_way[self.crew.submit(batch.items)] = batch

    def fill(self) -> None:
        """Submit what the workers may begin soon, and not more: items may depend on results."""
        workers = max(2, self.crew.size())
        while len(self.under_way) < _AHEAD * workers and len(self.waiting) < _BUFFERED * workers:
            items = list(islice(self.more, self.pace.size(workers)))
            if not items:
                return
            if self.pace.left is not None:
                self.pace.left -= len(items)
            batch: _Batch[A, B] = _Batch(items=items)
            self.waiting.append(batch)
            self.submit(batch)

    def await_one(self) -> None:
        """Wait until a batch is done."""
        task, answer = self.crew.wait()
        batch = self.under_way.pop(task)
        batch.answer = answer
        if answer.results:
            self.pace.learn(len(answer.results), answer.seconds)

    def play_alone(self, items: Sequence[A]) -> None:
        """Have items played before all others, each in a batch of its own, which says what is wrong with which."""
        for item in reversed(items):
            batch: _Batch[A, B] = _Batch(items=(item,))
            self.waiting.appendleft(batch)
            self.submit(batch)


def deal_batches(crew: Crew[A, B], items: Iterable[A]) -> Iterator[B]:
    """Yield the result of each item, in order, as soon as it and all before it are there. Items are read lazily.

    What an item raises is raised where its result would be. Of a batch that breaks off the rest is played again.
    """
    deal: _Deal[A, B] = _Deal(crew, iter(items), _Pace(left=len(items) if isinstance(items, Sized) else None))
    while True:
        deal.fill()
        if not deal.waiting:
            return
        answer = deal.waiting[0].answer
        if answer is None:
            deal.await_one()
            continue
        batch = deal.waiting.popleft()
        yield from answer.results
        if answer.error is not None:
            raise answer.error
        deal.play_alone(batch.items[len(answer.results) :])
