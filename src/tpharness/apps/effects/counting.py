"""The effects command of an application: a shell command that prints how often a tool has run."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.findings import shorten
from tpharness.targets.children import CHILDREN
from tpharness.trace.secrets import secrets_of_process

__all__ = ["count_effects"]

_NUMBER = re.compile(r"-?\d+")
_NOT_STARTED = (126, 127)  # what a shell ends with where a command is not found or may not be executed


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
