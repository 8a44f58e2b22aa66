"""The effects command of an application: a shell command that prints how often a tool has run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tpharness.errors import UsageError
from tpharness.targets.children import CHILDREN

__all__ = ["count_effects"]

_NUMBER = re.compile(r"-?\d+")
_NOT_STARTED = (126, 127)  # what a shell ends with where a command is not found or may not be executed


async def count_effects(command: str, folder: Path, limit: float) -> int:
    """Run the command in a folder, at most `limit` seconds, and return the first number that it prints.

    A command that fails and prints nothing counts as 0: the file of effects may not be there yet. UsageError if it does
    not end, succeeds without printing a number, or could not be started by the shell.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        **CHILDREN.options(),
    )
    CHILDREN.hold(process.pid)
    try:
        async with asyncio.timeout(limit):
            printed, _ = await process.communicate()
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
    return int(number[0]) if number is not None else 0
