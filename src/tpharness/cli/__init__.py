"""The command line: parses and prints, and leaves everything else to the engine.

Exit codes: 0 when everything passed, 1 when there are findings, 2 for wrong usage or input that cannot be read, 130
when interrupted from the keyboard.
"""

from __future__ import annotations

import os
import sys

from tpharness.cli.app import app
from tpharness.errors import ScenarioError, TpharnessError

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line and exit."""
    try:
        app(standalone_mode=True)
    except ScenarioError as error:
        for finding in error.findings:
            print(finding.line(), file=sys.stderr)
            print(f"  {finding.kind.remedy}", file=sys.stderr)
        sys.exit(2)
    except TpharnessError as error:
        print(f"tpharness: {error}", file=sys.stderr)
        if error.hint:
            print(f"  {error.hint}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("tpharness: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
