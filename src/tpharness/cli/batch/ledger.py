"""What of a batch is done, beside its results: what `--resume` skips.

A line is written after the result that it is about, so that whatever ends the process leaves nothing that is not done
and noted as done. The first line says which command it was. Of several lines about one document the last one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tpharness.errors import InputError, UsageError

__all__ = ["FOLDER_LEDGER", "BatchLedger", "Entry", "digest_of"]

FOLDER_LEDGER = ".tpharness-done.jsonl"
_FORMAT = "tpharness-done/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One document that is done: the digest of its bytes, how it ended, where its result is in a JSON Lines file."""

    digest: str
    outcome: str
    code: int
    start: int = 0
    end: int = 0


def digest_of(data: bytes) -> str:
    """Return what changes when the bytes of a document change."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class BatchLedger:
    """The file, open for more lines."""

    def __init__(self, path: Path, command: str, *, resume: bool) -> None:
        self.entries: dict[str, Entry] = {}
        """What earlier runs have done, by the name of the document."""
        self._path, self._command = path, command
        if resume:
            self._read(path, command)
        try:
            self._file = path.open("ab" if self.entries else "wb")
            if not self.entries:
                self._append({"format": _FORMAT, "command": command})
                self._file.flush()
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", hint="name another path for -o") from error

    def add(self, name: str, entry: Entry) -> None:
        """Note that a document is done; `flush` writes it."""
        self._append({"document": name, **{key: getattr(entry, key) for key in Entry.__slots__}})
        self.entries[name] = entry

    def flush(self) -> None:
        """Write what was noted."""
        self._file.flush()

    def close(self) -> None:
        """Write what was noted, and close the file."""
        self._file.close()

    def anew(self) -> BatchLedger:
        """Return an empty one beside this, which `take_place` puts in its place."""
        return BatchLedger(self._path.with_name(f"{self._path.name}.new"), self._command, resume=False)

    def take_place(self) -> None:
        """Take the place of the one that this was made beside."""
        self._path.replace(self._path.with_name(self._path.name.removesuffix(".new")))

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.write(orjson.dumps(line) + b"\n")

    def _read(self, path: Path, command: str) -> None:
        lines = _whole_lines(path)
        head = next(lines, {})
        if head.get("format") != _FORMAT:
            hint = "start without --resume, or with --force if the files there may be replaced"
            raise UsageError(f"nothing to go on with: {path} does not say what is done", hint=hint)
        if head.get("command") != command:
            hint = f"that was: {head.get('command')}; this is: {command}; name another -o, or start with --force"
            raise UsageError(f"{path} is of another command or other options", hint=hint)
        for line in lines:
            name = line.pop("document", None)
            if isinstance(name, str) and set(line) == set(Entry.__slots__):
                self.entries[name] = Entry(**line)


def _whole_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of the file; the last one may have been cut, and a line that is not whole is not done.

    What was cut is removed, so that the next line begins at the beginning of one.
    """
    try:
        with path.open("rb+") as file:
            while line := file.readline():
                try:
                    value = orjson.loads(line)
                except orjson.JSONDecodeError:
                    value = None
                if not line.endswith(b"\n"):
                    file.truncate(file.tell() - len(line))
                    return
                if isinstance(value, dict):
                    yield value
    except OSError:
        return
