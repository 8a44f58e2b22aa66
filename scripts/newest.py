"""Plays the suite and the tests with the newest releases of everything, and says what moved and what failed.

    python scripts/newest.py                       installs, plays the suite and all tests
    python scripts/newest.py tests/scenario -x     and these tests only: what follows is for pytest

It needs Python alone, and installs tpharness with the extra `test` into a new environment, without `constraints.txt`.
A release that changes what tpharness promises is handled in the code; one that changes what a framework does stays
pinned until `docs/INTEROP.md` and the baselines say what it does. So this is a job of its own: its failures say what to
look at, and stop nobody. The exit code is 1 if something failed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
OWN = {"pip", "setuptools", "tpharness"}
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) .*$", re.MULTILINE)


def find_moved(pins: Mapping[str, str], installed: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return name, tested version ("" for none) and newest version of each installed package where these differ."""
    names = sorted(installed.keys() - OWN)
    return [(name, pins.get(name, ""), installed[name]) for name in names if pins.get(name) != installed[name]]


def normal(name: str) -> str:
    """Return the one way to write the name of a package."""
    return re.sub(r"[-_.]+", "-", name).lower()


def table(moved: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return the lines that say what moved."""
    if not moved:
        return ["nothing moved: the newest releases are the tested ones"]
    wide = max(len(name) for name, _, _ in moved)
    return [f"{len(moved)} moved, tested → newest:"] + [
        f"  {name:{wide}}  {old or '(new)'} → {new}" for name, old, new in moved
    ]


def run(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a module with the newest releases, and show what it prints while it does."""
    begin = time.monotonic()
    print(f"== {' '.join(words)}", flush=True)
    printed = []
    command = [str(python), "-m", *words]
    with subprocess.Popen(  # noqa: S603
        command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None  # noqa: S101
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    print(f"   {time.monotonic() - begin:.0f} s", flush=True)
    return subprocess.CompletedProcess(command, process.returncode, "".join(printed))


def main() -> int:
    """Install, play, and say what moved and what failed; return the exit code."""
    with tempfile.TemporaryDirectory(prefix="tpharness-newest-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        if run(python, "pip", "install", "-q", "-e", f"{TOP}[test]").returncode:
            print("FAILED: the newest releases cannot be installed together")
            return 1
        listed = json.loads(
            subprocess.run(  # noqa: S603
                [python, "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True
            ).stdout
        )
        pins = {normal(name): version for name, version in PIN.findall((TOP / "constraints.txt").read_text("utf-8"))}
        moved = table(find_moved(pins, {normal(one["name"]): one["version"] for one in listed}))
        print(*moved, sep="\n", flush=True)  # before the tests, too: somebody may end them
        played = run(python, "tpharness", "run")
        tested = run(python, "pytest", "-p", "no:cacheprovider", *sys.argv[1:])
    print(*moved, sep="\n")
    failed = FAILED.findall(tested.stdout.rpartition("short test summary info")[2]) if tested.returncode else []
    if played.returncode:
        failed.insert(0, f"FAILED tpharness run: it ended with {played.returncode}")
    if tested.returncode and not failed:
        failed.append(f"FAILED pytest: it ended with {tested.returncode}")
    print(f"{len(failed)} failed", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
