"""The process in which real chat clients run: one press of a button is one line of JSON, and so is what came of it.

In: the name of a client, such as `peer:ai-sdk-client`. Out: its pages, whose buttons can be pressed. The process ends
with this one, however that ends: its standard input closes. TargetError where it cannot be started or has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tpharness.apps.client.client_versions import NEWEST, VERSIONS, ClientVersion
from tpharness.errors import TargetError, UsageError, did_you_mean
from tpharness.findings import shorten
from tpharness.targets.browser import browser_environment
from tpharness.targets.node_packages import node_program

__all__ = ["CLIENTS", "Buttons", "require_known_client"]

_PEERS = Path(__file__).parents[2] / "peers"
_LINE = 64 << 20
_TAIL_LINES = 12
_ANSWER_SECONDS = 30.0
_STOP_SECONDS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    """A script, the folder below `peers` whose npm packages it needs, and folders whose scripts lie beside it."""

    script: str
    packages: str
    shared: tuple[str, ...] = ()
    browser: bool = False
    wire: str = "vsp"
    version: ClientVersion = NEWEST


CLIENTS: Mapping[str, _Program] = {
    "peer:ai-sdk-client": _Program(script="chat.mjs", packages="ai_sdk"),
    "peer:ai-sdk-client@6": _Program(script="chat.mjs", packages="ai_sdk_6", shared=("ai_sdk",), version=VERSIONS[6]),
    "peer:ai-sdk-client@5": _Program(script="chat.mjs", packages="ai_sdk_5", shared=("ai_sdk",), version=VERSIONS[5]),
    "peer:ai-sdk-browser": _Program(
        script="pressed_page.mjs", packages="ai_sdk_browser", shared=("ai_sdk",), browser=True
    ),
    "peer:ag-ui-client": _Program(script="agent.mjs", packages="ag_ui", shared=("ai_sdk",), wire="ag-ui"),
}
"""The real clients, by the names that they have as targets."""


def require_known_client(name: str | None, where: str) -> None:
    """UsageError, which begins with `where`, for a name that no real client has; None is our own client."""
    if name is None or name in CLIENTS:
        return
    hint = did_you_mean(name, CLIENTS, f"leave it out, or write one of: {', '.join(CLIENTS)}")
    raise UsageError(f"{where} is {name!r}, which is not a client", hint=hint)


class Buttons:
    """The running process. As a context it is started and ended."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._program = CLIENTS[name]
        self.version, self.wire = self._program.version, self._program.wire
        self._process: asyncio.subprocess.Process | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)

    async def __aenter__(self) -> Self:
        shared = [_PEERS / name for name in self._program.shared]
        program = await asyncio.to_thread(node_program, _PEERS / self._program.packages, shared)
        browser = await asyncio.to_thread(browser_environment) if self._program.browser else {}
        try:
            self._process = await asyncio.create_subprocess_exec(
                program.node,
                program.scripts / self._program.script,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LINE,
                env={**os.environ, **browser},
            )
        except OSError as error:
            raise TargetError(f"{self._name}: {program.node} cannot be started: {error.strerror}") from error
        self._reading = [
            asyncio.create_task(self._read_answers(self._process)),
            asyncio.create_task(self._read_words(self._process)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        await asyncio.gather(*self._reading, return_exceptions=True)

    def press(self, page: str, do: str, **more: Any) -> asyncio.Future[Any]:
        """Write a line at once; return what will come of it. Its error is a TargetError."""
        number = next(self._numbers)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self._process is None or self._process.stdin is None or self._process.returncode is not None:
            answer.set_exception(self._ended())
            return answer
        self._waiting[number] = answer
        line = json.dumps({"n": number, "page": page, "do": do, **more})
        self._process.stdin.write(line.encode() + b"\n")
        return answer

    async def ask(self, page: str, do: str, **more: Any) -> Any:
        """Press, and wait for what comes of it. TargetError when nothing comes in 30 s."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await self.press(page, do, **more)
        except TimeoutError:
            raise TargetError(f"{self._name}: nothing came of {do!r} for {_ANSWER_SECONDS:g} s") from None

    async def _read_answers(self, process: asyncio.subprocess.Process) -> None:
        while process.stdout is not None and (line := await process.stdout.readline()):
            said = json.loads(line)
            answer = self._waiting.pop(said["n"])
            if answer.done():
                continue
            if "error" in said:
                answer.set_exception(TargetError(f"{self._name}: {said['error']}"))
            else:
                answer.set_result(said["value"])
        await process.wait()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(self._ended())
        self._waiting.clear()

    async def _read_words(self, process: asyncio.subprocess.Process) -> None:
        while process.stderr is not None:
            try:
                line = await process.stderr.readline()
            except ValueError:  # a line longer than the limit
                continue
            if not line:
                return
            with contextlib.suppress(UnicodeDecodeError):
                self._tail.append(line.decode().strip())

    def _ended(self) -> TargetError:
        words = f"; the end of its output: {shorten(' | '.join(self._tail), 400)}" if self._tail else ""
        return TargetError(f"{self._name}: the process has ended{words}")
