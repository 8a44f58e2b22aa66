"""The command line in a process of its own in which some modules do not exist."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.cli.conftest import Called

import tpharness

__all__ = ["CALLING", "calls_without", "python_without"]

CALLING = """
import contextlib, io, json, sys
from tpharness.cli import main
called = []
for words in json.loads(sys.argv[1]):
    sys.argv, code = ["tpharness", *words], None
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    called.append({"code": code, "out": out.buffer.getvalue().decode(), "err": err.buffer.getvalue().decode()})
print(json.dumps(called))
"""
"""A program that calls the entry point several times, and prints how each call ended and what it printed."""

_SOURCE = str(Path(tpharness.__file__).parent.parent)


def python_without(modules: Iterable[str], code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run code for which these modules are missing, as they are where they were not installed."""
    before = f"import sys; sys.modules.update(dict.fromkeys({sorted(modules)!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", before + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": _SOURCE, "NO_COLOR": "1", "COLUMNS": "120"},
    )


def calls_without(modules: Iterable[str], calls: Iterable[Sequence[str]], *, cwd: Path) -> list[Called]:
    """Call the entry point several times in one process for which these modules are missing."""
    done = python_without(modules, CALLING, json.dumps([list(words) for words in calls]), cwd=cwd)
    assert done.returncode == 0, done.stderr
    return [Called(**one) for one in json.loads(done.stdout)]
