"""A command on documents: done with each, one at a time or in worker processes, whatever is wrong with one of them.

One document is done as it always was: its result is printed or written to the file of `-o`, an error ends the command.
With several, in folders or in lines, an error is of its document: the others go on, and a total by outcome follows.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from tpharness.cli.batch.ledger import Entry, digest_of
from tpharness.cli.batch.outputs import Output, check_free, open_output, write_result
from tpharness.cli.batch.sources import JSON_FILES, BatchSource, Sources
from tpharness.cli.batch.work import BatchDocument, BatchNote, DocumentDone, Work
from tpharness.cli.options import Exit
from tpharness.errors import InputError, ScenarioError, ThreadError, TpharnessError, UsageError
from tpharness.output import json_bytes, json_text, write_atomically, write_bytes
from tpharness.printable import say

__all__ = ["BatchOptions", "each_document"]

_A_BATCH = 32
"""Documents that a worker process is given at once."""
_AS_BEFORE = "as before"
_SHOWN_FINDINGS = 3
_MOST_KINDS = 100
"""Kinds of notes that are kept, so that memory does not grow with the documents."""
_PROGRESS_EVERY = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """The options that every command on documents has."""

    output: str = "-"
    as_json: bool = False
    jobs: int = 1
    resume: bool = False
    force: bool = False
    makes: bool = False
    """Whether the command makes documents; otherwise the results are what it says about them."""
    verdict: Callable[[Collection[str]], str] | None = None
    """For a command that judges: what is said of the outcomes where the code is 0. The total is part of its output."""
    endings: tuple[str, ...] = JSON_FILES


def each_document(files: Sequence[str], work: Work, options: BatchOptions) -> None:
    """Do the work with each document of the arguments of a command, and exit.

    The code is 2 if one of them could not be done, or else 1 if something was found in one, or else 0.
    """
    sources = Sources(files, options.endings)
    into_many = options.output != "-" and (Path(options.output).is_dir() or options.output.endswith("/"))
    only = None if into_many or options.resume else sources.only()
    if only is not None:
        raise Exit(_do_one(only, work, options))
    _refuse_own_output(files, options)
    command = f"{work!r} by tpharness {version('tpharness')}"
    output = open_output(options.output, command, resume=options.resume, force=options.force)
    total = _Total(options)
    try:
        with _rare_collections():
            for results in _all_results(sources, work, options, output):
                for one in results:
                    total.take(one, output)
                output.flush()
    finally:
        total.clear_progress()
        output.close()
    total.print()
    raise Exit(total.code)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Have Python look for cycles seldom, and never in what is imported: documents have none, and thousands of objects.

    Forks inherit this; it takes a tenth of the time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _do_one(document: BatchDocument, work: Work, options: BatchOptions) -> int:
    check_free(options.output, force=options.force)
    done = work(replace(document, alone=True))
    if options.as_json or not (options.makes or options.output == "-"):
        write_atomically(options.output, json_text(_report(document.name, done, options)) + "\n")
        return done.code
    _print_notes(done.notes)
    if done.raw is not None:
        write_bytes(options.output, done.raw)
    elif options.makes and done.value is not None:
        write_atomically(options.output, json_text(done.value) + "\n")
    say(*done.lines)
    return done.code


def _report(name: str, done: DocumentDone, options: BatchOptions) -> Any:
    if done.report is not None:
        return done.report
    made = {"result": done.value} if options.makes else {}
    return {"document": name, "outcome": done.outcome, **done.facts, **made}


def _refuse_own_output(files: Sequence[str], options: BatchOptions) -> None:
    """UsageError where the results would be among the documents of the next run."""
    if options.output == "-":
        return
    output = Path(options.output).resolve()
    for name in files:
        if name != "-" and Path(name).is_dir() and output.is_relative_to(Path(name).resolve()):
            raise UsageError(
                f"-o {options.output} is inside of {name}, which is read", hint="write to a folder beside it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _One:
    """The result of one document of a batch, without what was written already."""

    name: str
    entry: Entry
    done: DocumentDone | None
    """None if an earlier run has done it."""
    result: bytes | None = None
    written: str = ""


def _all_results(sources: Sources, work: Work, options: BatchOptions, output: Output) -> Iterator[list[_One]]:
    task = partial(_do_batch, work=work, options=options, folder=output.folder)
    known = ([(source, output.known(source.name)) for source in batch] for batch in _batches(sources))
    if options.jobs == 1:
        yield from map(task, known)
        return
    from tpharness.run.workers import Workers, map_in_order  # noqa: PLC0415  # it imports the whole runner

    yield from map_in_order(task, known, Workers(jobs=options.jobs))


def _batches(sources: Iterable[BatchSource]) -> Iterator[list[BatchSource]]:
    items = iter(sources)
    while batch := list(islice(items, _A_BATCH)):
        yield batch


def _do_batch(
    batch: list[tuple[BatchSource, Entry | None]], *, work: Work, options: BatchOptions, folder: Path | None
) -> list[_One]:
    return [_do(source, known, work, options, folder) for source, known in batch]


def _do(source: BatchSource, known: Entry | None, work: Work, options: BatchOptions, folder: Path | None) -> _One:
    digest = ""
    try:
        document = source.read()
        digest = digest_of(document.data)
        written = folder is None or not options.makes or (folder / source.place).exists()
        if known is not None and known.digest == digest and (written or known.code):
            return _One(name=source.name, entry=known, done=None)
        done = work(document)
        result = _result(source.name, done, options)
        if folder is not None and result is not None:
            place = str(Path(source.place).with_suffix(".json"))
            write_result(folder, place, result)
            written_to = str(folder / place)
        else:
            written_to = options.output if result is not None and options.output != "-" else ""
    except TpharnessError as error:
        done, result, written_to = _of_error(error), None, ""
    entry = Entry(digest=digest, outcome=done.outcome, code=done.code)
    if options.makes:  # what was made does not go back to the parent process twice
        done = DocumentDone(outcome=done.outcome, code=done.code, lines=done.lines, notes=done.notes, facts=done.facts)
    return _One(name=source.name, entry=entry, done=done, result=result, written=written_to)


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
    findings = error.findings if isinstance(error, ScenarioError | ThreadError) else ()
    shown = [finding.line() for finding in findings[:_SHOWN_FINDINGS]]
    more = len(findings) - len(shown)
    notes = [error.line, *(f"  {line}" for line in shown), *([f"  and {more} more"] if more > 0 else [])]
    facts = {"error": error.line, "findings": [finding.as_json() for finding in findings]}
    return DocumentDone(outcome=outcome, code=2, facts=facts, notes=tuple(BatchNote(line=note) for note in notes))


class _Notes:
    """What was noted, each thing once, and how often."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}
        self._times: dict[str, int] = {}
        self._others = 0

    def add(self, note: BatchNote, kind: str, name: str = "") -> None:
        """Count a note of a kind; the first of it is kept, with the name of its document."""
        kind = kind or note.line
        if kind not in self._lines and len(self._lines) == _MOST_KINDS:
            self._others += 1
            return
        self._lines.setdefault(kind, _named(note.line, name))
        self._times[kind] = self._times.get(kind, 0) + 1

    def print(self) -> None:
        """Print them on standard error."""
        for kind, line in self._lines.items():
            more = self._times[kind] - 1
            say(line + (f" (and {more:,} more like it)" if more else ""), err=True)
        if self._others:
            say(f"and {self._others:,} more of other kinds", err=True)


