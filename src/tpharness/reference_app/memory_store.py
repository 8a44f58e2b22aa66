"""A store without a disk: threads exist only as folds, and large contents only in memory."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from tpharness.reference_app.content import ContentStore, seeded_contents
from tpharness.reference_app.fold import Entry

__all__ = ["MemoryStore"]


class MemoryStore:
    """Stores nothing: threads exist only as folds in memory."""

    durable = False

    def __init__(self) -> None:
        self.contents = ContentStore(None)
        self._contents_of: defaultdict[str, set[str]] = defaultdict(set)
        self._threads_with: Counter[str] = Counter()

    def append(self, thread_id: str, entries: Sequence[Entry]) -> None:
        """Store nothing."""
        for digest in seeded_contents(entries):
            self._refer(thread_id, digest)

    def _refer(self, thread_id: str, digest: str) -> None:
        if digest not in self._contents_of[thread_id]:
            self._contents_of[thread_id].add(digest)
            self._threads_with[digest] += 1

    async def load(self, thread_id: str) -> None:
        """Return None: nothing is stored."""
        del thread_id

    async def delete(self, thread_id: str) -> None:
        """Remove the contents that no other thread refers to."""
        for digest in self._contents_of.pop(thread_id, ()):
            self._threads_with[digest] -= 1
            if not self._threads_with[digest]:
                del self._threads_with[digest]
                self.contents.remove(digest)

    async def put_content(self, thread_id: str, data: bytes) -> None:
        """Hold a content."""
        self._refer(thread_id, self.contents.put(data))

    async def run(self, work: Callable[[], Any]) -> Any:
        """Do the work here: it does not touch a disk."""
        return work()

    async def until_lost(self) -> str:
        """Wait for ever."""
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Do nothing."""
