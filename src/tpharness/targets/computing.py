"""How long a program has computed, which distinguishes a target that is slow from one that waits or sleeps.

In: the number of a process. Out: the processor time of it and of what it has started, None where the system does not
say: only Linux has /proc.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from tpharness.targets.guard import descendants

__all__ = ["processor_seconds", "queued_seconds"]

_TIMES = slice(11, 15)  # of /proc/PID/stat, behind the name: in the program and in the system, and of ended children


def processor_seconds(pid: int) -> float | None:
    """Return the processor time of a process and of all that it has started, those that have ended included."""
    found = [_ticks(one) for one in (pid, *descendants(pid))]
    if found[0] is None:
        return None
    return sum(one for one in found if one is not None) / os.sysconf("SC_CLK_TCK")


def queued_seconds(pid: int) -> float:
    """Return for how long threads of a process and of all that it has started wanted to compute and had to wait.

    They waited because other programs had the processors. It is 0 where the system does not say, and without threads
    that have ended.
    """
    return sum(map(_queued, (pid, *descendants(pid)))) / 1e9


def _queued(pid: int) -> int:
    """Return the nanoseconds that the threads of one process have waited for a processor."""
    total = 0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, IndexError):  # the thread has ended meanwhile, or the kernel does not count
            total += int(file.read_bytes().split()[1])
    return total


def _ticks(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it has ended meanwhile, or there is no /proc
        return None
    return sum(map(int, status.rpartition(b")")[2].split()[_TIMES]))
