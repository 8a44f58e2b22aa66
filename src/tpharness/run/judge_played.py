"""The evidence of a case that was played → its result, as far as what is found says something of the targets.

In: a case, the evidence of playing it, the players. Out: a result. A promise in time that a target did not keep fails
the case, and what a script brings about by itself is not held against anybody.
"""

from __future__ import annotations

from dataclasses import replace

from tpharness.checks import Evidence, Side
from tpharness.findings import Finding, Level
from tpharness.judging_time import JudgedTooLongError, judging
from tpharness.protocol.schema import schema_findings
from tpharness.run.judge import judge
from tpharness.run.plan import Case
from tpharness.run.play import Players, play
from tpharness.targets import remote
from tpharness.targets.reference import Reference, is_foreign
from tpharness.verdict.result import Outcome, Result

__all__ = ["judge_played", "leave_out_scripted"]


def judge_played(case: Case, evidence: list[Evidence]) -> Result:
    """Judge the evidence. A promise that a target did not keep fails the case even if the threads are right."""
    broken: dict[Finding, None] = {}
    pieces = []
    for piece in evidence:
        for side in piece.sides():
            broken.update((f.with_place(case=case.id), None) for f in side.findings if f.kind in remote.KINDS)
        server, client = map(_remove_promise_findings, (piece.server, piece.client))
        same = server is piece.server and client is piece.client
        pieces.append(piece if same else replace(piece, server=server, client=client))
    try:
        with judging():
            result = judge(case.id, pieces, clauses=case.scenario.clauses)
    except JudgedTooLongError:
        raise
    except Exception:
        # The checks may rely on the schema. If a thread violates it, only those violations are reported.
        misfits = [
            finding.with_place(side=side.name, case=case.id)
            for piece in pieces
            for side in piece.sides()
            for finding in schema_findings(side.thread)
        ]
        if not misfits:
            raise
        result = Result(id=case.id, outcome=Outcome.FAILED, findings=tuple(misfits), clauses=case.scenario.clauses)
    if not broken:
        return result
    return replace(result, outcome=Outcome.FAILED, findings=(*broken, *result.findings))


def _remove_promise_findings(side: Side | None) -> Side | None:
    """Return a side without the findings about broken promises."""
    if side is None or not any(f.kind in remote.KINDS for f in side.findings):
        return side
    return replace(side, findings=tuple(f for f in side.findings if f.kind not in remote.KINDS))


async def leave_out_scripted(case: Case, result: Result, players: Players) -> Result:
    """Return the result without the findings at SHOULD that say nothing of a target.

    These are what the reference gets on the same script, and all that a case with a fault has: the relay may have cut
    what the server had sent. A result of the reference alone is returned as it is, since they are about its scenario.
    """
    advised = any(finding.level is Level.SHOULD for finding in result.findings)
    if not advised or not (is_foreign(players.server) or is_foreign(players.client)):
        return result
    if "@fault-" in result.id:
        return replace(result, findings=tuple(f for f in result.findings if f.level is not Level.SHOULD))
    evidence = await play(case, Players(server=Reference(), client=Reference()), thorough=False)
    scripted = {finding.code for finding in judge(case.id, evidence).findings}
    kept = (f for f in result.findings if f.level is not Level.SHOULD or f.code not in scripted)
    return replace(result, findings=tuple(kept))
