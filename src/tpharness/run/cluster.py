"""Run work on a Dask cluster, on this machine or on many.

In: a function, its arguments, and the cluster: `local`, `local:N`, or the address of a scheduler. Out: the results, in
order. If a worker is lost, another one plays what it had not finished. This needs the extra `cluster`; the workers need
the same version of tpharness, and the same files if you play your own scenarios.
"""

from __future__ import annotations

import logging
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

from tpharness.errors import TargetError, UsageError
from tpharness.extras import install_command

__all__ = ["PATIENCE", "ItemEndsWorkersError", "check_address", "run_on_cluster"]

_ADDRESS = re.compile(r"local(:[1-9][0-9]{0,3})?|(tcp|tls|ws|wss)://\S+")
_MAX_LOST_WORKERS = 4  # an item is given up after it has ended so many workers: the first, and Dask's three retries
_DASK_CONFIG = {
    "distributed.worker.profile.enabled": False,  # it samples the stack a hundred times a second
    "distributed.admin.system-monitor.interval": "5s",
}
_CONNECT_TIMEOUT = "10s"
PATIENCE = 30.0
"""Seconds for the answer to a question, which a scheduler is asked whenever it has said nothing for as long."""

A = TypeVar("A")
B = TypeVar("B")


class ItemEndsWorkersError(TargetError):
    """One item has ended every worker that played it. Workers that are started again can play the items after it."""


def check_address(text: str) -> str:
    """Return the address of a cluster. UsageError if it is not one."""
    if not _ADDRESS.fullmatch(text):
        raise UsageError(
            f"{text!r} is not the address of a cluster", hint="write local, local:4, or tcp://HOST:PORT of a scheduler"
        )
    return text


def run_on_cluster(
    address: str, work: Callable[[A], B], items: Iterable[A], *, patience: float = PATIENCE
) -> Iterator[B]:
    """Yield the result of each item, in order. Items are read lazily.

    An item may take as long as it likes; a scheduler that does not answer within `patience`, in seconds, is lost.
    TargetError if Dask is not installed, or if the cluster cannot be reached or is lost; ItemEndsWorkersError for an
    item that ends its workers. What the work raises is raised as it is.
    """
    try:
        import dask  # noqa: PLC0415  # an optional extra, which takes a second to load
        import distributed  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise TargetError(
            f"{error.name} is not installed: a cluster needs Dask", hint=install_command("cluster")
        ) from error
    logging.getLogger("distributed").setLevel(logging.ERROR)
    waiting: deque[tuple[A, Any]] = deque()
    more = iter(items)
    with dask.config.set(_DASK_CONFIG), _connected(distributed, address, patience) as client:
        reachable = True
        try:
            while True:
                try:
                    for item in islice(more, max(0, _queue_length(client, patience) - len(waiting))):
                        waiting.append((item, client.submit(work, item, pure=False)))
                    if not waiting:
                        return
                    _wait_for(distributed, client, waiting[0][1], patience)
                    result: B = waiting[0][1].result()
                except _SilentError as error:
                    reachable = False
                    raise TargetError(
                        f"the scheduler at {address} does not answer: it has been silent for {patience:g} s",
                        hint="see what it does, then play the rest, or use --jobs N on this machine",
                    ) from error
                except distributed.KilledWorker as error:
                    raise ItemEndsWorkersError(
                        f"{_MAX_LOST_WORKERS} workers ended while they played {waiting[0][0]}: {error}",
                        hint="play it with --jobs 1: the process says what ends it, or ends with it",
                    ) from error
                except Exception as error:
                    reachable = not isinstance(error, _LostError)
                    if client.status == "running" and reachable:
                        raise
                    raise TargetError(
                        f"the scheduler at {address} was lost: {error}",
                        hint="start it again and play the rest, or use --jobs N on this machine",
                    ) from error
                waiting.popleft()[1].release()
                yield result
        finally:
            if reachable:
                client.cancel([future for _, future in waiting])


class _SilentError(Exception):
    """The scheduler does not answer."""


class _LostError(Exception):
    """The scheduler cannot be asked any more, which the client may not know yet."""


def _ask(client: Any, question: Callable[[], Any], patience: float) -> Any:
    """Return what the scheduler answers. _SilentError if it does not, _LostError if it is not there."""
    try:
        return client.sync(question, callback_timeout=patience)
    except TimeoutError as error:
        raise _SilentError from error
    except OSError as error:
        raise _LostError(str(error)) from error


def _wait_for(distributed: Any, client: Any, future: Any, patience: float) -> None:
    """Wait for an item, as long as its scheduler answers."""
    while True:
        try:
            with client.as_current():
                distributed.wait([future], timeout=patience)
        except TimeoutError:
            _ask(client, client.scheduler.identity, patience)
        else:
            return


def _queue_length(client: Any, patience: float) -> int:
    """Return how many items are submitted ahead, so that no worker waits for the next one."""
    return 4 * max(2, sum(map(int, _ask(client, client.scheduler.ncores, patience).values())))


@contextmanager
def _connected(distributed: Any, address: str, patience: float) -> Iterator[Any]:
    client = _connect(distributed, address)
    try:
        yield client
    finally:
        with suppress(TimeoutError):  # a scheduler that hangs is not told
            client.close(timeout=patience)


def _connect(distributed: Any, address: str) -> Any:
    if address.startswith("local"):
        count = int(address.partition(":")[2] or os.cpu_count() or 1)
        cluster = distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.ERROR
        )
        return distributed.Client(cluster, set_as_default=False)
    try:
        return distributed.Client(address, timeout=_CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise TargetError(
            f"no scheduler answers at {address}: {error}", hint="start one with `dask scheduler`"
        ) from error
