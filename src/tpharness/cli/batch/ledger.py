"""What of a batch is done, beside its results: what `--resume` skips.

A line is written after the result that it is about, so that whatever ends the process leaves nothing that is not done
and noted as done. The first line says which command it was. Of several lines about one document the last one counts.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tpharness.cli.batch.command import CommandRecord, describe_difference
from tpharness.errors import InputError, UsageError

__all__ = ["FOLDER_LEDGER", "BatchLedger", "Entry"]

FOLDER_LEDGER = ".tpharness-done.jsonl"
_FORMAT = "tpharness-done/2"
_REJECTED = "rejected"
"""In the first line, or one of its own: a folder in which somebody may have corrected documents with results here."""
_PLACE_BITS = 38  # 256 GiB; the other 26 bits are of the hash
_PLACE = (1 << _PLACE_BITS) - 1


class Entry(NamedTuple):
    """One document that is done: the digest of its bytes, how it ended, where its result is in its file.

    A result that is a file of its own begins at 0, and has the digest `result`.
    """

    digest: str
    outcome: str
    code: int
    start: int = 0
    end: int = 0
    result: str = ""


class BatchLedger:
    """The file, open for more lines. In memory a document takes eight bytes, whatever its name."""

    def __init__(self, path: Path, command: CommandRecord, *, resume: bool, rejected: str = "") -> None:
        self.end = 0
        """Where the results of earlier runs end in a JSON Lines file."""
        self._path, self._command, self._rejected = path, command, rejected
        self._places = _Places()
        self._known = 0
        self._was_rejected = ""
        if resume:
            self._read(path, command)
        try:
            self._file = path.open("ab" if self._known else "wb")
            self._size = self._file.tell()
            self._reader = path.open("rb")
            said = {_REJECTED: rejected} if rejected and rejected != self._was_rejected else {}
            if not self._known or said:
                self._append(said if self._known else {"format": _FORMAT, "command": command, **said})
                self._file.flush()
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", hint="name another path for -o") from error

    def known(self, name: str) -> Entry | None:
        """Return what earlier runs have done with a document."""
        found = None
        for place in self._places.of(name) if self._known else ():
            document, entry = self._at(place)
            found = entry if document == name else found
        return found

    def add(self, name: str, entry: Entry) -> None:
        """Note that a document is done; `flush` writes it."""
        self._places.add(name, self._size)
        self._append({"document": name, **entry._asdict()})

    def flush(self) -> None:
        """Write what was noted."""
        self._file.flush()

    def close(self) -> None:
        """Write what was noted, and close the file."""
        self._file.close()
        self._reader.close()

    def replaced(self) -> set[int]:
        """Return the places of lines about documents that later lines are about, too; everything has to be written."""
        replaced = set()
        for places in self._places.shared():
            latest: dict[str, int] = {}
            for place in places:
                document, _ = self._at(place)
                if document in latest:
                    replaced.add(latest[document])
                latest[document] = place
        return replaced

    def kept(self, replaced: set[int]) -> Iterator[tuple[str, Entry]]:
        """Yield documents and entries in the order of their results, without the places that are `replaced`."""
        for place, line in _whole_lines(self._path):
            if (found := _entry(line)) is not None and place not in replaced:
                yield found

    def anew(self) -> BatchLedger:
        """Return an empty one beside this, which `take_place` puts in its place."""
        path = self._path.with_name(f"{self._path.name}.new")
        return BatchLedger(path, self._command, resume=False, rejected=self._rejected)

    def take_place(self) -> None:
        """Take the place of the one that this was made beside."""
        self._path.replace(self._path.with_name(self._path.name.removesuffix(".new")))

    def _append(self, line: Mapping[str, Any]) -> None:
        self._size += self._file.write(orjson.dumps(line) + b"\n")

    def _at(self, place: int) -> tuple[str, Entry]:
        self._reader.seek(place)
        found = _entry(orjson.loads(self._reader.readline()))
        assert found is not None, "only lines with entries have places"  # noqa: S101
        return found

    def _read(self, path: Path, command: CommandRecord) -> None:
        lines = _whole_lines(path)
        _, head = next(lines, (0, {}))
        if head.get("format") != _FORMAT:
            hint = "start without --resume, or with --force if the files there may be replaced"
            raise UsageError(f"nothing to go on with: {path} does not say what is done", hint=hint)
        made_by = head.get("command")
        if other := describe_difference(made_by if isinstance(made_by, Mapping) else {}, command):
            hint = "give the same options, name another -o, or start with --force"
            raise UsageError(f"{path} is of another command or other options: {other}", hint=hint)
        for place, line in chain([(0, head)], lines):
            self._was_rejected = line.get(_REJECTED, self._was_rejected)
            if (found := _entry(line)) is not None:
                name, entry = found
                self._places.add(name, place)
                self._known += 1
                self.end = max(self.end, entry.end)
        self._places.sort()
        if self._was_rejected and not self._rejected:
            wrong = f"an earlier run had --rejected {self._was_rejected}: what is corrected there would not be read"
            raise UsageError(wrong, hint="add the option; or start with --force")


class _Places:
    """Where the lines about documents are in a file, found by name: for each a number with its place below its hash.

    Names with the same hash share their places; the lines say which is whose.
    """

    def __init__(self) -> None:
        self._sorted = array("Q")
        self._added = array("Q")

    def add(self, name: str, place: int) -> None:
        """Add a place, which is behind those that were added before."""
        self._added.append(_hash(name) << _PLACE_BITS | place)

    def sort(self) -> None:
        """Have `of` find what was added."""
        self._sorted = array("Q", sorted(chain(self._sorted, self._added)))
        self._added = array("Q")

    def of(self, name: str) -> Iterator[int]:
        """Yield the places that may be of a name, in their order."""
        least = _hash(name) << _PLACE_BITS
        for index in range(bisect_left(self._sorted, least), len(self._sorted)):
            if self._sorted[index] >> _PLACE_BITS != least >> _PLACE_BITS:
                return
            yield self._sorted[index] & _PLACE

    def shared(self) -> Iterator[list[int]]:
        """Yield the places of each hash that has several, in their order."""
        self.sort()
        for _, numbers in groupby(self._sorted, key=lambda number: number >> _PLACE_BITS):
            places = [number & _PLACE for number in numbers]
            if len(places) > 1:
                yield places


def _hash(name: str) -> int:
    return hash(name) & ((1 << 64 - _PLACE_BITS) - 1)  # of this process: it is not written


def _entry(line: Mapping[str, Any]) -> tuple[str, Entry] | None:
    """Return the document and the entry in a line, None for another line."""
    fields = dict(line)
    name = fields.pop("document", None)
    return (name, Entry(**fields)) if isinstance(name, str) and fields.keys() == set(Entry._fields) else None


def _whole_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of the file and their places; the last one may have been cut, and such a line is not done.

    What was cut is removed, so that the next line begins at the beginning of one.
    """
    try:
        with path.open("rb+") as file:
            place = 0
            while line := file.readline():
                try:
                    value = orjson.loads(line)
                except orjson.JSONDecodeError:
                    value = None
                if not line.endswith(b"\n"):
                    file.truncate(place)
                    return
                if isinstance(value, dict):
                    yield place, value
                place += len(line)
    except OSError:
        return
