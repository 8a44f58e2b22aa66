"""`tpharness check`: threads, scenarios and recorded streams, without playing anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tpharness.checking import check_data, check_scenario
from tpharness.cli.files import check_stdin_once, print_findings, read_bytes
from tpharness.cli.options import Argument, Exit, Option
from tpharness.findings import Finding, Level
from tpharness.printable import counted, say

__all__ = ["check"]


def check(
    files: Annotated[
        list[str],
        Argument(help="Threads (.json), scenarios (.yaml), streams (.sse), events (.jsonl); - is standard input."),
    ],
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    major: Annotated[int | None, Option(min=5, max=7, help="Check streams for this major of the AI SDK.")] = None,
) -> None:
    """Check threads, scenarios and streams without playing them.

    Threads are checked against schema and rules, scenarios against their language, streams against the order of chunks.
    """
    check_stdin_once(files)
    findings: list[Finding] = []
    for path in files:
        of_scenario = Path(path).suffix in (".yaml", ".yml")
        findings += check_scenario(Path(path)) if of_scenario else check_data(read_bytes(path), path, major=major)
    code = print_findings(findings, as_json=json)
    if not json and code == 0:
        verdict = "nothing at MUST" if any(f.level is Level.SHOULD for f in findings) else "nothing wrong"
        say(f"{counted(len(files), 'file')} checked, {verdict}")
    raise Exit(code)
