"""The effects command of an application: a shell command that prints how often a tool has run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tpharness.errors import UsageError

__all__ = ["count_effects"]

_NUMBER = re.compile(r"-?\d+")


async def count_effects(command: str, folder: Path, limit: float) -> int:
    """Run the command in a folder, at most `limit` seconds, and return the first number that it prints.

    A command that fails and prints nothing counts as 0: the file of effects may not be there yet. UsageError if it does
    not end, or succeeds without printing a number.
    """
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(limit):
            printed, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        raise UsageError(f"effects: {command!r} does not end", hint="print one number") from None
    number = _NUMBER.search(printed.decode("utf-8", "replace"))
    if number is None and process.returncode == 0:
        raise UsageError(f"effects: {command!r} prints no number", hint="such as: wc -l < effects.txt")
    return int(number[0]) if number is not None else 0
