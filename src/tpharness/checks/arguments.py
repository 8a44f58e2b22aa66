"""Arguments: where a run is cut inside the arguments of a call, its stream does not give them as whole (R60).

Both sides drop such a response from their threads, so no comparison of threads can see it. A screen shows the call all
the same, and a client that executes tools runs the tool as soon as it has an input.
"""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence, NotApplicable
from tpharness.findings import Finding, Kind, Place

__all__ = ["ARGUMENTS"]

LOOK_WHOLE = Kind("arguments-look-whole")


def _judge(evidence: Evidence) -> list[Finding]:
    return [
        LOOK_WHOLE.at(
            Place(case=evidence.case, side="server"),
            f"the run was cut inside the arguments of the call {one.call_id!r}, and its stream gives them as whole",
            got=one.given,
            expected="no chunk with the input of the call",
            symptom=f"{one.given.get('type')} for a call that is open",
        )
        for one in evidence.open_calls
        if one.given is not None
    ]


_NONE_OPEN = NotApplicable(reason="no run is cut inside the arguments of a call")


ARGUMENTS = Check(
    name="arguments",
    title="arguments that had not ended are not sent as whole",
    not_applicable=lambda evidence: None if evidence.open_calls else _NONE_OPEN,
    judge=_judge,
)
