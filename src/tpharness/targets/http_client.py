"""A client under test behind the control contract, `conformance/control.openapi.yaml`.

In: `http://[TOKEN@]HOST:PORT[/base]`. Out: a `ClientTarget`: the client is given URLs, gets its streams from the
harness, and returns its threads. The ends that it declares to detect really happen: the connection breaks, falls
silent, or signals that the user has pressed stop. Other ends are reported to it in the request.
"""

from __future__ import annotations

import asyncio
import copy
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from yarl import URL

from tpharness.faults.catalogue import ResumeFrom
from tpharness.findings import Place
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.targets.client_promises import (
    CaseStream,
    broken_promises,
    describe_streams,
    find_unclosed_stream,
    has_missed_something,
)
from tpharness.targets.contract import Capabilities, Script, Stream, TargetOutput
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import (
    ANSWERS,
    capabilities_from,
    case_json,
    case_threads,
    require_valid,
    resolve_json,
    resolved_from,
    stream_json,
    threads_from,
    threads_json,
    user_json,
    versions_for,
)
from tpharness.targets.net import Http
from tpharness.targets.remote import (
    CAPABILITIES_HINT,
    CAPABILITY_KINDS,
    BrokenContractError,
    LostConnectionError,
    Patience,
    StreamLimits,
    UnreachableError,
)
from tpharness.targets.resume import resumable
from tpharness.targets.stream_server import Ending, StreamServer
from tpharness.wires.registry import wire_named

__all__ = ["HttpClient"]