@dataclass(slots=True)
class _Total:
    """What is printed of a batch as it goes on, and at its end."""

    options: BatchOptions
    code: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    as_before: int = 0
    notes: _Notes = field(default_factory=_Notes)
    begun: float = field(default_factory=time.monotonic)
    _shows: bool = field(default_factory=lambda: sys.stderr.isatty())  # noqa: PLW0108  # it may be another one by then
    _shown: float = 0.0

    def take(self, one: _One, output: Output) -> None:
        self.code = max(self.code, one.entry.code)
        self.outcomes[one.entry.outcome] = self.outcomes.get(one.entry.outcome, 0) + 1
        if one.done is None:
            self.as_before += 1
        else:
            self.clear_progress()
            output.take(one.name, one.entry, one.result)
            self._print_of(one, one.done)
        self._progress()

    def _print_of(self, one: _One, done: DocumentDone) -> None:
        failed = done.code == 2
        if failed:
            say(*(_named(note.line, one.name) for note in done.notes), err=True)
        else:
            for note in done.notes:
                self.notes.add(note, note.why, one.name)
        if self.options.as_json:
            report = {"document": one.name, "outcome": done.outcome, **done.facts}
            if one.written and self.options.makes:
                report["written"] = one.written
            if self.options.output != "-" or (failed and one.result is None):
                write_bytes("-", json_bytes(report) + b"\n")
        else:
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
        judged = self.options.verdict
        passed = f"; {judged(self.outcomes)}" if judged is not None and self.code == 0 else ""
        say(self._counts() + passed, err=self.options.as_json or judged is None)


def _named(line: str, name: str) -> str:
    """Return a line with the name of its document before it, if it does not have it."""
    return line if not name or name in line or line.startswith("  ") else f"{name}: {line}"


def _print_notes(notes: Sequence[BatchNote]) -> None:
    counted = _Notes()
    for note in notes:
        counted.add(note, f"{note.what}; {note.why}" if note.why else "")
    counted.print()
