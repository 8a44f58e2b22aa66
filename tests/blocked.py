"""The command line in a process of its own in which some modules do not exist."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import tpharness

__all__ = ["python_without", "tpharness_without"]

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


def tpharness_without(modules: Iterable[str], *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command for which these modules are missing."""
    code = "sys.argv[0] = 'tpharness'\nfrom tpharness.cli import main\nmain()"
    return python_without(modules, code, *arguments, cwd=cwd)
