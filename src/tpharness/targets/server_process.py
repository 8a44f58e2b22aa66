"""A server in a process of its own: started on a free port, killed at any moment, started again, always ended.

In: a command in which `{port}` stands for the port, and `{folder}` for an empty folder that lasts as long as the
context. Out: an address that answers, or a TargetError that says what the process did instead, with the end of its
standard error. It runs under a `guard`, so that nothing of it is left: after it was stopped, and when this interpreter
ends, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import secrets
import signal
import socket
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextvars import Context
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Self

from tpharness.targets.children import CHILDREN, kill_unless_ended, require_program
from tpharness.targets.remote import UnreachableError
from tpharness.trace.secrets import secrets_of_process
from tpharness.trace.tape import note_stderr

__all__ = ["ServerProcess", "free_port"]

_TAIL_LINES = 20
_LINE_SHOWN = 300
_PAUSE = 0.02
_STOP_SECONDS = 3.0
_ASKED_FOR = range(15_000, 32_000)
"""Below what systems choose from by themselves: Linux from 32,768 on, macOS and Windows from 49,152 on."""


def free_port() -> int:
    """Return a port of loopback on which nothing listens now.

    It is one that no system gives to a socket that asks for any port: of those, somebody else may get the same before
    the server that is started here has bound it, and would be judged in its place.
    """
    while True:
        port = secrets.choice(_ASKED_FOR)
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
            else:
                return port


class ServerProcess:
    """A process that listens on a port of loopback. Entering the context starts it, leaving it stops it.

    `ready` is how many seconds it may take until it listens; `env` is added to the environment.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str = "",
        port: int | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        ready: float = 20.0,
    ) -> None:
        self.port = port or free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="tpharness-") if "{folder}" in " ".join(command) else None
        folder = self._folder.name if self._folder is not None else ""
        self._command = [word.replace("{port}", str(self.port)).replace("{folder}", folder) for word in command]
        self._name = name or " ".join(self._command)
        self._cwd = cwd
        self._env = {**os.environ, **(env or {})}
        self._secrets = secrets_of_process(self._env)
        self._ready = ready
        self._process: asyncio.subprocess.Process | None = None
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._reading: asyncio.Task[None] | None = None
        self._finalizer: Finalize | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def replace_command(self, command: Sequence[str]) -> None:
        """Start this command instead, in which nothing stands for anything else."""
        self._command = list(command)

    def fill(self, words: Mapping[str, str], env: Mapping[str, str]) -> None:
        """Replace each `{name}` in the command by `words["name"]`, and add `env` to the environment."""
        self._env |= env
        self._secrets = secrets_of_process(self._env)
        for name, word in words.items():
            self._command = [each.replace(f"{{{name}}}", word) for each in self._command]

    @property
    def pid(self) -> int | None:
        """The id of the process, None if it is not running."""
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def start(self) -> None:
        """Start it and wait until it listens. UnreachableError when it ends, or does not listen in time."""
        if self.pid is not None:
            return
        try:
            require_program(self._command[0])
            process = await asyncio.create_subprocess_exec(
                *CHILDREN.command(self._command, 0),
                stdin=asyncio.subprocess.PIPE,  # the lifeline: it closes when this process ends, however it ends
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._cwd,
                env=self._env,
                **CHILDREN.options(),
            )
        except OSError as error:
            hint = f"is {self._command[0]!r} a program that can be run from here?"
            raise UnreachableError(f"{self._name}: cannot be started: {error.strerror}", hint=hint) from error
        CHILDREN.hold(process.pid)
        self._process = process
        self._finalizer = Finalize(self, CHILDREN.kill, args=(process.pid,), exitpriority=10)
        self._reading = asyncio.create_task(self._read(process), context=Context())  # it outlives the case
        try:
            await self._wait_for_port(process)
        except BaseException:
            await self.kill()
            raise

    async def kill(self) -> None:
        """End it with SIGKILL, as a crash does; it may be started again on the same port."""
        await self._end(asked=False)

    async def stop(self) -> None:
        """Ask it to end with SIGTERM, and kill it if it does not. Its folder is deleted."""
        await self._end(asked=True)
        if self._folder is not None:
            self._folder.cleanup()

    # ------------------------------------------------------------------------------------------------ inside

    async def _wait_for_port(self, process: asyncio.subprocess.Process) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._ready
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                if loop.time() >= deadline:
                    what = f"does not listen on port {self.port} within {self._ready:g} s"
                    raise UnreachableError(f"{self._name}: {what}{self._stderr_note()}", hint=_LISTEN) from None
                await asyncio.sleep(_PAUSE)
            else:
                writer.transport.abort()
                return
        if self._reading is not None:
            await asyncio.wait({self._reading}, timeout=_STOP_SECONDS)
        what = f"exited with code {process.returncode} before it listened on port {self.port}"
        install = next((found[0] for line in self._tail if (found := _INSTALL.search(line))), None)
        raise UnreachableError(f"{self._name}: {what}{self._stderr_note()}", hint=install or _EXITED)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read standard error all the time, so that the process never blocks on it; keep its last lines."""
        if process.stderr is None:
            return
        half = b""
        while data := await process.stderr.read(1 << 16):
            *lines, half = (half + data).split(b"\n")
            half = half[:_LINE_SHOWN]
            said = [self._shown(line) for line in lines if line.strip()]
            self._tail.extend(said)
            for line in said:
                note_stderr(self._name, line)
        if half.strip():
            self._tail.append(self._shown(half))

    def _shown(self, line: bytes) -> str:
        """Return a line of its output as errors and traces may show it."""
        return self._secrets.line(line, _LINE_SHOWN).strip()

    def _stderr_note(self) -> str:
        return f"; the end of its standard error: {' | '.join(self._tail)}" if self._tail else ""

    async def _end(self, *, asked: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if asked:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        elif process.stdin is not None:
            process.stdin.close()  # the lifeline
            CHILDREN.end(process.pid)
        try:
            await kill_unless_ended(process, _STOP_SECONDS)
        finally:
            if self._finalizer is not None:
                self._finalizer.cancel()
            if self._reading is not None:
                self._reading.cancel()
                await asyncio.gather(self._reading, return_exceptions=True)


_LISTEN = "{port} in the command stands for the port of 127.0.0.1 on which it has to listen"
_EXITED = "start its command yourself, with a free port for {port}: what it prints says why it exits"
_INSTALL = re.compile(r"pip install 'tpharness\[[^]]+\]'")
"""What a peer of tpharness says where an extra is missing."""
