"""A cluster: the scenarios of a run played by Dask workers, on this machine or on many.

In: a function, what it is called with, and where the cluster is: `local`, `local:N`, or the address of a scheduler.
Out: the results, in order. A worker that is lost loses nothing: what it had not finished is played again elsewhere.
Needs the extra `cluster`; workers need the same tpharness, and for scenarios of your own the same files.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from tpharness.errors import TargetError, UsageError

__all__ = ["check_address", "on_cluster"]

_FORM = re.compile(r"local(:[1-9][0-9]{0,3})?|(tcp|tls|ws|wss)://\S+")
_LOST = 4  # how many workers one item may end before it is given up: the first, and the three that Dask allows it
_QUIET = {
    "distributed.worker.profile.enabled": False,  # which looks at the stack a hundred times a second
    "distributed.admin.system-monitor.interval": "5s",
}
_CONNECT = "10s"

A = TypeVar("A")
B = TypeVar("B")


def check_address(text: str) -> str:
    """Return the address of a cluster. UsageError for what is none."""
    if not _FORM.fullmatch(text):
        raise UsageError(f"{text!r} is no cluster", hint="write local, local:4, or tcp://HOST:PORT of a scheduler")
    return text


def on_cluster(address: str, work: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
    """Yield the result of each item, in order; items are taken when they are needed.

    TargetError when there is no such cluster, when Dask is not installed, and for an item that ends its workers.
    """
    try:
        import dask  # noqa: PLC0415  # an optional extra, which takes a second to load
        import distributed  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise TargetError(
            f"{error.name} is not installed: a cluster needs Dask", hint="pip install 'tpharness[cluster]'"
        ) from error
    logging.getLogger("distributed").setLevel(logging.ERROR)
    waiting: deque[tuple[A, Any]] = deque()
    more = iter(items)
    with dask.config.set(_QUIET), _client(distributed, address) as client:
        try:
            while True:
                handed_in = [
                    (item, client.submit(work, item, pure=False))
                    for item in islice(more, max(0, _ahead(client) - len(waiting)))
                ]
                waiting.extend(handed_in)
                if not waiting:
                    return
                item, future = waiting[0]
                try:
                    result: B = future.result()
                except distributed.KilledWorker as error:
                    raise TargetError(
                        f"{_LOST} workers ended while they played {item}: {error}",
                        hint="play it with --jobs 1: the process says what ends it, or ends with it",
                    ) from error
                waiting.popleft()
                future.release()
                yield result
        finally:
            client.cancel([future for _, future in waiting])


def _ahead(client: Any) -> int:
    """Return how many items are handed in at a time, enough for workers to have the next one when one is done."""
    return 4 * max(2, sum(map(int, client.nthreads().values())))


def _client(distributed: Any, address: str) -> Any:
    if address.startswith("local"):
        count = int(address.partition(":")[2] or os.cpu_count() or 1)
        cluster = distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        )
        return distributed.Client(cluster, set_as_default=False)
    try:
        return distributed.Client(address, timeout=_CONNECT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise TargetError(
            f"no scheduler answers at {address}: {error}", hint="start one with `dask scheduler`"
        ) from error
