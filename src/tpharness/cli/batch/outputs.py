"""Where the results of a batch go: a folder, a JSON Lines file, or standard output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from tpharness.cli.batch.command import CommandRecord
from tpharness.cli.batch.ledger import FOLDER_LEDGER, BatchLedger, Entry
from tpharness.cli.batch.work import BatchOptions
from tpharness.cli.batch.writers import is_of_writer, make_folder
from tpharness.errors import InputError, UsageError
from tpharness.output import check_writable, write_bytes

__all__ = [
    "IN_USE",
    "LINES",
    "Output",
    "already_there",
    "files_in",
    "open_output",
    "refuse_output",
    "refuse_own_output",
    "write_result",
]

LINES = (".jsonl", ".ndjson")
IN_USE = "--resume goes on with what is not done yet, --force replaces what is there; or name another"

Placed: TypeAlias = Callable[[str, Entry, int], None]
"""Takes a document, how it ended, and the line that its result has in the end."""


class Output(Protocol):
    """What takes the results of a batch."""

    folder: Path | None
    """Where workers write the results themselves; None if `take` writes them."""
    unfit: str
    """What of the output is not as the record says; it is known when the output is closed."""

    def known(self, name: str) -> Entry | None:
        """Return what an earlier run has done with a document."""

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        """Take the result of a document, note that it is done, and return its line in a file.

        0 if it has none, or if it is not known yet, because other lines before it may be left out in the end.
        """

    def flush(self) -> None:
        """Write what was taken so far."""

    def close(self) -> None:
        """Finish."""


def open_output(options: BatchOptions, command: CommandRecord, placed: Placed | None) -> Output:
    """Open the output of a batch; `placed` is called in the end for each line that `take` could not say.

    UsageError as for `refuse_output`, since another run may have written it meanwhile.
    """
    refuse_output(options)
    if options.output == "-":
        return _Nowhere()
    path, rejected = Path(options.output), options.rejected
    resume = options.resume and _is_used(path)
    if path.suffix in LINES:
        return _Lines(path, BatchLedger(_record(path), command, resume=resume, rejected=rejected), placed)
    make_folder(path)
    return _Folder(path, BatchLedger(path / FOLDER_LEDGER, command, resume=resume, rejected=rejected))


def refuse_output(options: BatchOptions) -> None:
    """UsageError if something is there and neither `resume` nor `force` is given, or if it cannot be an output."""
    go_on = options.resume or options.force
    if options.resume and options.force:
        raise UsageError("--resume goes on, --force starts anew", hint="give one of them")
    if options.output == "-":
        if options.resume:
            raise UsageError("--resume needs a folder or a file of results", hint="name it with -o")
        return
    path = Path(options.output)
    if path.suffix in LINES:
        check_writable(path, "the results")
        if path.exists() and not go_on:
            raise UsageError(f"{path} exists, with {_lines_in(path):,} lines", hint=f"{IN_USE} -o")
        return
    if path.exists() and not path.is_dir():
        hint = "for results of many documents name a folder, or a file that ends with .jsonl"
        raise UsageError(f"{path} is a file", hint=hint)
    if _is_used(path) and not go_on:
        there = already_there(path) or "files whose names begin with a dot"
        raise UsageError(f"the folder {path} is not empty: {there}", hint=f"{IN_USE} -o")


def _is_used(path: Path) -> bool:
    if path.suffix in LINES:
        return path.exists()
    return path.is_dir() and any(not is_of_writer(one.name) for one in path.iterdir())


def _record(path: Path) -> Path:
    return path.with_name(f".{path.name}.done")


def refuse_own_output(files: Sequence[str], option: str, output: str) -> None:
    """UsageError where the results would be among the documents of the next run, or written while they are read."""
    if output in ("-", ""):
        return
    for name in files:
        if name != "-" and Path(name).is_dir() and Path(output).resolve().is_relative_to(Path(name).resolve()):
            raise UsageError(
                f"{option} {output} is inside of {name}, which is read", hint="write to a folder beside it"
            )
        if name != "-" and Path(output).resolve() == Path(name).resolve():
            raise UsageError(
                f"{option} {output} is the file that is read", hint="write to another file, and rename it afterwards"
            )


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, but for ours with a dot."""
    return (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))


