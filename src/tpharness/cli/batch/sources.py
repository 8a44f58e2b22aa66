"""Where documents come from: files, the files of folders, the lines of JSON Lines. One document is read at a time.

JSON Lines are recognised by their content: each line is a thread or a list of messages, or all lines are the messages
of one conversation. Lines with anything else, such as server events, are one document.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, TypeAlias

import orjson

from tpharness.cli.batch.work import JSON_FILES, BatchDocument
from tpharness.cli.files import check_stdin_once, read_bytes
from tpharness.errors import InputError, UsageError
from tpharness.protocol.parse import MAX_SIZE

__all__ = ["BatchSource", "Sources"]

_LINES = (".jsonl", ".ndjson")
_TRIED = 20
_NOTHING = object()
_READABLE = "name files and folders that exist and can be read"

Content = Literal["documents", "messages", "other"]
_Inode: TypeAlias = tuple[int, int]


class BatchSource(NamedTuple):
    """One document that has not been read yet, or a line of a file that has."""

    name: str
    place: str
    data: bytes | None = None
    share: float = 0.0
    """How much of its file was read with it, if the file has several."""
    wrong: str = ""
    """Why there is nothing to read, such as a folder that may not be listed."""

    def read(self) -> BatchDocument:
        """Read it. InputError says what is wrong with the file."""
        if self.wrong:
            raise InputError(self.wrong, hint=_READABLE)
        data = read_bytes(self.name) if self.data is None else self.data
        return BatchDocument(name=self.name, data=data, place=self.place)


class Sources:
    """The documents that the arguments of a command name, in order.

    UsageError for standard input that is named twice, and for a folder without a file that has one of the endings.
    A file that cannot be read is an error only when it is read.
    """

    def __init__(self, files: Sequence[str], endings: Sequence[str] = JSON_FILES) -> None:
        check_stdin_once(files)
        self._files = files
        self._endings = tuple(endings)
        self._of_stdin = _peek(sys.stdin.buffer) if "-" in files else []

    def only(self) -> BatchDocument | None:
        """Return the document if there is one, and None for folders, several files, and lines that are documents."""
        if len(self._files) != 1:
            return None
        (name,) = self._files
        if name == "-":
            lines = self._of_stdin
            many = _content_of(lines) == "documents" and sum(1 for line in lines if line.strip()) > 1
            return None if many and _value(lines[0]) is not _NOTHING else next(iter(self)).read()
        if Path(name).is_dir():
            return None
        first = next(iter(self))
        return None if first.data is not None and first.name != name else first.read()

    def has_several(self) -> bool:
        """Whether there are two documents or more."""
        return "-" in self._files or len(list(islice(self, 2))) > 1

    def __iter__(self) -> Iterator[BatchSource]:
        root = _root(self._files)
        for name in self._files:
            if name == "-":
                yield from _from_stdin(self._of_stdin, sys.stdin.buffer)
            elif Path(name).is_dir():
                paths = iter(_files_below(name, self._endings))
                first = next(paths, None)
                what = f"{name} has no file that ends with {', '.join(self._endings)}"
                if first is None and len(self._files) > 1:
                    yield BatchSource(name=name, place=_place(name, root), wrong=what)
                    continue
                if first is None:
                    raise UsageError(what, hint="name the folder that has them")
                for path, wrong in chain([first], paths):
                    if wrong:
                        yield BatchSource(name=path, place=_place(path, root), wrong=f"{path}: {wrong}")
                    else:
                        yield from _from_file(path, _place(path, root))
            else:
                yield from _from_file(name, _place(name, root))


def _root(files: Sequence[str]) -> str:
    """Return the folder that places are relative to: the one that is named, else the nearest above all that are."""
    whole = [(_whole(name), Path(name).is_dir()) for name in files if name != "-"]
    return os.path.commonpath([name if folder else str(Path(name).parent) for name, folder in whole] or [_whole(".")])


def _place(name: str, root: str) -> str:
    return str(Path(_whole(name)).relative_to(root))


def _whole(name: str) -> str:
    return os.path.abspath(name)  # noqa: PTH100  # Path.resolve would follow links, out of the folder that is named


def _files_below(folder: str, endings: Sequence[str], above: tuple[_Inode, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the files below a folder in the order of their names, each with what is wrong with it, "" for nothing.

    What begins with a dot is left out. A folder that cannot be listed, or is a link to one above it, is yielded itself.
    """
    try:
        of_folder = Path(folder).stat()
        with os.scandir(folder) as entries:
            listed = sorted(entry.name for entry in entries if not entry.name.startswith("."))
    except OSError as error:
        yield folder, str(error.strerror)
        return
    inode = of_folder.st_dev, of_folder.st_ino
    if inode in above:
        yield folder, "a link to a folder above it, which is read already"
        return
    for name in listed:
        path = str(Path(folder, name))
        try:
            mode = Path(path).stat().st_mode
        except OSError as error:
            if name.endswith(tuple(endings)):
                yield path, str(error.strerror)
            continue
        if stat.S_ISDIR(mode):
            yield from _files_below(path, endings, (*above, inode))
        elif name.endswith(tuple(endings)):
            yield path, "" if stat.S_ISREG(mode) else "not a file, but a pipe or a device"


