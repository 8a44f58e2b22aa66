"""How much work something is: counted, and so the same each time, whatever else this machine does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

__all__ = ["count_calls", "count_lines"]


def count_calls(work: Callable[[], object]) -> int:
    """Return how many functions are called, those written in C among them."""
    calls = 0

    def count(_frame: FrameType, what: str, _arg: object) -> None:
        nonlocal calls
        calls += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def count_lines(work: Callable[[], object]) -> int:
    """Return how many lines of Python are run, loops without a call among them."""
    lines = 0

    def count(_frame: FrameType, what: str, _arg: object) -> Any:
        nonlocal lines
        lines += what == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
