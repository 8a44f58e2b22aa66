"""A short soak of the reference server: interrupted runs, faults on the wire, SIGKILLs, and nothing canonical lost."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_nothing_canonical_is_lost_when_the_server_is_killed() -> None:
    """The long one is `python -m benchmarks.soak`; every check of it is made here as well."""
    command = [sys.executable, "-m", "benchmarks.soak", "--runs", "100", "--kills", "2", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    told = dict(re.split(r" {2,}", line)[:2] for line in done.stdout.splitlines())
    assert told["kills"] == "2"
    assert told["violations"] == "0"
    assert int(told["streams gone on with"]) > 3
    assert int(told["turns kept"]) > 30


def test_threads_are_prefixes_whatever_the_disk_does() -> None:
    """The whole exploration is `python -m benchmarks.failing_disk`; here every 50th operation fails."""
    command = [sys.executable, "-m", "benchmarks.failing_disk", "--every", "50"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {line[:50].strip(): line.split()[-1] for line in done.stdout.splitlines()}
    assert all(int(told[f"of which one {how}"]) > 15 for how in ("fails", "tears", "lies"))
