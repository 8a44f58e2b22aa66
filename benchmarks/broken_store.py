"""Thousands of stored conversations, a twentieth of them broken in 24 ways: what the commands make of them, by counts.

They are checked, repaired, imported (killed in the middle, and resumed), converted and hashed, and what cannot be
repaired is corrected by hand. What is right is what the breakages say of themselves; it is written beside the
conversations, in `truth.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.performance_page import replace_measured
from benchmarks.stored_conversations import BREAKAGES, MAKERS, make_store
from benchmarks.table import Row, at_most, markdown, report, shown

__all__ = ["TPHARNESS", "main", "play", "run"]

TPHARNESS = [sys.executable, "-m", "tpharness"]
PAGE = Path(__file__).parents[1] / "docs" / "SCALE.md"
BEGIN = "<!-- measured: python -m benchmarks.broken_store --write -->"


def main() -> int:
    """Play, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--number", type=int, default=3000, help="of conversations (3000)")
    options.add_argument("--seed", type=int, default=7, help="of which are broken (7)")
    options.add_argument("--jobs", default="2", help="worker processes (2)")
    options.add_argument("--keep", type=Path, help="a folder that does not exist, for the conversations and the truth")
    options.add_argument("--write", action="store_true", help=f"write the table to {PAGE.name}")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = play(given.keep or Path(folder), given.number, given.jobs, seed=given.seed)
    if given.write:
        where = f"CPython {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores"
        measured = f"Measured in one run with {where}, seed {given.seed}.\n\n{markdown(rows)}"
        PAGE.write_text(replace_measured(PAGE.read_text("utf-8"), measured, BEGIN), "utf-8")
    return report(rows)


def run(*args: str, codes: tuple[int, ...] = (0,)) -> tuple[list[Any], float]:
    """Run a command; return the lines of its JSON, and the seconds that it took."""
    begun = time.perf_counter()
    done = subprocess.run([*TPHARNESS, *args], capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"tpharness {' '.join(args)} ended with {done.returncode}: {done.stderr[-2000:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, time.perf_counter() - begun


def play(folder: Path, number: int, jobs: str, *, seed: int = 7) -> list[Row]:
    """Make the conversations, play every command on them, and return what differs from what was made."""
    store, repaired, threads = folder / "store", folder / "repaired", folder / "threads"
    truth = make_store(store, number, seed=seed)
    expected = {name: BREAKAGES[way][1] for name, way in truth.items()}
    told = {name: {"broken": way, "repair": expected[name]} for name, way in truth.items()}
    (folder / "truth.json").write_text(json.dumps(told, indent=1), "utf-8")
    rows = [shown("conversations", number), shown("broken", len(truth)), shown("ways", len(set(truth.values())))]

    lines, seconds = run("check", str(store), "--json", "--jobs", jobs, codes=(0, 1))
    found = {_name(line, store) for line in lines if line["outcome"] != "valid"}
    rows += [
        shown("check", seconds, "s"),
        shown("found", len(found & set(truth))),
        at_most("broken, and not found", len(set(truth) - found), 0, ""),
        at_most("false alarms", len(found - set(truth)), 0, ""),
    ]
    rows += [_imported_though_wrong(store / form, form, truth, folder / f"strict-{form}.jsonl") for form in _IMPORTED]

    command = ["repair", str(store), "-o", str(repaired), "--rejected", str(folder / "by-hand"), "--jobs", jobs]
    lines, seconds = run(*command, "--json", codes=(2,))
    outcomes = {_name(line, store): line["outcome"] for line in lines}
    wrong = sum(outcomes[name] != expected.get(name, "valid") for name in outcomes)
    rows += [
        shown("repair", seconds, "s"),
        *(shown(word, list(outcomes.values()).count(word)) for word in sorted(set(outcomes.values()))),
        at_most("taken otherwise than it should", wrong, 0, ""),
        at_most("not taken at all", number - len(outcomes), 0, ""),
    ]
    rows.append(_corrected_by_hand(command, folder / "by-hand", expected))
    lines, _ = run("check", str(repaired), "--json", codes=(0, 1))
    rows += [
        at_most("not in the output once, after that", abs(number - len({line["document"] for line in lines})), 0, ""),
        at_most("not valid after it", sum(line["outcome"] != "valid" for line in lines), 0, ""),
    ]

    threads.mkdir()
    for form in _IMPORTED:
        rows += _import(repaired / form, form, threads / form)
    shutil.copytree(repaired / "thread", threads / "thread", ignore=shutil.ignore_patterns(".*"))
    for command in (["convert", "--to", "2.0.0"], ["hash"]):
        target = folder / f"{command[0]}.jsonl"
        _, seconds = run(command[0], str(threads), *command[1:], "-o", str(target), "--jobs", jobs)
        missing = number - len(target.read_bytes().splitlines())
        rows += [shown(command[0], seconds, "s"), at_most(f"lost by {command[0]}", abs(missing), 0, "")]
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return [*rows, shown("memory of the largest process", memory, "MB")]


_IMPORTED = ("ai-sdk", "pydantic-ai")


def _name(line: Any, store: Path) -> str:
    return str(Path(line["document"]).relative_to(store))


def _imported_though_wrong(source: Path, form: str, truth: Mapping[str, str], target: Path) -> Row:
    """Import what was not repaired: only what is not broken is taken."""
    lines, _ = run("import", str(source), "--from", form, "--strict", "--json", "-o", str(target), codes=(1, 2))
    taken = {f"{form}/{Path(line['document']).name}" for line in lines if "written" in line}
    sound = {f"{form}/{path.name}" for path in source.iterdir()} - set(truth)
    return at_most(f"import --strict of {form}: broken and taken, or sound and not", len(taken ^ sound), 0, "")


def _corrected_by_hand(command: Sequence[str], rejected: Path, expected: Mapping[str, str]) -> Row:
    """Write what was meant into each file that was rejected, as a person does, and type the command again."""
    copies = [path for path in rejected.rglob("*.json") if path.is_file()]
    for path in copies:
        path.write_text(json.dumps(MAKERS[path.parent.name](int(path.stem)), indent=1), "utf-8")
    run(*command, "--resume")
    left = sum(not path.exists() for path in copies) + sum(1 for _ in rejected.rglob("*.why.txt"))
    wanted = {name for name, outcome in expected.items() if outcome in ("not repaired", "unreadable")}
    differs = {path.relative_to(rejected).as_posix() for path in copies} ^ wanted
    return at_most(f"of {len(copies)} corrected by hand, not taken", left + len(differs), 0, "")


def _import(source: Path, form: str, target: Path) -> list[Row]:
    """Import, killed by SIGKILL when half of it is done, and resumed."""
    number = len(list(source.glob("[0-9]*.json")))
    command = ["import", str(source), "--from", form, "--strict", "-o", str(target)]
    with subprocess.Popen([*TPHARNESS, *command], stderr=subprocess.DEVNULL) as process:
        record = target / ".tpharness-done.jsonl"
        while process.poll() is None and not (record.exists() and record.read_bytes().count(b"\n") > number // 2):
            os.sched_yield()
        process.kill()
    done = len(list(target.glob("[0-9]*.json")))
    _, seconds = run(*command, "--resume")
    missing = number - len(list(target.glob("[0-9]*.json")))
    return [
        shown(f"import of {form}, done when it was killed", done),
        shown("resumed", seconds, "s"),
        at_most("lost by the kill", abs(missing), 0, ""),
    ]


if __name__ == "__main__":
    sys.exit(main())
