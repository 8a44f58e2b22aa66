"""The command line: parses and prints, and leaves everything else to the engine.

Exit codes: 0 when everything passed, 1 when there are findings, 2 for wrong usage or input that cannot be read, 130
when interrupted from the keyboard. Whatever the input and the environment, an error is one line and never a traceback.
"""

from __future__ import annotations

import io
import os
import sys

from tpharness.cli.app import app
from tpharness.errors import ScenarioError, ThreadError, TpharnessError

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app(standalone_mode=True)
        except SystemExit:
            sys.stdout.flush()  # while a failure to write can still be reported
            raise
    except TpharnessError as error:
        _print_error(error)
        sys.exit(2)
    except KeyboardInterrupt:
        print("tpharness: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has exited, as `head` does
        _drop_output()
        sys.exit(1)
    except OSError as error:
        print(f"tpharness: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        _drop_output()
        sys.exit(2)


def _print_error(error: TpharnessError) -> None:
    from tpharness.report import make_printable  # noqa: PLC0415  # loaded only to print

    if isinstance(error, ScenarioError | ThreadError):
        for finding in error.findings:
            print(make_printable(finding.line()), file=sys.stderr)
            print(f"  {finding.kind.remedy}", file=sys.stderr)
    if not isinstance(error, ScenarioError):  # its findings name the file
        print(f"tpharness: {make_printable(str(error))}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)


def _drop_output() -> None:
    """Discard buffered output, so that the exit of the process does not fail to write it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