def _from_file(name: str, place: str) -> Iterator[BatchSource]:
    if Path(name).suffix not in _LINES:
        yield BatchSource(name=name, place=place)
        return
    try:
        with Path(name).open("rb") as file:
            content = _content_of(_peek(file))
            file.seek(0)
            if content == "documents":
                size = os.fstat(file.fileno()).st_size
                yield from _of_lines(name, place.removesuffix(Path(place).suffix), _lines_of(file, name), size)
                return
            if content == "messages":
                yield _of_messages(name, place, _lines_of(file, name))
                return
    except (OSError, ValueError):  # said when it is read
        pass
    yield BatchSource(name=name, place=place)


def _from_stdin(peeked: list[bytes], stream: IO[bytes]) -> Iterator[BatchSource]:
    content = _content_of(peeked) if len(peeked) > 1 and _value(peeked[0]) is not _NOTHING else "other"
    if content == "documents":
        yield from _of_lines("-", "stdin", chain(peeked, _lines_of(stream, "-")))
    elif content == "messages":
        yield _of_messages("-", "stdin.json", chain(peeked, _lines_of(stream, "-")))
    else:
        data = b"".join(peeked)
        yield BatchSource(name="-", place="stdin.json", data=data + stream.read(MAX_SIZE + 1 - len(data)))


def _peek(stream: IO[bytes]) -> list[bytes]:
    """Return the first lines of a stream."""
    lines = []
    for _ in range(_TRIED):
        line = stream.readline(MAX_SIZE + 1)
        if not line:
            break
        lines.append(line)
    return lines


def _lines_of(stream: IO[bytes], name: str) -> Iterator[bytes]:
    while line := stream.readline(MAX_SIZE + 1):
        if len(line) > MAX_SIZE:
            raise InputError(f"a line of {name} has more than the {MAX_SIZE // 1024**2} MiB that tpharness reads")
        yield line


def _of_lines(name: str, place: str, lines: Iterable[bytes], size: int = 0) -> Iterator[BatchSource]:
    folder, number, read = str(Path(place, "_"))[:-1], 0, 0
    try:
        for number, line in enumerate(lines, start=1):  # the line that cannot be read comes after it
            read += len(line)
            if stripped := line.strip():
                share = read / size if size else 0.0
                yield BatchSource(name=f"{name}:{number}", place=f"{folder}{number}.json", data=stripped, share=share)
    except (InputError, OSError) as error:
        wrong = f"{error}; what follows it is not read"
        yield BatchSource(name=f"{name}:{number + 1}", place=f"{folder}{number + 1}.json", wrong=wrong)


def _of_messages(name: str, place: str, lines: Iterable[bytes]) -> BatchSource:
    data = b"[" + b",".join(stripped for line in lines if (stripped := line.strip())) + b"]"
    return BatchSource(name=name, place=str(Path(place).with_suffix(".json")), data=data)


def _value(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return _NOTHING


def _content_of(lines: list[bytes]) -> Content:
    """Return what the lines of a file are, by the first of them that is JSON."""
    value = next((value for line in lines if (value := _value(line)) is not _NOTHING), None)
    if isinstance(value, list):
        return "documents"
    if not isinstance(value, Mapping):
        return "other"
    if any(isinstance(value.get(name), list) for name in ("turns", "messages", "contents", "input")):
        return "documents"
    if ("role" in value and ("parts" in value or "content" in value)) or (
        value.get("kind") in ("request", "response") and "parts" in value
    ):
        return "messages"
    return "other"
