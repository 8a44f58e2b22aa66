"""The reports of a run: fed while it runs, and written whatever ends it.

In: the events of a run, the destinations of `--report`. Out: files. A run that a signal or an error ends early gives an
incomplete report of what was played; it never counts as passed. A report that cannot be written does not cost the
others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tpharness.cli.stop_signals import STOP
from tpharness.errors import TpharnessError, UsageError
from tpharness.printable import say
from tpharness.report import ConsoleReport, Destination, Report
from tpharness.verdict import RunEvent

__all__ = ["EarlyEnd", "shown_on_every_way_out", "take_all", "written_on_every_way_out"]


T = TypeVar("T")


@dataclass(slots=True)
class EarlyEnd:
    """Whether a signal has ended a command early, which has a document of its own. `wanted` is how many items it has.

    `taken` counts the items that came, `signal` names the signal, "" if all came.
    """

    wanted: int
    taken: int = 0
    signal: str = ""

    def until_stopped(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items up to a signal, which comes while the next one is made or before that."""
        more = iter(items)
        while True:
            try:
                item = next(more)
            except StopIteration:
                return
            except KeyboardInterrupt:
                self.signal = STOP.note().name
                return
            self.taken += 1
            try:
                with STOP.held():
                    yield item
            except KeyboardInterrupt:
                self.signal = STOP.note().name
                return

    def as_json(self, items: str) -> dict[str, Any] | None:
        """Return what a document says of it, None if nothing ended early; `items` is what they are called."""
        return {"played": self.taken, items: self.wanted, "signal": self.signal} if self.signal else None

    def interrupt_again(self) -> None:
        """End the command by the signal, if one came, when everything is written."""
        if self.signal:
            raise KeyboardInterrupt


def take_all(
    events: Iterable[RunEvent],
    report: Report,
    console: ConsoleReport | None,
    trace: Callable[[RunEvent], None] | None = None,
) -> None:
    """Feed the events of a run to its report, to its trace and to the console.

    What ends the run early is raised again, after the report and the console have taken it in. However it ends,
    `events` is closed here: at the end of the process its targets and its event loop could not be ended any more.
    """
    try:
        with _closed_after(events):
            for event in events:
                report.feed(event)
                if trace is not None:
                    trace(event)
                if console is not None:
                    console.feed(event)
    except BaseException as error:
        report.stop(*_reason_of(error))
        if console is not None:
            for tell in (partial(console.stop, report), console.close):
                with contextlib.suppress(Exception):  # nobody may be left to read it, or the console is what failed
                    tell()
        raise
    if console is not None:
        with contextlib.suppress(OSError):
            console.close()


@contextmanager
def _closed_after(events: Iterable[RunEvent]) -> Iterator[None]:
    try:
        yield
    finally:
        if isinstance(events, Generator):
            events.close()


def _reason_of(error: BaseException) -> tuple[str, str]:
    """Return in words what has ended a run early, and the name of the signal if it was one, else ""."""
    if isinstance(error, KeyboardInterrupt):
        name = STOP.note().name
        return f"interrupted by {name}", name
    if isinstance(error, TpharnessError):
        return error.line, ""
    return f"{type(error).__name__}: {error}", ""


@contextmanager
def shown_on_every_way_out(reports: Iterable[Report], show: Callable[[], None]) -> Iterator[None]:
    """Show the reports on several runs when the block is left; an error is first reported to those that it ends."""
    try:
        yield
    except BaseException as error:
        for report in reports:
            report.stop(*_reason_of(error))
        with contextlib.suppress(OSError):
            show()
        raise
    show()


@contextmanager
def written_on_every_way_out(
    destinations: Sequence[Destination], write: Callable[[Destination], None]
) -> Iterator[None]:
    """Write every report when the block is left, also by a signal or an error; not after wrong usage.

    A signal that comes while they are written takes effect afterwards. If some cannot be written, or a mistake of ours
    is in what writes them, the first error is raised after the others have been tried; if the block was left by an
    error, that one is raised, and these are shown.
    """
    try:
        yield
    except UsageError:
        raise
    except BaseException:
        with STOP.held():
            for problem in _write_all(destinations, write):
                with contextlib.suppress(OSError):
                    say(f"tpharness: {_reason_of(problem)[0]}", err=True)
        raise
    with STOP.held():
        problems = _write_all(destinations, write)
    for more in problems[1:]:
        say(f"tpharness: {_reason_of(more)[0]}", err=True)
    if problems:
        raise problems[0]


def _write_all(destinations: Sequence[Destination], write: Callable[[Destination], None]) -> list[Exception]:
    problems: list[Exception] = []
    for destination in destinations:
        try:
            write(destination)
        except Exception as error:  # noqa: BLE001  # also a mistake in one report, which must not cost the others
            error.add_note(f"the {destination.format} report, {destination.path}, was not written")
            problems.append(error)
    return problems
