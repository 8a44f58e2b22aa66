"""Plays the tests while other processes keep the machine busy: a test that fails here depends on the clock.

    python scripts/under_load.py --runs 3                          the whole suite, three times
    python scripts/under_load.py --times 100 tests/targets         each test of a folder a hundred times
    python scripts/under_load.py --runs 1 --slowest 50 --times 100 the whole suite, then its fifty slowest tests

`--busy` says how many processes only count; four by default, for a machine of two processors. What failed, and how
often, is printed at the end; the exit code is 1 if anything did. All that the tests print is in the file of `--log`.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

TOP = Path(__file__).parents[1]
SLOW = re.compile(r"^ *[\d.]+s (?:call|setup|teardown) +(\S.*)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


@contextlib.contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep the machine busy with processes that do nothing but count."""
    counting = [sys.executable, "-c", "n = 0\nwhile True: n += 1"]
    with contextlib.ExitStack() as started:
        for _ in range(processes):
            process = started.enter_context(subprocess.Popen(counting))  # noqa: S603
            started.callback(process.kill)
        yield


def failures(printed: str, code: int) -> list[str]:
    """Return the tests that pytest has named as failed, each as often as it did; what is wrong if it names none."""
    failed = FAILED.findall(printed.rpartition("short test summary info")[2])
    return failed or ([f"pytest ended with {code}, see the log"] if code else [])


def slowest(printed: str, number: int) -> list[str]:
    """Return the slowest tests, by what pytest has printed."""
    return list(dict.fromkeys(SLOW.findall(printed)))[:number]


def play(log: TextIO, *words: str) -> tuple[str, list[str]]:
    """Run pytest with these words; return what it printed and the tests that failed."""
    begin = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--durations-min=0", *words]
    done = subprocess.run(  # noqa: S603
        command, cwd=TOP, capture_output=True, text=True, errors="replace", check=False
    )
    log.write(f"$ pytest {' '.join(words)}\n{done.stdout}{done.stderr}\n")
    log.flush()
    verdict = done.stdout.rstrip().rpartition("\n")[2].strip("= ")
    print(f"{time.monotonic() - begin:6.0f} s  {' '.join(words)}: {verdict}", flush=True)
    return done.stdout, failures(done.stdout, done.returncode)


def main() -> int:
    """Play what the options say; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="files, folders or ids, each of whose tests is played --times times")
    parser.add_argument("--runs", type=int, default=0, help="how often the whole suite is played")
    parser.add_argument(
        "--slowest", type=int, default=0, help="so many of the slowest tests of the last run are played, too"
    )
    parser.add_argument("--times", type=int, default=100, help="how often each test is played")
    parser.add_argument("--busy", type=int, default=4, help="how many processes keep the machine busy")
    parser.add_argument("--log", type=Path, default=Path("under-load.log"), help="the file for what the tests print")
    options = parser.parse_args()
    if not options.tests and not options.runs:
        parser.error("name tests, or --runs")
    if options.slowest and not options.runs:
        parser.error("--slowest needs --runs 1 at least: the slowest tests are those of a run")
    failed: Counter[str] = Counter()
    tests = list(options.tests)
    with load(options.busy), options.log.open("w", encoding="utf-8") as log:
        for _ in range(options.runs):
            printed, wrong = play(log, f"--durations={options.slowest * 3 or 20}")
            failed.update(wrong)
        if options.slowest:
            tests += slowest(printed, options.slowest)
        for test in dict.fromkeys(tests):
            _, wrong = play(log, "-q", "-n", "0", "--times", str(options.times), test)
            failed.update(wrong)
    for name, count in failed.most_common():
        print(f"FAILED {count} times: {name}")
    print(f"{sum(failed.values())} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
