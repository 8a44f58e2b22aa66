"""`tpharness app --reproduction FILE`: the first failure as a program without tpharness, which is run before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from textwrap import fill

from tpharness.apps.config import AppConfig
from tpharness.apps.reproduction import Reproduction, reproduce
from tpharness.apps.tracing import AppRecord
from tpharness.output import check_writable, write_atomically
from tpharness.printable import make_printable, say
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent

__all__ = ["FirstFailure"]


class FirstFailure:
    """The first failure of a run; one that its baseline expects only where no other case fails."""

    def __init__(self, path: Path, config: AppConfig) -> None:
        """UsageError where the file could not be written."""
        check_writable(path, "--reproduction")
        self._path, self._config = path, config
        self._found: tuple[Result, AppRecord] | None = None

    def feed(self, event: RunEvent) -> None:
        """Take in an event of the run."""
        if isinstance(event, ResultReady) and isinstance(event.record, AppRecord):
            result = event.result
            known = None if self._found is None else self._found[0].outcome
            fails, is_known = (result.outcome is one for one in (Outcome.FAILED, Outcome.EXPECTED))
            if (fails and known is not Outcome.FAILED) or (is_known and known is None):
                self._found = result, event.record

    def write(self) -> None:
        """Run the program, and write it. UsageError or TargetError where it cannot be, or shows another thing."""
        if self._found is None:
            say("no case failed: there is nothing to reproduce", err=True)
            return
        result, record = self._found
        finding = result.findings[0]
        words = f"{finding.line()}. {record.evidence.case.title}: this prints how each post was answered, and what the"
        words += " model was sent. It needs Python alone, and in FOLDER the application with what that needs."
        about = fill(make_printable(words), 110).replace("\\", "\\\\").replace('"""', "'''")
        one = Reproduction(
            evidence=record.evidence,
            config=self._config,
            environment=record.environment,
            tool_seconds=record.tool_seconds,
            about=about,
        )
        say(f"running the reproduction of {result.id} before it is written", err=True)
        write_atomically(str(self._path), asyncio.run(reproduce(one)))
        say(f"the reproduction, which needs no tpharness: {self._path}", err=True)
