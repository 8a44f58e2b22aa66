"""Output for other readers: JSON without control characters and CI commands, and files replaced in one step."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import sys
from pathlib import Path
from typing import Any

import orjson

from tpharness.errors import InputError, UsageError

__all__ = ["check_writable", "json_bytes", "json_text", "write_atomically", "write_bytes"]

_ACTS = re.compile(r"[^\n -~]+|#(?=#(?:\[|vso\[|teamcity\[))", re.IGNORECASE)
"""What may need an escape: everything beyond printable ASCII (`_escape` keeps what is printable), and CI commands."""

_HINT = "name another path, in a folder that you may write"
_OUTPUT = ("-", "/dev/stdout")  # opening a redirected /dev/stdout again would overwrite it from its start


def json_bytes(value: Any) -> bytes:
    """Return a JSON value as compact JSON in one line, for a program.

    Lone surrogates (R43) and integers of more than 64 bits, which orjson does not write, are written as well.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def json_text(value: Any) -> str:
    """Return a JSON value as text for people and machines; what is not printable, or a lone surrogate, as an escape."""
    return _ACTS.sub(_escape, json.dumps(value, ensure_ascii=False, indent=1))


def _escape(found: re.Match[str]) -> str:
    """Return a piece of JSON text, which can only be in a string, with escapes for what is not printable."""
    text = found[0]
    if text == "#":
        return r"\u0023"
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def check_writable(path: Path, what: str, *, replaces_folder: bool = False, hint: str = _HINT) -> None:
    """Check before a long work that its result can be written to a path. UsageError, which says `what`, if it cannot.

    A link is followed, as when it is written. A device is not looked at: it is written to, and its folder is not.
    A folder cannot be written to, unless the result `replaces_folder`. `hint` says what to do about one that is not
    ours to write into.
    """
    if path.is_dir() and not replaces_folder:
        raise UsageError(f"{what} cannot be written to {path}, which is a folder", hint="name a file")
    if path.is_relative_to("/dev"):
        return
    folder = (path.resolve() if path.is_symlink() else path).parent
    if not folder.is_dir():
        raise UsageError(
            f"{what} cannot be written to {path}: the folder {folder} does not exist",
            hint="make the folder first, or correct the path",
        )
    if not os.access(folder, os.W_OK):
        raise UsageError(
            f"{what} cannot be written to {path}: the folder {folder} may not be written",
            hint=hint,
        )


def write_atomically(path: str, text: str) -> None:
    """Replace a file with `text` in one step, as UTF-8; `-` is standard output.

    A link stays a link: what it points to is replaced. A device or a pipe (`/dev/stdout`, `/dev/fd/63`) cannot be
    replaced and is written to. A file that is replaced keeps its mode. InputError if the file cannot be written, for
    example because its folder does not exist; nothing is left behind in that case.
    """
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    """Do what `write_atomically` does with bytes."""
    try:
        if path in _OUTPUT:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        else:
            _write(Path(path), data)
    except BrokenPipeError:
        raise  # the reader closed our output: the path is not wrong
    except OSError as error:
        where = "standard output" if path in _OUTPUT else path
        raise InputError(f"cannot write {where}: {error.strerror}", hint=_HINT) from error


def _write(path: Path, data: bytes) -> None:
    try:
        mode: int | None = path.stat().st_mode  # of the target of a link
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
