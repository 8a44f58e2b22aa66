"""One run on a server under test: started, interrupted for real where that can be, its stream read and cut.

In: a run of a script. Out: its packets and what was seen of its end. Where the server declares that it can, an
interruption happens for real: the run is held after its last event, then cancelled, or its connection closed, or its
limit left to run out. What of a promise is not kept goes to `findings`; BrokenContractError for a stream that cannot be
taken in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tpharness.errors import TargetError
from tpharness.faults.catalogue import Comeback
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import UserTurn
from tpharness.protocol.versions import Version
from tpharness.targets.contract import Capabilities, Observed, Packet, RunScript, Script
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import run_json, user_json
from tpharness.targets.http_thread import HttpThread, interrupted_for, not_kept
from tpharness.targets.marks import cut_at_marks, event_times, has_mark
from tpharness.targets.net import Http, Reading
from tpharness.targets.reference import ReferenceServer
from tpharness.targets.remote import (
    BROKEN,
    CAPABILITY_KINDS,
    ENDLESS,
    LINE_TOO_LONG,
    NOT_TOLD,
    NOT_UTF8,
    STALLED,
    BrokenContractError,
    UnreachableError,
)
from tpharness.targets.resume import frames_of, joined

__all__ = ["HttpOptions", "HttpRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How runs are played on a server: where they are started, what it can do, whether interruptions are real.

    `comeback` is how the client comes back for a stream that breaks off, `stop` set when the user presses stop.
    `recovered` returns when a server that was killed is there again.
    """

    http: Http
    streams: Endpoint
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(name=""))
    live: bool
    on_disconnect: str | None
    comeback: Comeback | None = None
    stop: asyncio.Event | None = None
    recovered: Callable[[], Awaitable[None]] | None = None


class _Live(Enum):
    """How a run is interrupted."""

    TOLD = "told"  # the server is told in the script, or nothing interrupts the run
    CANCEL = "cancel"
    DISCONNECT = "disconnect"
    LIMIT = "limit"


@dataclass(slots=True)
class _Stream:
    """One response body as it comes in.

    `end` is what was seen: None plain, network_failure broken, timeout silence. `held` says that a run that is held
    was read up to there.
    """

    data: bytearray = field(default_factory=bytearray)
    reads: list[int] = field(default_factory=list)  # the length of each read
    end: str | None = None
    held: bool = False


