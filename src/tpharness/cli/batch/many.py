"""Many documents: done one at a time or in worker processes, whatever is wrong with one of them, and counted.

An error is of its document: the others go on, and a total by outcome follows.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from tpharness.cli.batch.ledger import Entry, digest_of
from tpharness.cli.batch.notes import Notes, with_name
from tpharness.cli.batch.outputs import Output, open_output, write_result
from tpharness.cli.batch.rejected import Rejected, open_rejected
from tpharness.cli.batch.sources import BatchSource, Sources
from tpharness.cli.batch.work import BatchDocument, BatchNote, BatchOptions, DocumentDone, Work
from tpharness.errors import InputError, TpharnessError
from tpharness.findings import Level
from tpharness.output import json_bytes, write_bytes
from tpharness.printable import say

__all__ = ["do_all"]

_A_BATCH = 32
"""Documents that a worker process is given at once."""
_AS_BEFORE = "as before"
_SHOWN_FINDINGS = 3
_MUST = Level.MUST.value
_A_FEW = 5
"""So many broken rules are seen at a glance; of more it is said how often each is broken."""
_MOST_CODES = 8
_MOST_NAMES = 100
"""Documents that are named before the total, so that memory does not grow with their number (docs/DOCUMENTS.md)."""
_PROGRESS_EVERY = 0.3


def do_all(sources: Sources, work: Work, options: BatchOptions) -> int:
    """Do the work with each document, print what is to be said of them, and return the exit code."""
    command = f"{work!r} by tpharness {version('tpharness')}"
    rejected = open_rejected(options)
    total = _Total(options)
    output = open_output(options.output, command, total.moved, resume=options.resume, force=options.force)
    do_batch = partial(_do_batch, work=work, options=options, rejected=rejected, folder=output.folder)
    try:
        with _rare_collections():
            for results in _all_results(sources, do_batch, options.jobs, output):
                for one in results:
                    total.take(one, output)
                output.flush()
    finally:
        total.clear_progress()
        output.close()
    total.print()
    return total.code


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Have Python look for cycles seldom, and never in what is imported: documents have none, and thousands of objects.

    Forks inherit this; it takes a tenth of the time.
    """
    before = gc.get_threshold()
    frozen = gc.get_freeze_count()
    if not frozen:
        gc.freeze()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not frozen:  # what somebody else has frozen stays so
            gc.unfreeze()


@dataclass(frozen=True, slots=True, kw_only=True)
class _One:
    """The result of one document of a batch, without what was written already."""

    name: str
    entry: Entry
    done: DocumentDone | None
    """None if an earlier run has done it."""
    result: bytes | None = None
    written: str = ""
    rejected: str = ""
    """The path of the document among what was rejected."""


_Known: TypeAlias = tuple[BatchSource, Entry | None]
"""A document, and what an earlier run has done with it."""


def _all_results(
    sources: Sources, do_batch: Callable[[list[_Known]], list[_One]], jobs: int, output: Output
) -> Iterator[list[_One]]:
    known = ([(source, output.known(source.name)) for source in batch] for batch in _batches(sources))
    if jobs == 1:
        yield from map(do_batch, known)
        return
    from tpharness.run.workers import Workers, map_in_order  # noqa: PLC0415  # it imports the whole runner

    yield from map_in_order(do_batch, known, Workers(jobs=jobs))


def _batches(sources: Iterable[BatchSource]) -> Iterator[list[BatchSource]]:
    items = iter(sources)
    while batch := list(islice(items, _A_BATCH)):
        yield batch


def _do_batch(
    batch: list[_Known],
    *,
    work: Work,
    options: BatchOptions,
    rejected: Rejected | None,
    folder: Path | None,
) -> list[_One]:
    results = []
    for source, known in batch:
        there = known is None or rejected is None or rejected.has(source, known)
        one, document = _do(source, known if there else None, work, options, folder)
        if rejected is not None and one.done is not None:
            why = [note.line for note in one.done.notes] + list(one.done.lines)
            kept = rejected.note(source, document, one.entry, "\n".join([one.entry.outcome, *why]))
            one = replace(one, rejected=kept)
        results.append(one)
    return results


def _do(
    source: BatchSource, known: Entry | None, work: Work, options: BatchOptions, folder: Path | None
) -> tuple[_One, BatchDocument | None]:
    digest, document = "", None
    place = str(Path(source.place).with_suffix(".json"))
    try:
        document = source.read()
        digest = digest_of(document.data)
        written = folder is None or not options.makes or (folder / place).exists()
        if known is not None and known.digest == digest and (written or known.code):
            return _One(name=source.name, entry=known, done=None), document
        done = work(document)
        result = _result(source.name, done, options)
        if folder is not None and result is not None:
            write_result(folder, place, result)
            written_to = str(folder / place)
        else:
            written_to = options.output if result is not None and options.output != "-" else ""
    except TpharnessError as error:
        done, result, written_to = _of_error(error), None, ""
    if folder is not None and result is None:  # what an earlier run made of it is not its result any more
        (folder / place).unlink(missing_ok=True)
    entry = Entry(digest=digest, outcome=done.outcome, code=done.code)
    if options.makes:  # what was made does not go back to the parent process twice
        done = DocumentDone(outcome=done.outcome, code=done.code, lines=done.lines, notes=done.notes, facts=done.facts)
    return _One(name=source.name, entry=entry, done=done, result=result, written=written_to), document


