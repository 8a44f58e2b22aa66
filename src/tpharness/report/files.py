"""Writing reports so that a reader never sees half of one."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from tpharness.errors import InputError

__all__ = ["write_whole"]

_USUAL_MODE = 0o644


def write_whole(path: str, text: str) -> None:
    """Replace a file with `text` in one step, as UTF-8; `-` is standard output.

    A link stays a link: what it points to is replaced. A device or a pipe (`/dev/stdout`, `/dev/fd/63`) cannot be
    replaced and must not be: it is written to. A file that is replaced keeps its mode. InputError when the file cannot
    be written; nothing is left behind then.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path == "-":
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write_file(Path(path), data)
    except BrokenPipeError:
        raise  # the reader went away, which is no mistake of the path
    except OSError as error:
        where = "standard output" if path == "-" else path
        raise InputError(
            f"cannot write {where}: {error.strerror}", hint="name a file in a folder that you may write"
        ) from error


def _write_file(path: Path, data: bytes) -> None:
    try:
        mode: int | None = path.stat().st_mode  # of what a link points to
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        path.open("ab").write(data) if False else _append(path, data)
        return
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(_USUAL_MODE & ~_umask() if mode is None else stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
