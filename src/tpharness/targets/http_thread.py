"""One thread on a server under test: all requests except its runs.

In: the control endpoint. Out: documents, checked to be that thread in that version. Promises that are not kept go to
`findings`; TargetError for an answer that is not such a thread.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tpharness.errors import TargetError
from tpharness.findings import Finding, Place, shorten
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Capabilities, Script
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import require_valid
from tpharness.targets.net import Http
from tpharness.targets.remote import (
    CANCELLED_LATE,
    CAPABILITY_KINDS,
    NOT_DELETED,
    SECOND_RUN,
    BrokenContractError,
    RefusedError,
    UnreachableError,
)

__all__ = ["HttpThread", "interruption_reason", "promise_finding"]

_NEWEST_FIRST = tuple(reversed(Version))
_PAUSE, _LONGEST_PAUSE = 0.002, 0.1


def promise_finding(capability: str, words: str) -> Finding:
    """Return the finding for a capability that is declared and not kept."""
    kind = CAPABILITY_KINDS[capability]
    return kind.at(Place(side="server"), f"{kind.title}: {words}")


class HttpThread:
    """A thread with a fresh id."""

    def __init__(self, http: Http, control: Endpoint, capabilities: Capabilities, findings: list[Finding]) -> None:
        self._http = http
        self._control = control
        self._can = capabilities
        self._findings = findings
        self.id = str(uuid.uuid4())
        self.path = f"/threads/{self.id}"

    async def add(self, user_turn: dict[str, Any]) -> None:
        """Add a user turn without a run."""
        await self._http.ask("POST", self._control, f"{self.path}/user-turns", user_turn)

    async def cancel(self, reason: str) -> bool:
        """Stop the run; return whether there was one to stop."""
        answer = await self._http.ask("POST", self._control, f"{self.path}/cancel", {"reason": reason})
        what = f"POST {self._control.base}/threads/{{thread_id}}/cancel: the answer"
        return bool(require_valid("cancelled", answer.value, what)["cancelled"])

    async def cancel_ended_run(self) -> None:
        """Cancel when the run has ended; a finding if the answer is not that there was none to stop (R26)."""

        async def nothing_stopped() -> bool:
            return not await self.cancel("user_cancelled")

        if not await self._poll(nothing_stopped):
            words = "its stream has ended, and the answer is still {cancelled: true}"
            self._findings.append(CANCELLED_LATE.at(Place(side="server"), f"{CANCELLED_LATE.title}: {words}"))

    async def start_second_run(self, request: dict[str, Any]) -> None:
        """Ask for a run while one goes on. BrokenContractError if that is not refused with 409."""
        words = "it is started"
        try:
            async with self._http.stream("POST", self._control, f"{self.path}/runs", request):
                pass
        except RefusedError as error:
            if error.status == 409:
                return
            words = str(error)
        raise BrokenContractError(SECOND_RUN.at(Place(side="server"), f"{SECOND_RUN.title}: {words}"))

    async def delete(self) -> None:
        """Delete the thread."""
        try:
            await self._http.ask("DELETE", self._control, self.path)
        except UnreachableError:
            raise
        except TargetError as error:
            self._findings.append(NOT_DELETED.at(Place(side="server"), str(error)))

    async def find_unrefused(self, user_turn: dict[str, Any]) -> list[str]:
        """Ask for this thread, which is not there; return the requests that are not refused with 404."""
        asked = (("GET", f"?version={self._can.versions[-1].value}", None), ("POST", "/user-turns", user_turn))
        found = []
        for method, end, body in asked:
            answer = await self._http.ask(method, self._control, self.path + end, body, passes=(404,))
            if answer.status != 404:
                found.append(f"{method} /threads/{{thread_id}}{end} answers {answer.status}")
        return found

    async def fetch(self, script: Script) -> dict[Version, dict[str, Any]]:
        """Return the thread in each version asked for that the server writes, under the id that the script has."""
        wanted = [v for v in _NEWEST_FIRST if v in script.versions and v in self._can.versions]
        if not wanted:
            return {}
        first = await self._wait_for_thread(wanted)
        others = await asyncio.gather(*(self._get(version) for version in wanted[1:]))
        found: dict[Version, dict[str, Any]] = {}
        for version, thread in zip(wanted, [first, *others], strict=True):
            if thread is None:
                words = f"GET /threads/{{thread_id}}?version={version.value} answers 404"
                self._findings.append(promise_finding("versions", words))
            else:
                found[version] = {**thread, "thread_id": script.header.thread_id}
        return found

    async def wait_until_interrupted(self, reason: str, turns: int) -> bool:
        """Wait until the thread has `turns` turns, the last one interrupted for this reason; False if it never does."""
        return await self._poll(lambda: self.shows_interrupted(reason, turns))

    async def shows_interrupted(self, reason: str, turns: int) -> bool:
        """Whether the thread has `turns` turns now, the last one interrupted for this reason."""
        thread = await self._get_with(turns)
        return thread is not None and interruption_reason(thread) == reason

    async def shows_end(self, turns: int) -> bool:
        """Whether the thread has `turns` turns now, the last one with a completion status, whichever it is."""
        thread = await self._get_with(turns)
        return thread is not None and "completion_status" in thread["turns"][-1]

    async def wait_until_stable(self) -> None:
        """Wait until two fetches of the thread are equal: a run that continues without its client takes a moment."""
        seen: list[object] = [None]

        async def still() -> bool:
            thread = await self._get(self._can.versions[-1])
            same = thread is not None and thread == seen[0]
            seen[0] = thread
            return same

        await self._poll(still)

    async def exists(self) -> bool:
        """Whether the thread exists, in the newest version that the server writes."""
        return await self._get(self._can.versions[-1]) is not None

    async def resume(self, after: str | None) -> bytes:
        """Return the stream of the latest run after the frame of that id, to its end (R31)."""
        return await self._http.resume(self._control, f"{self.path}/stream", after=after)

    async def _wait_for_thread(self, wanted: Sequence[Version]) -> dict[str, Any] | None:
        """Return the thread in the first version as soon as it exists; None if it exists only in other versions."""
        found: dict[Version, dict[str, Any]] = {}

        async def there() -> bool:
            for version in wanted:
                thread = await self._get(version)
                if thread is not None:
                    found[version] = thread
                    return True
            return False

        if not await self._poll(there):
            raise TargetError(
                f"GET {self._control.base}/threads/{{thread_id}} answers 404: "
                f"{self._http.patience.settle:g} s after its run ended the thread still does not exist",
                hint="a run creates its thread, and the thread exists when the stream has ended",
            )
        return found.get(wanted[0])

    async def _poll(self, there: Callable[[], Awaitable[bool]]) -> bool:
        """Poll with growing pauses until `there` is true; False after `settle` seconds."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self._http.patience.settle, _PAUSE
        while not await there():
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        return True

    async def _get_with(self, turns: int) -> dict[str, Any] | None:
        """Fetch the thread in the version that shows interruptions; None unless it has so many turns."""
        version = self._can.shows_interrupted
        thread = None if version is None else await self._get(version)
        return thread if thread is not None and len(thread["turns"]) == turns else None

    async def _get(self, version: Version) -> dict[str, Any] | None:
        """Fetch the thread in a version; None for 404. TargetError for another document."""
        path = f"{self.path}?version={version.value}"
        answer = await self._http.ask("GET", self._control, path, passes=(404,))
        if answer.status == 404:
            return None
        what = f"GET {self._control.base}/threads/{{thread_id}}?version={version.value}: the thread"
        thread: dict[str, Any] = require_valid("thread", answer.value, what)
        if thread["thread_id"] != self.id:
            raise TargetError(
                f"{what} has the thread_id {shorten(repr(thread['thread_id']), 80)}",
                hint="answer with the requested thread",
            )
        if thread["version"] != version.value:
            raise TargetError(
                f"{what} has the version {thread['version']}",
                hint="write the requested version, or answer 404",
            )
        return thread


def interruption_reason(thread: dict[str, Any]) -> str | None:
    """Return why the last turn of a thread was interrupted, None if it was not."""
    turns = thread["turns"]
    shown = turns[-1].get("interruption") if turns else None
    return shown.get("reason") if isinstance(shown, dict) else None