_T = TypeVar("_T")
_AT_ONCE = 16
_ENDINGS = {"network_failure": Ending.BROKEN, "timeout": Ending.SILENT, "user_cancelled": Ending.STOPPED}
"""What a client may detect → how its stream really ends."""
_LIMIT_FACTORS = (1, 4, 10)
"""The factors by which a client's limit is raised while it gives up before it has received everything.

The usual limit is short, so that tests are fast; on a busy machine it may be over before the stream has begun, or
before the client gets to reading what was sent. The time that another run takes on the same client is not a departure.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _RelayRoute:
    """The relay from which streams are fetched, and what the client observes there of the end of the last one."""

    port: int
    ends: str | None
    resume_from: ResumeFrom | None


class HttpClient:
    """A client reached over HTTP. `live=False` reports every end to it, `reset` breaks connections with RST."""

    def __init__(
        self,
        url: str,
        *,
        live: bool = True,
        reset: bool = False,
        patience: Patience | None = None,
        limits: StreamLimits | None = None,
    ) -> None:
        self._endpoint = Endpoint.parse(url)
        self._live = live
        self._reset = reset
        self._http = Http(patience=patience, limits=limits)
        self._receiver = self._http.waiting(self._http.patience.total)
        self._capabilities: Capabilities | None = None
        self._streams: StreamServer | None = None
        self._relay: _RelayRoute | None = None
        self._open = AsyncExitStack()

    def via_relay(self, port: int, *, ends: str | None = None, resume_from: ResumeFrom | None = None) -> HttpClient:
        """Return the same client, which fetches its streams from a relay on a port of loopback; closed with this one.

        `ends` is what the client observes of the last stream's end there, `resume_from` which frames it gets when it
        reconnects for the rest (R31).
        """
        other = copy.copy(self)
        relay = _RelayRoute(port=port, ends=ends, resume_from=resume_from)
        other._relay = relay  # noqa: SLF001  # a copy of this very object
        other._endpoint = replace(self._endpoint, alone=True)  # noqa: SLF001  # a relay's faults strike once
        return other

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port where its streams are served, for a relay; None before `open`."""
        return None if self._streams is None else self._streams.address

    @property
    def at_once(self) -> int:
        """How many cases are played at the same time."""
        return _AT_ONCE

    @property
    def capabilities(self) -> Capabilities:
        """What the client declares; before `open`, only its address."""
        return self._capabilities or Capabilities(name=self._endpoint.base, versions=(), carriers=False)

    async def open(self) -> None:
        """Fetch the capabilities and begin to serve streams, once."""
        if self._capabilities is None:
            answer = await self._http.ask("GET", self._endpoint, "/capabilities", hint=CAPABILITIES_HINT)
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
        return await self._receive(script, turns, resumed=False)

    async def receive_resumed(self, script: Script, turns: Sequence[UserTurn | Stream]) -> TargetOutput:
        """Have the same received, each stream broken off in the middle and then resumed (R31)."""
        return await self._receive(script, turns, resumed=True)

    async def adopt(self, threads: Mapping[Version, dict[str, Any]]) -> Mapping[Version, dict[str, Any]]:
        """Give the client the server's threads; return the threads that it then has (R32)."""
        await self.open()
        wanted = {v: thread for v, thread in threads.items() if v in self.capabilities.versions}
        if not wanted:
            return {}
        answer = await self._post("/adopt", {"threads": threads_json(wanted)})
        what = f"POST {self._endpoint.base}/adopt: the answer"
        return threads_from(require_valid("received", answer, what)["threads"], list(wanted), what)

    async def resolve(self, reference: Mapping[str, Any], data: bytes) -> bytes | None:
        """Have a `content_ref` resolved, whose store answers with `data`; return what is given out (R56)."""
        await self.open()
        answer = await self._post("/resolve", resolve_json(reference, data))
        what = f"POST {self._endpoint.base}/resolve: the answer"
        return resolved_from(require_valid("resolved", answer, what), what)

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask something of a thread. TargetError if the client does not answer it."""
        await self.open()
        what = f"POST {self._endpoint.base}/{question}: the answer"
        answer = await self._post(f"/{question}", dict(request))
        answered: Mapping[str, Any] = require_valid(ANSWERS[question], answer, what)
        return answered

    # ------------------------------------------------------------------------------------------------ a case

    async def _receive(self, script: Script, turns: Sequence[UserTurn | Stream], *, resumed: bool) -> TargetOutput:
        await self.open()
        if not versions_for(script, self.capabilities):
            return TargetOutput(threads={})
        for factor in _LIMIT_FACTORS:
            limit = self._http.patience.limit * factor
            ask = partial(self._ask_once, script, turns, limit=limit, resumed=resumed)
            threads, offered = await self._ask(ask)
            if self._relay is not None:  # what its plan did cannot be distinguished from what the client did
                return TargetOutput(threads=threads)
            hurried = any(one.offer.gave_up for one in offered) or has_missed_something(script, turns, offered, threads)
            if not hurried or any(one.offer.stayed for one in offered):  # who stayed does not do better with more time
                break
        settle = self._http.patience.settle
        return TargetOutput(threads=threads, findings=tuple(broken_promises(script, turns, offered, threads, settle)))

    async def _ask(self, ask: Callable[[Endpoint], Awaitable[_T]]) -> _T:
        """Ask; again on a connection of its own if one is lost that was kept: a client begins each time anew."""
        try:
            return await ask(self._endpoint)
        except LostConnectionError:
            return await ask(replace(self._endpoint, alone=True))

    async def _post(self, path: str, document: dict[str, Any]) -> Any:
        """Return the value of the answer to a document."""
        answer = await self._ask(lambda endpoint: self._http.ask("POST", endpoint, path, document))
        return answer.value

    async def _ask_once(
        self, script: Script, turns: Sequence[UserTurn | Stream], endpoint: Endpoint, *, limit: float, resumed: bool
    ) -> tuple[dict[Version, Any], list[CaseStream]]:
        """Have the streams received once; return the threads, and what was done with each stream."""
        if self._streams is None:
            raise RuntimeError("streams are served between open and close")
        offered: list[CaseStream] = []
        documents: list[dict[str, Any]] = []
        last = max((i for i, turn in enumerate(turns) if isinstance(turn, Stream)), default=None)
        try:
            for index, turn in enumerate(turns):
                if isinstance(turn, UserTurn):
                    documents.append(user_json(turn))
                    continue
                relayed = self._relay is not None and index == last  # a relay's fault strikes this one
                offer = self._serve_relayed if relayed else self._serve_stream
                one, document = offer(self._streams, turn, len(offered), limit=limit, resumed=resumed)
                one.offer.headers = wire_named(script.wire).headers
                offered.append(one)
                documents.append(document)
            document = case_json(script, documents, self.capabilities)
            asked = self._receiver.ask("POST", endpoint, "/receive", document)
            answer = await self._while_streams_go_on(asked, offered, f"POST {endpoint.base}/receive")
            for one in offered:
                await self._streams.finish(one.offer)
        except UnreachableError as error:
            raise self._explain_silence(error, offered) from error
        finally:
            for one in offered:
                self._streams.withdraw(one.offer)
        what = f"POST {self._endpoint.base}/receive: the answer"
        received = require_valid("received", answer.value, what)["threads"]
        for version in versions_for(script, self.capabilities):
            if version.value not in received:
                kind = CAPABILITY_KINDS["versions"]
                words = f"{kind.title}: {what} does not have a thread of version {version.value}"
                raise BrokenContractError(kind.at(Place(side="client"), words))
        return case_threads(received, script, self.capabilities, what), offered

    async def _while_streams_go_on(self, asked: Awaitable[_T], offered: Sequence[CaseStream], what: str) -> _T:
        """Return the answer, and wait while the client requests streams: a case has many, and a machine is busy."""
        answer, seen, silence = asyncio.ensure_future(asked), 0, self._http.patience.silence
        try:
            while not (await asyncio.wait({answer}, timeout=silence))[0]:
                progress = sum(one.offer.asked + one.offer.whole for one in offered)
                if progress == seen:
                    raise UnreachableError(f"{what}: the client sends nothing for {silence:g} s") from TimeoutError()
                seen = progress
            return answer.result()
        finally:
            answer.cancel()

    def _explain_silence(
        self, error: UnreachableError, offered: Sequence[CaseStream]
    ) -> UnreachableError | BrokenContractError:
        """Return the error for a missing answer to /receive, from what the client did with its streams."""
        ended = find_unclosed_stream(offered, self._http.patience.settle)
        if ended is not None:
            return BrokenContractError(ended)
        if not isinstance(error.__cause__, TimeoutError):
            return error
        return UnreachableError(
            f"{error}; {describe_streams(offered)}",
            hint="read each stream to its end, or until limits.stream_seconds is over; then answer with the threads",
        )

    def _serve_stream(
        self, streams: StreamServer, stream: Stream, number: int, *, limit: float, resumed: bool
    ) -> tuple[CaseStream, dict[str, Any]]:
        """Serve a stream; return it, and its document for the client."""
        pieces, reason = tuple(packet.data for packet in stream.packets), stream.end.reason
        real = self._live and reason in self.capabilities.detects
        ending = _ENDINGS[str(reason)] if real else Ending.PLAIN
        if self._reset and ending is Ending.BROKEN:
            ending = Ending.RESET
        breaks_at = None
        if resumed and (real or reason is None):  # a client that is given the end of a stream does not wait for more
            data, breaks_at = resumable(pieces)
            pieces = (data,)
        offer = streams.offer(pieces, ending, limit=limit, beats=True, breaks_at=breaks_at)
        offer.run, offer.alone = number, self._relay is not None
        url = offer.url if self._relay is None else _relayed_url(offer.url, self._relay.port)
        one = CaseStream(number=number, offer=offer, reason=reason if real else None)
        return one, _stream_document(stream, url, reason, limit=limit, live=real)

    def _serve_relayed(
        self, streams: StreamServer, stream: Stream, number: int, *, limit: float, resumed: bool
    ) -> tuple[CaseStream, dict[str, Any]]:
        """Serve a stream that a fault strikes in the relay; return it, and its document for the client."""
        del resumed  # the fault decides how it breaks off
        relay = self._relay
        if relay is None:
            raise RuntimeError("there is no relay")
        pieces = tuple(packet.data for packet in stream.packets)
        repeats = 0
        if relay.resume_from is not None:
            pieces = (resumable(pieces)[0],)
            repeats = {ResumeFrom.LAST_FRAME: 0, ResumeFrom.EARLIER_FRAME: 2}.get(relay.resume_from, 1 << 30)
        offer = streams.offer(pieces, Ending.PLAIN, repeats=repeats)
        offer.run, offer.alone = number, True
        live = relay.ends in self.capabilities.detects
        url = _relayed_url(offer.url, relay.port)
        return CaseStream(number=number, offer=offer), _stream_document(stream, url, relay.ends, limit=limit, live=live)


def _stream_document(stream: Stream, url: str, reason: str | None, *, limit: float, live: bool) -> dict[str, Any]:
    """Return the document of a stream for the client: with its end only if that does not really happen."""
    reported = None if live else reason
    document = stream_json(replace(stream, end=replace(stream.end, reason=reported)), url=url)
    if live and reason == "timeout":
        document["limits"] = {"stream_seconds": limit}
    return document


def _relayed_url(url: str, port: int) -> str:
    """Return the address of a stream at the relay."""
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
