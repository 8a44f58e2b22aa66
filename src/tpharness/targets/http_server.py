"""A server under test behind the control contract, `conformance/control.openapi.yaml`.

In: `http://[TOKEN@]HOST:PORT[/base]`. Out: a `ServerTarget`: each script is played on a thread of its own, which is
deleted afterwards. What the server declares is compared with what is observed; a promise that is not kept is a finding.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from yarl import URL

from tpharness.errors import TargetError
from tpharness.faults.catalogue import ResumeFrom
from tpharness.findings import Finding, Place
from tpharness.journal import UserTurn
from tpharness.targets.contract import Capabilities, Packet, RunScript, Script, StreamEnd, TargetOutput
from tpharness.targets.endpoint import Endpoint
from tpharness.targets.forms import ANSWERS, capabilities_from, require_valid, user_json
from tpharness.targets.http_run import HttpOptions, HttpRun
from tpharness.targets.http_thread import HttpThread
from tpharness.targets.net import Http
from tpharness.targets.remote import (
    CAPABILITIES_HINT,
    NOT_FORGOTTEN,
    UNKNOWN_TAKEN,
    LostConnectionError,
    Patience,
    StreamLimits,
    UnreachableError,
)
from tpharness.trace.tape import current_tape

__all__ = ["HttpServer"]

_AT_ONCE = 16


class HttpServer:
    """A server reached over HTTP.

    `on_disconnect` is what runs do when the client disconnects. With `live=False` every interruption is part of the
    script.
    """

    def __init__(
        self,
        url: str,
        *,
        live: bool = True,
        on_disconnect: str | None = None,
        patience: Patience | None = None,
        limits: StreamLimits | None = None,
    ) -> None:
        self._control = Endpoint.parse(url)
        self._http = Http(patience=patience, limits=limits)
        self._options = HttpOptions(http=self._http, streams=self._control, live=live, on_disconnect=on_disconnect)
        self._capabilities: Capabilities | None = None

    def via_relay(
        self,
        port: int,
        *,
        resume_from: ResumeFrom | None = None,
        stop: asyncio.Event | None = None,
        silence: float | None = None,
        recovered: Callable[[], Awaitable[None]] | None = None,
    ) -> HttpServer:
        """Return the same server with its runs started through a relay on a port of loopback; closed with this one.

        What breaks there is observed as a client would, not an error. A run continues without its client if the server
        can do that. `resume_from` says from where a stream that breaks off is resumed (R31), `stop` is set when the
        user presses stop, `silence` is the number of seconds without a byte after which the client gives up.
        `recovered` returns when a server that was killed is running again.
        """
        other = copy.copy(self)
        base = str(URL(self._control.base).with_host("127.0.0.1").with_port(port)).rstrip("/")
        other._control = replace(self._control, alone=True)  # noqa: SLF001  # a copy of this very object
        other._options = replace(  # noqa: SLF001
            self._options,
            streams=replace(other._control, base=base, relay=True, silence=silence),  # noqa: SLF001
            live=False,
            on_disconnect=next((w for w in ("continue", "stop") if w in self.capabilities.disconnect), None),
            resume_from=resume_from,
            stop=stop,
            recovered=recovered,
        )
        return other

    @property
    def address(self) -> tuple[str, int] | None:
        """Its host and port, for a relay; None if it speaks TLS, which a relay cannot read."""
        url = self._control.url("/")
        return (str(url.host), int(url.port or 0)) if url.scheme == "http" else None

    @property
    def at_once(self) -> int:
        """How many cases are played at the same time."""
        return _AT_ONCE

    @property
    def capabilities(self) -> Capabilities:
        """What the server declares; before `open`, only its address."""
        return self._capabilities or Capabilities(name=self._control.base, versions=(), carriers=False)

    async def open(self) -> None:
        """Fetch the capabilities, once."""
        if self._capabilities is None:
            answer = await self._http.ask("GET", self._control, "/capabilities", hint=CAPABILITIES_HINT)
            self._capabilities = capabilities_from(answer.value, "server", self._control.base)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self._http.close()

    async def answer(self, question: str, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask something of a thread. TargetError if the server does not answer it."""
        await self.open()
        answer = await self._http.ask("POST", self._control, f"/{question}", dict(request), hint=CAPABILITIES_HINT)
        what = f"POST {self._control.base}/{question}: the answer"
        answered: Mapping[str, Any] = require_valid(ANSWERS[question], answer.value, what)
        return answered

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script on a new thread; return its threads, the packets of each run and how each stream ended.

        TargetError when the server cannot be reached or does not keep to the contract.
        """
        return await self._play_on_new_thread(script, None)

    async def serve_seeded(self, script: Script) -> TargetOutput | None:
        """Play the script, its last run on a thread that it is given (seed); None if nothing comes before that run."""
        runs = [index for index, turn in enumerate(script.turns) if isinstance(turn, RunScript)]
        if len(runs) < 2:
            return None
        await self.open()
        version = self.capabilities.shows_interrupted
        if version is None:
            return None
        before = replace(script, turns=script.turns[: runs[-2] + 1], versions=(version,))
        seed = (await self.serve(before)).threads.get(version)
        if seed is None:
            return None
        return await self._play_on_new_thread(replace(script, turns=script.turns[runs[-2] + 1 :]), seed)

    async def _play_on_new_thread(self, script: Script, seed: Mapping[str, Any] | None) -> TargetOutput:
        """Play the script; if a kept connection is lost, which may have lost a run, again on another new thread."""
        await self.open()
        tape = current_tape()
        first_run = 0 if tape is None else tape.runs
        try:
            return await self._play_once(script, seed, alone=self._control.alone)
        except LostConnectionError:
            if tape is not None:
                tape.forget_runs(first_run)
            return await self._play_once(script, seed, alone=True)

    async def _play_once(self, script: Script, seed: Mapping[str, Any] | None, *, alone: bool) -> TargetOutput:
        findings: list[Finding] = []
        options = replace(
            self._options, capabilities=self.capabilities, streams=replace(self._options.streams, alone=alone)
        )
        control = replace(self._control, alone=alone)
        thread = HttpThread(self._http, control, self.capabilities, findings)
        try:
            outcome = await self._play(script, options, thread, findings, seed)
        except UnreachableError:
            raise
        except TargetError:
            with suppress(TargetError):  # the first error counts
                await thread.delete()
            raise
        await thread.delete()
        last = script.turns[-1] if script.turns else None
        if isinstance(last, UserTurn) and not self._options.streams.relay:  # few scripts, and one answer says it all
            findings += await self._ask_for_missing(thread, control, user_json(last))
        return replace(outcome, findings=tuple(findings))

    async def _ask_for_missing(
        self, deleted: HttpThread, control: Endpoint, user_turn: dict[str, Any]
    ) -> list[Finding]:
        """Ask for a thread that nobody has created, and if that is refused for one that was deleted."""
        findings: list[Finding] = []
        unknown = HttpThread(self._http, control, self.capabilities, findings)
        kind, unrefused = UNKNOWN_TAKEN, await unknown.find_unrefused(user_turn)
        await unknown.delete()
        if not unrefused:
            kind, unrefused = NOT_FORGOTTEN, await deleted.find_unrefused(user_turn)
        return [*findings, *(kind.at(Place(side="server"), f"{kind.title}: {words}") for words in unrefused)]

    async def _play(
        self,
        script: Script,
        options: HttpOptions,
        thread: HttpThread,
        findings: list[Finding],
        seed: Mapping[str, Any] | None,
    ) -> TargetOutput:
        waiting: list[UserTurn] = []
        packets: list[tuple[Packet, ...]] = []
        ends: list[StreamEnd] = []
        for turn in script.turns:
            if isinstance(turn, UserTurn):
                waiting.append(turn)
                continue
            sent, end = await HttpRun(options, thread, script, turn, findings, seed=seed).play(waiting)
            seed = None
            packets.append(sent)
            ends.append(end)
            waiting = []
        for user in waiting:
            await thread.add(user_json(user))
        threads = await thread.fetch(script)
        return TargetOutput(threads=threads, streams=tuple(packets), ends=tuple(ends))
