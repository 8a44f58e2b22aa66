"""`tpharness merge`: the reports of all shards of a run or a sweep → one verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from tpharness.cli.files import read_bytes
from tpharness.cli.options import Argument, Exit, Option
from tpharness.errors import InputError, UsageError
from tpharness.output import json_text, write_atomically
from tpharness.printable import counted, say
from tpharness.report import tally_lines
from tpharness.report.failures import group_heading, group_line
from tpharness.run.shard import merge_reports
from tpharness.run.sweeps.report import FORMAT as SWEEP
from tpharness.run.sweeps.report import merge_sweeps
from tpharness.schema_misfits import first_misfit
from tpharness.verdict.grouping import group_failures

__all__ = ["merge"]


def merge(
    files: Annotated[list[str], Argument(help="The JSON reports of all shards, in any order.")],
    report: Annotated[Path | None, Option("--report", "-o", help="Write the report of the whole run.")] = None,
) -> None:
    """Merge the shards of a run or of a sweep.

    The command fails if a shard is missing, given twice, of another run, or was ended early.
    """
    if len(set(files)) != len(files):
        raise UsageError("a file is named twice", hint="give each shard once")
    reports = {name: _read(name) for name in files}
    swept = any(one.get("format") == SWEEP for one in reports.values())
    try:
        passed, document = _sweeps(reports) if swept else _runs(reports)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"a report cannot be read: {type(error).__name__}: {error}" if swept else _misfit(reports)
        if not problem:  # all are as our schema wants them, so the mistake is ours
            raise
        hint = "was it changed by hand? merge with the version of tpharness that wrote the reports"
        raise InputError(problem, hint=hint) from error
    if report is not None:
        write_atomically(str(report), json_text(document) + "\n")
    raise Exit(0 if passed else 1)


def _verdict(document: Mapping[str, Any]) -> str:
    return "INCOMPLETE" if document.get("incomplete") else "PASSED" if document["passed"] else "FAILED"


def _count_scenarios(document: Mapping[str, Any], scenarios: int) -> str:
    """Return how many scenarios were played, of how many if shards were ended early."""
    early = document.get("incomplete")
    if early is None:
        return counted(scenarios, "scenario")
    return f"{early['played']} of {counted(early['scenarios'], 'scenario')}"


def _sweeps(reports: dict[str, dict[str, Any]]) -> tuple[bool, dict[str, Any]]:
    document = merge_sweeps(reports)
    for one in document["scenarios"]:
        for failure in one.get("failures", ()):
            say(f"FAILED {failure['id']} {', '.join(failure['codes'])}")
            say(f"  play it   {failure['command']}")
    passed = bool(document["passed"])
    tried = f"tried {document['tried']} of {document['total']} {document['counts']}"
    if document["refused"]:
        tried += f"; {document['refused']} cannot be played"
    swept = [one for one in document["scenarios"] if one["tried"] or not one.get("note")]
    played = _count_scenarios(document, len(swept))
    say(f"{_verdict(document)} {len(reports)} of {len(reports)} shards, {played}, {tried}")
    return passed, document


def _runs(reports: dict[str, dict[str, Any]]) -> tuple[bool, dict[str, Any]]:
    merged = merge_reports(reports)
    finished = merged.finished
    for group in group_failures(merged.results):
        say(f"{group.smallest.outcome.value.upper()} {group_heading(group)}", f"  {group_line(group).strip()}")
    for problem in finished.problems:
        say(problem.line())
    if merged.report.get("error"):
        say(f"COULD NOT RUN {merged.report['error']}")
    for line in tally_lines(merged.report):
        say(line)
    counts = ", ".join(outcome.counted(count) for outcome, count in finished.counts.items() if count)
    cases = counted(sum(finished.counts.values()), "case")
    say(
        f"{_verdict(merged.report)} {merged.shards} of {merged.shards} shards, "
        f"{_count_scenarios(merged.report, merged.scenarios)}, {cases} ({counts}), "
        f"{len(finished.exercised)} of {finished.clause_count} rules tested"
    )
    return finished.passed, dict(merged.report)


def _misfit(reports: Mapping[str, Any]) -> str:
    """Return where the first report that does not fit the schema of the report of a run does not; "" if all fit."""
    misfits = ((name, first_misfit("report", report)) for name, report in reports.items())
    return next((f"{name} does not fit report.schema.json: {misfit}" for name, misfit in misfits if misfit), "")


def _read(name: str) -> dict[str, Any]:
    try:
        value = json.loads(read_bytes(name))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{name} is not JSON: {error}", hint="give reports that --report json:PATH has written"
        ) from error
    if not isinstance(value, dict):
        raise InputError(f"{name} is not a report", hint="give reports that --report json:PATH has written")
    return value
