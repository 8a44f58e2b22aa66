"""The documents of a batch of which nothing was made, untouched, each with what is wrong with it.

Workers write them before the document is noted as done, so that whatever ends the process loses none. They have the
places that results have in a folder: the line 17 of `store.jsonl` is `store/17.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tpharness.cli.batch.ledger import Entry
from tpharness.cli.batch.outputs import write_result
from tpharness.cli.batch.sources import BatchSource
from tpharness.cli.batch.work import BatchDocument, BatchOptions
from tpharness.errors import InputError, UsageError

__all__ = ["Rejected", "open_rejected"]

_WHY = ".why.txt"  # an ending that no command takes from a folder: what was mended there can be read as it is


@dataclass(frozen=True, slots=True)
class Rejected:
    """The folder of what was rejected. It is pickled."""

    folder: Path

    def has(self, source: BatchSource, entry: Entry) -> bool:
        """Whether a document that an earlier run has done is here if it was rejected, and only then."""
        return self._why(source).exists() == bool(entry.code)

    def note(self, source: BatchSource, document: BatchDocument | None, entry: Entry, why: str) -> str:
        """Write a document that was rejected, and return its path, "" if there is none.

        Remove one that an earlier run has rejected, and this one has not.
        """
        if not entry.code:
            if self._why(source).exists():
                self._why(source).unlink()
                (self.folder / source.place).unlink(missing_ok=True)
            return ""
        if document is not None:
            write_result(self.folder, source.place, document.data)
        write_result(self.folder, source.place + _WHY, f"{source.name}: {why}\n".encode())
        return str(self.folder / source.place) if document is not None else ""

    def _why(self, source: BatchSource) -> Path:
        return self.folder / (source.place + _WHY)


def open_rejected(options: BatchOptions) -> Rejected | None:
    """Make the folder of `--rejected`. UsageError if there is something in it, and neither `--resume` nor `--force`."""
    if not options.rejected:
        return None
    folder = Path(options.rejected)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--rejected: {folder} is a file", hint="name a folder")
    results = Path(options.output).resolve()
    if options.output != "-" and (folder.resolve() == results or results in folder.resolve().parents):
        raise UsageError(f"--rejected {folder} is inside of the results", hint="name a folder beside them")
    if folder.is_dir() and any(folder.iterdir()) and not (options.resume or options.force):
        hint = "--resume goes on with what is not done yet, --force replaces what is there; or name another folder"
        raise UsageError(f"--rejected: the folder {folder} is not empty", hint=hint)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror}", hint="make the one above it") from error
    return Rejected(folder)
