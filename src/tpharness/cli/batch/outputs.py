"""Where the results of a batch go: a folder, a JSON Lines file, or standard output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from tpharness.cli.batch.ledger import FOLDER_LEDGER, BatchLedger, Entry
from tpharness.errors import InputError, UsageError
from tpharness.output import check_writable, write_bytes

__all__ = ["Output", "open_output", "write_result"]

_LINES = (".jsonl", ".ndjson")
_IN_USE = "--resume goes on with what is not done yet, --force replaces what is there; or name another -o"

Moved: TypeAlias = Callable[[str, Entry, int], None]
"""Takes a document, how it ended, and the line that its result has now."""


class Output(Protocol):
    """What takes the results of a batch."""

    folder: Path | None
    """Where workers write the results themselves; None if `take` writes them."""

    def known(self, name: str) -> Entry | None:
        """Return what an earlier run has done with a document."""

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        """Take the result of a document, note that it is done, and return its line in a file; 0 for none."""

    def flush(self) -> None:
        """Write what was taken so far."""

    def close(self) -> None:
        """Finish."""


def open_output(output: str, command: str, moved: Moved, *, resume: bool, force: bool) -> Output:
    """Open the output of a batch; `moved` is called when others before a line were replaced.

    UsageError if something is there and neither `resume` nor `force` is given.
    """
    if resume and force:
        raise UsageError("--resume goes on, --force starts anew", hint="give one of them")
    if output == "-":
        if resume:
            raise UsageError("--resume needs a folder or a file of results", hint="name it with -o")
        return _Nowhere()
    path = Path(output)
    if path.suffix in _LINES:
        check_writable(path, "the results")
        if path.exists() and not (resume or force):
            raise UsageError(f"{path} exists", hint=_IN_USE)
        ledger = path.with_name(f".{path.name}.done")
        return _Lines(path, BatchLedger(ledger, command, resume=resume and path.exists()), moved)
    if path.exists() and not path.is_dir():
        hint = "for results of many documents name a folder, or a file that ends with .jsonl"
        raise UsageError(f"{path} is a file", hint=hint)
    used = path.is_dir() and any(path.iterdir())
    if used and not (resume or force):
        raise UsageError(f"the folder {path} is not empty", hint=_IN_USE)
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}", hint="make the one above it") from error
    return _Folder(path, BatchLedger(path / FOLDER_LEDGER, command, resume=resume and used))


def write_result(folder: Path, place: str, result: bytes) -> None:
    """Write the result of one document, and the folders that it needs. InputError if it cannot be written."""
    path = folder / place
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path.parent}: {error.strerror}", hint="name another -o") from error
    write_bytes(str(path), result)


class _Nowhere:
    """Standard output, where each result is printed as it comes."""

    folder: Path | None = None

    def known(self, name: str) -> Entry | None:
        del name
        return None

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        del name, entry
        if result is not None:
            write_bytes("-", result)
        return 0

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class _Folder:
    def __init__(self, folder: Path, ledger: BatchLedger) -> None:
        self.folder: Path | None = folder
        self._ledger = ledger

    def known(self, name: str) -> Entry | None:
        return self._ledger.known(name)

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        del result  # the worker has written it
        self._ledger.add(name, entry)
        return 0

    def flush(self) -> None:
        self._ledger.flush()

    def close(self) -> None:
        self._ledger.close()


class _Lines:
    """A JSON Lines file. What it has of documents that were done again is left out when it is closed."""

    def __init__(self, path: Path, ledger: BatchLedger, moved: Moved) -> None:
        self.folder: Path | None = None
        self._path, self._ledger, self._moved = path, ledger, moved
        done = ledger.end
        self._file = path.open("ab")
        if self._file.tell() < done:
            raise UsageError(f"{path} is shorter than what was written to it", hint="start again with --force")
        self._file.truncate(done)
        self._end = done
        self._lines = _lines_in(path) if done else 0

    def known(self, name: str) -> Entry | None:
        return self._ledger.known(name)

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        data = result or b""
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        done = Entry(digest=entry.digest, outcome=entry.outcome, code=entry.code, start=start, end=self._end)
        self._ledger.add(name, done)
        first, self._lines = self._lines + 1, self._lines + data.count(b"\n")
        return first if data else 0

    def flush(self) -> None:
        self._file.flush()
        self._ledger.flush()

    def close(self) -> None:
        self.flush()
        replaced = self._ledger.replaced()
        self._file.close()
        self._ledger.close()
        if replaced:
            self._leave_out(replaced)

    def _leave_out(self, replaced: set[int]) -> None:
        """Write the file again without what was replaced; the ledger is written anew beside it."""
        name = self._path.with_name(f".{self._path.name}.new")
        anew = self._ledger.anew()
        end, line = 0, 1
        with self._path.open("rb") as old, name.open("wb") as new:
            for document, entry in self._ledger.kept(replaced):
                old.seek(entry.start)
                data = old.read(entry.end - entry.start)
                new.write(data)
                if data and end != entry.start:
                    self._moved(document, entry, line)
                line += data.count(b"\n")
                start, end = end, end + entry.end - entry.start
                moved = Entry(digest=entry.digest, outcome=entry.outcome, code=entry.code, start=start, end=end)
                anew.add(document, moved)
        anew.close()
        name.replace(self._path)
        anew.take_place()


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