def already_there(folder: Path) -> str:
    """Return the first of `files_in` a folder, and how many more there are; "" for none."""
    first, number = None, 0
    for number, path in enumerate(files_in(folder), start=1):  # noqa: B007  # the last is the number
        first = path if first is None or path < first else first
    return f"{first} and {number - 1:,} more files" if number > 1 else f"{first}" if first is not None else ""


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
    unfit = ""

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
    unfit = ""

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

    def __init__(self, path: Path, ledger: BatchLedger, placed: Placed | None) -> None:
        self.folder: Path | None = None
        self.unfit = ""
        self._path, self._ledger, self._placed = path, ledger, placed
        self._began = self._end = ledger.end
        self._file = path.open("ab")
        if self._file.tell() < self._end:
            raise UsageError(f"{path} is shorter than what was written to it", hint="start again with --force")
        self._file.truncate(self._end)
        self._lines = 0

    def known(self, name: str) -> Entry | None:
        return self._ledger.known(name)

    def take(self, name: str, entry: Entry, result: bytes | None) -> int:
        data = result or b""
        self._file.write(data)
        start, self._end = self._end, self._end + len(data)
        self._ledger.add(name, entry._replace(start=start, end=self._end))
        first, self._lines = self._lines + 1, self._lines + data.count(b"\n")
        return first if data and not self._began else 0

    def flush(self) -> None:
        self._file.flush()
        self._ledger.flush()

    def close(self) -> None:
        self.flush()
        replaced = self._ledger.replaced()
        self._file.close()
        self._ledger.close()
        self.unfit = self._find_unfit()
        if self.unfit:  # what is there is left as it is
            return
        if replaced:
            self._leave_out(replaced)
        elif self._placed is not None and 0 < self._began < self._end:
            for _ in self._kept(replaced):
                pass

    def _find_unfit(self) -> str:
        """Return what of the file is not as the record says, "" for nothing: each result is a line, and no other is.

        A run that begins has written both, and only something else can have changed the size.
        """
        record = f"by its record {_record(self._path)}"
        size = self._path.stat().st_size if self._path.exists() else 0
        if size != self._end:
            return f"{self._path} has {size:,} bytes, and {self._end:,} {record}"
        if not self._began:
            return ""
        end = 0
        with self._path.open("rb") as file:
            for document, entry in self._ledger.kept(set()):
                data = file.read(max(0, entry.end - entry.start)) if entry.start == end else b""
                if entry.start != end or (data and data.find(b"\n") != len(data) - 1):
                    where = f"from byte {entry.start:,} to {entry.end:,}"
                    return f"{self._path} does not have the result of {document} in a line {where}, as it has {record}"
                end = entry.end
        return ""

    def _leave_out(self, replaced: set[int]) -> None:
        """Write the file again without what was replaced; the ledger is written anew beside it."""
        name = self._path.with_name(f".{self._path.name}.new")
        anew = self._ledger.anew()
        end = 0
        with name.open("wb") as new:
            for document, entry, data in self._kept(replaced):
                new.write(data)
                start, end = end, end + len(data)
                anew.add(document, entry._replace(start=start, end=end))
        anew.close()
        name.replace(self._path)
        anew.take_place()

    def _kept(self, replaced: set[int]) -> Iterator[tuple[str, Entry, bytes]]:
        """Yield what is not replaced; say the line that it has then, if it was not said or is another one now."""
        end, line = 0, 1
        with self._path.open("rb") as file:
            for document, entry in self._ledger.kept(replaced):
                file.seek(entry.start)
                data = file.read(entry.end - entry.start)
                if data and self._placed is not None and (end != entry.start or 0 < self._began <= entry.start):
                    self._placed(document, entry, line)
                line += data.count(b"\n")
                end += len(data)
                yield document, entry, data


def _lines_in(path: Path) -> int:
    with path.open("rb") as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
