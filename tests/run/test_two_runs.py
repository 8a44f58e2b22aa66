"""Two runs on one target at once: the verdict on each is the one that it has alone.

The runs meet on purpose: the first request of each waits for that of the other.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.targets.clients import ContractClient
from tests.targets.servers import Connection, ContractServer, RawServer, in_thread

from tpharness.run import RunOptions, run_suite
from tpharness.verdict import Outcome, Result, ResultReady

SECONDS = 60  # within which the other run has to come
TIMEOUT = "interruptions/timeout-by-stall"


@dataclass
class Meeting:
    """Holds the first two requests on one path back until both are there; `met` counts them."""

    met: list[str] = field(default_factory=list)
    both: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, name: str) -> None:
        """Wait for the other one."""
        self.met.append(name)
        if len(self.met) == 2:
            self.both.set()
        await asyncio.wait_for(self.both.wait(), SECONDS)


@dataclass
class SharedServer(ContractServer):
    """A server on which two runs meet."""

    meeting: Meeting = field(default_factory=Meeting)

    async def run(self, name: str, value: Any, connection: Connection) -> None:
        """Begin no run before there are two."""
        await self.meeting.wait(name)
        await super().run(name, value, connection)


@dataclass
class SharedClient(ContractClient):
    """A client at which two runs meet."""

    meeting: Meeting = field(default_factory=Meeting)

    async def receive(self, case: dict[str, Any]) -> dict[str, Any]:
        """Receive nothing before there are two."""
        await self.meeting.wait(case["thread_id"])
        return await super().receive(case)


def play_two_at_once(options: RunOptions) -> list[list[Result]]:
    """Play the same run twice, at the same time; return the results of each."""

    def play(_: int) -> list[Result]:
        return [event.result for event in run_suite(options) if isinstance(event, ResultReady)]

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(play, range(2)))


def test_each_run_has_threads_of_its_own_on_a_server() -> None:
    """The script of a scenario names one thread, and a server that both runs ask would write two runs into it."""
    server = SharedServer()
    with in_thread(RawServer(server)) as raw:
        played = play_two_at_once(RunOptions(server=raw.url, ids=("basics/tool-call-and-answer", TIMEOUT)))
    assert all(result.outcome.green for results in played for result in results)
    assert [result.id for result in played[0]] == [result.id for result in played[1]]
    begun = Counter(path for method, path in server.seen if method == "POST" and path.endswith("/runs"))
    assert len(set(server.meeting.met)) == len(server.meeting.met) >= 4
    assert set(begun.values()) == {1}
    assert server.threads == {}


def test_a_client_that_the_other_run_keeps_from_reading_does_not_fail() -> None:
    """Its limit is over before it gets to reading what was sent: that is said of this machine, and of no client."""
    client = SharedClient(stalls=1)
    with in_thread(RawServer(client)) as raw:
        played = play_two_at_once(RunOptions(client=raw.url, ids=(TIMEOUT,)))
    assert client.stalls == 0
    assert [[result.outcome for result in results] for results in played] == [[Outcome.PASSED]] * 2
