"""A client under test behind the control contract, `conformance/control.openapi.yaml`.

In: `http://[TOKEN@]HOST:PORT[/base]`. Out: a `ClientTarget`: the client is told URLs, gets its streams from the
harness, and hands back its threads. The ends that it declares to detect happen for real: the connection breaks, falls
silent, or tells it that the user has pressed stop. What it does not detect it is told.
"""

from __future__ import annotations

import copy
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from yarl import URL

from tpharness.faults.catalogue import Comeback
from tpharness.findings import Place
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.targets.client_promises import Offered, account, broken_promises, never_ended
from tpharness.targets.contract import Capabilities, Script, Stream, TargetOutput
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import (
    capabilities_from,
    case_json,
    case_threads,
    checked,
    stream_json,
    threads_from,
    threads_json,
    user_json,
    versions_for,
)
from tpharness.targets.net import Http
from tpharness.targets.remote import CAPABILITY_KINDS, BrokenContractError, Limits, Patience, UnreachableError
from tpharness.targets.stream_server import Ending, StreamServer, resumable

__all__ = ["HttpClient"]

_AT_ONCE = 16
_NO_CAPABILITIES = "GET /capabilities tells name, roles and version of the contract: docs/CONTROL.md"
_ENDINGS = {
    "network_failure": Ending.BROKEN,
    "timeout": Ending.SILENT,
    "user_cancelled": Ending.STOPPED,
}
"""How what a client may detect happens for real."""
_LONGER = (1, 4, 10)
"""By these a client's limit is multiplied while it gives up before the harness has told it everything.

The usual limit is short, so that nobody waits for clocks; on a busy machine it may be over before the stream has begun.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Relayed:
    """Where streams are fetched instead, and what is seen there of the end of the last one."""

    port: int
    ends: str | None
    comeback: Comeback | None


class HttpClient:
    """A client reached over HTTP. `live=False` tells it every end, `reset` breaks connections with RST."""

    def __init__(
        self,
        url: str,
        *,
        live: bool = True,
        reset: bool = False,
        patience: Patience | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._endpoint = Endpoint.parse(url)
        self._live = live
        self._reset = reset
        self._http = Http(patience=patience, limits=limits)
        self._capabilities: Capabilities | None = None
        self._streams: StreamServer | None = None
        self._relay: _Relayed | None = None
        self._open = AsyncExitStack()

    def through(self, port: int, *, ends: str | None = None, comeback: Comeback | None = None) -> HttpClient:
        """Return the same client with its streams fetched through a relay on a port of loopback; closed with this one.

        `ends` is what a client sees there of the last stream's end, `comeback` how it is served when it comes back for
        the rest of it (R31).
        """
        other = copy.copy(self)
        relay = _Relayed(port=port, ends=ends, comeback=comeback)
        other._relay = relay  # noqa: SLF001  # a copy of this very object
        return other

    @property
    def address(self) -> tuple[str, int] | None:
        """Where its streams are served, as a relay needs it; None before `open`."""
        return None if self._streams is None else self._streams.address

    @property
    def at_once(self) -> int:
        """How many cases are played at the same time."""
        return _AT_ONCE

    @property
    def capabilities(self) -> Capabilities:
        """What the client declares; before `open`, only where it is."""
        return self._capabilities or Capabilities(name=self._endpoint.base, versions=(), carriers=False)

    async def open(self) -> None:
        """Fetch the capabilities and begin to serve streams, once."""
        if self._capabilities is None:
            answer = await self._http.ask("GET", self._endpoint, "/capabilities", hint=_NO_CAPABILITIES)
            self._capabilities = capabilities_from(answer.value, "client", self._endpoint.base)
        if self._streams is None:
            patience = self._http.patience
            streams = StreamServer(host=_own_address(self._endpoint), settle=patience.settle, silence=patience.silence)
            self._streams = await self._open.enter_async_context(streams)

    async def close(self) -> None:
        """Serve no more, and close the connections of the running loop."""
        self._streams = None
        await self._open.aclose()
        await self._http.close()

    async def receive(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Have the streams received; TargetError if the client cannot be reached or does not keep to the contract."""
        return await self._received(script, turns, resumed=False)

    async def receive_resumed(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Have the same received, each stream broken off in the middle and gone on with (R31)."""
        return await self._received(script, turns, resumed=True)

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Hand over the server's threads; return what the client then holds (R32)."""
        await self.open()
        wanted = {v: thread for v, thread in threads.items() if v in self.capabilities.versions}
        if not wanted:
            return {}
        answer = await self._http.ask("POST", self._endpoint, "/adopt", {"threads": threads_json(wanted)})
        what = f"POST {self._endpoint.base}/adopt: the answer"
        return threads_from(checked("received", answer.value, what)["threads"], list(wanted), what)

    # ------------------------------------------------------------------------------------------------ a case

    async def _received(self, script: Script, turns: Sequence[UserTurn | Stream], *, resumed: bool) -> TargetOutput:
        await self.open()
        if not versions_for(script, self.capabilities):
            return TargetOutput(threads={})
        for factor in _LONGER:
            limit = self._http.patience.limit * factor
            threads, offered = await self._asked(script, turns, limit=limit, resumed=resumed)
            if self._relay is not None:  # what its plan did cannot be told from what the client did
                return TargetOutput(threads=threads)
            if not any(one.offer.gave_up for one in offered):
                break
        settle = self._http.patience.settle
        return TargetOutput(threads=threads, findings=tuple(broken_promises(script, turns, offered, threads, settle)))

    async def _asked(
        self, script: Script, turns: Sequence[UserTurn | Stream], *, limit: float, resumed: bool
    ) -> tuple[dict[Version, Any], list[Offered]]:
        """Have the streams received once; return the threads, and what was done with each stream."""
        if self._streams is None:
            raise RuntimeError("streams are served between open and close")
        offered: list[Offered] = []
        told: list[dict[str, Any]] = []
        last = max((i for i, turn in enumerate(turns) if isinstance(turn, Stream)), default=None)
        try:
            for index, turn in enumerate(turns):
                if isinstance(turn, UserTurn):
                    told.append(user_json(turn))
                    continue
                relayed = self._relay is not None and index == last  # a relay's fault strikes this one
                offer = self._relayed if relayed else self._offered
                one, document = offer(self._streams, turn, len(offered), limit=limit, resumed=resumed)
                offered.append(one)
                told.append(document)
            document = case_json(script, told, self.capabilities)
            answer = await self._http.ask("POST", self._endpoint, "/receive", document)
            for one in offered:
                await self._streams.over(one.offer)
        except UnreachableError as error:
            raise self._unanswered(error, offered) from error
        finally:
            for one in offered:
                self._streams.withdraw(one.offer)
        what = f"POST {self._endpoint.base}/receive: the answer"
        received = checked("received", answer.value, what)["threads"]
        for version in versions_for(script, self.capabilities):
            if version.value not in received:
                kind = CAPABILITY_KINDS["versions"]
                words = f"{kind.title}: {what} holds no thread of version {version.value}"
                raise BrokenContractError(kind.at(Place(side="client"), words))
        return case_threads(received, script, self.capabilities, what), offered

    def _unanswered(
        self, error: UnreachableError, offered: Sequence[Offered]
    ) -> UnreachableError | BrokenContractError:
        """Return what no answer to /receive means: what the client did with its streams says more than the silence."""
        ended = never_ended(offered, self._http.patience.settle)
        if ended is not None:
            return BrokenContractError(ended)
        if not isinstance(error.__cause__, TimeoutError):
            return error
        return UnreachableError(
            f"{error}; {account(offered)}",
            hint="read each stream to its end, or to where limits.stream_seconds is over; then answer with the threads",
        )

    def _offered(
        self, streams: StreamServer, stream: Stream, number: int, *, limit: float, resumed: bool
    ) -> tuple[Offered, dict[str, Any]]:
        """Return a stream on offer, and what the client is told of it."""
        pieces, reason = tuple(packet.data for packet in stream.packets), stream.end.reason
        real = self._live and reason in self.capabilities.detects
        ending = _ENDINGS[str(reason)] if real else Ending.PLAIN
        if self._reset and ending is Ending.BROKEN:
            ending = Ending.RESET
        breaks_at = None
        if resumed and (real or reason is None):  # who is told the end of a stream does not wait for more of it
            data, breaks_at = resumable(pieces)
            pieces = (data,)
        offer = streams.offer(pieces, ending, limit=limit, breaks_at=breaks_at)
        url = offer.url if self._relay is None else _moved(offer.url, self._relay.port)
        one = Offered(number=number, offer=offer, reason=reason if real else None)
        return one, _told(stream, url, reason, limit=limit, live=real)

    def _relayed(
        self, streams: StreamServer, stream: Stream, number: int, *, limit: float, resumed: bool
    ) -> tuple[Offered, dict[str, Any]]:
        """Return a stream that a fault strikes on its way, and what the client is told of it."""
        del resumed  # the fault says how it is broken off
        relay = self._relay
        if relay is None:
            raise RuntimeError("there is no relay")
        pieces = tuple(packet.data for packet in stream.packets)
        repeats = 0
        if relay.comeback is not None:
            pieces = (resumable(pieces)[0],)
            repeats = {Comeback.AFTER_THE_LAST: 0, Comeback.AFTER_AN_EARLIER: 2}.get(relay.comeback, 1 << 30)
        offer = streams.offer(pieces, Ending.PLAIN, repeats=repeats)
        live = relay.ends in self.capabilities.detects
        url = _moved(offer.url, relay.port)
        return Offered(number=number, offer=offer), _told(stream, url, relay.ends, limit=limit, live=live)


def _told(stream: Stream, url: str, reason: str | None, *, limit: float, live: bool) -> dict[str, Any]:
    """Return what the client is told of a stream: how it ends only where that does not happen for real."""
    told = None if live else reason
    document = stream_json(replace(stream, end=replace(stream.end, reason=told)), url=url)
    if live and reason == "timeout":
        document["limits"] = {"stream_seconds": limit}
    return document


def _moved(url: str, port: int) -> str:
    """Return the address of a stream as a relay has it."""
    return str(URL(url).with_host("127.0.0.1").with_port(port))


def _own_address(endpoint: Endpoint) -> str:
    """Return the address of this machine that a client can reach: that from which it is reached itself."""
    url = endpoint.url("/")
    with suppress(OSError):
        family, kind, _, _, address = socket.getaddrinfo(url.host, url.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)  # of a datagram socket: nothing is sent
            return str(probe.getsockname()[0])
    return "127.0.0.1"