def _result(name: str, done: DocumentDone, options: BatchOptions) -> bytes | None:
    """Return what is written for a document, a line; None if nothing is."""
    if not options.makes:
        if options.as_json or options.output != "-":
            return json_bytes({"document": name, "outcome": done.outcome, **done.facts}) + b"\n"
        return None
    if done.value is None and done.raw is None:
        return None
    if options.as_json and options.output == "-":
        return json_bytes({"document": name, "outcome": done.outcome, **done.facts, "result": done.value}) + b"\n"
    return (json_bytes(done.value) if done.raw is None else done.raw) + b"\n"


def _of_error(error: TpharnessError) -> DocumentDone:
    outcome = "unreadable" if isinstance(error, InputError) else "refused"
    shown = [finding.line() for finding in error.findings[:_SHOWN_FINDINGS]]
    more = len(error.findings) - len(shown)
    notes = [error.line, *(f"  {line}" for line in shown), *([f"  and {more} more"] if more > 0 else [])]
    facts = {"error": error.line, "findings": [finding.as_json() for finding in error.findings]}
    return DocumentDone(outcome=outcome, code=2, facts=facts, notes=tuple(BatchNote(line=note) for note in notes))


@dataclass(slots=True)
class _Total:
    """What is printed of a batch as it goes on, and at its end."""

    options: BatchOptions
    code: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    wrong: Counter[str] = field(default_factory=Counter)
    """In how many documents each rule is broken."""
    as_before: int = 0
    named: list[str] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)
    begun: float = field(default_factory=time.monotonic)
    _shows: bool = field(default_factory=lambda: sys.stderr.isatty())  # noqa: PLW0108  # it may be another one by then
    _shown: float = 0.0

    def take(self, one: _One, output: Output) -> None:
        self.code = max(self.code, one.entry.code)
        self.outcomes[one.entry.outcome] = self.outcomes.get(one.entry.outcome, 0) + 1
        if one.entry.outcome == self.options.named and len(self.named) < _MOST_NAMES:
            self.named.append(one.name)
        done = one.done
        if done is None:
            self.as_before += 1
        else:
            self.clear_progress()
            line = output.take(one.name, one.entry, one.result)
            self.wrong.update({found["code"] for found in done.facts.get("findings", ()) if found["level"] == _MUST})
            self._print_of(one, done, line)
        self._progress()

    def moved(self, name: str, entry: Entry, line: int) -> None:
        """Report the line that a result has, now that others before it were replaced."""
        if self.options.as_json and self.options.makes:
            moved = {"written": self.options.output, "written_line": line}
            write_bytes("-", json_bytes({"document": name, "outcome": entry.outcome, **moved}) + b"\n")

    def _print_of(self, one: _One, done: DocumentDone, line: int) -> None:
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
            if one.rejected:
                report["rejected"] = one.rejected
            if self.options.output != "-" or one.result is None:
                write_bytes("-", json_bytes(report) + b"\n")
        elif self.options.makes or self.options.output == "-":  # else they are in the output
            say(*done.lines)

    def _progress(self) -> None:
        now = time.monotonic()
        if self._shows and now - self._shown > _PROGRESS_EVERY:
            self._shown = now
            sys.stderr.write(f"\r\x1b[K{self._counts()}")
            sys.stderr.flush()

    def clear_progress(self) -> None:
        """Remove the line that says how far it is."""
        if self._shows and self._shown:
            sys.stderr.write("\r\x1b[K")

    def _counts(self) -> str:
        number = sum(self.outcomes.values())
        words = ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        before = f", {self.as_before:,} of them {_AS_BEFORE}" if self.as_before else ""
        passed = time.monotonic() - self.begun
        return f"{number:,} document{'' if number == 1 else 's'}: {words}{before}; {passed:.1f} s"

    def print(self) -> None:
        """Print what was noted, each kind once, and how the documents ended."""
        self.notes.print()
        err = self.options.as_json or self.options.verdict is None
        if self.wrong.total() > _A_FEW:
            most = self.wrong.most_common(_MOST_CODES)
            more = f", and {len(self.wrong) - len(most)} more" if len(self.wrong) > len(most) else ""
            say(f"broken most: {', '.join(f'{code} in {count:,}' for code, count in most)}{more}", err=err)
        if not self.options.as_json:  # its lines name every document
            outcome = self.options.named
            others = self.outcomes.get(outcome, 0) - len(self.named)
            said = [f"{outcome}: {name}" for name in self.named]
            say(*said, *([f"{outcome}: and {others:,} more, which --json names"] if others else []), err=err)
        judged = self.options.verdict
        passed = f"; {judged(self.outcomes)}" if judged is not None and self.code == 0 else ""
        say(self._counts() + passed, err=err)
