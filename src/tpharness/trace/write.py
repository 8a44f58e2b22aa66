"""Cases → a trace: a folder that grows with each case, packed into a `.zip` in the end if its name says so.

What has been written stays readable whatever happens then: a full disk, a run that is broken off, a process that is
killed. Nothing is written, and nothing is removed, before the first case. A trace that was there before is replaced,
and nothing else is: a file or folder that is not a trace is refused. A run that is broken off has seen less than the
one before it: that one's file is kept beside it, as `NAME.last.zip`, until a run comes to its end.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tpharness.errors import UsageError
from tpharness.output import check_writable
from tpharness.trace.format import FORMAT, INDEX, MAX_TRACE, MEMBER, case_file, encode_line, wire_file
from tpharness.trace.secrets import Secrets

__all__ = ["CaseFiles", "TraceWriter"]

_LARGEST_OLD = 1 << 12
_MOST_WAITING = 1000
_RESERVED = 200_000
"""Bytes of the whole that are kept for the index, when the files of cases have used the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFiles:
    """What is written of one case: its lines, the bytes of its streams, and the `wire` lines that name a stream.

    `wires` have the number of their stream in `streams` as `file`: the number of the case is not known yet.
    """

    body: bytes
    wires: Sequence[Mapping[str, Any]] = ()
    streams: Sequence[bytes] = ()


