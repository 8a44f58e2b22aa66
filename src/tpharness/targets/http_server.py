"""A server under test behind the control contract, `conformance/control.openapi.yaml`.

In: `http://[TOKEN@]HOST:PORT[/base]`. Out: a `ServerTarget`: each script is played on a thread of its own, which is
deleted afterwards. What the server declares is held against what is seen; a promise that is not kept is a finding of
the outcome.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tpharness.errors import TargetError
from tpharness.findings import Finding
from tpharness.journal import UserTurn
from tpharness.targets.contract import Capabilities, Observed, Outcome, Packet, Script
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import capabilities_from, user_json
from tpharness.targets.http_run import HttpRun, Way
from tpharness.targets.http_thread import HttpThread
from tpharness.targets.net import Http
from tpharness.targets.remote import Limits, Patience, UnreachableError

__all__ = ["HttpServer"]

_AT_ONCE = 16
_NO_CAPABILITIES = "GET /capabilities tells name, roles and version of the contract: docs/CONTROL.md"


class HttpServer:
    """A server reached over HTTP.

    `stream_url` is where runs are started when that is not where everything else is asked: a relay that makes faults.
    What breaks there is what the client sees, not an error. `on_disconnect` is what runs are told to do when the
    client goes away, `live=False` tells every interruption in the script.
    """

    def __init__(
        self,
        url: str,
        *,
        stream_url: str | None = None,
        live: bool = True,
        on_disconnect: str | None = None,
        patience: Patience | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._control = Endpoint.parse(url)
        self._streams = self._control
        if stream_url is not None:
            self._streams = replace(Endpoint.parse(stream_url), token=self._control.token, relay=True)
        self._live = live
        self._on_disconnect = on_disconnect
        self._http = Http(patience=patience, limits=limits)
        self._capabilities: Capabilities | None = None

    @property
    def at_once(self) -> int:
        """How many cases are played at the same time."""
        return _AT_ONCE

    @property
    def capabilities(self) -> Capabilities:
        """What the server declares; before `open`, only where it is."""
        return self._capabilities or Capabilities(name=self._control.base, versions=(), carriers=False)

    async def open(self) -> None:
        """Fetch the capabilities, once."""
        if self._capabilities is None:
            answer = await self._http.ask("GET", self._control, "/capabilities", hint=_NO_CAPABILITIES)
            self._capabilities = capabilities_from(answer.value, "server", self._control.base)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self._http.close()

    async def serve(self, script: Script) -> Outcome:
        """Play the script on a new thread; return its threads, the packets of each run and how each stream ended.

        TargetError when the server cannot be reached or does not keep to the contract.
        """
        await self.open()
        findings: list[Finding] = []
        thread = HttpThread(self._http, self._control, self.capabilities, findings)
        try:
            outcome = await self._played(script, thread, findings)
        except UnreachableError:
            raise
        except TargetError:
            with suppress(TargetError):  # what went wrong first is what counts
                await thread.delete()
            raise
        await thread.delete()
        return replace(outcome, findings=tuple(findings))

    async def _played(self, script: Script, thread: HttpThread, findings: list[Finding]) -> Outcome:
        way = Way(
            http=self._http,
            streams=self._streams,
            capabilities=self.capabilities,
            live=self._live and not self._streams.relay,
            on_disconnect=self._on_disconnect,
        )
        waiting: list[UserTurn] = []
        packets: list[tuple[Packet, ...]] = []
        ends: list[Observed] = []
        for turn in script.turns:
            if isinstance(turn, UserTurn):
                waiting.append(turn)
                continue
            sent, end = await HttpRun(way, thread, script, turn, findings).played(waiting)
            packets.append(sent)
            ends.append(end)
            waiting = []
        for user in waiting:
            await thread.add(user_json(user))
        threads = await thread.fetch(script)
        return Outcome(threads=threads, streams=tuple(packets), ends=tuple(ends))
