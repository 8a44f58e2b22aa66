"""What is printed of many documents: each as it comes, and in the end how they ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version

from tpharness.cli.batch.doing import One
from tpharness.cli.batch.ledger import Entry
from tpharness.cli.batch.notes import Notes, with_name
from tpharness.cli.batch.outputs import Output
from tpharness.cli.batch.progress import At, Progress
from tpharness.cli.batch.work import BatchOptions, DocumentDone
from tpharness.output import json_bytes, write_bytes
from tpharness.printable import say

__all__ = ["Total"]

_AS_BEFORE = "as before"
_IN_JSON = ", which --json names"
_A_FEW = 5
"""So many broken rules are seen at a glance; of more it is said how often each is broken."""
_MOST_CODES = 8
_MOST_NAMES = 100
"""Documents that are named before the total, so that memory does not grow with their number (docs/DOCUMENTS.md)."""


class _Some:
    """Lines of which the first are kept."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._number = 0

    def add(self, line: str) -> None:
        self._number += 1
        if len(self._lines) < _MOST_NAMES:
            self._lines.append(line)

    def lines(self, begin: str, where: str = "") -> list[str]:
        """Return them, and in a line with this beginning how many more there are, and where they are named."""
        more = self._number - len(self._lines)
        return [*self._lines, *([f"{begin}: and {more:,} more{where}"] if more else [])]


@dataclass(slots=True)
class Total:
    """What is printed of a batch as it goes on, and at its end."""

    options: BatchOptions
    at: At
    code: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)
    """In how many documents each rule is broken."""
    as_before: int = 0
    trace: str = ""
    """The first of the tracebacks."""
    named: _Some = field(default_factory=_Some)
    corrected: _Some = field(default_factory=_Some)
    notes: Notes = field(default_factory=Notes)
    begun: float = field(default_factory=time.monotonic)
    progress: Progress = field(init=False)

    def __post_init__(self) -> None:
        self.progress = Progress(self._progress)

    def take(self, one: One, output: Output) -> None:
        """Count a document, hand its result on, and print what is to be said of it."""
        self.code = max(self.code, one.entry.code)
        self.outcomes[one.entry.outcome] = self.outcomes.get(one.entry.outcome, 0) + 1
        self.as_before += one.as_before
        self.trace = self.trace or one.trace
        if one.entry.outcome == self.options.named:
            self.named.add(f"{one.entry.outcome}: {one.name}")
        if one.corrected:
            wrong = f", and still not right ({one.entry.outcome})" if one.entry.code else ""
            self.corrected.add(f"corrected by hand{wrong}: {one.name}, read from {one.corrected}")
        if (done := one.done) is not None:
            self.progress.clear()
            line = 0 if one.as_before or one.untouched else output.take(one.name, one.entry, one.result)
            self.wrong.update(one.broken)
            self._print_of(one, done, line)

    def placed(self, name: str, entry: Entry, line: int) -> None:
        """Report the line that a result has in the end."""
        report = {"document": name, "outcome": entry.outcome, "written": self.options.output, "written_line": line}
        write_bytes("-", json_bytes(report) + b"\n")

    def _print_of(self, one: One, done: DocumentDone, line: int) -> None:
        failed = done.code == 2
        if failed:
            say(*(with_name(note.line, one.name) for note in done.notes), err=True)
        else:
            for note in done.notes:
                self.notes.add(note, note.why, one.name)
        if self.options.as_json:
            report = {"document": one.name, "outcome": done.outcome, **done.facts}
            if one.written and self.options.makes:
                report["written"] = one.written
                if line:
                    report["written_line"] = line
            report |= {key: path for key in ("rejected", "corrected") if (path := getattr(one, key))}
            if self.options.output != "-" or one.result is None:
                write_bytes("-", json_bytes(report) + b"\n")
        elif self.options.makes or self.options.output == "-":  # else they are in the output
            say(*done.lines)

    def _progress(self) -> str:
        return "; ".join(part for part in (self._counts(), str(self.at)) if part)

    def _counts(self) -> str:
        number = sum(self.outcomes.values())
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        before = f", {self.as_before:,} of them {_AS_BEFORE}" if self.as_before else ""
        passed = time.monotonic() - self.begun
        return f"{number:,} document{'' if number == 1 else 's'}: {words}{before}; {passed:.1f} s"

    def print(self, not_read: Iterable[str], unfit: str) -> None:
        """Print what was noted, each kind once, what is `not_read` beside the copies, and how the documents ended.

        And what of the output is not as its record says.
        """
        self.notes.print()
        if self.trace:
            say(*self.trace.splitlines(), err=True)
            ours = f"a mistake in tpharness {version('tpharness')}, not in the document"
            say(f"internal error: {ours}; send the lines above to the authors of tpharness", err=True)
        err = self.options.as_json or self.options.verdict is None
        if self.wrong.total() > _A_FEW:
            most = self.wrong.most_common(_MOST_CODES)
            more = f", and {len(self.wrong) - len(most)} more" if len(self.wrong) > len(most) else ""
            say(f"broken most: {', '.join(f'{code} in {count:,}' for code, count in most)}{more}", err=err)
        if not self.options.as_json:  # its lines name every document
            say(*self.named.lines(self.options.named, _IN_JSON), err=err)
        say(*self.corrected.lines("corrected by hand", _IN_JSON), err=err)
        others = _Some()
        for path in not_read:
            others.add(f"not read: {path}, which does not have the name of a document that was rejected")
        say(*others.lines("not read"), err=True)
        if unfit:
            self.code = 2
            what = "something else has written one of them, so results may be missing or there twice"
            say(f"{unfit}: {what}; run again with --force in place of --resume, which makes all of them", err=True)
        judged = self.options.verdict
        passed = f"; {judged(self.outcomes)}" if judged is not None and self.code == 0 else ""
        say(self._counts() + passed, err=err)
