"""The trace of a run: a consumer of run events that writes what was really played, and says where it is.

In: events of one run or of several pairs. Out: a file or a folder, and lines that say what to type to look at it.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tpharness.printable import counted, without_credentials
from tpharness.run import tracing
from tpharness.trace.format import Traced
from tpharness.trace.write import TraceWriter
from tpharness.verdict import Outcome, Result, ResultReady, RunEvent, RunFinished
from tpharness.verdict.causes import cause_of
from tpharness.verdict.grouping import group_failures
from tpharness.verdict.result import RecordedCase

__all__ = ["TraceReport"]


class TraceReport:
    """Writes a trace while a run goes on.

    `targets` name all targets of the run, whose tokens are left out; `secrets` are others that are known. `whole` says
    that a trace is written also where it only says which cases failed, since none of them has a record.
    """

    def __init__(
        self,
        path: Path,
        traced: Traced,
        *,
        targets: Sequence[str] = (),
        secrets: Sequence[str] = (),
        whole: bool = False,
    ) -> None:
        self._traced = traced
        self._secrets = tracing.find_secrets(targets, secrets)
        command = without_credentials(shlex.join(["tpharness", *sys.argv[1:]]))
        self._writer = TraceWriter(path, traced=traced.value, command=command, secrets=self._secrets, whole=whole)
        self._alike: dict[tuple[object, ...], str] = {}
        self._bad: list[Result] = []
        if traced is not Traced.NONE:
            self._writer.check_place()

    def feed(self, event: RunEvent, *, server: str = "reference", client: str = "reference") -> None:
        """Take in one event of the run on these targets. The last event removes the trace of an earlier run."""
        if isinstance(event, ResultReady):
            self.add(event.result, event.record, server=server, client=client)
        elif isinstance(event, RunFinished):
            self.remove_old()

    def add(self, result: Result, record: RecordedCase | None, *, server: str, client: str, name: str = "") -> None:
        """Write a case, if it is one of those that have a trace. `name` is its id where that of the result is not."""
        bad = not result.outcome.green
        if self._traced is Traced.NONE or not (bad or self._traced is Traced.ALL):
            return
        case = name or result.id
        entry = {
            "case": case,
            "server": without_credentials(server),
            "client": without_credentials(client),
            "outcome": result.outcome.value,
            "codes": list(dict.fromkeys(finding.code for finding in result.findings)),
        }
        cause = cause_of(result.findings) if bad else None
        scenario = case.partition("@")[0]
        alike = (scenario, cause if bad else result.outcome, server, client)
        if record is None:
            entry |= {"like": self._alike[alike]} if alike in self._alike else {}
            self._writer.add({**entry, "left_out": self._secrets.text(_why_left_out(result))}, None)
            return
        if self._writer.add(entry, record.files(result, self._secrets)):
            self._alike.setdefault(alike, case)
            if bad:
                self._bad.append(replace(result, id=case, record=None))

    def remove_old(self) -> None:
        """Remove the trace of an earlier run, where this one has come to its end without anything to trace.

        It would be taken for that of this run. A run that was refused or broken off leaves it.
        """
        if self._traced is not Traced.NONE:
            self._writer.remove_old()

    def close(self) -> list[str]:
        """End the trace; return the lines that say where it is, none where nothing was written."""
        writer = self._writer
        path = writer.close()
        if path is None and not writer.problem:
            return []
        if path is None:
            return [f"no trace: {writer.problem}"]
        left_out = f"; {writer.left_out} left out: {writer.problem}" if writer.left_out or writer.problem else ""
        groups = group_failures(self._bad)  # the first one's smallest case is the one to begin with, as the run says
        first = shlex.join(["tpharness", "show", str(path), *(group.smallest.id for group in groups[:1])])
        before = [] if writer.kept is None else [f"the trace of the last whole run is kept: {writer.kept}"]
        return [f"trace: {path} ({counted(writer.cases, 'case')}{left_out})", f"look at it: {first}", *before]


def _why_left_out(result: Result) -> str:
    if result.outcome.green:
        return "it shows nothing that the trace of its scenario does not show"
    if result.outcome in (Outcome.COULD_NOT_RUN, Outcome.ERRORED):
        return f"nothing of it was played{f': {result.reason}' if result.reason else ''}"
    if "@" in result.id:
        return "places of its sweep that fail alike are in the trace"
    return "no trace of it was made"
