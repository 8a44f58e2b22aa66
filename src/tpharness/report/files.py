"""Writing reports so that a reader never sees half of one."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from pathlib import Path

from tpharness.errors import InputError

__all__ = ["write_whole"]

_OUTPUT = ("-", "/dev/stdout")  # opened anew, a redirected /dev/stdout would be written over from its start


def write_whole(path: str, text: str) -> None:
    """Replace a file with `text` in one step, as UTF-8; `-` is standard output.

    A link stays a link: what it points to is replaced. A device or a pipe (`/dev/stdout`, `/dev/fd/63`) cannot be
    replaced and must not be: it is written to. A file that is replaced keeps its mode. InputError when the file cannot
    be written, its folder not being there for example; nothing is left behind then.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path in _OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write(Path(path), data)
    except BrokenPipeError:
        raise  # the reader of our output went away: that is no mistake of whoever named the path
    except OSError as error:
        where = "standard output" if path in _OUTPUT else path
        raise InputError(
            f"cannot write {where}: {error.strerror}", hint="name a file in a folder that you may write"
        ) from error


def _write(path: Path, data: bytes) -> None:
    try:
        mode: int | None = path.stat().st_mode  # of what a link points to
    except FileNotFoundError:
        mode = None
    if (mode is not None and not stat.S_ISREG(mode)) or path.is_relative_to("/dev"):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as device:
            device.write(data)
        return
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if mode is not None:
            temporary.chmod(stat.S_IMODE(mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
