"""Writing reports so that a reader never sees half of one."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tpharness.errors import InputError

__all__ = ["write_whole"]


def write_whole(path: str, text: str) -> None:
    """Replace a file with `text` in one step; `-` is standard output. InputError when the file cannot be written."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    target = Path(path)
    temporary = ""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise InputError(
            f"cannot write {path}: {error.strerror}", hint="name a file in a folder that you may write"
        ) from error
