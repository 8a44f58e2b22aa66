"""What tests of targets run in: a bounded time, a count of what is open, and whether a process runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from benchmarks.virtual_time import run_idly


def bounded(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a test's coroutine, a minute at most of a clock that stands still while anything is to do."""
    return run_idly(asyncio.wait_for(work, 60))


def open_descriptors() -> int:
    """Return how many file descriptors this process has open, 0 where the system does not say."""
    here = Path("/proc/self/fd")
    return sum(1 for _ in here.iterdir()) if here.is_dir() else 0


def is_running(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
