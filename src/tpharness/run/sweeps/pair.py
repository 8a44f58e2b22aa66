"""A server's and a client's session that go through one script together: the client reads what the server writes.

In: a script and two targets that can be stepped. Out: the threads of both sides wherever the caller stops. Where one of
the targets is not the reference, the reference's sessions go along with both, so that each side is held to the thread
that it should have there (R51). Where the run is inside the arguments of a call, what the server would say if it was
stopped there is known as well (R60): the reference is asked, any other target plays the run again up to there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from tpharness.checks import OpenCall
from tpharness.findings import Finding
from tpharness.journal import Interrupted, UserTurn
from tpharness.protocol.versions import Version
from tpharness.run.cut_inputs import stop_after
from tpharness.run.sweeps.evidence import Thread
from tpharness.server_events import OpenCalls
from tpharness.targets.contract import (
    ClientSession,
    Packet,
    RunScript,
    Script,
    ServerSession,
    SteppableClient,
    SteppableServer,
    StreamEnd,
)
from tpharness.targets.reference import ReferenceClient, ReferenceServer, is_foreign, serve_turns
from tpharness.wires.contract import Inputs
from tpharness.wires.registry import wire_named

__all__ = ["SessionPair"]


_S = TypeVar("_S", bound=ServerSession | ClientSession)
_R = TypeVar("_R", bound=ReferenceServer | ReferenceClient)


class _Watched(Generic[_S, _R]):
    """A target's session with the reference's beside it, which gets to see the same."""

    def __init__(self, session: _S, truth: _R) -> None:
        self._session = session
        self.truth = truth
        self.threads = session.threads
        self.findings = session.findings

    @property
    def version(self) -> int:
        """A number that grows whenever a document of either could show a change."""
        return self._session.version + self.truth.version

    def user(self, turn: UserTurn) -> None:
        """Record a user turn."""
        self.truth.user(turn)
        self._session.user(turn)


class _WatchedServer(_Watched[ServerSession, ReferenceServer]):
    def begin(self, run: RunScript) -> bytes:
        """Start a run; return the bytes of the watched session."""
        self.truth.begin(run)
        return self._session.begin(run)

    def feed(self, event: Mapping[str, Any]) -> bytes:
        """Play one event; return the bytes of the watched session."""
        self.truth.feed(event)
        return self._session.feed(event)

    def interrupt(self, cut: Interrupted, *, abort: bool) -> bytes:
        """Cut the run here; return the bytes of the watched session."""
        self.truth.interrupt(cut, abort=abort)
        return self._session.interrupt(cut, abort=abort)

    def close(self) -> bytes:
        """End the run; return the bytes of the watched session."""
        self.truth.close()
        return self._session.close()


class _WatchedClient(_Watched[ClientSession, ReferenceClient]):
    def begin(self, agent_id: str, at: str) -> None:
        """Open a stream."""
        self.truth.begin(agent_id, at)
        self._session.begin(agent_id, at)

    def feed(self, data: bytes, at: str) -> None:
        """Take in one read."""
        self.truth.feed(data, at)
        self._session.feed(data, at)

    def close(self, end: StreamEnd) -> None:
        """End the stream."""
        self.truth.close(end)
        self._session.close(end)


class SessionPair:
    """Both sessions; `foreign` says whether one of them is not the reference's.

    `at` is the time of the last event that was played, `sent` what each run has put on the wire.
    """

    def __init__(self, script: Script, server: SteppableServer, client: SteppableClient) -> None:
        self._target = server
        self._script = script
        self._events: list[Mapping[str, Any]] = []
        self._calls = OpenCalls()
        self._open_inputs = wire_named(script.wire).open_inputs
        self._inputs: Inputs = self._open_inputs()
        self._unread: list[bytes] = []
        self._open: tuple[OpenCall, ...] | None = None
        self._served: tuple[Interrupted | None, Mapping[Version, Thread]] | None = None  # until it plays on
        session = server.server_session(script)
        self._asked = session if isinstance(session, ReferenceServer) and not is_foreign(server) else None
        self.server: ServerSession = session
        self.client: ClientSession = client.client_session(script)
        self._truths: tuple[ReferenceServer, ReferenceClient] | None = None
        self.foreign = is_foreign(server) or is_foreign(client)
        if self.foreign:
            self._truths = ReferenceServer(script), ReferenceClient(script)
            self.server = _WatchedServer(self.server, self._truths[0])
            self.client = _WatchedClient(self.client, self._truths[1])
        self.at = ""
        self.sent: list[list[Packet]] = []

    def play(self, turn: UserTurn | RunScript, *, one_read: bool = False) -> None:
        """Play a whole turn, with the interruption that a run has; the client reads event by event, or all at once."""
        if isinstance(turn, UserTurn):
            self._served = None
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
        data = self.server.begin(run)
        self.sent.append([Packet(data=data, at=self.at)])
        self._events, self._calls, self._open, self._served = [], OpenCalls(), None, None
        self._inputs, self._unread = self._open_inputs(), [data]
        return data

    def write(self, event: Mapping[str, Any]) -> bytes:
        """Play one event on the server; return its bytes, which the client has not read yet."""
        self.at = str(event.get("at", self.at))
        data = self.server.feed(event)
        sent = self.sent[-1]
        sent.append(Packet(data=data, at=self.at, event=len(sent) - 1))
        self._events.append(event)
        self._calls.feed(event)
        self._unread.append(data)
        self._open = self._served = None
        return data

    def end(self, run: RunScript) -> None:
        """End the run, or interrupt it as its script says."""
        cut = run.interruption
        self._served = None
        data = self.server.close() if cut is None else self.server.interrupt(cut, abort=run.abort)
        at = self.at if cut is None else cut.at
        self.sent[-1].append(Packet(data=data, at=at))
        self.client.feed(data, at)
        self.client.close(StreamEnd(reason=None if cut is None or run.abort else cut.reason, at=at))

    def threads(self, cut: Interrupted | None = None) -> dict[Version, list[Thread]]:
        """Return the threads of each version, interrupted here if `cut` is given: the server's and the client's.

        Where one of the targets is not the reference, the threads that the two should have follow in the same order.
        """
        if self._served is None or self._served[0] != cut:
            self._served = cut, self.server.threads(cut)
        received = self.client.threads(cut)
        threads = {version: [thread, received[version]] for version, thread in self._served[1].items()}
        for truth in self._truths or ():
            for version, thread in truth.threads(cut).items():
                threads[version].append(thread)
        return threads

    def open_calls(self) -> tuple[OpenCall, ...]:
        """Return the calls inside whose arguments the run is, and what its stream says of them if it is stopped."""
        if not self._calls.ids:
            return ()
        if self._open is None:
            self._inputs.feed(b"".join(self._unread))
            self._unread = []
            seen = self._inputs.after(self._stop_here())
            self._open = tuple(OpenCall(call_id=call, given=seen.given(call)) for call in sorted(self._calls.ids))
        return self._open

    def _stop_here(self) -> bytes:
        """Return what the server would send if the user stopped the run here."""
        if self._asked is not None:
            return self._asked.abort_here(Interrupted(reason="user_cancelled", at=self.at))
        runs = [index for index, turn in enumerate(self._script.turns) if isinstance(turn, RunScript)]
        stopped = stop_after(self._script, runs[len(self.sent) - 1], tuple(self._events))
        return serve_turns(self._target.server_session(stopped), stopped.turns)[-1][-1].data

    def findings(self) -> tuple[Finding, ...]:
        """Return what folding has reported, the server's findings first."""
        return (*self.server.findings(), *self.client.findings())
