"""How far a run is, on standard error: a bar on a terminal, elsewhere a line within ten seconds and then seldom.

A line comes also while one case takes long, so that whoever reads the log of a CI server sees that something happens.
The time between two lines doubles up to five minutes: a run of an hour has some twenty of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from tpharness.printable import counted
from tpharness.verdict import ResultReady, RunEvent, RunStarted, ScenarioFinished

__all__ = ["ProgressLines", "RunProgress", "watch_items", "watch_run_events"]

T = TypeVar("T")

_FIRST = 8.0
_SELDOM = 300.0


class ProgressLines:
    """The lines of a run without a terminal: when the next is due, and what it says. `clock` gives seconds.

    `word` is what is played, one of `total`.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic, *, word: str = "scenario") -> None:
        self.total, self.done, self.failed = total, 0, 0
        self._word = word
        self._clock = clock
        self._begun = clock()
        self._pause = _FIRST
        self._due = self._begun + _FIRST

    @property
    def wait(self) -> float:
        """Seconds until the next line is due."""
        return max(0.0, self._due - self._clock())

    def take(self) -> str:
        """Return the line if it is due, "" otherwise."""
        now = self._clock()
        if now < self._due:
            return ""
        self._pause = min(2 * self._pause, _SELDOM)
        self._due = now + self._pause
        failed = f", {self.failed} failed" if self.failed else ""
        return f"done with {self.done} of {counted(self.total, self._word)}{failed}, {now - self._begun:.0f} s"


class RunProgress:
    """Shows one run's progress. Nothing is shown with `shown` False."""

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task: TaskID | None = None
        self._lines: ProgressLines | None = None
        self._ended = threading.Event()

    def start(self, total: int, word: str = "scenario") -> None:
        """Begin to show a run of so many scenarios, or of other things that `word` names."""
        if not self._shown:
            return
        self._lines = ProgressLines(total, word=word)
        if self._bar.console.is_terminal:
            self._bar.start()
            self._task = self._bar.add_task("playing", total=total)
        else:
            threading.Thread(target=self._tell, args=(self._lines,), daemon=True).start()

    def advance(self) -> None:
        """Show that one more scenario was played to its end."""
        if self._lines is not None:
            self._lines.done += 1
        if self._task is not None:
            self._bar.advance(self._task)

    def count_failures(self, cases: int) -> None:
        """Show that more cases have failed."""
        if self._lines is None:
            return
        self._lines.failed += cases
        if self._task is not None:
            self._bar.update(self._task, description=f"playing, {self._lines.failed} failed")

    def pause(self) -> None:
        """Take the bar away while something else is printed."""
        if self._task is not None:
            self._bar.stop()

    def resume(self) -> None:
        """Show the bar again after a pause."""
        if self._task is not None:
            self._bar.start()

    def stop(self) -> None:
        """Take the bar away, and tell nothing any more; also after an error."""
        self._ended.set()
        if self._task is not None:
            self._bar.stop()
            self._task = None

    def _tell(self, lines: ProgressLines) -> None:
        while not self._ended.wait(lines.wait):
            line = lines.take()
            if line:
                self._bar.console.print(line, highlight=False)


def watch_items(items: Iterable[T], total: int, word: str = "scenario", *, printed: bool = False) -> Iterator[T]:
    """Yield the items, and show how many of `total` there have been.

    Where each is `printed`, the bar is away meanwhile.
    """
    progress = RunProgress()
    progress.start(total, word)
    try:
        for item in items:
            progress.advance()
            if printed:
                progress.pause()
            yield item
            if printed:
                progress.resume()
    finally:
        progress.stop()


def watch_run_events(events: Iterable[RunEvent]) -> Iterator[RunEvent]:
    """Yield the events of a run that has no console report, and show how far it is."""
    progress = RunProgress()
    try:
        for event in events:
            if isinstance(event, RunStarted):
                progress.start(event.scenarios)
            elif isinstance(event, ScenarioFinished):
                progress.advance()
            elif isinstance(event, ResultReady) and not event.result.outcome.green:
                progress.count_failures(event.result.cases)
            yield event
    finally:
        progress.stop()
