"""What is done with each document of a batch, here or in a worker process: read, looked up, worked on, written, noted.

Whatever is wrong with a document is its result: nothing that it does ends the batch.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tpharness.cli.batch.digest import digest_of
from tpharness.cli.batch.ledger import Entry
from tpharness.cli.batch.outputs import write_result
from tpharness.cli.batch.progress import At
from tpharness.cli.batch.rejected import Rejected
from tpharness.cli.batch.sources import BatchSource
from tpharness.cli.batch.work import BatchDocument, BatchNote, BatchOptions, DocumentDone, Work
from tpharness.errors import InputError, TpharnessError
from tpharness.findings import Level
from tpharness.output import json_bytes

__all__ = ["BatchRun", "KnownSource", "One"]

_SHOWN_FINDINGS = 3
_CHANGED = "changed result"
_MUST = Level.MUST.value

KnownSource: TypeAlias = tuple[BatchSource, Entry | None]
"""A document, and what an earlier run has done with it."""


class One(NamedTuple):
    """The result of one document of a batch, without what was written already."""

    name: str
    entry: Entry
    done: DocumentDone | None = None
    """None if an earlier run has done it, and nothing is to be said of it."""
    broken: tuple[str, ...] = ()
    """The rules that it breaks."""
    as_before: bool = False
    """Whether an earlier run has done it, and its result is there."""
    result: bytes | None = None
    written: str = ""
    rejected: str = ""
    """The path of the document among what was rejected."""
    corrected: str = ""
    """The path that it was read from there, because somebody has edited it."""
    untouched: bool = False
    """Whether nothing was done, since something else has changed the result: what an earlier run noted stays."""
    trace: str = ""
    """The traceback of a mistake in tpharness that this document has shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """What a run of a command does with its documents. It is pickled."""

    work: Work
    options: BatchOptions
    rejected: Rejected | None
    folder: Path | None
    """Where results are files of their own."""
    at: At

    def __call__(self, batch: Sequence[KnownSource]) -> list[One]:
        """Return the results of some documents, in order."""
        return [self._do(source, known) for source, known in batch]

    def _do(self, source: BatchSource, known: Entry | None) -> One:
        digest, read, corrected, there, trace = "", None, "", True, ""
        file = None if self.folder is None else self.folder / Path(source.place).with_suffix(".json")
        written = ""
        try:
            document = read = source.read()
            if self.rejected is not None and (copy := self.rejected.corrected(source, read)) is not None:
                document, corrected = copy, copy.name
            self.at.begin(document.name, len(document.data))
            digest = digest_of(document.data)
            if known is not None:
                there = file is None or bool(known.code) or file.exists()
                there &= self.rejected is None or self.rejected.has(source, known, corrected=bool(corrected))
                if there and known.digest == digest and not known.code:
                    return _as_before(source.name, known, file, corrected)
            done = self.work(document)
            result = self._result(source.name, done)
            if result is not None:
                written = self._write(result, file)
        except TpharnessError as error:
            done, result = _of_error(error), None
        except BrokenPipeError:
            raise  # whoever reads what is printed has gone
        except Exception as error:  # noqa: BLE001  # a mistake of ours with one document does not stop the others
            done, result = _of_mistake(source.name, error), None
            trace = "".join(traceback.format_exception(error))
        entry = Entry(digest=digest, outcome=done.outcome, code=done.code)
        if file is not None and result is not None:
            entry = entry._replace(end=len(result), result=digest_of(result))
        elif file is not None:  # what an earlier run made of it is not its result any more
            file.unlink(missing_ok=True)
        return One(
            name=source.name,
            entry=entry,
            done=self._to_be_said(done),
            broken=tuple({found["code"] for found in done.facts.get("findings", ()) if found["level"] == _MUST}),
            as_before=there and known is not None and _how_it_ended(known) == _how_it_ended(entry),
            result=result,
            written=written,
            rejected=self._reject(source, read, entry, done),
            trace=trace,
            corrected=corrected,
        )

    def _result(self, name: str, done: DocumentDone) -> bytes | None:
        """Return what is written for a document, a line; None if nothing is."""
        options = self.options
        if not options.makes:
            if options.as_json or options.output != "-":
                return json_bytes({"document": name, "outcome": done.outcome, **done.facts}) + b"\n"
            return None
        if done.value is None and done.raw is None:
            return None
        if options.as_json and options.output == "-":
            return json_bytes({"document": name, "outcome": done.outcome, **done.facts, "result": done.value}) + b"\n"
        return (json_bytes(done.value) if done.raw is None else done.raw) + b"\n"

    def _write(self, result: bytes, file: Path | None) -> str:
        """Write a result that is a file of its own; return where it is written, "" for standard output."""
        if self.folder is None or file is None:
            return self.options.output if self.options.output != "-" else ""
        write_result(self.folder, str(file.relative_to(self.folder)), result)
        return str(file)

    def _reject(self, source: BatchSource, read: BatchDocument | None, entry: Entry, done: DocumentDone) -> str:
        """Keep the document if nothing was made of it; return the path of the copy, "" if there is none."""
        if self.rejected is None:
            return ""
        why = [note.line for note in done.notes] + list(done.lines)
        return self.rejected.note(source, read, entry, "\n".join([entry.outcome, *why]))

    def _to_be_said(self, done: DocumentDone) -> DocumentDone:
        """Return what is printed of a document: nothing else goes back to the parent process."""
        options = self.options
        lines = done.lines if options.makes or options.output == "-" else ()
        facts = done.facts if options.as_json else {}
        return DocumentDone(outcome=done.outcome, code=done.code, lines=lines, notes=done.notes, facts=facts)


def _how_it_ended(entry: Entry) -> tuple[str, str, int]:
    return entry.digest, entry.outcome, entry.code


def _as_before(name: str, known: Entry, file: Path | None, corrected: str) -> One:
    """Return the result of a document that an earlier run has done, and that has not changed."""
    if file is None or not (wrong := _changed(file, known)):
        return One(name=name, entry=known, as_before=True, corrected=corrected)
    done = DocumentDone(outcome=_CHANGED, code=2, facts={"error": wrong}, notes=(BatchNote(line=wrong),))
    return One(name=name, entry=known._replace(outcome=_CHANGED, code=2), done=done, untouched=True)


def _changed(file: Path, known: Entry) -> str:
    """Return what is wrong with a result that an earlier run has written, "" for nothing."""
    hint = "remove it if it is not yours, and --resume makes it again; or name another -o, and keep it"
    try:
        data = file.read_bytes()
    except OSError as error:
        return (
            f"{file} cannot be read ({error.strerror}), so nobody knows whether something else has changed it; {hint}"
        )
    if digest_of(data) == known.result:
        return ""
    has = f"{len(data):,} bytes, and {known.end:,} when it was written"
    if len(data) == known.end:
        has = f"as many bytes as when it was written ({known.end:,}), and not the same"
    return f"{file} has {has}: something else has changed it; {hint}"


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
