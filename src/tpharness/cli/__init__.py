"""The command line: parses and prints, and leaves everything else to the engine.

Exit codes: 0 when everything passed, 1 when there are findings, 2 for wrong usage or input that cannot be read, 128 + N
when ended by signal N, such as 130 for Ctrl-C, and 141 when the reader of the output has exited, as `head` does.
Whatever the input and the environment, an error is one line and never a traceback. Only a mistake in tpharness itself
prints one, for whoever corrects it, and what the user can do; its exit code is 2, too.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
import traceback
from typing import NoReturn, TextIO

from tpharness.cli.app import InterruptedCommandError, ReaderGoneError, app
from tpharness.cli.stop_signals import STOP
from tpharness.errors import ScenarioError, ThreadError, TpharnessError
from tpharness.printable import say

__all__ = ["app", "main"]

_READER_GONE = 141  # 128 + SIGPIPE, which ends other programs then; Windows has no such signal, and the same code


def main() -> None:
    """Run the command line and exit."""
    _open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    with STOP.caught():
        _call()


def _call() -> None:
    """Run the command, and exit with the code for how it ended."""
    try:
        try:
            app(standalone_mode=True)
        except SystemExit:
            sys.stdout.flush()  # while a failure to write can still be reported
            raise
    except TpharnessError as error:
        _print_error(error)
        sys.exit(2)
    except (InterruptedCommandError, KeyboardInterrupt):
        _exit_interrupted()
    except (ReaderGoneError, BrokenPipeError):
        if STOP.received is not None:
            _exit_interrupted()
        _drop_output(sys.stdout)
        sys.exit(_READER_GONE)
    except OSError as error:
        if STOP.received is not None:  # SIGHUP: the terminal that we print on has gone
            _exit_interrupted()
        gone = isinstance(error, FileNotFoundError)  # without a name: the folder that relative names begin at
        where = error.filename or ("the current folder" if gone else "standard output")
        say(f"tpharness: {where}: {error.strerror}", err=True)
        _drop_output(sys.stdout)
        sys.exit(2)
    except Exception as error:  # noqa: BLE001  # a mistake of ours; findings would have the exit code 1
        _print_internal(error)
        sys.exit(2)


def _exit_interrupted() -> NoReturn:
    """Say which signal has ended the command, if there is still somebody to tell, and exit."""
    number = STOP.note()
    atexit.register(gc.freeze)  # Python looks through all that is left before it exits: of a long stream for seconds
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output(sys.stdout)
    try:
        say(f"tpharness: interrupted by {number.name}", err=True)
    except OSError:
        _drop_output(sys.stderr)
    sys.exit(128 + number)


def _print_error(error: TpharnessError) -> None:
    found = [line for finding in error.findings for line in (finding.line(), f"  {finding.remedy}")]
    first = isinstance(error, ScenarioError | ThreadError)  # the error only sums up what was found
    say(*(found if first else ()), err=True)
    if not isinstance(error, ScenarioError):  # its findings name the file
        say(f"tpharness: {error!s}", err=True)
        if error.hint:
            say(*(f"  {line}" for line in error.hint.splitlines()), err=True)
    say(*(() if first else found), err=True)


def _print_internal(error: Exception) -> None:
    """Print the traceback of a mistake in tpharness, and last what to do about it."""
    from importlib.metadata import version  # noqa: PLC0415  # slow to import, and seldom needed

    say(*"".join(traceback.format_exception(error)).splitlines(), err=True)
    say(
        f"tpharness: internal error, {type(error).__name__}: {error}",
        f"  this is a mistake in tpharness {version('tpharness')}, not in what it judged; other reports were written",
        "  to go on, leave out the case or the report that the lines above name; send them to the authors of tpharness",
        err=True,
    )


def _open_standard_streams() -> None:
    """Read nothing from, and write into nothing, what was closed before we were started (`>&-`).

    Otherwise the next file that is opened would get its number, and what is printed would be written into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # the lowest number that is free
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _drop_output(stream: TextIO) -> None:
    """Discard what a stream has buffered, so that the exit of the process does not fail to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