class HttpRun:
    """One run of a script on one thread."""

    def __init__(
        self,
        way: HttpOptions,
        thread: HttpThread,
        script: Script,
        run: RunScript,
        findings: list[Finding],
        *,
        seed: Mapping[str, Any] | None = None,
    ) -> None:
        self._seed = seed
        self._way = way
        self._http = way.http
        self._can = way.capabilities
        self._thread = thread
        self._script = script
        self._run = run
        self._findings = findings
        self._stream = _Stream()
        self._turns = 0

    async def played(self, users: Sequence[UserTurn]) -> tuple[tuple[Packet, ...], Observed]:
        """Start the run with the user turns before it, and read its stream; return its packets and its end."""
        stopping = asyncio.ensure_future(self._stopped_by_user())
        try:
            return await self._played(users)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    async def _played(self, users: Sequence[UserTurn]) -> tuple[tuple[Packet, ...], Observed]:
        live, run, stream = self._how(), self._run, self._stream
        request = self._request(users, live)
        started = False
        try:
            async with self._http.stream("POST", self._way.streams, f"{self._thread.path}/runs", request) as reading:
                started = True
                await self._read(reading, live)
        except UnreachableError as error:
            if started or not self._way.streams.relay:
                raise
            # The relay broke off within the head of the answer: that is the fault, and what the client sees.
            stream.end = "timeout" if isinstance(error.__cause__, TimeoutError) else "network_failure"
        if stream.end is not None and self._way.streams.relay:
            await self._come_back()
        if live is _Live.DISCONNECT and stream.held and run.interruption is not None:
            await self._until_shown(run.interruption.reason)
        return self._judged()

    async def _until_shown(self, reason: str) -> None:
        """Wait until the thread shows that the run was interrupted; it is a promise not kept if it never does."""
        if not await self._thread.until_interrupted(reason, self._turns):
            settle = self._http.patience.settle
            words = f"{settle:g} s after the connection was closed the thread does not show it"
            self._findings.append(not_kept("disconnect", words))

    async def _stopped_by_user(self) -> None:
        """Cancel the run when the user presses stop; what the answer promises is held by the threads."""
        if self._way.stop is not None:
            await self._way.stop.wait()
            await self._thread.cancel("user_cancelled")

    async def _come_back(self) -> None:
        """Go on with a stream that broke off (R31), or wait until the run has ended without its client."""
        stream, comeback = self._stream, self._way.comeback
        if self._way.recovered is not None:
            await self._way.recovered()
            if stream.data and not await self._thread.survived():
                words = "after SIGKILL and a new start GET /threads/{thread_id} answers 404"
                raise BrokenContractError(not_kept("durable", words))
        if comeback is None:
            await self._thread.until_still()
            return
        frames, whole = frames_of(bytes(stream.data))
        ids = [frame.id for frame in frames if frame.id]
        named = None
        if ids and comeback is not Comeback.FROM_THE_START:
            named = ids[-1] if comeback is Comeback.AFTER_THE_LAST else ids[max(0, len(ids) - 3)]
        rest = await self._thread.resume(named)
        told = await self._thread.resume(None)
        data, findings = joined(bytes(stream.data[:whole]), rest, told, named=named)
        self._findings += findings
        stream.data, stream.reads, stream.end = bytearray(data), [len(data)], None

    def _how(self) -> _Live:
        """Decide how the run is interrupted: for real where that is possible and can be seen."""
        run, can = self._run, self._can
        cut = run.interruption
        if cut is None or not (self._way.live and can.marks):
            return _Live.TOLD
        if any(event.get("event_kind") in ("agent_run_result", "error") for event in run.events):
            return _Live.TOLD  # the run has ended by itself (R26, R27): nothing would be held
        if cut.reason == "user_cancelled" and run.abort and can.cancel:
            return _Live.CANCEL
        if cut.reason == "timeout" and not run.abort and can.limits:
            return _Live.LIMIT
        shown_in = can.shows_interrupted
        stops = cut.reason == "network_failure" and not run.abort and "stop" in can.disconnect
        if stops and shown_in is not None:
            self._turns = self._shown_turns(shown_in)
            return _Live.DISCONNECT if self._turns else _Live.TOLD
        return _Live.TOLD

    def _shown_turns(self, version: Version) -> int:
        """Return how many turns the thread of that version has when it shows the interruption.

        0 when it never does: a turn of which nothing is kept (R24) could not be waited for.
        """
        oracle = ReferenceServer(replace(self._script, versions=(version,)))
        for turn in self._script.turns:
            if isinstance(turn, UserTurn):
                oracle.user(turn)
                continue
            oracle.begin(turn)
            for event in turn.events:
                oracle.feed(event)
            if turn.interruption is not None:
                oracle.interrupt(turn.interruption, abort=turn.abort)
            if turn is self._run:
                break
        thread = oracle.threads()[version]
        cut = self._run.interruption
        return len(thread["turns"]) if cut is not None and interrupted_for(thread) == cut.reason else 0

    def _request(self, users: Sequence[UserTurn], live: _Live) -> dict[str, Any]:
        run = self._run
        told = run if live is _Live.TOLD else replace(run, interruption=None, abort=False)
        request: dict[str, Any] = {
            "created_at": self._script.header.created_at,
            "agents": dict(self._script.header.agents),
            "user": [user_json(user) for user in users],
            "run": run_json(told),
            "carriers": self._carriers,
            "marks": self._marks,
        }
        if self._seed is not None:
            request["seed"] = {**self._seed, "thread_id": self._thread.id}
        if live is not _Live.TOLD and run.interruption is not None:
            request["hold"] = {"at": run.interruption.at}
        if live is _Live.LIMIT:
            request["limits"] = {"stream_seconds": self._http.patience.limit}
        going = "stop" if live is _Live.DISCONNECT else self._way.on_disconnect
        if going is not None:
            request["on_disconnect"] = going
        return request

    @property
    def _marks(self) -> bool:
        return self._can.marks and not self._way.streams.relay  # what is lost on the way takes marks with it

    @property
    def _carriers(self) -> bool:
        return self._script.carriers and self._can.carriers

    # ------------------------------------------------------------------------------------------------ reading

    async def _read(self, reading: Reading, live: _Live) -> None:
        """Take a stream in to its end, or to the place where it is cut off or cancelled."""
        stream, patience = self._stream, self._http.patience
        total = asyncio.timeout(patience.total)
        try:
            async with total:
                if live in (_Live.TOLD, _Live.LIMIT):
                    await self._to_the_end(reading)
                    return
                stream.held = await self._to_the_hold(reading)
                if stream.held and live is _Live.CANCEL:
                    await self._cancelled(reading)
                elif stream.held:
                    reading.abandon()
                    stream.end = "network_failure"
        except TimeoutError:
            reading.abandon()
            if self._way.streams.relay:
                stream.end = "timeout"
                return
            if total.expired():
                raise self._stopped(ENDLESS, f"{patience.total:g} s and {len(stream.data)} bytes") from None
            kind = CAPABILITY_KINDS["limits"] if live is _Live.LIMIT else STALLED
            words = f"nothing for {patience.silence:g} s after {len(stream.data)} bytes"
            raise self._stopped(kind, words) from None

    async def _to_the_hold(self, reading: Reading) -> bool:
        """Read up to the mark of the last event. False if the stream ends before, which is found later."""
        stream, count = self._stream, len(self._run.events)
        while not has_mark(stream.data, count, len(stream.data) - (stream.reads[-1] if stream.reads else 0)):
            if not await self._next(reading):
                return False
        return True

    async def _to_the_end(self, reading: Reading) -> None:
        while await self._next(reading):
            pass

    async def _next(self, reading: Reading) -> bool:
        """Take in one read. False at the end of the stream, plain or broken."""
        stream = self._stream
        try:
            piece = await reading.read()
        except ConnectionError:
            stream.end = "network_failure"
            return False
        if not piece:
            return False
        data, limits = stream.data, self._http.limits
        data += piece
        stream.reads.append(len(piece))
        if len(data) > limits.line and data.find(b"\n", len(data) - limits.line) < 0:
            reading.abandon()
            raise self._stopped(LINE_TOO_LONG, f"more than {limits.line} bytes without a newline")
        if len(data) > limits.stream:
            reading.abandon()
            raise self._stopped(ENDLESS, f"more than {limits.stream} bytes")
        return True

    def _stopped(self, kind: Kind, words: str) -> BrokenContractError:
        tail = bytes(self._stream.data[-60:])
        return BrokenContractError(kind.at(Place(side="server"), f"{kind.title}: {words}", got=tail or None))

    async def _cancelled(self, reading: Reading) -> None:
        """Cancel the held run and read on meanwhile: a server may answer only once the client has been told."""
        cut = self._run.interruption
        if cut is None:
            return
        asked = asyncio.ensure_future(self._thread.cancel(cut.reason))
        rest = asyncio.ensure_future(self._to_the_end(reading))
        try:
            stopped = await asked
            if not stopped:
                words = "it says that there was nothing to cancel while the run is held"
                self._findings.append(not_kept("cancel", words))
            await rest
        except (UnreachableError, BrokenContractError):
            raise
        except TargetError as error:
            reading.abandon()
            raise BrokenContractError(CAPABILITY_KINDS["cancel"].at(Place(side="server"), str(error))) from error
        finally:
            for task in (asked, rest):
                task.cancel()
            await asyncio.gather(asked, rest, return_exceptions=True)
        if stopped and b'"abort"' not in self._stream.data:
            self._findings.append(NOT_TOLD.at(Place(side="server"), got=bytes(self._stream.data[-60:])))

    # ------------------------------------------------------------------------------------------------ what was seen

    def _judged(self) -> tuple[tuple[Packet, ...], Observed]:
        """Cut the stream into packets, and hold what was declared against it."""
        run, stream = self._run, self._stream
        data = bytes(stream.data)
        times = event_times(run)
        last = run.interruption.at if run.interruption is not None else times[-1] if times else run.started_at
        end = Observed(reason=stream.end, at=last)
        whole = stream.end is None
        told = run.interruption is None or run.abort
        if told and stream.end == "network_failure" and not self._way.streams.relay:
            self._findings.append(BROKEN.at(Place(side="server", byte=len(data))))
        if (wrong := _not_utf8(data)) is not None:
            self._findings.append(NOT_UTF8.at(Place(side="server", byte=wrong), got=data[wrong : wrong + 4]))
        if self._can.resume and whole and not _has_id(data):
            self._findings.append(not_kept("resume", "no frame of a stream has an id"))
        if self._carriers and whole and b"data-sys-tp" not in data:
            self._findings.append(not_kept("carriers", "a stream that was to carry them has none"))
        if self._marks:
            marked = cut_at_marks(data, run, last, whole=whole or stream.held)
            if marked.wrong:
                self._findings.append(not_kept("marks", marked.wrong))
            return marked.packets, end
        packets: list[Packet] = []
        start = 0
        for length in stream.reads:
            packets.append(Packet(data=data[start : start + length], at=run.started_at))
            start += length
        return tuple(packets), end


def _not_utf8(data: bytes) -> int | None:
    """Return where a stream is not UTF-8; a character that the end of the stream cuts is none."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return None if error.end == len(data) and error.reason == "unexpected end of data" else error.start
    return None


def _has_id(data: bytes) -> bool:
    """Whether a stream has an `id:` line, or nothing that could have one."""
    return b"\nid:" in data or data.startswith(b"id:") or b"data:" not in data
