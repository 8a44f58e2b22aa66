"""The effects command of an application: a shell command that prints how often a tool has run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tpharness.errors import InputError, UsageError
from tpharness.file_lock import hold_lock
from tpharness.findings import shorten
from tpharness.run.last_failed import state_folder
from tpharness.targets.children import CHILDREN
from tpharness.trace.secrets import secrets_of_process

__all__ = ["count_effects", "counting_alone"]

_NUMBER = re.compile(r"-?\d+")
_NOT_STARTED = (126, 127)  # what a shell ends with where a command is not found or may not be executed
_PAUSE = 0.1


@contextlib.asynccontextmanager
async def counting_alone(
    command: str, folder: Path, on_wait: Callable[[str], None] | None = None
) -> AsyncIterator[None]:
    """Wait until no other run counts with the command in the folder: each would take the effects of both for its own.

    The other one may be that of a worker of pytest-xdist, or of another terminal. Where no lock can be kept, nobody
    waits; `on_wait` is called once with words for whoever waits.
    """
    path, has_waited = _lock_of(command, folder), False
    while True:
        with contextlib.ExitStack() as locked:
            try:
                held = locked.enter_context(hold_lock(path, seconds=0))
            except InputError:
                held = True
            if held:
                yield
                return
        if on_wait is not None and not has_waited:
            on_wait(f"another run counts effects with {command!r} in {folder}: waiting for its end")
        has_waited = True
        await asyncio.sleep(_PAUSE)


def _lock_of(command: str, folder: Path) -> Path:
    key = hashlib.sha256(json.dumps([str(folder.resolve()), command]).encode()).hexdigest()[:24]
    path = state_folder() / "tpharness" / "effects" / f"{key}.lock"
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def count_effects(command: str, folder: Path, limit: float, *, has_run: bool) -> int:
    """Run the command in a folder, at most `limit` seconds, and return the first number that it prints.

    As long as the tool has not run (`has_run`), a command that fails and prints no number counts as 0: the file of
    effects may not be there yet. UsageError if it does not end, could not be started by the shell, or else prints none.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        **CHILDREN.options(),
    )
    CHILDREN.hold(process.pid)
    try:
        async with asyncio.timeout(limit):
            printed, complained = await process.communicate()
    except TimeoutError:
        raise UsageError(
            f"effects: {command!r} does not end within {limit:g} s", hint="it has to print one number and to end"
        ) from None
    finally:
        CHILDREN.kill(process.pid)  # what the shell has started, too: it would hold the pipe open
        await process.wait()
    number = _NUMBER.search(printed.decode("utf-8", "replace"))
    if process.returncode in _NOT_STARTED:
        raise UsageError(f"effects: {command!r} cannot be started", hint=f"try it in a shell in {folder}")
    if number is None and process.returncode == 0:
        raise UsageError(f"effects: {command!r} does not print a number", hint="such as: wc -l < effects.txt")
    if number is None and has_run:
        said = secrets_of_process(os.environ).line(complained, len(complained))
        words = shorten(said.strip()) or f"status {process.returncode}"
        raise UsageError(
            f"effects: {command!r} fails although the tool has run: {words}",
            hint=f"it has to print how often the tool has run; try it in a shell in {folder}",
        )
    return int(number[0]) if number is not None else 0
