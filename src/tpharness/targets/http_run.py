"""One run on a server under test: started, really interrupted where possible, its stream read and cut.

In: a run of a script. Out: its packets and what was observed of its end. Where the server declares that it can, an
interruption really happens: the run is held after its last event, then cancelled, or its connection closed, or its
limit left to expire. Promises that are not kept go to `findings`; BrokenContractError for a stream that cannot be
read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from tpharness.errors import TargetError
from tpharness.faults.catalogue import ResumeFrom
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import UserTurn
from tpharness.printable import counted
from tpharness.targets.contract import Capabilities, Packet, RunScript, Script, StreamEnd
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import run_json, user_json, wire_json
from tpharness.targets.http_thread import HttpThread, promise_finding
from tpharness.targets.live_end import LiveEnd
from tpharness.targets.marks import cut_at_marks, cut_at_reads, event_times, has_mark
from tpharness.targets.net import Http, OpenStream
from tpharness.targets.news import News
from tpharness.targets.remote import (
    BROKEN,
    CAPABILITY_KINDS,
    ENDLESS,
    LINE_TOO_LONG,
    NOT_TOLD,
    STALLED,
    BrokenContractError,
    LostConnectionError,
    UnreachableError,
)
from tpharness.targets.resume import data_frames, join_resumed
from tpharness.targets.stream_promises import BEATS, find_broken_promises, judge_hold, judge_silence
from tpharness.wires.registry import recognize, wire_named

__all__ = ["HttpOptions", "HttpRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How runs are played on a server: where they are started, what it can do, whether interruptions are real.

    `resume_from` says from where a stream that broke off is resumed, `stop` is set when the user presses stop.
    `recovered` returns when a server that was killed is running again.
    """

    http: Http
    streams: Endpoint
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(name=""))
    live: bool
    on_disconnect: str | None
    resume_from: ResumeFrom | None = None
    stop: asyncio.Event | None = None
    recovered: Callable[[], Awaitable[None]] | None = None


class _Interruption(Enum):
    """How a run is interrupted."""

    SCRIPTED = "scripted"  # by the script that the server plays, or not at all
    CANCEL = "cancel"
    DISCONNECT = "disconnect"
    LIMIT = "limit"


@dataclass(slots=True)
class _Stream:
    """One response body as it is received.

    `end` is what was observed: None plain, network_failure broken, timeout silence. `held`: a held run was read up to
    its hold. `cancelled`: a cancel of it was answered.
    """

    data: bytearray = field(default_factory=bytearray)
    reads: list[int] = field(default_factory=list)  # the length of each read
    end: str | None = None
    held: bool = False
    cancelled: bool = False


