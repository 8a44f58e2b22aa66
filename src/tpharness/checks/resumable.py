"""Resumable: a model API accepts the history rebuilt from the thread, and the history only grows (invariant 7)."""

from __future__ import annotations

from tpharness.checks.contract import Check, Evidence, Side
from tpharness.findings import Finding, Kind, Level, Place
from tpharness.protocol import history

__all__ = ["RESUMABLE"]

REWRITTEN = Kind(
    code="history-rewritten",
    level=Level.MUST,
    title="the history before the interruption is not a prefix of the history after it",
    remedy="append to the history, never change or drop what was sent to the model before",
    rulings=("R20", "R23"),
)


def _judge(evidence: Evidence) -> list[Finding]:
    findings: list[Finding] = []
    for side in (evidence.server, evidence.client):
        if side is not None:
            findings += _accepted(evidence, side)
    return findings


def _accepted(evidence: Evidence, side: Side) -> list[Finding]:
    messages = history.model_history(side.thread).messages
    findings = [f.located(case=evidence.case, side=side.name) for f in history.check_history(messages)]
    turns = side.thread["turns"]
    if turns and turns[-1]["turn_type"] == "agent":
        before = history.model_history({**side.thread, "turns": turns[:-1]})
        # While calls are pending (R30) no model call is made, so nothing was sent that could be rewritten.
        if not before.pending and messages[: len(before.messages)] != before.messages:
            findings.append(REWRITTEN.at(Place(case=evidence.case, side=side.name, pointer=f"/turns/{len(turns) - 1}")))
    return findings


RESUMABLE = Check(
    name="resumable",
    title="a model API accepts the history, which only grows",
    kinds=(REWRITTEN, *history.KINDS),
    applies=lambda evidence: evidence.server is not None or evidence.client is not None,
    judge=_judge,
)
