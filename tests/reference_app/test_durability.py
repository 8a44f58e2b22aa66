"""A short soak of the reference server: interrupted runs, faults on the wire, SIGKILLs, and nothing canonical lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[2] / "benchmarks" / "soak.py"


def test_nothing_canonical_is_lost_when_the_server_is_killed() -> None:
    """The long one is `python benchmarks/soak.py`; every check of it is made here as well."""
    command = [sys.executable, str(SOAK), "--runs", "300", "--kills", "5", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(line.rsplit(maxsplit=1) for line in done.stdout.splitlines() if line.split()[-1:][0].isdecimal())
    assert told["kills"] == "5"
    assert told["violations"] == "0"
    assert int(told["streams gone on with"]) > 10
    assert int(told["turns kept"]) > 100
