"""Guard: runs an application's command, and leaves no process of it behind.

    python -m tpharness.apps.guard -- npm start

The harness holds the other end of the guard's standard input. When that closes, be it that the harness has ended or was
killed with SIGKILL, everything that the command has started is killed, also what has left the process group. The guard
ends with the exit status of the command. Where the system lets it (Linux), orphans of the command become children of
the guard, and the command dies with the guard.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["descendants", "main"]

_SUBREAPER, _DEATH_SIGNAL = 36, 1  # PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG
_GRACE = 2.0  # seconds between SIGTERM and SIGKILL


def main(arguments: list[str]) -> int:
    """Run the command behind `--` and return its exit status; 127 where it cannot be started."""
    command = arguments[arguments.index("--") + 1 :]
    _process_control(_SUBREAPER, 1)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_guard)  # noqa: S603, PLW1509
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        return 127
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=_end, args=(child,), daemon=True).start())
    threading.Thread(target=_watch, args=(child, ended), daemon=True).start()
    status = child.wait()
    ended.set()
    _kill(descendants(os.getpid()))
    return status if status >= 0 else 128 - status


def descendants(pid: int) -> list[int]:
    """Return the processes below one, the deepest first; none where the system has no /proc."""
    parents: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            text = status.read_text("utf-8", "replace")
            parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(text.split(" ", 1)[0]))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found[::-1]


def _watch(child: subprocess.Popen[bytes], ended: threading.Event) -> None:
    """Wait until the harness is gone, then kill everything at once."""
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    if not ended.is_set():
        _kill([*descendants(os.getpid()), child.pid])
        _end_group()


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask the command to end, and kill it when it does not."""
    _kill(descendants(os.getpid()), signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)
    _kill([*descendants(os.getpid()), child.pid])
    _end_group()


def _kill(pids: list[int], number: signal.Signals = signal.SIGKILL) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _end_group() -> None:
    """Kill the guard with its process group, for a system whose processes cannot be listed."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)


def _die_with_guard() -> None:
    _process_control(_DEATH_SIGNAL, signal.SIGKILL)


def _process_control(option: int, value: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
