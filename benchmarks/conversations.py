"""Import, check, convert and hash of 100,000 stored conversations of 20 messages, beside bare JSON of the same file.

The last is done once more, killed in the middle and resumed. A tenth is done first, which says whether memory grows.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.broken_store import TPHARNESS
from benchmarks.stored_conversations import ui_conversation
from benchmarks.table import Row, at_least, at_most, report, shown

RATE_TARGET, MEMORY_TARGET, GROWTH_TARGET = 1000.0, 120.0, 1.25
_LOOKED_AT_EVERY = 0.5


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--number", type=int, default=100_000, help="of conversations (100000)")
    options.add_argument("--jobs", default="2", help="worker processes (2)")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return report(_rows(Path(folder), given.number, given.jobs))


def _rows(folder: Path, number: int, jobs: str) -> list[Row]:
    few = folder / "a tenth"
    few.mkdir()
    _make(few, number // 10)
    for command, _ in _commands(few):
        _run(*command, "--jobs", jobs)
    memory, spent = _memory(), _processor_seconds()
    _make(folder, number)
    bare = _bare_seconds(folder)
    total, rows = 0.0, []
    for command, output in _commands(folder):
        seconds = _run(*command, "--jobs", jobs)
        total += seconds
        rows.append(shown(command[0], number / seconds, "/s"))
        rows.append(at_most(f"lost by {command[0]}", abs(number - _count_lines(output)), 0, ""))
    spent = _processor_seconds() - spent
    rows += _killed_and_resumed(folder, number, jobs)
    return [
        *rows,
        at_least("all four", number / total, RATE_TARGET, "/s"),
        shown("processor time of all four", 1000 * spent / number, "ms"),
        shown("processor time of all four / bare JSON", spent / bare, "×"),
        at_most("memory of the largest process", _memory(), MEMORY_TARGET, "MB"),
        at_most("the same / that of a tenth of the conversations", _memory() / memory, GROWTH_TARGET),
    ]


def _make(folder: Path, number: int) -> None:
    with (folder / "chats.jsonl").open("w", encoding="utf-8") as file:
        for n in range(number):
            file.write(json.dumps(ui_conversation(n, turns=10)) + "\n")


def _commands(folder: Path) -> list[tuple[tuple[str, ...], Path]]:
    """Return the commands, and the file that each of them writes."""
    threads = folder / "threads.jsonl"
    commands = [
        (("import", str(folder / "chats.jsonl"), "--from", "ai-sdk"), threads),
        (("check", str(threads), "--level", "must"), folder / "checked.jsonl"),
        (("convert", str(threads), "--to", "2.0.0"), folder / "converted.jsonl"),
        (("hash", str(threads)), folder / "hashed.jsonl"),
    ]
    return [((*command, "-o", str(output)), output) for command, output in commands]


def _bare_seconds(folder: Path) -> float:
    """Return how long a processor reads and writes the same file, and does nothing else."""
    begun = time.process_time()
    with (
        (folder / "chats.jsonl").open(encoding="utf-8") as file,
        (folder / "bare.jsonl").open("w", encoding="utf-8") as out,
    ):
        for line in file:
            out.write(json.dumps(json.loads(line)) + "\n")
    return time.process_time() - begun


def _killed_and_resumed(folder: Path, number: int, jobs: str) -> list[Row]:
    """Hash once more, killed in the middle and resumed: in the end the file is the same."""
    whole, again = folder / "hashed.jsonl", folder / "again.jsonl"
    command = ("hash", str(folder / "threads.jsonl"), "-o", str(again), "--jobs", jobs)
    done = _run_half([*command], again, number // 2)
    seconds = _run(*command, "--resume")
    same = filecmp.cmp(whole, again, shallow=False)
    return [
        shown("hash, done when it was killed", done),
        shown("resumed", seconds, "s"),
        at_most("files that differ from that of one run", int(not same), 0, ""),
    ]


def _run(*command: str) -> float:
    """Run a command; return the seconds. It begins as large as this process, which so keeps nothing of its output."""
    begun = time.perf_counter()
    subprocess.run([*TPHARNESS, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def _run_half(command: list[str], output: Path, number: int) -> int:
    """Run a command and kill it when it has written so many results; return how many it has."""
    with subprocess.Popen([*TPHARNESS, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (output.exists() and _count_lines(output) >= number):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_LOOKED_AT_EVERY)
        process.kill()
    return _count_lines(output)


def _count_lines(file: Path) -> int:
    with file.open("rb") as lines:
        return sum(1 for _ in lines)


def _memory() -> float:
    """Return the most that one process of the commands has taken so far, in MB."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000


def _processor_seconds() -> float:
    """Return what the commands have taken of the processors, which a busy machine changes less than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
