"""The application's process: started with the provider in its environment, watched, and ended with all its children.

In: a command and an environment. Out: a context in which the application listens. It is run under `guard`, so that
nothing is left even when this process is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections import deque
from collections.abc import Mapping
from contextvars import Context
from typing import Self

from tpharness.apps.config import AppConfig
from tpharness.errors import TargetError, UsageError
from tpharness.findings import Kind
from tpharness.targets.children import CHILDREN, kill_unless_ended
from tpharness.trace.secrets import secrets_of_process
from tpharness.trace.tape import note_stderr

__all__ = ["EXITED", "AppProcess", "listens", "until_it_listens"]

EXITED = Kind("app-exited")

_PAUSE = 0.02
_STOP_SECONDS = 4.0
_TAIL_LINES = 12
_NO_MODULE = ("ModuleNotFoundError", "ImportError", "Could not import module")  # the last is uvicorn's
_LINE_SHOWN = 400
_NAMES_ERROR = re.compile(r"(?:Uncaught )?[\w.]*(?:Error|Exception)\b.*:")
"""How Node.js, Python and others begin the line with an error; more lines may follow it than are kept."""


async def listens(host: str, port: int) -> bool:
    """Whether something takes connections there."""
    try:
        async with asyncio.timeout(1.0):
            _, writer = await asyncio.open_connection(host, port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


async def until_it_listens(config: AppConfig) -> None:
    """Wait for an application that somebody else starts. TargetError when it does not listen in time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + config.ready
    while not await listens(config.host, config.port):
        if loop.time() >= deadline:
            raise TargetError(
                f"{config.url}: nothing listens there within {config.ready:g} s",
                hint="start the application with the environment that was printed, or give `command` in tpharness.toml",
            )
        await asyncio.sleep(10 * _PAUSE)


class AppProcess:
    """A running application. As a context it is started and ended; `restart` is for one that has exited.

    `starts` counts how often it was started.
    """

    def __init__(self, config: AppConfig, environment: Mapping[str, str]) -> None:
        self._config = config
        self._environment = {**os.environ, **environment, "PORT": str(config.port), **config.env}
        self._secrets = secrets_of_process(self._environment)
        self._process: asyncio.subprocess.Process | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._error = ""
        self._reading: asyncio.Task[None] | None = None
        self._last_status: int | None = None
        self.starts = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def exited(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.returncode if self._process is not None else None

    async def has_exited(self, within: float = 2.0) -> bool:
        """Whether it ends within so many seconds: an end is known a little later than its connections are gone."""
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within):
                    await self._process.wait()
        return self.exited is not None

    @property
    def last_status(self) -> int | None:
        """The exit status of the process that ended last."""
        return self.exited if self.exited is not None else self._last_status

    @property
    def last_end(self) -> str:
        """How the process ended that ended last, and what it said then."""
        return f"status {self.last_status}; the end of its output: {self.last_words}"

    @property
    def last_words(self) -> str:
        """The last lines of its output, behind the last one that names an error."""
        error = [self._error, "…"] if self._error and self._error not in self._tail else []
        return " | ".join([*error, *self._tail])

    async def start(self) -> None:
        """Start it and wait until it listens. UsageError where its port is taken, TargetError where it does not."""
        if await listens(self._config.host, self._config.port):
            raise UsageError(
                f"{self._config.url}: something listens on port {self._config.port} already",
                hint="stop it; or take `command` away to judge what runs there; or write {port} for a free port",
            )
        folder = self._config.run_folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._process = await asyncio.create_subprocess_exec(
                *CHILDREN.command(self._config.command, 0),
                stdin=asyncio.subprocess.PIPE,  # the lifeline: it closes when this process ends, however it ends
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                cwd=folder,
                env=self._environment,
                **CHILDREN.options(),
            )
        except OSError as error:
            raise UsageError(f"{folder}: the application cannot be started there: {error.strerror}") from error
        CHILDREN.hold(self._process.pid)
        self.starts += 1
        # It reads for all cases, also where one of them has started it again.
        self._reading = asyncio.create_task(self._read(self._process), context=Context())
        try:
            await self._until_it_listens(self._process)
        except BaseException:
            await self.stop()
            raise

    async def restart(self) -> None:
        """Start it again after it has exited."""
        self._last_status = self.exited
        await self.stop()
        await self.start()

    async def stop(self) -> None:
        """End it and all that it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await kill_unless_ended(process, _STOP_SECONDS)
        finally:
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.gather(self._reading, return_exceptions=True)
            if process.stdin is not None:
                process.stdin.close()

    async def _until_it_listens(self, process: asyncio.subprocess.Process) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._config.ready
        words = " ".join(self._config.command)
        while process.returncode is None:
            if await listens(self._config.host, self._config.port):
                return
            if loop.time() >= deadline:
                raise TargetError(
                    f"{words}: does not listen on {self._config.host}:{self._config.port}"
                    f" within {self._config.ready:g} s{self._said()}",
                    hint="it has to listen on the port that the variable PORT has, and {port} in its command; "
                    "the limit in seconds is `ready` in tpharness.toml, and tpharness_app_ready in pytest",
                )
            await asyncio.sleep(_PAUSE)
        await asyncio.sleep(_PAUSE)
        said = self._said()
        hint = f"run the command yourself in the folder {self._config.run_folder}"
        if any(word in said for word in _NO_MODULE):
            hint += (
                ": is the module below it, and has the Python of the command its packages? cwd in tpharness.toml names"
                " another folder, --app-dir of uvicorn one for modules alone"
            )
        raise TargetError(f"{words}: exited with status {process.returncode} before it listened{said}", hint=hint)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read its output all the time, so that it never blocks on it; keep the last lines."""
        half = b""
        while process.stdout is not None and (data := await process.stdout.read(1 << 16)):
            *lines, half = (half + data).split(b"\n")
            half = half[:_LINE_SHOWN]
            for line in lines:
                self._hear(line)
        self._hear(half)

    def _hear(self, line: bytes) -> None:
        """Keep a line, and note it on the tapes of the cases that are played now."""
        words = self._secrets.line(line, _LINE_SHOWN).strip()
        if words:
            self._tail.append(words)
            if _NAMES_ERROR.match(words):
                self._error = words
            note_stderr("the application", words)

    def _said(self) -> str:
        return f"; the end of its output: {self.last_words}" if self._tail else ""
