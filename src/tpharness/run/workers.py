"""Run work in processes of this machine or on a cluster; results come in the order of the items.

In: a function and items, which are read lazily, so that the next item may depend on earlier results. Out: the results.
If a worker is lost, its unfinished items are run again, in the end one at a time, so that the error names the item that
ends its workers. Functions and items have to be picklable, and workers must be able to import the functions, since they
are forks of this process only where that is safe.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import Pipe, get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Protocol, TypeVar

from tpharness import run as runner
from tpharness.errors import ItemEndsWorkersError
from tpharness.waiting import await_result

__all__ = ["THIS_PROCESS", "Deal", "Workers", "map_in_order", "started"]

_MAX_LOST = 3  # how often the pool may break before an item is run alone; a cluster allows as many

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """Where work runs: in `jobs` processes or on the cluster at an address. False if it runs in this process."""

    jobs: int = 1
    cluster: str = ""

    @classmethod
    def from_options(cls, jobs: int, cluster: str | None) -> Workers:
        """Return the workers for the options --jobs and --cluster. UsageError if `cluster` is not an address."""
        return cls(jobs=jobs, cluster="" if cluster is None else runner.check_address(cluster))

    def __bool__(self) -> bool:
        return self.jobs > 1 or bool(self.cluster)


THIS_PROCESS = Workers()


class Deal(Protocol):
    """What gives items to workers and yields their results, in order."""

    def __call__(self, work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Yield the result of each item; errors as for `map_in_order`."""
        ...


def map_in_order(work: Callable[[A], B], items: Iterable[A], workers: Workers) -> Iterator[B]:
    """Yield the result of each item, in order.

    ItemEndsWorkersError for an item that ends its workers, named by its `str`; TargetError as `run_on_cluster`.
    """
    with started(workers) as deal:
        yield from deal(work, items)


@contextmanager
def started(workers: Workers) -> Iterator[Deal]:
    """Give what deals items to the workers, which end with the context.

    Processes are there when the context is entered: it is entered before this process has threads, as for a progress
    bar, since only a process without threads is forked, which takes a twentieth of the time that a new one takes.
    """
    if workers.cluster:
        yield partial(runner.run_on_cluster, workers.cluster)
    elif workers:
        processes = _Processes(workers.jobs)
        try:
            yield processes.deal
        finally:
            processes.end()
    else:
        yield _deal_here


def _deal_here(work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    return map(work, items)


class _Processes:
    """Worker processes of this machine, which take items from several calls of `deal`, one call after another."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._lifeline, self._ours = Pipe(duplex=False)
        self._pool = self._start()

    def deal(self, work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Yield the result of each item, in order. What is not taken is played to no end: the workers are ended."""
        waiting: deque[A] = deque()
        submitted: deque[Future[B]] = deque()  # the results of the first items in `waiting`
        more = iter(items)
        lost = 0
        try:
            while True:
                waiting.extend(islice(more, 2 * self._jobs - len(waiting)))
                if not waiting:
                    return
                alone = lost >= _MAX_LOST
                try:
                    for item in islice(waiting, len(submitted), 1 if alone else None):
                        submitted.append(self._pool.submit(work, item))
                    result = await_result(submitted[0])
                except BrokenProcessPool as error:
                    submitted.clear()
                    self._pool.shutdown(wait=False, cancel_futures=True)
                    self._pool = self._start()
                    if alone:
                        raise ItemEndsWorkersError(
                            f"{lost + 1} worker processes ended while they played {waiting[0]}, the last by itself",
                            hint="play it with --jobs 1: the process says what ends it, or ends with it",
                        ) from error
                    lost += 1
                    continue
                waiting.popleft()
                submitted.popleft()
                lost = 0
                yield result
        finally:
            if submitted:
                self._ours.close()  # which ends workers that still play: their results are not read any more

    def end(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._ours.close()
        self._lifeline.close()

    def _start(self) -> ProcessPoolExecutor:
        pool = _pool(self._jobs, self._lifeline, self._ours)
        pool.submit(os.getpid)  # forks are made with the first item, and all at once
        return pool


def _pool(jobs: int, lifeline: Connection, ours: Connection) -> ProcessPoolExecutor:
    """Return a pool of forks, which have imported everything: of this process, or where it has threads of another one.

    A fork inherits the locks that other threads hold, and nothing releases them. On macOS the system's libraries have
    threads of their own, and Windows has no forks: new processes are started there.
    """
    forked = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if forked else "forkserver" if sys.platform == "linux" else "spawn")
    if not forked:
        context.set_forkserver_preload(["tpharness.run.dispatch"])
    return ProcessPoolExecutor(
        max_workers=jobs,
        mp_context=context,
        initializer=_start_worker,
        initargs=(lifeline, ours if forked else None),
    )


def _start_worker(lifeline: Connection, inherited: Connection | None) -> None:
    """Leave Ctrl-C and a terminal that closes to the parent process; exit when it lets go, or ends in any way.

    A fork has `inherited` the end of the lifeline that the parent lets go, and its handlers of signals.
    """
    if inherited is not None:
        inherited.close()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    threading.Thread(target=_exit_with, args=(parent_process(), lifeline), daemon=True).start()


def _exit_with(parent: BaseProcess | None, lifeline: Connection) -> None:
    if parent is not None:
        wait([parent.sentinel, lifeline])
        os._exit(1)