class TraceWriter:
    """Writes one trace. `traced` is `failed` or `all`, `command` what was typed, `limit` bytes in all.

    With `whole` a trace is written as soon as there is a case, also if none has files.
    `cases` counts the cases that have a file, `left_out` those that would have had one, and `problem` says why, "" if
    there are none. `kept` is the trace of an earlier run, if this one is broken off and has not replaced it. No OSError
    is raised: a trace never changes how a run ends.
    """

    def __init__(
        self,
        path: Path,
        *,
        traced: str,
        command: str = "",
        secrets: Secrets | None = None,
        limit: int = MAX_TRACE,
        whole: bool = False,
    ) -> None:
        self.path = path
        self._whole = whole
        self.cases = 0
        self.left_out = 0
        self.problem = ""
        self._header = {"kind": "trace", "format": FORMAT, "traced": traced, "command": command}
        self._started = datetime.now(UTC)
        self._secrets = secrets or Secrets()
        self._limit = limit
        self._bytes = 0
        self._folder: Path | None = None
        self._closed = False
        self._broken = False
        self._ended = False
        self._waiting: list[bytes] = []

    @property
    def packed(self) -> bool:
        """Whether the trace is one file."""
        return self.path.suffix == ".zip"

    def check_place(self) -> None:
        """Check before a run that the trace can be written. UsageError if something that is not a trace is there."""
        hint = "name another place with --trace-to PATH, or leave no trace: --trace none"
        check_writable(self.path, "the trace", replaces_folder=True, hint=hint)
        if (self.path.exists() or self.path.is_symlink()) and not _is_trace(self.path):
            raise UsageError(
                f"{self.path} is there and is not a trace, so it is not replaced",
                hint="name another place: --trace-to PATH",
            )

    @property
    def kept(self) -> Path | None:
        """Where the trace of an earlier run is, that this one has not replaced since it was broken off."""
        return None if self._ended or self._folder is None or not _is_trace(self._last) else self._last

    @property
    def _last(self) -> Path:
        return self.path.with_name(f"{self.path.stem}.last.zip")

    def remove_old(self) -> None:
        """Remove the traces of earlier runs, as this one has come to its end; its own stays."""
        self._ended = True
        try:
            if self._folder is None:
                _remove(self.path)
            if self.packed:
                _remove(self._last)
        except OSError as error:
            self.problem = f"that of an earlier run could not be removed: {error.strerror}"

    def add(self, entry: Mapping[str, Any], files: CaseFiles | None) -> bool:
        """Write a case: its line of the index, and its files if it has any; return whether they were written.

        A trace begins with the first case that has files; the lines of those before it follow then.
        """
        line = {"kind": "entry", **entry}
        texts = [] if files is None else self._texts(files)
        full = self._bytes + sum(len(data) for _, data in texts) > self._limit - _RESERVED
        if full and texts:
            self.problem = self.problem or f"a trace holds at most {self._limit // 1_000_000} MB"
            line["left_out"] = self.problem
        elif texts:
            line["file"] = case_file(self.cases + 1)
        text = encode_line(self._secrets.value(line))
        if self._folder is None and "file" not in line and not self._whole:
            self._waiting = [*self._waiting, text][:_MOST_WAITING]
            written = False
        elif self._bytes + len(text) > self._limit - _RESERVED // 2:
            written = False
        else:
            written = self._write([*(texts if "file" in line else ()), (INDEX, text)]) and "file" in line
        self.cases += written
        self.left_out += bool(texts) and not written
        return written

    def _texts(self, files: CaseFiles) -> list[tuple[str, bytes]]:
        """Return the files of the next case, its streams first: a case that is listed is whole."""
        number = self.cases + 1
        named = [encode_line({**one, "file": wire_file(number, one["file"])}) for one in files.wires]
        texts = [(wire_file(number, i), self._secrets.wire(data)) for i, data in enumerate(files.streams)]
        return [*texts, (case_file(number), self._secrets.lines(b"".join((files.body, *named))))]

    def close(self) -> Path | None:
        """End the trace and pack it; return where it is, None if there was nothing to write."""
        if self._closed:
            return self._folder
        self._closed = True
        if self._folder is None:
            return None
        end = {"kind": "end", "cases": self.cases, "left_out": self.left_out, "bytes": self._bytes}
        self._write([(INDEX, encode_line({**end, "note": self.problem} if self.problem else end))])
        if self.packed and not self.cases and self._broken:  # nothing that anybody could look at
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
            return None
        if self.packed:
            try:
                _pack(self._folder, self.path)
                shutil.rmtree(self._folder)
                self._folder = self.path
            except OSError as error:
                self.problem = f"{self.path} could not be written: {error.strerror}"
        return self._folder

    def _write(self, texts: Iterable[tuple[str, bytes]]) -> bool:
        """Write files; False if that fails, and from then on, so that what is there stays as it is."""
        if self._broken:
            return False
        try:
            folder = self._folder or self._begin()
            for name, data in texts:
                with (folder / name).open("ab" if name == INDEX else "wb") as file:
                    file.write(data)
                self._bytes += len(data)
        except OSError as error:
            self._broken = True
            self.problem = f"it could not be written further: {error.strerror}"
            return False
        return True

    def _begin(self) -> Path:
        if self.packed:
            folder = Path(tempfile.mkdtemp(prefix=f"{self.path.name}.", suffix=".part", dir=self.path.parent))
            if not self._ended and _is_trace(self.path) and not self._last.exists():
                self.path.replace(self._last)
            _remove(self.path)
        else:
            folder = self.path
            _remove(folder)
            folder.mkdir(exist_ok=True)
        self._folder = folder
        for name in ("cases", "wire"):
            (folder / name).mkdir(exist_ok=True)
        header = {**self._header, "tpharness": version("tpharness"), "started_at": self._started.isoformat()}
        text = b"".join((encode_line(self._secrets.value(header)), *self._waiting))
        (folder / INDEX).write_bytes(text)
        self._bytes += len(text)
        return folder


def _is_trace(path: Path) -> bool:
    try:
        if path.is_dir():
            index = path / INDEX
            if not index.is_file():
                return not any(path.iterdir())
            with index.open("rb") as file:
                return FORMAT.encode() in file.read(_LARGEST_OLD)
        with zipfile.ZipFile(path) as archive, archive.open(INDEX) as index_file:
            return FORMAT.encode() in index_file.read(_LARGEST_OLD)
    except (OSError, zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError, ValueError):
        return False


def _remove(path: Path) -> None:
    """Remove a trace if there is one; what somebody has put into its folder stays, and so does then the folder."""
    if not _is_trace(path):
        return
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and MEMBER.fullmatch(file.relative_to(path).as_posix()):
            file.unlink()
    for folder in (path / "cases", path / "wire", path):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


def _pack(folder: Path, path: Path) -> None:
    draft = folder.with_suffix(".packed")
    try:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=5) as archive:
            for file in (folder / INDEX, *sorted(folder.glob("*/*"))):
                archive.write(file, file.relative_to(folder).as_posix())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
