"""Whether guidance by coverage finds places in the stream's code that chance does not: edges reached by both.

Chance is what a campaign draws: streams and recorded streams with bytes changed. Guidance is libFuzzer, by way of
atheris, which begins with all of those and has a minute more; chance gets three times as many cases for comparison.
Needs `pip install atheris`, which is no dependency of anything here.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.table import at_least, report, shown

CASES = 6000
SECONDS = 60
MOST = 8000
TARGET = 0.98
AT = "2025-01-20T10:00:00Z"
CODE = ["tpharness.wires.vsp", "tpharness.journal", "tpharness.facts", "tpharness.protocol.parse"]


def fuzzed() -> None:
    """Be the fuzzer: fold whatever comes, with the code above watched."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=CODE):
        from tpharness.wires.vsp.assembler import Assembler  # noqa: PLC0415  # instrumented while it is imported

    def fold(data: bytes) -> None:
        assembler = Assembler()
        assembler.begin(AT)
        assembler.feed(data, AT)
        assembler.close("network_failure", AT)

    atheris.Setup(sys.argv, fold)
    atheris.Fuzz()


def drawn(folder: Path, first: int, last: int) -> Path:
    """Write the streams of these cases into a folder."""
    from tpharness.explore.campaigns.cases import case_source  # noqa: PLC0415  # not where the fuzzer runs
    from tpharness.explore.generate.kinds import GENERATORS, FuzzKind  # noqa: PLC0415

    folder.mkdir()
    for number in range(first, last):
        for kind in (FuzzKind.BYTES, FuzzKind.STREAMS):
            for index, (_, run) in enumerate(GENERATORS[kind](case_source(0, number)).runs):
                if run.wire is not None and run.wire.data:
                    (folder / f"{number}-{kind.value}-{index}").write_bytes(run.wire.data)
    return folder


def edges(*arguments: object) -> int:
    """Run the fuzzer; return how many edges all that it has seen reaches."""
    command = [sys.executable, "-m", "benchmarks.guided", "--fuzzer", f"-max_len={MOST}", *map(str, arguments)]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    found = re.findall(r"DONE +cov: (\d+)", told)
    if not found:
        sys.exit(f"the fuzzer found something, or could not run:\n{told[-2000:]}")
    return int(found[-1])


def main() -> int:
    """Draw, measure, print; return the exit code, 2 when atheris is not installed."""
    if importlib.util.find_spec("atheris") is None:
        print("could not run: pip install atheris")
        return 2
    with tempfile.TemporaryDirectory() as name:
        begin, more, own = Path(name, "begin"), Path(name, "more"), Path(name, "own")
        own.mkdir()
        drawn(begin, 0, CASES)
        some = edges("-runs=0", begin)
        chance = edges("-runs=0", begin, drawn(more, CASES, 4 * CASES))
        guided = edges(f"-max_total_time={SECONDS}", own, begin)
    return report(
        [
            shown(f"{2 * CASES} cases by chance", str(some), "edges"),
            shown(f"{8 * CASES} cases by chance", str(chance), "edges"),
            shown(f"{2 * CASES} cases and {SECONDS} s of guidance", str(guided), "edges"),
            at_least("chance / guidance", chance / guided, TARGET),
        ]
    )


if __name__ == "__main__":
    if "--fuzzer" in sys.argv:
        sys.argv.remove("--fuzzer")
        fuzzed()
    sys.exit(main())
