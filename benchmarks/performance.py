"""Every figure of `docs/PERFORMANCE.md`, measured in one run, with its growth; `--write` puts them into the document.

Each figure has a process of its own. `--before SRC` measures another checkout's `src` with the same code in turn.
Modules are loaded from bytecode, as those of an installed package are, whatever the environment tells Python to write.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import core_figures, floor_figures, suite_figures
from benchmarks.figures import FIGURES, Figure, Point, peer_version
from benchmarks.performance_page import draw, page_table, replace_measured
from benchmarks.table import Row, report

FOLDER = Path(__file__).parents[1]
PAGE, PICTURE = FOLDER / "docs" / "PERFORMANCE.md", FOLDER / "docs" / "performance.svg"
DECLARED = (core_figures, suite_figures, floor_figures)


def measure(key: str, source: Path, sizes: Sequence[int], bytecode: str) -> list[Point]:
    """Take a figure in a process of its own, with the code in `source`; its bytecode is kept in a folder."""
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{FOLDER}", "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "benchmarks.performance", "--one", key, "--sizes", *map(str, sizes)]
    done = subprocess.run(command, cwd=FOLDER, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [Point(**one) for one in json.loads(done.stdout)]


def rows_of(figure: Figure, points: Sequence[Point], before: Sequence[Point]) -> list[Row]:
    """Return the rows of one figure: what it is at its head size, what it was, and each size."""
    head = next((point for point in points if point.size == figure.head), points[-1])
    was = {point.size: f", before {point.value:.3g} ({point.low:.3g}-{point.high:.3g})" for point in before}
    rows = [Row(name=figure.name, value=f"{head.value:.3g}", target=figure.target, passed=figure.keeps(head.value))]
    for point in points:
        each = "" if point.seconds is None else f", {point.seconds * 1e9:.0f} ns each"
        value = f"{point.value:.3g} ({point.low:.3g}-{point.high:.3g}){was.get(point.size, '')}{each}"
        rows.append(Row(name=f"  {point.size:,} of {figure.unit}", value=value))
    return rows


def main() -> int:
    """Measure, print; return the exit code."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("keys", nargs="*", metavar="KEY", help=f"figures (all): {', '.join(FIGURES)}")
    options.add_argument("--before", type=Path, metavar="SRC", help="the src folder of another checkout, measured too")
    options.add_argument("--sizes", type=int, nargs="+", help="sizes in place of each figure's own")
    options.add_argument("--quick", action="store_true", help="only the size that the verdict is on")
    options.add_argument("--write", action="store_true", help=f"write {PAGE.name} and {PICTURE.name}")
    options.add_argument(
        "--points",
        type=Path,
        metavar="FILE",
        help="keep what is measured in FILE, and take what is there from earlier calls: a table in several calls",
    )
    options.add_argument("--one", metavar="KEY", help="take one figure in this process, and print it as JSON")
    args = options.parse_args()
    for key in {*args.keys, args.one} - {None, *FIGURES}:
        options.error(f"there is no figure {key!r}; there are {', '.join(FIGURES)}")
    if args.one:
        figure = FIGURES[args.one]
        print(json.dumps([asdict(figure.measure(size)) for size in args.sizes]))
        return 0
    source = FOLDER / "src"
    kept = json.loads(args.points.read_text("utf-8")) if args.points and args.points.exists() else {}
    points = {key: [Point(**one) for one in kept[key]] for key in FIGURES if key in kept}
    before: dict[str, list[Point]] = {}
    rows = []
    with tempfile.TemporaryDirectory() as bytecode:
        for key in args.keys or FIGURES:
            sizes = args.sizes or ([FIGURES[key].head] if args.quick else FIGURES[key].sizes)
            if args.before is not None:
                before[key] = measure(key, args.before.resolve(), [FIGURES[key].head], bytecode)
            points[key] = measure(key, source, sizes, bytecode)
            rows += rows_of(FIGURES[key], points[key], before.get(key, ()))
            print(f"{key}: {rows[-len(points[key]) - 1].value}", file=sys.stderr)
            if args.points:
                args.points.write_text(json.dumps({one: [*map(asdict, points[one])] for one in points}), "utf-8")
    if args.write:
        machine = f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}"
        points = {key: points[key] for key in FIGURES if key in points}
        peers = sorted({peer_version(peer) for key in points for peer in FIGURES[key].peers})
        text = page_table(points, before, f"{machine}, {os.cpu_count()} cores", peers)
        PAGE.write_text(replace_measured(PAGE.read_text("utf-8"), text), "utf-8")
        PICTURE.write_text(draw(points), "utf-8")
    return report(rows)


if __name__ == "__main__":
    sys.exit(main())
