"""Import, check, convert and hash of 100,000 stored conversations of 20 messages, beside bare JSON of the same file."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.broken_store import run
from benchmarks.stored_conversations import ui_conversation
from benchmarks.table import Row, at_least, at_most, report, shown

RATE_TARGET, MEMORY_TARGET = 1000.0, 120.0


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--number", type=int, default=100_000, help="of conversations (100000)")
    options.add_argument("--jobs", default="2", help="worker processes (2)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report(_rows(Path(folder), given.number, given.jobs))


def _rows(folder: Path, number: int, jobs: str) -> list[Row]:
    chats, threads = folder / "chats.jsonl", str(folder / "threads.jsonl")
    with chats.open("w", encoding="utf-8") as file:
        for n in range(number):
            file.write(json.dumps(ui_conversation(n, turns=10)) + "\n")
    begun = time.process_time()
    with chats.open(encoding="utf-8") as file, (folder / "bare.jsonl").open("w", encoding="utf-8") as out:
        for line in file:
            out.write(json.dumps(json.loads(line)) + "\n")
    bare = time.process_time() - begun
    before = _processor_seconds()
    total, rows = 0.0, []
    for command in (
        ("import", str(chats), "--from", "ai-sdk", "-o", threads),
        ("check", threads, "-o", str(folder / "checked.jsonl"), "--level", "must"),
        ("convert", threads, "--to", "2.0.0", "-o", str(folder / "converted.jsonl")),
        ("hash", threads, "-o", str(folder / "hashed.jsonl")),
    ):
        _, seconds = run(*command, "--jobs", jobs)
        total += seconds
        rows.append(shown(command[0], number / seconds, "/s"))
    spent = _processor_seconds() - before
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return [
        *rows,
        at_least("all four", number / total, RATE_TARGET, "/s"),
        shown("processor time of all four", 1000 * spent / number, "ms"),
        shown("processor time of all four / bare JSON", spent / bare, "×"),
        at_most("memory of the largest process", memory, MEMORY_TARGET, "MB"),
    ]


def _processor_seconds() -> float:
    """Return what the commands have taken of the processors, which a busy machine changes less than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
