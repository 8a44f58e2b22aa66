"""Run work on a Dask cluster, on this machine or on many.

In: a function, its arguments, and the cluster: `local`, `local:N`, or the address of a scheduler. Out: the results, in
order. If a worker is lost, another one plays what it had not finished. This needs the extra `cluster`; the workers need
the same version of tpharness, and the same files if you play your own scenarios.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from tpharness.errors import ItemEndsWorkersError, TargetError, UsageError
from tpharness.extras import install_command
from tpharness.run.batches import BatchAnswer, deal_batches

__all__ = ["PATIENCE", "check_address", "run_on_cluster"]

_ADDRESS = re.compile(r"local(:[1-9][0-9]{0,3})?|(tcp|tls|ws|wss)://\S+")
_MAX_LOST_WORKERS = 4  # an item is given up after it has ended so many workers: the first, and Dask's three retries
_DASK_CONFIG = {
    "distributed.worker.profile.enabled": False,  # it samples the stack a hundred times a second
    "distributed.admin.system-monitor.interval": "5s",
}
_CONNECT_TIMEOUT = "10s"
_COUNT_SECONDS = 1.0
PATIENCE = 30.0
"""Seconds for the answer to a question, which a scheduler is asked whenever it has said nothing for as long."""

A = TypeVar("A")
B = TypeVar("B")


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
    with dask.config.set(_DASK_CONFIG), _connected(distributed, address, patience) as client:
        crew: _DaskCrew[A, B] = _DaskCrew(distributed, client, address, work, patience)
        try:
            yield from deal_batches(crew, items)
        finally:
            crew.let_go()


class _DaskCrew(Generic[A, B]):
    """The workers of a cluster, asked through its client."""

    def __init__(self, distributed: Any, client: Any, address: str, work: Callable[[A], B], patience: float) -> None:
        self._distributed = distributed
        self._client = client
        self._address = address
        self._work = work
        self._patience = patience
        self._items: dict[Any, Sequence[A]] = {}
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reachable = True
        self._size = 0
        self._counted_at = -_COUNT_SECONDS

    def size(self) -> int:
        """Return how many threads the workers have, counted now and then. TargetError if the scheduler is lost."""
        now = time.monotonic()
        if now - self._counted_at >= _COUNT_SECONDS:
            with self._explaining():
                self._size = sum(map(int, _ask(self._client, self._client.scheduler.ncores, self._patience).values()))
            self._counted_at = now
        return self._size

    def submit(self, items: Sequence[A]) -> Any:
        """Have a batch played."""
        with self._explaining():
            future = self._client.submit(_play_batch, self._work, items, pure=False)
        self._items[future] = items
        future.add_done_callback(self._done.put)
        return future

    def wait(self) -> tuple[Any, BatchAnswer[B]]:
        """Return a batch that is done. TargetError if the scheduler is lost, or does not answer when it is asked."""
        with self._explaining():
            future = None
            while future is None:
                try:
                    future = self._done.get(timeout=self._patience)
                except queue.Empty:
                    _ask(self._client, self._client.scheduler.identity, self._patience)
            items = self._items.pop(future)
            try:
                results, seconds = self._result(future)
            except self._distributed.KilledWorker as error:
                if len(items) > 1:
                    return future, BatchAnswer(results=())
                killed = ItemEndsWorkersError(
                    f"{_MAX_LOST_WORKERS} workers ended while they played {items[0]}: {error}",
                    hint="play it with --jobs 1: the process says what ends it, or ends with it",
                )
                killed.__cause__ = error
                return future, BatchAnswer(results=(), error=killed)
            except self._distributed.client.FutureCancelledError as error:
                # All tasks are cancelled as soon as the client sees that its connection is closed, which may be now.
                raise _LostError(f"what it was given was cancelled ({error.reason})") from error
            except Exception as error:
                if future.status != "error":  # which is that of an item that raised
                    raise
                return future, BatchAnswer(results=(), error=error)
            return future, BatchAnswer(results=results, seconds=seconds)

    def _result(self, future: Any) -> tuple[Sequence[B], float]:
        """Fetch the result of a batch that is done, as long as the scheduler answers. Raises what the work raised."""
        while True:
            try:
                result: tuple[Sequence[B], float] = future.result(timeout=self._patience)
            except TimeoutError:
                if future.status == "error":
                    raise
                _ask(self._client, self._client.scheduler.identity, self._patience)
            else:
                return result

    def let_go(self) -> None:
        """Cancel what is not done, if there is somebody to tell."""
        if self._reachable:
            self._client.cancel(list(self._items))

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Raise TargetError for what goes wrong with the scheduler."""
        try:
            yield
        except _SilentError as error:
            self._reachable = False
            raise TargetError(
                f"the scheduler at {self._address} does not answer: it has been silent for {self._patience:g} s",
                hint="see what it does, then play the rest, or use --jobs N on this machine",
            ) from error
        except Exception as error:
            self._reachable = False
            raise TargetError(
                f"the scheduler at {self._address} was lost: {error}",
                hint="start it again and play the rest, or use --jobs N on this machine",
            ) from error


def _play_batch(work: Callable[[A], B], items: Sequence[A]) -> tuple[list[B], float]:
    """Play a batch; return its results and the seconds they took.

    It ends before an item that raises, which is then played alone, so that what is raised is known to be of that item.
    """
    begun = time.perf_counter()
    results = []
    for item in items:
        try:
            results.append(work(item))
        except Exception:
            if len(items) == 1:
                raise
            break
    return results, time.perf_counter() - begun


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


@contextmanager
def _connected(distributed: Any, address: str, patience: float) -> Iterator[Any]:
    client = _connect(distributed, address)
    try:
        yield client
    finally:
        with suppress(TimeoutError):  # a scheduler that hangs is not informed
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
