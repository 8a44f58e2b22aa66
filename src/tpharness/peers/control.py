"""The control contract in front of a Python framework: routes, threads, and runs that are cut for real.

In: a `Framework`. Out: an ASGI application. The application is what a user of the framework would write: it keeps
the history that the framework leaves behind after each run, and renders it as a thread. How the run ended is known
here, since the histories do not record it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.dialects.messages import time_key
from tpharness.errors import TargetError
from tpharness.journal import Event, Interrupted, JournalWriter
from tpharness.output import json_bytes
from tpharness.peers.playback import Playback, ResponseBody
from tpharness.peers.scripted_run import ScriptedRun
from tpharness.protocol.versions import ERROR_EVENT, Version, newest_version
from tpharness.readings import Readings
from tpharness.reference_app import refusal
from tpharness.reference_app.refusal import Refusal, problem
from tpharness.reference_app.requests import RunRequest, parse_run_request, read_request, require_valid, thread_id_from
from tpharness.reference_app.settings import Settings
from tpharness.targets import forms
from tpharness.targets.contract import Capabilities
from tpharness.targets.marks import event_times
from tpharness.targets.remote import CannotPlayError
from tpharness.wires.ag_ui.carriers import carry
from tpharness.wires.registry import default_wire, wire_named

__all__ = ["ActiveRun", "Framework", "PeerConversation", "application", "main"]

_LOG = logging.getLogger("tpharness.peers")


class PeerConversation(Protocol):
    """One thread in the framework's own hands."""

    async def run(self, live: ActiveRun) -> None:
        """Let the framework run; write what it sends to `live.body`. Cancelled when the client disconnects.

        Returns when the framework's stream has ended; an error of the model ends it too.
        """
        ...

    def cancel(self, reason: str) -> None:
        """Stop the run in the framework's own way, so that its stream reports it."""
        ...

    def record(self, writer: JournalWriter, live: ActiveRun) -> str | None:
        """Write the run that has just ended into the journal, from the framework's own history.

        Return why the model itself did not finish it regularly, if it did not (R27).
        """
        ...


class Framework(Protocol):
    """What stands behind the contract."""

    @property
    def capabilities(self) -> Capabilities:
        """What it declares."""
        ...

    @property
    def part_kinds(self) -> frozenset[str]:
        """The kinds of parts that its model can answer with."""
        ...

    @property
    def wire(self) -> str:
        """The wire that its streams are: `vsp` or `ag-ui`."""
        ...

    def converse(self, thread_id: str) -> PeerConversation:
        """Begin a conversation."""
        ...

    def refuse(self, scripted: ScriptedRun, request: RunRequest) -> None:
        """Raise CannotPlayError for a run that the framework cannot play; `ScriptedRun` refuses most of them."""
        ...


@dataclass(slots=True, kw_only=True)
class ActiveRun:
    """A run in progress: its request, its script, its playback, and the body of its response."""

    request: RunRequest
    scripted: ScriptedRun
    body: ResponseBody
    playback: Playback
    waiting: bool = False
    """Whether all output of the framework so far has been sent."""
    failure: str | None = None
    """The text of the error by which the framework's run ended."""
    prompts: tuple[Mapping[str, Any], ...] = ()
    """The parts of the user turns that this run answers."""
    recorded: set[int] = field(default_factory=set)
    """The places of the application's events that stand in the journal."""

    def record_notices(self, writer: JournalWriter, until: str | None = None) -> None:
        """Write the application's events that happened, all or those up to a time, in the order of time (R25)."""
        for index, notice in self.scripted.notices.items():
            at = self.playback.times[index]
            late = until is not None and time_key(at) > time_key(until)
            if index in self.recorded or index >= self.playback.done or late or not notice.kept:
                continue
            self.recorded.add(index)
            writer.add_event(
                Event(
                    name=notice.name,
                    data=notice.data,
                    at=at,
                    source_agent=notice.source_agent,
                    target_agents=notice.target_agents,
                )
            )


@dataclass(slots=True)
class _Thread:
    """One thread: the framework's conversation, its header and journal, and the run in progress."""

    conversation: PeerConversation
    header: ThreadHeader
    writer: JournalWriter = field(default_factory=JournalWriter)
    task: asyncio.Task[None] | None = None
    live: ActiveRun | None = None
    cut: Interrupted | None = None


