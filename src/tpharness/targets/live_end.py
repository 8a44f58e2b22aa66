"""What the thread of a server shows of a run that was really interrupted, beside what the server has promised of it.

In: the thread, and the run with its script. Out: a finding where the run does not end when it has to. How it ends is
not judged here: threads are compared when the script has been played.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cached_property, partial

from tpharness.errors import TargetError
from tpharness.findings import Finding
from tpharness.targets.contract import Capabilities, RunScript, Script
from tpharness.targets.http_thread import HttpThread, interruption_reason, promise_finding
from tpharness.targets.reference import ReferenceServer, serve_turns
from tpharness.targets.remote import LostConnectionError, UnreachableError

__all__ = ["LiveEnd"]


class LiveEnd:
    """How a thread shows that its run was interrupted. `visible` is false if it never does: nothing is kept (R24)."""

    def __init__(self, thread: HttpThread, can: Capabilities, script: Script, run: RunScript) -> None:
        self._thread = thread
        self._can_cancel = can.cancel
        self._reason = "" if run.interruption is None else run.interruption.reason
        self._expected = partial(_expected_turns, can, script, run)

    @cached_property
    def _turns(self) -> int:
        """How many turns the thread has when it shows the interruption; computed only for a run that is interrupted."""
        return self._expected()

    @property
    def visible(self) -> bool:
        """Whether the thread of a right server shows the interruption."""
        return self._turns > 0

    async def is_shown(self) -> bool:
        """Whether the thread shows the interruption now."""
        return self.visible and await self._thread.shows_interrupted(self._reason, self._turns)

    async def check_disconnect(self, settle: float) -> Finding | None:
        """Wait until the thread shows the interruption; return a finding if the run goes on instead."""
        thread = self._thread
        if await thread.wait_until_interrupted(self._reason, self._turns) or await thread.shows_end(self._turns):
            return None
        if self._can_cancel and not await self._is_cancelled(settle):  # it has ended and shows nothing of it (R26)
            return None
        words = f"{settle:g} s after the connection was closed the thread does not show it"
        return promise_finding("disconnect", words)

    async def _is_cancelled(self, settle: float) -> bool:
        """Whether a cancel finds a run to stop; also if it is not answered as the contract has it."""
        try:
            async with asyncio.timeout(settle):
                return await self._thread.cancel(self._reason)
        except (UnreachableError, LostConnectionError):
            raise
        except (TargetError, TimeoutError):
            return True


def _expected_turns(can: Capabilities, script: Script, run: RunScript) -> int:
    """Return how many turns the thread has when it shows the interruption, 0 if it never does."""
    version = can.shows_interrupted
    if version is None or run.interruption is None:
        return 0
    oracle = ReferenceServer(replace(script, versions=(version,)))
    until = next(index for index, turn in enumerate(script.turns) if turn is run)
    serve_turns(oracle, script.turns[: until + 1])
    thread = oracle.threads()[version]
    return len(thread["turns"]) if interruption_reason(thread) == run.interruption.reason else 0
