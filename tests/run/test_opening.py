"""Targets are opened at the same time, since each may start a process, and each is closed whatever the other does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tpharness.errors import TargetError
from tpharness.run.play import Players
from tpharness.run.session import Session
from tpharness.targets.remote import Remote


class Slow(Remote):
    """A target that takes its time to open and to close, and tells `log` of it; it may not open at all."""

    at_once = 1

    def __init__(self, name: str, log: list[str], error: TargetError | None = None) -> None:
        self._name, self._log, self._error = name, log, error

    async def open(self) -> None:
        """Let the other one begin before this one is open."""
        self._log.append(f"{self._name} opens")
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        await asyncio.sleep(0)
        self._log.append(f"{self._name} is open")

    async def close(self) -> None:
        """Let the other one begin before this one is closed."""
        self._log.append(f"{self._name} closes")
        await asyncio.sleep(0)
        self._log.append(f"{self._name} is closed")


def session_of(server: Any, client: Any) -> Session:
    """Return a session, not entered, on these targets."""
    session = Session()
    session.players = Players(server=server, client=client, compare=None)
    return session


def test_both_sides_are_opened_and_closed_at_the_same_time() -> None:
    """Neither waits for the other."""
    log: list[str] = []
    with session_of(Slow("server", log), Slow("client", log)):
        assert log == ["server opens", "client opens", "server is open", "client is open"]
        log.clear()
    assert log == ["server closes", "client closes", "server is closed", "client is closed"]


@pytest.mark.parametrize("broken", ["server", "client"])
def test_a_side_that_does_not_open_leaves_the_other_neither_half_open_nor_open(broken: str) -> None:
    """The error is that of the side, and what the other has opened is closed."""
    log: list[str] = []
    error = TargetError("it exited with code 1")
    sides = [Slow(name, log, error if name == broken else None) for name in ("server", "client")]
    with pytest.raises(TargetError, match="exited with code 1"), session_of(*sides):
        raise AssertionError("the session was entered")
    other = "client" if broken == "server" else "server"
    assert log[:3] == ["server opens", "client opens", f"{other} is open"]
    assert sorted(log[3:]) == ["client closes", "client is closed", "server closes", "server is closed"]
