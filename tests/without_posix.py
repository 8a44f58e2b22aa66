"""Command lines of tpharness, one after the other in a process in which the modules and functions of POSIX are missing.

    python -P tests/without_posix.py 'check stream.sse' 'run basics'

Each is printed with its exit code, below what it has printed. What Windows does not have is taken away, but for what
Python's own subprocess and asyncio need here to wait for a process. With `import NAME…` every module named is imported.
"""

from __future__ import annotations

import asyncio
import importlib
import multiprocessing.util  # noqa: F401  # before anything is missing
import os
import select
import selectors
import shlex
import signal
import socket
import subprocess  # noqa: F401  # the same
import sys
from functools import partial
from typing import Any

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty", "uvloop")
NAMES = {
    os: ("fork", "forkpty", "getpgid", "getpgrp", "getuid", "killpg", "sched_getaffinity", "setsid", "statvfs"),
    select: ("epoll", "poll"),
    selectors: ("EpollSelector", "PollSelector"),
    signal: ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "pthread_sigmask", "setitimer"),
    socket: ("AF_UNIX",),
}
LIBRARIES = (
    "aiohttp",
    "distributed",
    "hypothesis",
    "langgraph.graph",
    "mcp.server",
    "pydantic_ai",
    "pytest",
    "uvicorn",
)


def take_away() -> None:
    """Make this process one of a system without POSIX."""
    modules: dict[str, Any] = dict.fromkeys(MODULES)
    sys.modules.update(modules)
    socket.socketpair = partial(socket.socketpair, socket.AF_UNIX)  # Windows makes a pair in another way
    vars(os)["process_cpu_count"] = os.cpu_count  # from Python 3.13 on it asks for the affinity that is taken away
    for module, names in NAMES.items():
        for name in names:
            delattr(module, name)
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc, assignment]
    asyncio.SelectorEventLoop.add_signal_handler = (  # type: ignore[method-assign]
        asyncio.AbstractEventLoop.add_signal_handler
    )
    from tpharness.targets import pipes  # after all of that

    pipes.pipes_of = pipes.ThreadedPipes


def main(lines: list[str]) -> None:
    """Import modules or run commands."""
    if lines[0] == "import":
        for name in LIBRARIES:  # with all that they need: they are not ours to judge
            importlib.import_module(name)
        take_away()
        for name in lines[1:]:
            importlib.import_module(name)
        sys.stdout.write(f"imported {len(lines) - 1}\n")
        return
    take_away()
    from tpharness.cli import main as command_line  # after all of that

    for line in lines:
        sys.argv = ["tpharness", *shlex.split(line)]
        try:
            command_line()
        except SystemExit as end:
            sys.stdout.write(f"== {end.code} {line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
