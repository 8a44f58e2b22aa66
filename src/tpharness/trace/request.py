"""What a target behind standard input and output was asked in a traced case, as the lines that it was given. Pure.

In: a traced case. Out: lines of JSON to pipe into the program, which then does what it did in the run. UsageError for a
case that no such target has played, InputError for one of whose requests the trace has not all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tpharness.errors import InputError, UsageError
from tpharness.trace.format import encode_line
from tpharness.trace.read import TracedCase, TracedMoment

__all__ = ["request_lines"]

_STANDARD_INPUT = " (standard input)"
"""What follows the operation in the notes of a target behind standard input."""

_OF_SERVERS = ("serve",)


def request_lines(case: TracedCase, side: str = "", *, contract: str) -> list[bytes]:
    """Return the lines that the program of a side was given; `side` is needed where both sides were given some.

    A process is started with a line of its own, often for an earlier case: such a line, of this version of the control
    contract, is put in front.
    """
    asked = [one for one in case.moments if one.kind == "asked" and one.what.endswith(_STANDARD_INPUT)]
    by_side: dict[str, list[TracedMoment]] = {}
    for one in asked:
        if not one.what.startswith("start"):
            by_side.setdefault("server" if one.what.startswith(_OF_SERVERS) else "client", []).append(one)
    if not side and len(by_side) > 1:
        raise UsageError(f"{case.entry.case} asked both sides over standard input", hint="--side server, or client")
    found = by_side.get(side) if side else next(iter(by_side.values()), None)
    if not found:
        whom = f"the {side}" if side else "nobody"
        raise UsageError(
            f"{case.entry.case} asked {whom} {'nothing ' if side else ''}over standard input",
            hint="targets of stdio: are asked in lines; `tpharness show` has what others were asked",
        )
    start = {"op": "start", "id": 0, "contract": contract}
    return [encode_line(start), *(encode_line(_body(case, one)) for one in found)]


def _body(case: TracedCase, moment: TracedMoment) -> Mapping[str, Any]:
    body = moment.line.get("body")
    if not isinstance(body, Mapping):
        why = moment.line.get("note", "it was not kept")
        raise InputError(
            f"{case.entry.case}: {moment.what} is not whole in this trace: {why}", hint="play the case alone"
        )
    return body
