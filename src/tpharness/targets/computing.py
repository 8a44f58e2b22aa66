"""How long a program has computed, which distinguishes a target that is slow from one that waits or sleeps.

In: the number of a process. Out: the processor time of it and of what it has started, None where the system does not
say: only Linux has /proc.
"""

from __future__ import annotations

import os
from pathlib import Path

from tpharness.targets.guard import descendants

__all__ = ["processor_seconds"]

_TIMES = slice(11, 15)  # of /proc/PID/stat, behind the name: in the program and in the system, and of ended children


def processor_seconds(pid: int) -> float | None:
    """Return the processor time of a process and of all that it has started, those that have ended included."""
    found = [_ticks(one) for one in (pid, *descendants(pid))]
    if found[0] is None:
        return None
    return sum(one for one in found if one is not None) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int | None:
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it has ended meanwhile, or there is no /proc
        return None
    return sum(map(int, status.rpartition(b")")[2].split()[_TIMES]))
