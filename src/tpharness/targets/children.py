"""What a command has started ends with it, and with this process: one interface, and a way for each system.

POSIX: the command runs under a `guard`, in a session of its own. Windows: it is put into a job object. A system that
has neither ends the command, and what that has started goes on.

    process = Popen(CHILDREN.command(words, 0), stdin=PIPE, **CHILDREN.options())
    CHILDREN.hold(process.pid)
    …
    process.stdin.close()          # the guard's lifeline
    CHILDREN.end(process.pid)
    process.wait()
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from tpharness.targets import guard
from tpharness.targets.job_objects import JobObject, JobObjects

__all__ = ["CHILDREN", "Children", "Guarded", "InJobs", "kill_unless_ended", "require_program", "split_command"]


class Children(Protocol):
    """How a command is started so that nothing of it is left, and how it is ended."""

    def command(self, words: Sequence[str], lifeline: int) -> list[str]:
        """Return what to start. `lifeline` is the number of a pipe's end that the command does not get, 0 its input."""

    def options(self, *, keep: int | None = None) -> dict[str, Any]:
        """Return how `Popen` is to start it; `keep` is a descriptor that it needs, the end of its lifeline."""

    def hold(self, pid: int) -> None:
        """Take what has just been started into care."""

    def end(self, pid: int) -> None:
        """End it and all that it has started; where it has a lifeline, closing that does it, and this does nothing."""

    def kill(self, pid: int) -> None:
        """Kill what is left of it, also when it has ended itself; do nothing if nothing is left."""


class Guarded:
    """POSIX: a guard before the command. It kills all that it guards when its lifeline is closed."""

    def command(self, words: Sequence[str], lifeline: int) -> list[str]:
        """Return the command line of the guard; with lifeline 0 the command has an empty input."""
        return [sys.executable, "-IS", guard.__file__, str(lifeline), "--", *words]

    def options(self, *, keep: int | None = None) -> dict[str, Any]:
        """Return that it leads a session, and so a process group."""
        return {"start_new_session": True, "pass_fds": () if keep is None else (keep,)}

    def hold(self, pid: int) -> None:
        """Do nothing: the guard has it."""

    def end(self, pid: int) -> None:
        """Do nothing: the guard ends it when the lifeline is closed."""

    def kill(self, pid: int) -> None:
        """Kill the guard's process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)


class InJobs:
    """Windows: a job object for each command. Without job objects the command alone is ended."""

    def __init__(self, objects: JobObjects | None) -> None:
        self._objects = objects
        self._jobs: dict[int, JobObject] = {}

    def command(self, words: Sequence[str], lifeline: int) -> list[str]:
        """Return the command with the path of its program: Windows looks for `npm.exe` only, and there is `npm.cmd`."""
        del lifeline
        return [shutil.which(words[0]) or words[0], *words[1:]]

    def options(self, *, keep: int | None = None) -> dict[str, Any]:
        """Return nothing: there are no sessions, and no numbers of descriptors to hand on."""
        del keep
        return {}

    def hold(self, pid: int) -> None:
        """Put it into a job of its own; what it starts from now on is in the job too."""
        job = self._objects.hold(pid) if self._objects is not None else None
        if job is not None:
            self._jobs[pid] = job

    def end(self, pid: int) -> None:
        """Kill all that is in its job."""
        self.kill(pid)

    def kill(self, pid: int) -> None:
        """Close the job, which kills all that is in it; without a job, end the command."""
        job = self._jobs.pop(pid, None)
        if job is not None:
            job.close()
            return
        with contextlib.suppress(OSError):  # it has ended; Windows says that access to it is denied
            os.kill(pid, signal.SIGTERM)  # which cannot be caught on Windows


CHILDREN: Children = Guarded() if hasattr(os, "fork") and hasattr(os, "killpg") else InJobs(JobObjects.of_this_system())
"""The way of this system."""


async def kill_unless_ended(process: asyncio.subprocess.Process, seconds: float) -> None:
    """Wait for a process that was asked to end, for so many seconds; then kill it, and what it has left behind."""
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        CHILDREN.kill(process.pid)
        await process.wait()


def require_program(name: str) -> None:
    """Raise OSError, as starting it would, where a program is not there or cannot be run."""
    if shutil.which(name) is None:
        number = errno.EACCES if Path(name).exists() else errno.ENOENT
        raise OSError(number, os.strerror(number), name)


def split_command(text: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    """Return the words of a command as the shell of the system splits them. ValueError for quotes left open.

    On Windows a backslash is part of a path, and escapes nothing.
    """
    if not windows:
        return shlex.split(text)
    words = shlex.split(text, posix=False)
    return [word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word for word in words]
