"""Why the traces of a certificate are refused: what in them is not what its reports say.

In: a playing, its reports, and the bytes of its traces. Out: refusals in words. A trace shows how a case failed, the
report says that it did: both have to name the same cases with the same verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tpharness.errors import InputError
from tpharness.printable import counted
from tpharness.trace.read import Trace

__all__ = ["find_trace_refusals"]

_MOST = 5
_TRACED = ("failed", "stale", "errored", "could-not-run")
"""Outcomes of which a trace has a line: those that are not green."""


def find_trace_refusals(
    playing: Mapping[str, Any], reports: Mapping[str, Mapping[str, Any]], traces: Mapping[str, bytes]
) -> Iterator[str]:
    """Yield why the traces of a playing do not hold; what is not there, or changed, is somebody else's to say."""
    for name in playing["reports"]:
        trace = name.replace("report-", "trace-").replace(".json", ".zip")
        if name not in reports:
            continue
        wrong = {one["id"]: one for one in reports[name]["results"] if one["outcome"] in _TRACED}
        if trace not in playing["traces"]:
            if wrong:
                failed = counted(len(wrong), "case")
                yield f"missing trace: {failed} of {name} failed, and the certificate has no {trace}"
        elif trace in traces:
            yield from _judge_trace(trace, traces[trace], name, wrong)
    known = {name.replace("report-", "trace-").replace(".json", ".zip") for name in playing["reports"]}
    yield from (f"changed trace: {name} belongs to no report" for name in playing["traces"] if name not in known)


def _judge_trace(name: str, data: bytes, report: str, wrong: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    try:
        trace = Trace.open(Path(name), data)
        cases = [case.entry.case for case in trace.cases()]  # each line is held to the schema
    except InputError as error:
        yield f"changed trace: {error}"
        return
    traced = {one.case: (one.outcome, sorted(one.codes)) for one in trace.entries}
    for case, (outcome, codes) in traced.items():
        one = wrong.get(case)
        if one is None:
            yield f"forged trace: {name} has {case}, which did not fail by {report}"
        elif (outcome, codes) != (one["outcome"], sorted({finding["code"] for finding in one["findings"]})):
            yield f"forged trace: {case} is {_words(outcome, codes)} in {name}, and another verdict in {report}"
    whole = trace.end is not None and not trace.end["left_out"]
    missing = [case for case in wrong if case not in traced] if whole else []
    if missing:
        more = f" and {len(missing) - _MOST} more" if len(missing) > _MOST else ""
        yield f"left out: {name} does not have {', '.join(missing[:_MOST])}{more}, which failed by {report}"
    if trace.end is None:
        yield f"changed trace: {name} was broken off"
    elif trace.end["cases"] != len(cases):
        yield f"changed trace: {name} has {counted(len(cases), 'case')}, and counts {trace.end['cases']}"


def _words(outcome: str, codes: list[str]) -> str:
    return f"{outcome} ({', '.join(codes)})" if codes else outcome
