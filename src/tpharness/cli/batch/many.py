"""Many documents: done one at a time or in worker processes, whatever is wrong with one of them, and counted.

An error is of its document: the others go on, and a total by outcome follows.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

from tpharness.cli.batch.command import record_command
from tpharness.cli.batch.doing import BatchRun, One
from tpharness.cli.batch.outputs import LINES, Output, open_output, refuse_output, refuse_own_output
from tpharness.cli.batch.progress import At
from tpharness.cli.batch.rejected import open_rejected, refuse_rejected
from tpharness.cli.batch.sources import BatchSource, Sources
from tpharness.cli.batch.total import Total
from tpharness.cli.batch.work import BatchOptions, Work
from tpharness.cli.batch.writers import only_writer

__all__ = ["do_all"]

_A_BATCH = 32
"""Documents that a worker process is given at once."""


def do_all(files: Sequence[str], sources: Sources, work: Work, options: BatchOptions) -> int:
    """Do the work with each document of the files, print what is to be said of them, and return the exit code."""
    for option, path in (("-o", options.output), ("--rejected", options.rejected)):
        refuse_own_output(files, option, path)
    refuse_rejected(options)  # before anything is written, and again while nobody else writes
    refuse_output(options)
    with only_writer(options, LINES):
        return _do_all(sources, work, options)


def _do_all(sources: Sources, work: Work, options: BatchOptions) -> int:
    rejected = open_rejected(options)
    at = At()
    total = Total(options, at)
    placed = total.placed if options.as_json and options.makes else None
    output = open_output(options, record_command(work), placed)
    do_batch = BatchRun(work=work, options=options, rejected=rejected, folder=output.folder, at=at)
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


def _all_results(sources: Sources, do_batch: BatchRun, jobs: int, output: Output, at: At) -> Iterator[list[One]]:
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
