"""All threads of a server: kept in memory, loaded from the log when they are requested.

In: requests for a thread. Out: folds that are up to date with their logs. A run that was in progress when its server
died is interrupted with `error` when its thread is loaded: at the time of its latest event in the log, or, if
it was only waiting for its end, at the time that its request gave for that (`hold.at`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

from tpharness.printable import counted
from tpharness.protocol.versions import Version
from tpharness.reference_app.fold import Entry, ThreadFold
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.requests import RunRequest
from tpharness.reference_app.run import Run, RunTools
from tpharness.reference_app.settings import Settings
from tpharness.reference_app.store import DamagedLogError, Store, append

__all__ = ["LiveThread", "Threads"]

_LOG = logging.getLogger("tpharness.reference_app")


class LiveThread:
    """A thread in memory; `gone`: it was deleted or unloaded meanwhile."""

    def __init__(self, fold: ThreadFold) -> None:
        self.fold = fold
        self.run: Run | None = None
        self.gone = False
        self.lock = asyncio.Lock()
        """Held while a request changes the thread, until the log has it."""

    async def until_ended(self) -> None:
        """Wait while the end of a run is stored: until then its stream is open, and the next run would get that end."""
        if self.run is not None and not self.fold.running:
            await self.run.wait()


class Threads:
    """The threads of one server."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._content_base = settings.content_url.rstrip("/")
        self._tools = RunTools(settings=settings, store=store, forget=self._forget, settle=self._settle)
        self._live: OrderedDict[str, LiveThread] = OrderedDict()
        self._loading: dict[str, asyncio.Task[LiveThread | None]] = {}
        self.stopping = False

    async def find(self, thread_id: str) -> LiveThread:
        """Return a thread. Refusal with 404 if it does not exist."""
        thread = await self._find(thread_id)
        if thread is None:
            raise Refusal(404, f"there is no thread {thread_id!r}", hint="a run creates it")
        return thread

    async def begin(self, thread_id: str, request: RunRequest) -> LiveThread:
        """Start a run, creating its thread if need be. Refusal if one is in progress, or a limit is reached."""
        while True:
            thread = await self._find(thread_id)
            self._refuse_run()  # before there is a thread that nothing has happened in
            thread = thread or self._create(thread_id)
            async with thread.lock:
                await thread.until_ended()
                if thread.gone:  # deleted while we waited
                    continue
                self._refuse_run()
                self._check(thread, request)
                run = Run(thread.fold, request, self._tools)
                thread.run = run
                with self._forgetting(thread_id):
                    await run.start(self._before(thread, request))
                return thread

    async def add_user(self, thread_id: str, turn: Mapping[str, Any]) -> None:
        """Add a user turn without a run."""
        async with self._lock(thread_id) as thread:
            await thread.until_ended()
            self._refuse_running(thread)
            entry: Entry = {"kind": "user", "turn": turn}
            with self._forgetting(thread_id):
                thread.fold.apply(entry)
                await append(self._store, thread_id, [entry])

    async def cancel(self, thread_id: str, reason: str) -> bool:
        """Stop the run of a thread; return whether this ended one. Returns when the thread shows it.

        Of two requests at once only the first has ended it, and a thread that is being deleted does not exist.
        """
        thread = await self.find(thread_id)
        run = thread.run
        if run is not None and thread.fold.running:
            first = run.stop(reason)
            await run.wait()
            if first and run.stopped:
                return True
        async with self._lock(thread_id):  # what changes the thread now is over
            return False

    async def document(self, thread_id: str, version: Version) -> dict[str, Any]:
        """Return a thread as its log has it."""
        thread = None
        while thread is None or thread.gone:  # if its run fails to store, its fold has more than its log
            async with self._lock(thread_id) as thread:
                if thread.run is not None:
                    await thread.run.wait_until_stored()
        document = thread.fold.document(version)
        refers = thread.fold.refers
        if refers and not version.features.content_refs:
            inline = partial(self._store.contents.inline_contents, document, self._content_base)
            inlined: dict[str, Any] = await self._store.run(inline)
            return inlined
        return document

    async def delete(self, thread_id: str) -> None:
        """Forget a thread, stopping its run; also one whose log is damaged."""
        while True:
            if thread_id in self._loading:
                with contextlib.suppress(Refusal, sqlite3.Error):
                    await self._find(thread_id)
            thread = self._live.get(thread_id)
            if thread is None:
                await self._store.delete(thread_id)
                return
            async with thread.lock:
                if thread.run is not None:
                    thread.run.stop("user_cancelled")
                    await thread.run.wait()
                if thread.gone:  # what it had in memory failed to be stored, and it may be loaded again
                    continue
                thread.gone = True
                del self._live[thread_id]
                await self._store.delete(thread_id)
                return

    async def stop(self) -> None:
        """End every run, because the server ends: their clients get `error`."""
        self.stopping = True
        runs = list(self._tools.running)
        for run in runs:
            run.stop("error")
        await asyncio.gather(*(run.wait() for run in runs), return_exceptions=True)

    # ------------------------------------------------------------------- inside

    @asynccontextmanager
    async def _lock(self, thread_id: str) -> AsyncIterator[LiveThread]:
        while True:
            thread = await self.find(thread_id)
            async with thread.lock:
                if not thread.gone:  # unloaded or deleted while we waited
                    yield thread
                    return

    async def _find(self, thread_id: str) -> LiveThread | None:
        thread = self._live.get(thread_id)
        if thread is not None:
            self._live.move_to_end(thread_id)
            return thread
        if not self._store.durable:
            return None
        task = self._loading.get(thread_id)
        if task is None:
            task = asyncio.create_task(self._load(thread_id))
            self._loading[thread_id] = task
            task.add_done_callback(lambda _: self._loading.pop(thread_id, None))
        return await asyncio.shield(task)

    async def _load(self, thread_id: str) -> LiveThread | None:
        try:
            found = await self._read(thread_id)
        except DamagedLogError as error:
            _LOG.exception("the log of thread %r is damaged", thread_id)
            raise Refusal(
                410,
                f"the log of thread {thread_id!r} is damaged: {error}",
                hint="DELETE the thread, or restore the file of --store; the log of the server says more",
            ) from error
        if found is None:
            return None
        live = self._live.get(thread_id)  # whoever had not found it has begun it, and its run goes on
        if live is not None:
            return live
        fold, end = found
        if end:
            await append(self._store, thread_id, end)
        if fold.buffer is not None:
            fold.buffer.restored = True
        return self._live.get(thread_id) or self._keep(thread_id, fold)

    async def _read(self, thread_id: str) -> tuple[ThreadFold, list[Entry]] | None:
        """Return what a log gives, and the end that it lacks if its run goes on there: it is to be stored."""
        entries = await self._store.load(thread_id)
        if entries is None:
            return None
        fold = self._folded(thread_id, entries)
        if not fold.running:
            return fold, []
        end: Entry = {"kind": "end", "reason": "error", "at": fold.failed_at, "tell": True}
        fold.apply(end)
        return fold, [end]

    async def _settle(self, thread_id: str) -> ThreadFold | None:
        """Return what the log of a run has after something of it failed: an append that failed may be there.

        An end that cannot be stored now is stored when the log is read the next time, and is the same.
        """
        try:
            found = await self._read(thread_id)
        except Exception:  # noqa: BLE001  # the run has to end, whatever its log is
            _LOG.exception("the log of thread %r cannot be read", thread_id)
            return None
        if found is None:
            return None
        fold, end = found
        try:
            if end:
                await append(self._store, thread_id, end)
        except Exception:  # noqa: BLE001  # as above
            _LOG.exception("the end of a run of thread %r could not be stored", thread_id)
        return fold

    def _folded(self, thread_id: str, entries: Sequence[Entry]) -> ThreadFold:
        """Fold a log. DamagedLogError for an entry that cannot follow the ones before."""
        fold = ThreadFold(thread_id, self._content_base)
        for number, entry in enumerate(entries, 1):
            try:
                fold.apply(entry)
            except Exception as error:
                raise DamagedLogError(number) from error
        return fold

    def _create(self, thread_id: str) -> LiveThread:
        return self._live.get(thread_id) or self._keep(thread_id, ThreadFold(thread_id, self._content_base))

    def _keep(self, thread_id: str, fold: ThreadFold) -> LiveThread:
        if len(self._live) >= self._settings.max_threads:
            self._make_room()
        thread = LiveThread(fold)
        self._live[thread_id] = thread
        return thread

    def _make_room(self) -> None:
        """Put idle threads away, the one asked for longest ago first; without a store they would be lost."""
        if self._store.durable:
            for thread_id, thread in self._live.items():
                idle = thread.run not in self._tools.running and not thread.lock.locked()
                if idle and not (thread.fold.buffer and thread.fold.buffer.readers):
                    thread.gone = True
                    del self._live[thread_id]
                    return
        raise Refusal(
            503,
            f"{counted(len(self._live), 'thread')} in memory",
            hint="DELETE those that are done, or serve with --store",
        )

    @contextmanager
    def _forgetting(self, thread_id: str) -> Iterator[None]:
        """Forget a thread when what was to be stored is not: its fold has more than its log then."""
        try:
            yield
        except BaseException:
            self._forget(thread_id)
            raise

    def _forget(self, thread_id: str) -> None:
        if self._store.durable and thread_id in self._live:
            self._live.pop(thread_id).gone = True

    def _refuse_run(self) -> None:
        """Refuse a run of any thread."""
        if self.stopping:
            raise Refusal(503, "the server is shutting down", hint="start it again, then ask again")
        if len(self._tools.running) >= self._settings.max_runs:
            runs = counted(self._settings.max_runs, "run")
            raise Refusal(503, f"{runs} in progress", hint="cancel some, or wait for their ends")

    def _check(self, thread: LiveThread, request: RunRequest) -> None:
        self._refuse_running(thread)
        if request.seed is not None and not thread.fold.empty:
            raise Refusal(
                409,
                "the thread is there already, and the request brings a seed",
                hint="a seed is for a thread that the server has never seen; DELETE the thread first",
            )

    def _refuse_running(self, thread: LiveThread) -> None:
        if thread.fold.running:
            raise Refusal(
                409,
                f"a run of thread {thread.fold.thread_id!r} is in progress",
                hint="wait for its end, or POST …/cancel",
            )

    def _before(self, thread: LiveThread, request: RunRequest) -> list[Entry]:
        """Return what has to be known of the thread before the run begins."""
        entries: list[Entry] = []
        if thread.fold.empty:
            agents = dict(request.agents)
            if request.seed is not None:
                agents = {**(request.seed.get("agents") or {}), **agents}
            entries.append({"kind": "thread", "created_at": request.created_at, "agents": agents, "extra": {}})
            if request.seed is not None:
                entries.append({"kind": "seed", "thread": request.seed})
        else:
            agents = {**thread.fold.agents, **request.agents}
            if agents != thread.fold.agents:
                entries.append({"kind": "agents", "agents": agents})
        return [*entries, *({"kind": "user", "turn": turn} for turn in request.user)]
