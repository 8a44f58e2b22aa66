"""What every benchmark shares: how time is taken, and the table that it prints.

A benchmark is a module with a `main`, started as `python -m benchmarks.NAME`. It measures ratios within one run, so
that they mean something on any machine: ours against a peer, against a floor, or against ourselves at another size. A
row with a target says PASS or FAIL, and the exit code is 1 when one is missed; a row without is for the reader.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Row", "at_least", "at_most", "markdown", "median_seconds", "processor_seconds", "report", "shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measure: its name, its value and its target as they are shown, and whether it is met (None: no target)."""

    name: str
    value: str
    target: str = ""
    passed: bool | None = None


def shown(name: str, value: float | str, unit: str = "") -> Row:
    """Return a row without a target."""
    return Row(name=name, value=_with_unit(value, unit))


def at_most(name: str, value: float, limit: float, unit: str = "×") -> Row:
    """Return a row whose value may be the limit at most; by default it is a ratio."""
    return Row(name=name, value=_with_unit(value, unit), target=f"<= {_with_unit(limit, unit)}", passed=value <= limit)


def at_least(name: str, value: float, limit: float, unit: str = "×") -> Row:
    """Return a row whose value has to be the limit at least; by default it is a ratio."""
    return Row(name=name, value=_with_unit(value, unit), target=f">= {_with_unit(limit, unit)}", passed=value >= limit)


def report(rows: Sequence[Row]) -> int:
    """Print the table; return the exit code, 1 when a target is missed."""
    table = [("measure", "value", "target", "verdict")]
    for row in rows:
        verdict = "" if row.passed is None else "PASS" if row.passed else "FAIL"
        table.append((row.name, row.value, row.target, verdict))
    names, values, targets, _ = (max(map(len, column)) for column in zip(*table, strict=True))
    for name, value, target, verdict in table:
        print(f"{name:<{names}}  {value:>{values}}  {target:<{targets}}  {verdict}".rstrip())
    return 1 if any(row.passed is False for row in rows) else 0


def markdown(rows: Sequence[Row]) -> str:
    """Return the table for a page; a target that is missed says so."""
    lines = ["| measure | value | target |", "|---|---|---|"]
    for row in rows:
        missed = " **missed**" if row.passed is False else ""
        lines.append(f"| {row.name} | {row.value}{missed} | {row.target.replace('<=', '≤').replace('>=', '≥')} |")
    return "\n".join(lines) + "\n"


def median_seconds(
    work: Callable[[], object], *, repeat: int = 5, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the median time of a call, after one that is not counted, with the garbage collector at rest.

    It is processor time, which a busy machine changes little, unless another clock is given.
    """
    work()
    times = []
    for _ in range(repeat):
        gc.collect()
        gc.disable()
        begun = clock()
        work()
        times.append(clock() - begun)
        gc.enable()
    return statistics.median(times)


def processor_seconds(work: Callable[[], object], *, repeat: int = 1) -> float:
    """Return the least processor time that a call took, garbage collection included."""
    times = []
    for _ in range(repeat):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def _with_unit(value: float | str, unit: str) -> str:
    text = value if isinstance(value, str) else f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()
