"""Many documents: done one at a time or in worker processes, whatever is wrong with one of them, and counted.

An error is of its document: the others go on, and a total by outcome follows.
"""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from tpharness.cli.batch.ledger import Entry, digest_of
from tpharness.cli.batch.outputs import LINES, Output, open_output, refuse_output, refuse_own_output, write_result
from tpharness.cli.batch.progress import At
from tpharness.cli.batch.rejected import Rejected, open_rejected, refuse_rejected
from tpharness.cli.batch.sources import BatchSource, Sources
from tpharness.cli.batch.total import One, Total
from tpharness.cli.batch.work import BatchNote, BatchOptions, DocumentDone, Work
from tpharness.cli.batch.writers import only_writer
from tpharness.errors import InputError, TpharnessError
from tpharness.output import json_bytes

__all__ = ["do_all"]

_A_BATCH = 32
"""Documents that a worker process is given at once."""
_SHOWN_FINDINGS = 3
_CHANGED = "changed result"


def do_all(files: Sequence[str], sources: Sources, work: Work, options: BatchOptions) -> int:
    """Do the work with each document of the files, print what is to be said of them, and return the exit code."""
    for option, path in (("-o", options.output), ("--rejected", options.rejected)):
        refuse_own_output(files, option, path)
    refuse_rejected(options)  # before anything is written, and again while nobody else writes
    refuse_output(options)
    with only_writer(options, LINES):
        return _do_all(sources, work, options)


def _do_all(sources: Sources, work: Work, options: BatchOptions) -> int:
    command = f"{work!r} by tpharness {version('tpharness')}"
    rejected = open_rejected(options)
    at = At()
    total = Total(options, at)
    placed = total.placed if options.as_json and options.makes else None
    output = open_output(options, command, placed)
    do_batch = partial(_do_batch, work=work, options=options, rejected=rejected, folder=output.folder, at=at)
    with total.progress.shown():
        try:
            with _rare_collections():
                for results in _all_results(sources, do_batch, options.jobs, output, at):
                    for one in results:
                        total.take(one, output)
                    output.flush()
        finally:
            total.progress.clear()
            output.close()
    total.print(() if rejected is None else rejected.close(), output.unfit)
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


_Known: TypeAlias = tuple[BatchSource, Entry | None]
"""A document, and what an earlier run has done with it."""


def _all_results(
    sources: Sources, do_batch: Callable[[list[_Known]], list[One]], jobs: int, output: Output, at: At
) -> Iterator[list[One]]:
    known = ([(source, output.known(source.name)) for source in batch] for batch in _batches(sources, at))
    if jobs == 1:
        yield from map(do_batch, known)
        return
    from tpharness.run.workers import Workers, map_in_order  # noqa: PLC0415  # it imports the whole runner

    yield from map_in_order(do_batch, known, Workers(jobs=jobs))


def _batches(sources: Iterable[BatchSource], at: At) -> Iterator[list[BatchSource]]:
    items = iter(sources)
    while batch := list(islice(items, _A_BATCH)):
        at.share = batch[-1].share
        yield batch


def _do_batch(
    batch: list[_Known],
    *,
    work: Work,
    options: BatchOptions,
    rejected: Rejected | None,
    folder: Path | None,
    at: At,
) -> list[One]:
    return [_do(source, known, work, options, rejected, folder, at) for source, known in batch]


def _do(
    source: BatchSource,
    known: Entry | None,
    work: Work,
    options: BatchOptions,
    rejected: Rejected | None,
    folder: Path | None,
    at: At,
) -> One:
    digest, read, corrected, there, trace = "", None, None, True, ""
    place = str(Path(source.place).with_suffix(".json"))
    try:
        document = read = source.read()
        if rejected is not None and (corrected := rejected.corrected(source, read)) is not None:
            document = corrected
        at.begin(document.name, len(document.data))
        digest = digest_of(document.data)
        if known is not None:
            there = folder is None or bool(known.code) or (folder / place).exists()
            there &= rejected is None or rejected.has(source, known, corrected=corrected is not None)
            if there and known.digest == digest and not known.code:
                if folder is not None and (wrong := _changed(folder / place, known.end)):
                    done = DocumentDone(
                        outcome=_CHANGED, code=2, facts={"error": wrong}, notes=(BatchNote(line=wrong),)
                    )
                    entry = replace(known, outcome=_CHANGED, code=2)
                    return One(name=source.name, entry=entry, done=done, untouched=True)
                return One(name=source.name, entry=known, as_before=True, corrected=corrected.name if corrected else "")
        done = work(document)
        result = _result(source.name, done, options)
        if folder is not None and result is not None:
            write_result(folder, place, result)
            written_to = str(folder / place)
        else:
            written_to = options.output if result is not None and options.output != "-" else ""
    except TpharnessError as error:
        done, result, written_to = _of_error(error), None, ""
    except BrokenPipeError:
        raise  # whoever reads what is printed has gone
    except Exception as error:  # noqa: BLE001  # a mistake of ours with one document does not stop the others
        done, result, written_to = _of_mistake(source.name, error), None, ""
        trace = "".join(traceback.format_exception(error))
    if folder is not None and result is None:  # what an earlier run made of it is not its result any more
        (folder / place).unlink(missing_ok=True)
    end = 0 if folder is None or result is None else len(result)
    entry = Entry(digest=digest, outcome=done.outcome, code=done.code, end=end)
    kept = ""
    if rejected is not None:
        why = [note.line for note in done.notes] + list(done.lines)
        kept = rejected.note(source, read, entry, "\n".join([entry.outcome, *why]))
    if options.makes:  # what was made does not go back to the parent process twice
        done = DocumentDone(outcome=done.outcome, code=done.code, lines=done.lines, notes=done.notes, facts=done.facts)
    return One(
        name=source.name,
        entry=entry,
        done=done,
        as_before=there and known is not None and replace(known, start=0, end=0) == replace(entry, end=0),
        result=result,
        written=written_to,
        rejected=kept,
        trace=trace,
        corrected=corrected.name if corrected else "",
    )


def _changed(path: Path, size: int) -> str:
    """Return what is wrong with a result that an earlier run has written in so many bytes, "" for nothing."""
    there = path.stat().st_size if path.exists() else size
    if there == size or not size:  # a record of before does not say how long it is
        return ""
    hint = "remove it if it is not yours, and --resume makes it again; or name another -o, and keep it"
    return f"{path} has {there:,} bytes, and {size:,} when it was written: something else has changed it; {hint}"


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


def _of_mistake(name: str, error: Exception) -> DocumentDone:
    line = f"internal error in {name}: {type(error).__name__}: {error}"
    return DocumentDone(outcome="internal error", code=2, facts={"error": line}, notes=(BatchNote(line=line),))


def _of_error(error: TpharnessError) -> DocumentDone:
    outcome = "unreadable" if isinstance(error, InputError) else "refused"
    shown = [finding.line() for finding in error.findings[:_SHOWN_FINDINGS]]
    more = len(error.findings) - len(shown)
    notes = [error.line, *(f"  {line}" for line in shown), *([f"  and {more} more"] if more > 0 else [])]
    facts = {"error": error.line, "findings": [finding.as_json() for finding in error.findings]}
    return DocumentDone(outcome=outcome, code=2, facts=facts, notes=tuple(BatchNote(line=note) for note in notes))
