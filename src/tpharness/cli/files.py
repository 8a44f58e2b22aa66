"""Read the files that a command is given (`-` is standard input), and print its results."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, UsageError
from tpharness.findings import Finding, Level
from tpharness.output import json_text, write_atomically
from tpharness.printable import say

__all__ = ["check_stdin_once", "print_findings", "print_json", "read_bytes", "read_json", "read_thread"]


def read_bytes(path: str) -> bytes:
    """Return the bytes of a file or of standard input. InputError names the file and what is wrong with it."""
    from tpharness.protocol.parse import MAX_SIZE  # noqa: PLC0415

    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_SIZE + 1)
        elif Path(path).is_dir():
            raise InputError(f"{path} is a folder", hint=f"name files in it, such as {path}/*.json or {path}/*/*.yaml")
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_SIZE + 1)  # the size of a pipe or a device is not known beforehand
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", hint="name a file that exists and can be read") from error
    except ValueError as error:  # a path that cannot exist, such as one with a null character
        raise InputError(f"{path!r}: {error}", hint="name a file that exists and can be read") from error
    if len(data) > MAX_SIZE:
        raise InputError(
            f"{path} has more than the {MAX_SIZE // 1024**2} MiB that tpharness reads",
            hint="store large returns elsewhere and refer to them by content_ref",
        )
    return data


def check_stdin_once(paths: Sequence[str]) -> None:
    """Raise UsageError if standard input is named twice, since it would be empty the second time."""
    if list(paths).count("-") > 1:
        raise UsageError("standard input (-) can be read only once", hint="name a file for the others")


def read_json(path: str) -> Any:
    """Return the JSON value in a file. InputError if there is none; other findings go to standard error."""
    from tpharness.cli.batch.work import BatchDocument, document_json  # noqa: PLC0415

    value, notes = document_json(BatchDocument(name=path, data=read_bytes(path)))
    say(*(note.line for note in notes), err=True)
    return value


def read_thread(path: str) -> dict[str, Any]:
    """Return the thread in a file, with what a reader fills in (R3), which is reported on standard error.

    InputError if there is no JSON value, or one that does not have a thread's shape.
    """
    from tpharness.cli.batch.work import BatchDocument, document_thread  # noqa: PLC0415

    thread, notes = document_thread(BatchDocument(name=path, data=read_bytes(path)))
    say(*(note.line for note in notes), err=True)
    return thread


def print_json(value: Any) -> None:
    """Print a JSON value; a lone surrogate is printed as its escape."""
    write_atomically("-", json_text(value) + "\n")


def print_findings(findings: list[Finding], *, as_json: bool) -> int:
    """Print findings as lines or as JSON; return the exit code, 1 if one is at MUST."""
    if as_json:
        print_json([finding.as_json() for finding in findings])
    else:
        for finding in findings:
            say(finding.line())
            say(f"  {finding.remedy}")
    return 1 if any(finding.level is Level.MUST for finding in findings) else 0
