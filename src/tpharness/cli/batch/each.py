"""A command on documents: one is done as it always was, several go on whatever is wrong with one of them.

The result of one document is printed or written to the file of `-o`, and an error ends the command. What is done with
several, in folders or in lines, is in `many`, which is loaded when there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tpharness.cli.batch.notes import Notes
from tpharness.cli.batch.sources import Sources
from tpharness.cli.batch.work import BatchDocument, BatchNote, BatchOptions, DocumentDone, Work
from tpharness.cli.options import Exit
from tpharness.errors import UsageError
from tpharness.output import json_text, write_atomically, write_bytes
from tpharness.printable import say

__all__ = ["BatchOptions", "each_document"]

_LARGE = 1_000_000
"""Bytes of a document that may take a second."""


def each_document(files: Sequence[str], work: Work, options: BatchOptions) -> None:
    """Do the work with each document of the arguments of a command, and exit.

    The code is 2 if one of them could not be done, or else 1 if something was found in one, or else 0.
    """
    sources = Sources(files, options.endings)
    if options.makes and options.output != "-":
        from tpharness.cli.batch.rejected import refuse_what_was_rejected  # noqa: PLC0415  # of outputs only

        refuse_what_was_rejected(files, options.output)
    into_many = options.output != "-" and (Path(options.output).is_dir() or options.output.endswith("/"))
    only = None if into_many or options.resume or options.rejected else sources.only()
    if only is not None:
        raise Exit(_do_one(only, work, options))
    if options.one_only is not None and sources.has_several():
        wrong, instead = options.one_only
        raise UsageError(wrong, hint=instead)
    from tpharness.cli.batch.many import do_all  # noqa: PLC0415  # most commands are given one document

    raise Exit(do_all(files, sources, work, options))


def _do_one(document: BatchDocument, work: Work, options: BatchOptions) -> int:
    check_free(options.output, force=options.force)
    with _progress(document):
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


@contextmanager
def _progress(document: BatchDocument) -> Iterator[None]:
    """Say on a terminal for how long a large document is worked on."""
    if len(document.data) < _LARGE:
        yield
        return
    from tpharness.cli.batch.progress import At, Progress  # noqa: PLC0415  # most documents take no time

    at = At()
    at.begin(document.name, len(document.data))
    with Progress(lambda: str(at)).shown():
        yield


def _report(name: str, done: DocumentDone, options: BatchOptions) -> Any:
    if done.report is not None:
        return done.report
    made = {"result": done.value} if options.makes else {}
    return {"document": name, "outcome": done.outcome, **done.facts, **made}


def check_free(path: str, *, force: bool) -> None:
    """UsageError for a file that exists and is not to be replaced; devices and pipes are written to."""
    if path != "-" and not force and Path(path).is_file() and not Path(path).is_relative_to("/dev"):
        raise UsageError(f"{path} exists", hint="--force replaces it; or name another -o")


def _print_notes(notes: Sequence[BatchNote]) -> None:
    counted = Notes()
    for note in notes:
        counted.add(note, f"{note.what}; {note.why}" if note.why else "")
    counted.print()
