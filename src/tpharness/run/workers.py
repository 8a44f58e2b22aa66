"""Work dealt out to processes of this machine or to a cluster; results come in the order of the items.

In: a function and items, which are taken when they are needed, so that what is asked for next may depend on what came
back. Out: the results. A worker that is lost loses nothing: what it had not finished is done again, by itself in the
end, so that the item that ends its workers is known and not one that was under way beside it. Functions and items have
to be picklable, and the modules of the functions importable in the workers.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import TypeVar

from tpharness.errors import TargetError
from tpharness.run.cluster import check_address, on_cluster

__all__ = ["HERE", "Workers", "in_order"]

_LOST = 3  # how often the processes of this machine may be lost before one item is done; a cluster counts as often

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Who works: `jobs` processes of this machine, or the workers of the cluster at an address. False: this process."""

    jobs: int = 1
    cluster: str = ""

    @classmethod
    def named(cls, jobs: int, cluster: str | None) -> Workers:
        """Return who works, by the options --jobs and --cluster. UsageError for what is no address of a cluster."""
        return cls(jobs=jobs, cluster="" if cluster is None else check_address(cluster))

    def __bool__(self) -> bool:
        return self.jobs > 1 or bool(self.cluster)


HERE = Workers()


def in_order(work: Callable[[A], B], items: Iterable[A], workers: Workers) -> Iterator[B]:
    """Yield the result of each item, in order, whoever works.

    TargetError for an item that ends its workers, by what `str` says of it, and as `on_cluster` says.
    """
    if workers.cluster:
        return on_cluster(workers.cluster, work, items)
    if workers:
        return _in_processes(work, iter(items), workers.jobs)
    return map(work, items)


def _in_processes(work: Callable[[A], B], items: Iterator[A], jobs: int) -> Iterator[B]:
    waiting: deque[A] = deque()
    handed_in: deque[Future[B]] = deque()  # of the first of those that wait
    lost = 0
    pool = _pool(jobs)
    try:
        while True:
            waiting.extend(islice(items, 2 * jobs - len(waiting)))
            if not waiting:
                return
            alone = lost >= _LOST
            try:
                for item in islice(waiting, len(handed_in), 1 if alone else None):
                    handed_in.append(pool.submit(work, item))
                result = handed_in[0].result()
            except BrokenProcessPool as error:
                if alone:
                    raise TargetError(
                        f"{lost + 1} worker processes ended while they played {waiting[0]}, the last by itself",
                        hint="play it with --jobs 1: the process says what ends it, or ends with it",
                    ) from error
                lost += 1
                pool.shutdown(wait=False, cancel_futures=True)
                pool = _pool(jobs)
                handed_in.clear()
                continue
            waiting.popleft()
            handed_in.popleft()
            lost = 0
            yield result
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _pool(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """Leave the key that interrupts to the process that deals out, and end when that is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent_process(),), daemon=True).start()


def _end_with(parent: BaseProcess | None) -> None:
    if parent is not None:
        parent.join()
        os._exit(1)