class HttpRun:
    """One run of a script on one thread."""

    def __init__(
        self,
        options: HttpOptions,
        thread: HttpThread,
        script: Script,
        run: RunScript,
        findings: list[Finding],
        *,
        seed: Mapping[str, Any] | None = None,
    ) -> None:
        self._seed = seed
        self._options = options
        self._http = options.http
        self._can = options.capabilities
        self._thread = thread
        self._script = script
        self._run = run
        self._findings = findings
        self._stream = _Stream()
        self._news = News(0.0)
        self._end = LiveEnd(thread, options.capabilities, script, run)

    async def play(self, users: Sequence[UserTurn]) -> tuple[tuple[Packet, ...], StreamEnd]:
        """Start the run with the user turns before it, and read its stream; return its packets and its end."""
        if self._options.stop is None:
            return await self._play(users)
        stopping = asyncio.ensure_future(self._cancel_on(self._options.stop))
        try:
            return await self._play(users)
        finally:
            stopping.cancel()
            await asyncio.gather(stopping, return_exceptions=True)

    async def _play(self, users: Sequence[UserTurn]) -> tuple[tuple[Packet, ...], StreamEnd]:
        live, stream = self._choose_interruption(), self._stream
        request = self._request(users, live)
        started = False
        try:
            async with self._http.stream(
                "POST", self._options.streams, f"{self._thread.path}/runs", request
            ) as reading:
                started = True
                await self._read(reading, live)
        except UnreachableError as error:
            if started or not self._options.streams.relay:
                raise
            # The relay broke off within the head of the answer: that is the fault, and what the client sees.
            stream.end = "timeout" if isinstance(error.__cause__, TimeoutError) else "network_failure"
        if stream.end is not None and self._options.streams.relay:
            await self._resume_or_wait()
        elif self._options.streams.relay:  # which may end a body well, and early
            await self._thread.wait_until_stable()
        if live is _Interruption.DISCONNECT and stream.held:
            wrong = await self._end.check_disconnect(self._http.patience.settle)
            self._findings += [] if wrong is None else [wrong]
        if self._is_cancelled_late and stream.end is None:
            await self._thread.cancel_ended_run()
        return self._result(live)

    async def _cancel_on(self, stop: asyncio.Event) -> None:
        """Cancel the run when the user presses stop; the threads show whether it was."""
        await stop.wait()
        await self._thread.cancel("user_cancelled")

    async def _resume_or_wait(self) -> None:
        """Resume a stream that broke off (R31), or wait until the run has ended without its client."""
        stream, resume_from = self._stream, self._options.resume_from
        if self._options.recovered is not None:
            await self._options.recovered()
            if stream.data and not await self._thread.exists():
                words = "after SIGKILL and a restart GET /threads/{thread_id} answers 404"
                raise BrokenContractError(promise_finding("durable", words))
        if resume_from is None:
            await self._thread.wait_until_stable()
            return
        frames, whole = data_frames(bytes(stream.data))
        ids = [frame.id for frame in frames if frame.id]
        named = None
        if ids and resume_from is not ResumeFrom.START:
            named = ids[-1] if resume_from is ResumeFrom.LAST_FRAME else ids[max(0, len(ids) - 3)]
        rest = await self._thread.resume(named)
        again = await self._thread.resume(None)
        data, findings = join_resumed(bytes(stream.data[:whole]), rest, again, named=named)
        self._findings += findings
        stream.data, stream.reads, stream.end = bytearray(data), [len(data)], None

    def _choose_interruption(self) -> _Interruption:
        """Decide how the run is interrupted: really, where that is possible and observable."""
        run, can = self._run, self._can
        cut = run.interruption
        if cut is None or not (self._options.live and can.marks):
            return _Interruption.SCRIPTED
        if self._ends_by_itself:
            return _Interruption.SCRIPTED  # it would not be held
        if run.abort and can.cancel:
            return _Interruption.CANCEL
        if cut.reason == "timeout" and not run.abort and can.limits:
            return _Interruption.LIMIT
        stops = cut.reason == "network_failure" and not run.abort and "stop" in can.disconnect
        if stops and self._end.visible:  # what the thread never shows cannot be waited for
            return _Interruption.DISCONNECT
        return _Interruption.SCRIPTED

    @property
    def _ends_by_itself(self) -> bool:
        """Whether the events of the run end it (R26, R27)."""
        return any(event.get("event_kind") in ("agent_run_result", "error") for event in self._run.events)

    @property
    def _is_cancelled_late(self) -> bool:
        """Whether the user presses stop after the run has ended, and the server takes cancels."""
        cut = self._run.interruption
        pressed = cut is not None and cut.reason == "user_cancelled"
        return pressed and self._ends_by_itself and self._options.live and self._can.cancel

    @property
    def _refuses_another(self) -> bool:
        """Whether a second run is asked for while this one is held: where it is the last of several, so in few cases.

        It comes with the user's turn once more, as of somebody who presses twice: what is refused leaves no trace.

        A run that no user turn begins may have ended: some frameworks go on from an answer that they find.
        """
        *before, last = self._script.turns
        begun = last is self._run and isinstance(before[-1] if before else None, UserTurn)
        return begun and any(isinstance(turn, RunScript) for turn in before)

    def _request(self, users: Sequence[UserTurn], live: _Interruption) -> dict[str, Any]:
        run = self._run
        scripted = run if live is _Interruption.SCRIPTED else replace(run, interruption=None, abort=False)
        request: dict[str, Any] = {
            "created_at": self._script.header.created_at,
            "agents": dict(self._script.header.agents),
            "user": [user_json(user) for user in users],
            "run": run_json(scripted),
            "carriers": self._carriers,
            "marks": self._marks,
            **wire_json(self._script),
        }
        if self._seed is not None:
            request["seed"] = {**self._seed, "thread_id": self._thread.id}
        if live is not _Interruption.SCRIPTED and run.interruption is not None:
            request["hold"] = {"at": run.interruption.at}
        if live is _Interruption.LIMIT:
            limit = self._http.patience.limit
            request["limits"] = {"stream_seconds": limit, "heartbeat_seconds": limit / BEATS}
        on_disconnect = "stop" if live is _Interruption.DISCONNECT else self._options.on_disconnect
        if on_disconnect is not None:
            request["on_disconnect"] = on_disconnect
        return request

    @property
    def _marks(self) -> bool:
        return self._can.marks and not self._options.streams.relay  # bytes that are lost take marks with them

    @property
    def _carriers(self) -> bool:
        return self._script.carriers and self._can.carriers

    # ------------------------------------------------------------------------------------------------ reading

    async def _read(self, reading: OpenStream, live: _Interruption) -> None:
        """Read a stream to its end, or to where it is cut or cancelled."""
        stream, patience = self._stream, self._http.patience
        total = asyncio.timeout(patience.total)
        self._news = News(asyncio.get_running_loop().time())
        try:
            async with total:
                if live in (_Interruption.SCRIPTED, _Interruption.LIMIT):
                    await self._read_to_end(reading)
                    return
                stream.held = await self._read_to_hold(reading)
                if stream.held:
                    self._findings += judge_hold(bytes(stream.data), len(self._run.events))
                if stream.held and live is _Interruption.CANCEL:
                    if self._refuses_another:
                        again = [turn for turn in self._script.turns if isinstance(turn, UserTurn)][-1:]
                        await self._thread.start_second_run(self._request(again, live))
                    await self._cancel_held(reading)
                elif stream.held:
                    reading.abandon()
                    stream.end = "network_failure"
        except TimeoutError:
            reading.abandon()
            if self._options.streams.relay:
                stream.end = "timeout"
                return
            if total.expired():
                raise self._endless(ENDLESS, f"{patience.total:g} s and {counted(len(stream.data), 'byte')}") from None
            kind = CAPABILITY_KINDS["limits"] if live is _Interruption.LIMIT else STALLED
            words = f"nothing for {patience.silence:g} s after {counted(len(stream.data), 'byte')}"
            raise self._endless(kind, words) from None

    async def _read_to_hold(self, reading: OpenStream) -> bool:
        """Read up to the mark of the last event. False if the stream ends before, which is reported later."""
        stream, count = self._stream, len(self._run.events)
        while not has_mark(stream.data, count, len(stream.data) - (stream.reads[-1] if stream.reads else 0)):
            if not await self._next(reading):
                return False
        return True

    async def _read_to_end(self, reading: OpenStream) -> None:
        while await self._next(reading):
            pass

    async def _next(self, reading: OpenStream) -> bool:
        """Read once. False at the end of the stream, plain or broken."""
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
            raise self._contract_error(LINE_TOO_LONG, f"more than {limits.line} bytes without a newline")
        if len(data) > limits.stream:
            reading.abandon()
            raise self._contract_error(ENDLESS, f"more than {limits.stream} bytes")
        self._check_news(reading, piece)
        return True

    def _check_news(self, reading: OpenStream, piece: bytes) -> None:
        """Give up on a stream that only heartbeats keep open, as soon as on one that is silent."""
        patience = self._http.patience
        quiet = self._news.quiet(piece, asyncio.get_running_loop().time())
        allowed = patience.settle if self._news.ended else patience.silence
        if quiet > allowed and not self._options.streams.relay:
            reading.abandon()
            since = "after [DONE]" if self._news.ended else "and nothing else"
            raise self._endless(ENDLESS, f"heartbeats for more than {allowed:g} s {since}")

    def _endless(self, kind: Kind, words: str) -> BrokenContractError:
        """Return the error for a stream without an end: that of the cancel, if the stream does not tell of it."""
        stream = self._stream
        if stream.cancelled and not self._news.ended and not self._says_stopped():
            kind, words = CAPABILITY_KINDS["cancel"], f"it is answered, and the stream does not end: {words}"
        return self._contract_error(kind, words)

    def _contract_error(self, kind: Kind, words: str) -> BrokenContractError:
        tail = bytes(self._stream.data[-60:])
        return BrokenContractError(kind.at(Place(side="server"), f"{kind.title}: {words}", got=tail or None))

    async def _cancel_held(self, reading: OpenStream) -> None:
        """Cancel the held run and read on meanwhile: a server may answer only after it has sent the abort."""
        cut = self._run.interruption
        if cut is None:
            return
        asked = asyncio.ensure_future(self._cancel(cut.reason))
        rest = asyncio.ensure_future(self._read_to_end(reading))
        try:
            stopped = await asked
            self._stream.cancelled = True
            shown = await self._end.is_shown()
            await rest
        finally:
            for task in (asked, rest):
                task.cancel()
            await asyncio.gather(asked, rest, return_exceptions=True)
        if not stopped:
            words = "it answers that there was nothing to cancel while the run is held"
            self._findings.append(promise_finding("cancel", words))
        elif not shown and await self._end.is_shown():
            words = "when it is answered, the thread does not show the interruption yet"
            self._findings.append(promise_finding("cancel", words))
        if stopped and not self._says_stopped():
            self._findings.append(NOT_TOLD.at(Place(side="server"), got=bytes(self._stream.data[-60:])))

    def _says_stopped(self) -> bool:
        data = bytes(self._stream.data)
        return recognize(data).says_stopped.search(data) is not None

    async def _cancel(self, reason: str) -> bool:
        """Cancel the run; return whether there was one. BrokenContractError for another answer than the contract's."""
        try:
            return await self._thread.cancel(reason)
        except (UnreachableError, LostConnectionError):
            raise
        except TargetError as error:
            raise BrokenContractError(CAPABILITY_KINDS["cancel"].at(Place(side="server"), str(error))) from error

    # ------------------------------------------------------------------------------------------------ what was seen

    def _result(self, live: _Interruption) -> tuple[tuple[Packet, ...], StreamEnd]:
        """Cut the stream into packets, and compare it with what was declared."""
        run, stream = self._run, self._stream
        data = bytes(stream.data)
        times = event_times(run)
        last = run.interruption.at if run.interruption is not None else times[-1] if times else run.started_at
        end = StreamEnd(reason=stream.end, at=last)
        whole = stream.end is None
        reported = run.interruption is None or run.abort
        if reported and stream.end == "network_failure" and not self._options.streams.relay:
            self._findings.append(BROKEN.at(Place(side="server", byte=len(data))))
        carriers = self._carriers and whole and not self._options.streams.relay  # which may end a body well, and early
        ids = self._can.resume and whole and wire_named(self._script.wire).resumable
        self._findings += find_broken_promises(data, ids=ids, carriers=carriers)
        if live is _Interruption.LIMIT and whole:
            self._findings += judge_silence(data, len(run.events), self._http.patience.limit)
        if self._marks:
            marked = cut_at_marks(data, run, last, whole=whole or stream.held)
            if marked.wrong:
                self._findings.append(promise_finding("marks", marked.wrong))
            return marked.packets, end
        return cut_at_reads(data, stream.reads, run.started_at), end
