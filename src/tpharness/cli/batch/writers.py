"""One run at a time writes an output: two would mix their lines, and each would note what the other replaces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from tpharness.cli.batch.work import BatchOptions
from tpharness.errors import InputError, UsageError
from tpharness.file_lock import hold_lock
from tpharness.output import write_bytes

__all__ = ["is_of_writer", "make_folder", "only_writer"]

_FOLDER_LOCK, _FOLDER_PROCESS = ".tpharness-done.lock", ".tpharness-done.process"
_SECONDS = 0.5
"""Two runs that begin together can each find the lock taken for a moment; one of them has it then."""


@contextmanager
def only_writer(options: BatchOptions, lines: tuple[str, ...]) -> Iterator[None]:
    """Keep other runs from the output and the folder of what is rejected, until the context or this process ends.

    An output with one of the endings of `lines` is a file. UsageError if another run writes one of them.
    """
    with ExitStack() as held:
        for option, name in (("-o", options.output), ("--rejected", options.rejected)):
            if name in ("", "-"):
                continue
            path = Path(name)
            if path.suffix in lines:
                whole = path.resolve()  # of a link the file that is written
                lock, process = (whole.with_name(f".{whole.name}.{end}") for end in ("lock", "process"))
            else:
                make_folder(path)
                lock, process = path / _FOLDER_LOCK, path / _FOLDER_PROCESS
            held.enter_context(_held(path, option, lock, process))
        yield


def is_of_writer(name: str) -> bool:
    """Whether a file in a folder says who writes it, or is SQLite's beside it: with no other, the folder is empty."""
    return name.startswith((_FOLDER_LOCK, _FOLDER_PROCESS))


def make_folder(path: Path) -> None:
    """Make a folder if it is not there. InputError if it cannot be made."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}", hint="make the one above it") from error


@contextmanager
def _held(path: Path, option: str, lock: Path, process: Path) -> Iterator[None]:
    try:
        opened = lock.open("ab")
    except OSError as error:
        hint = f"name another {option}, where you may write"
        raise InputError(f"cannot write {path}: {error.strerror} ({lock})", hint=hint) from error
    # Open until the lock is given back: closing a file gives back every lock that its process has on it.
    with opened, hold_lock(lock, seconds=_SECONDS) as held:
        if not held or not _is_at(lock, opened):  # else the run that held it has just removed it
            hint = f"wait for its end, and then go on with --resume; or name another {option}"
            raise UsageError(f"another run{_number_in(process)} writes {path}", hint=hint)
        write_bytes(str(process), f"{os.getpid()}\n".encode())
        try:
            yield
        finally:
            process.unlink(missing_ok=True)
            with suppress(OSError):  # Windows does not remove what is open: it stays there, and can be locked again
                lock.unlink()


def _is_at(path: Path, opened: IO[bytes]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(opened.fileno()))
    except FileNotFoundError:
        return False


def _number_in(process: Path) -> str:
    try:
        return f" (process {int(process.read_bytes())})"
    except (OSError, ValueError):  # it is just beginning or ending
        return ""