class _Application:
    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._threads: dict[str, _Thread] = {}
        self._settings = Settings()
        self._tasks: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------------------------------------------ requests

    async def capabilities(self, request: Request) -> Response:
        del request
        declared = replace(self._framework.capabilities, wires=(self._framework.wire,))
        return _json(forms.capabilities_json(declared, ("server",)))

    async def start_run(self, request: Request) -> Response:
        thread_id = thread_id_from(request)
        asked = await read_request(
            request, self._settings, lambda value: parse_run_request(value, thread_id, self._settings)
        )
        known = self._threads.get(thread_id)
        if known is not None and known.live is not None:
            raise Refusal(409, "a run of this thread is in progress", hint="wait for its end, or cancel it")
        if asked.seed is not None:
            return problem(501, "a thread that is handed over")
        try:
            scripted = ScriptedRun.read(asked.script.events, part_kinds=self._framework.part_kinds)
            self._framework.refuse(scripted, asked)
            planned = _plan_cut(asked, scripted)
        except CannotPlayError as error:
            return problem(501, str(error))
        if known is None and not asked.user:
            return problem(501, "a conversation that begins without a word of the user")
        thread = known or self._create_thread(thread_id, asked)
        for turn in asked.user:
            thread.writer.add_user_turn(forms.user_from(turn))
        body = ResponseBody()
        waiting = _IsWaiting()
        playback = Playback(
            event_times(asked.script),
            body,
            started_at=asked.script.started_at,
            marks=asked.marks,
            waiting=waiting,
            quiet=scripted.quiet,
            notices={index: self._frame(notice.chunk()) for index, notice in scripted.notices.items()},
            at_end=None if planned is None else lambda: self._end_as_scripted(thread, planned),
        )
        prompts = tuple(part for turn in asked.user for part in turn["parts"])
        live = ActiveRun(request=asked, scripted=scripted, body=body, playback=playback, prompts=prompts)
        waiting.live = live
        thread.live, thread.cut = live, None
        thread.task = asyncio.create_task(self._live(thread, live))
        self._tasks.add(thread.task)
        thread.task.add_done_callback(self._tasks.discard)
        headers = {"cache-control": "no-cache", **wire_named(self._framework.wire).headers}
        return StreamingResponse(self._body(thread, live), headers=headers, media_type="text/event-stream")

    async def add_user_turn(self, request: Request) -> Response:
        turn = await read_request(request, self._settings, partial(require_valid, "userTurn"))
        self._find_thread(request).writer.add_user_turn(forms.user_from(turn))
        return Response(status_code=204)

    async def cancel(self, request: Request) -> Response:
        asked = await read_request(request, self._settings, partial(require_valid, "cancelRequest"))
        thread = self._find_thread(request)
        live, task = thread.live, thread.task
        if live is None or task is None:
            return _json({"cancelled": False})
        if thread.cut is None:
            thread.cut = Interrupted(reason=asked["reason"], at=live.request.hold_at or live.playback.now)
            thread.conversation.cancel(asked["reason"])
        await asyncio.wait([task])
        return _json({"cancelled": True})

    async def thread(self, request: Request) -> Response:
        if request.method == "DELETE":
            gone = self._threads.pop(thread_id_from(request), None)
            if gone is not None and gone.task is not None:
                gone.task.cancel()
            return Response(status_code=204)
        asked = request.query_params.get("version", newest_version().value)
        if asked not in [version.value for version in Version]:
            raise Refusal(400, f"{asked[:40]} is not a version of ThreadProtocol")
        found = self._find_thread(request)
        renderer = DIALECTS[Version(asked)].renderer(found.header, Readings())
        return _json(renderer.render(found.writer.journal()))

    async def stop(self) -> None:
        """End every run in progress."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _frame(self, chunk: Mapping[str, Any]) -> bytes:
        """Return an event of the application, as its wire has it."""
        wire = wire_named(self._framework.wire)
        return wire.encode([chunk if wire is default_wire() else carry(chunk)])

    # ------------------------------------------------------------------------------------------------ runs

    def _find_thread(self, request: Request) -> _Thread:
        thread = self._threads.get(thread_id_from(request))
        if thread is None:
            raise Refusal(404, "there is no such thread", hint="a run creates its thread")
        return thread

    def _create_thread(self, thread_id: str, asked: RunRequest) -> _Thread:
        header = ThreadHeader(thread_id=thread_id, created_at=asked.created_at, agents=asked.agents)
        thread = _Thread(self._framework.converse(thread_id), header)
        self._threads[thread_id] = thread
        return thread

    async def _live(self, thread: _Thread, live: ActiveRun) -> None:
        """Run to the end, with or without readers; then record the run and end the body."""
        try:
            with contextlib.suppress(asyncio.CancelledError):
                await thread.conversation.run(live)
            self._record(thread, live)
        except Exception:
            _LOG.exception("a run failed")
            raise
        finally:
            live.playback.stop()
            thread.live = None
            live.body.close()

    def _record(self, thread: _Thread, live: ActiveRun) -> None:
        cut, scripted = thread.cut, live.scripted
        at = live.playback.now
        if cut is None and live.failure is not None:
            cut = Interrupted(reason="error", at=at)
        reason = thread.conversation.record(thread.writer, live)
        if cut is None and reason is not None:
            cut = Interrupted(reason=reason, at=at)
        live.record_notices(thread.writer)
        if live.failure is not None:
            where = at if scripted.failed_at is None else live.playback.times[scripted.failed_at]
            thread.writer.add_event(Event(name=ERROR_EVENT, data={"error": live.failure}, at=where))
        if cut is None:
            thread.writer.complete_turn(at)
        else:
            thread.writer.interrupt_turn(cut.reason, cut.at)

    def _end_as_scripted(self, thread: _Thread, planned: _PlannedCut) -> None:
        """All events have been played: end the run as the script says, unless a request has to end it."""
        live = thread.live
        if live is None or thread.task is None or thread.cut is not None or planned.held:
            return
        thread.cut = planned.cut
        if planned.reported and planned.cut is not None:
            thread.conversation.cancel(planned.cut.reason)
        else:
            thread.task.cancel()

    async def _body(self, thread: _Thread, live: ActiveRun) -> AsyncIterator[bytes]:
        """Yield the body. A client that disconnects interrupts the run with network_failure (R27)."""
        try:
            while (data := await live.body.read()) is not None:
                yield data
        except asyncio.CancelledError:
            if thread.live is live and thread.task is not None and thread.cut is None:
                at = live.request.hold_at or live.playback.now
                thread.cut = Interrupted(reason="network_failure", at=at)
                thread.task.cancel()
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlannedCut:
    """How a run is cut after its last event: by a request (`held`), with a report to the client, or silently."""

    cut: Interrupted | None = None
    reported: bool = False
    held: bool = False


def _plan_cut(asked: RunRequest, scripted: ScriptedRun) -> _PlannedCut | None:
    """Return how the run is cut, None for a run that ends by itself. CannotPlayError for any other cut."""
    if scripted.result_at is not None or scripted.failed_at is not None:
        return None  # it has ended before anything could cut it (R26)
    if asked.hold_at is not None:
        return _PlannedCut(held=True)
    cut = asked.script.interruption
    if cut is None:
        raise CannotPlayError("a model that falls silent for good")
    if cut.reason in ("error", "safety_halt"):
        raise CannotPlayError(f"an interruption for {cut.reason} from outside")
    return _PlannedCut(cut=cut, reported=asked.script.abort)


class _IsWaiting:
    """Whether all output of the framework has been sent; false until the run exists."""

    live: ActiveRun | None = None

    def __call__(self) -> bool:
        return self.live is not None and self.live.waiting


def application(framework: Framework) -> Starlette:
    """Return the application."""
    app = _Application(framework)
    thread = "/threads/{thread_id}"

    @contextlib.asynccontextmanager
    async def alive(_: Starlette) -> AsyncIterator[None]:
        yield
        await app.stop()

    return Starlette(
        routes=[
            Route("/capabilities", app.capabilities, methods=["GET"]),
            Route(f"{thread}/runs", app.start_run, methods=["POST"]),
            Route(f"{thread}/user-turns", app.add_user_turn, methods=["POST"]),
            Route(f"{thread}/cancel", app.cancel, methods=["POST"]),
            Route(thread, app.thread, methods=["GET", "DELETE"]),
        ],
        exception_handlers={
            Refusal: refusal.on_refusal,
            HTTPException: refusal.on_http_exception,
            Exception: refusal.on_failure,
        },
        lifespan=alive,
    )


def main(make: Callable[[], Framework], arguments: Sequence[str] | None = None) -> None:
    """Serve a framework on a port of loopback: the program of a peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    port = parser.parse_args(arguments).port
    try:
        framework = make()
    except TargetError as error:
        raise SystemExit(f"{error}\n{error.hint}" if error.hint else str(error)) from error
    config = uvicorn.Config(
        application(framework), host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run()


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type="application/json")
