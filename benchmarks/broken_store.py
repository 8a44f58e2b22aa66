"""Thousands of stored conversations, a twentieth of them broken in 24 ways: what the commands make of them, by counts.

They are checked, repaired, imported (killed in the middle, and resumed), converted and hashed. What is right is what
the breakages say of themselves.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.stored_conversations import BREAKAGES, make_store
from benchmarks.table import Row, at_most, report, shown

__all__ = ["TPHARNESS", "main", "play", "run"]

TPHARNESS = [sys.executable, "-m", "tpharness"]
_KILLED_AFTER = 5000  # bytes of the record of what is done


def main() -> int:
    """Play, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--number", type=int, default=3000, help="of conversations (3000)")
    options.add_argument("--jobs", default="2", help="worker processes (2)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report(play(Path(folder), given.number, given.jobs))


def run(*args: str, codes: tuple[int, ...] = (0,)) -> tuple[list[Any], float]:
    """Run a command; return the lines of its JSON, and the seconds that it took."""
    begun = time.perf_counter()
    done = subprocess.run([*TPHARNESS, *args], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"tpharness {' '.join(args)} ended with {done.returncode}: {done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, time.perf_counter() - begun


def play(folder: Path, number: int, jobs: str) -> list[Row]:
    """Make the conversations, play every command on them, and return what differs from what was made."""
    store, repaired, threads = folder / "store", folder / "repaired", folder / "threads"
    truth = make_store(store, number)
    rows = [shown("conversations", number), shown("broken", len(truth)), shown("ways", len(set(truth.values())))]

    lines, seconds = run("check", str(store), "--json", "--jobs", jobs, codes=(0, 1))
    found = {_name(line, store) for line in lines if line["outcome"] != "valid"}
    rows += [
        shown("check", seconds, "s"),
        at_most("broken, and not found", len(set(truth) - found), 0, ""),
        at_most("false alarms", len(found - set(truth)), 0, ""),
    ]

    lines, seconds = run("repair", str(store), "-o", str(repaired), "--json", "--jobs", jobs, codes=(2,))
    outcomes = {_name(line, store): line["outcome"] for line in lines}
    expected = {name: BREAKAGES[truth[name]][1] if name in truth else "valid" for name in outcomes}
    rows += [
        shown("repair", seconds, "s"),
        *(shown(word, list(outcomes.values()).count(word)) for word in sorted(set(outcomes.values()))),
        at_most("taken otherwise than it should", sum(outcomes[name] != expected[name] for name in outcomes), 0, ""),
        at_most("not taken at all", number - len(outcomes), 0, ""),
    ]
    lines, _ = run("check", str(repaired), "--json", codes=(0, 1))
    rows.append(at_most("not valid after it", sum(line["outcome"] != "valid" for line in lines), 0, ""))

    threads.mkdir()
    for form in ("ai-sdk", "pydantic-ai"):
        rows += _import(repaired / form, form, threads / form)
    shutil.copytree(repaired / "thread", threads / "thread", ignore=shutil.ignore_patterns(".*"))
    good = sum(outcome in ("valid", "repaired") for outcome in outcomes.values())
    for command in (("convert", "--to", "2.0.0"), ("hash",)):
        target = folder / f"{command[0]}.jsonl"
        _, seconds = run(command[0], str(threads), *command[1:], "-o", str(target), "--jobs", jobs)
        missing = good - len(target.read_bytes().splitlines())
        rows += [shown(command[0], seconds, "s"), at_most(f"lost by {command[0]}", abs(missing), 0, "")]
    return rows


def _name(line: Any, store: Path) -> str:
    return str(Path(line["document"]).relative_to(store))


def _import(source: Path, form: str, target: Path) -> list[Row]:
    """Import, killed as soon as something is done, and resumed."""
    command = ["import", str(source), "--from", form, "--strict", "-o", str(target)]
    with subprocess.Popen([*TPHARNESS, *command], stderr=subprocess.DEVNULL) as process:
        record = target / ".tpharness-done.jsonl"
        while process.poll() is None and not (record.exists() and record.stat().st_size > _KILLED_AFTER):
            os.sched_yield()
        process.kill()
    done = len(list(target.glob("[0-9]*.json")))
    _, seconds = run(*command, "--resume")
    missing = len(list(source.glob("[0-9]*.json"))) - len(list(target.glob("[0-9]*.json")))
    return [
        shown(f"import of {form}, done when it was killed", done),
        shown("resumed", seconds, "s"),
        at_most("lost by the kill", abs(missing), 0, ""),
    ]


if __name__ == "__main__":
    sys.exit(main())
