"""A server's and a client's session that go through one script together: the client reads what the server writes.

In: a script and two targets that can be stepped. Out: the threads of both sides wherever the caller stops.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.targets.contract import (
    ClientSession,
    RunScript,
    Script,
    ServerSession,
    SteppableClient,
    SteppableServer,
    StreamEnd,
)

__all__ = ["SessionPair"]


class SessionPair:
    """Both sessions. `at` is the time of the last event that was played."""

    def __init__(self, script: Script, server: SteppableServer, client: SteppableClient) -> None:
        self.server: ServerSession = server.server_session(script)
        self.client: ClientSession = client.client_session(script)
        self.at = ""

    def play(self, turn: UserTurn | RunScript, *, one_read: bool = False) -> None:
        """Play a whole turn, with the interruption that a run has; the client reads event by event, or all at once."""
        if isinstance(turn, UserTurn):
            self.server.user(turn)
            self.client.user(turn)
            return
        unread = [self.begin(turn)]
        for event in turn.events:
            if not one_read:
                self.client.feed(unread.pop(), self.at)
            unread.append(self.write(event))
        self.client.feed(b"".join(unread), self.at)
        self.end(turn)

    def begin(self, run: RunScript) -> bytes:
        """Start a run on both sides; return the bytes that open its stream, which the client has not read yet."""
        self.at = run.started_at
        self.client.begin(run.agent_id, run.started_at)
        return self.server.begin(run)

    def write(self, event: Mapping[str, Any]) -> bytes:
        """Play one event on the server; return its bytes, which the client has not read yet."""
        self.at = str(event.get("at", self.at))
        return self.server.feed(event)

    def end(self, run: RunScript) -> None:
        """End the run, or interrupt it as its script says."""
        cut = run.interruption
        data = self.server.close() if cut is None else self.server.interrupt(cut, abort=run.abort)
        at = self.at if cut is None else cut.at
        self.client.feed(data, at)
        self.client.close(StreamEnd(reason=None if cut is None or run.abort else cut.reason, at=at))

    def threads(self, cut: Interrupted | None = None) -> dict[Version, list[dict[str, Any]]]:
        """Return the threads of the server and of the client in each version, interrupted here if `cut` is given."""
        server, client = self.server.threads(cut), self.client.threads(cut)
        return {version: [thread, client[version]] for version, thread in server.items()}

    def findings(self) -> tuple[Finding, ...]:
        """Return what folding has reported, the server's findings first."""
        return (*self.server.findings(), *self.client.findings())
