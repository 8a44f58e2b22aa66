"""The pages of `view` and of `run --report html`: how long a step takes in a browser, how long and large a page is.

A step moves the cut by one place and shows both threads there. It is measured inside the page, layout included; of each
step the best of three rounds counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.sweep import scenario
from benchmarks.table import Row, at_most, processor_seconds, report, shown
from tests.picture.looking import look_at

from tpharness.output import write_atomically
from tpharness.picture import PageEntry, PicturePage, render_page, timeline_of_case
from tpharness.report import Report
from tpharness.report.html import render_html
from tpharness.run import RunOptions, run_suite
from tpharness.run.plan import base_case
from tpharness.scenario import load_text

STEP_TARGET, WRITE_TARGET, OPEN_TARGET, SIZE_TARGET = 100.0, 5.0, 2.0, 15.0

ROUNDS = 3

STEPS = """(() => {
  const times = [];
  const places = viewer.current.places.length;
  const step = (place) => {
    const begun = performance.now();
    viewer.move("server", place);
    document.body.getBoundingClientRect();
    times.push(performance.now() - begun);
  };
  for (let n = 0; n < 100; n += 1) step(Math.floor(places / 2) + n);
  for (let n = 0; n < 100; n += 1) step((n * 7919) % places);
  return times;
})()"""
OPENED = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--events", type=int, default=10_000, help="of the long run (10000)")
    length = options.parse_args().events
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "long.html")
        begun = time.process_time()
        timeline = timeline_of_case(base_case(load_text(scenario(length), id="bench/long")))
        file.write_text(render_page(PicturePage(title="long", entries=[PageEntry(timeline=timeline)])), "utf-8")
        made = time.process_time() - begun
        look = look_at(file, ["eval", OPENED], *[["eval", STEPS]] * ROUNDS)
        times = sorted(map(min, zip(*look.results[1:], strict=True)))  # what is slow in one round only is the machine
        places = len(timeline["places"])
        rows += [
            at_most(f"a step among {places} places, the slowest of {len(times)}", times[-1], STEP_TARGET, "ms"),
            shown("a step, the median", statistics.median(times), "ms"),
            at_most(f"{places} places, opened", look.results[0] / 1000, OPEN_TARGET, "s"),
            shown(f"{places} places, written", made, "s"),
            shown(f"{places} places, size", file.stat().st_size / 1e6, "MB"),
        ]
        played = Report()
        for event in run_suite(RunOptions()):
            played.feed(event)
        file = Path(folder, "suite.html")
        wrote = processor_seconds(lambda: write_atomically(str(file), render_html(played)), repeat=3)
        opened = look_at(file, ["eval", OPENED])
        rows += [
            at_most(f"the page of {played.scenarios} scenarios, written", wrote, WRITE_TARGET, "s"),
            at_most("the page of the suite, size", file.stat().st_size / 1e6, SIZE_TARGET, "MB"),
            at_most("the page of the suite, opened", opened.results[0] / 1000, OPEN_TARGET, "s"),
        ]
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
