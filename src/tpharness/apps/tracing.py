"""A case that was played on an application → what its trace says. Pure.

In: the evidence of the case, what its process wrote meanwhile, and the verdict. Out: lines and bytes for `trace`: for
each turn what the user wrote, the cut, what the user saw and what the application shows after a reload; for each
request to the model what was sent to the model and what it said; the streams as the client got them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.apps.effects.holding import ToolRunSeen
from tpharness.apps.evidence import AppEvidence, Asked, CutSeen, ReplySeen, TurnSeen
from tpharness.model_apis.messages import HistoryMessage
from tpharness.run.tracing.lines import CaseLines
from tpharness.targets.contract import Packet
from tpharness.trace.secrets import Secrets
from tpharness.trace.tape import Tape
from tpharness.trace.write import CaseFiles
from tpharness.verdict import Result

__all__ = ["AppRecord"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppRecord:
    """What is known of a case that was played on an application: `app` and `client` name who played.

    The tape has the lines that the application's process wrote; times are seconds since it began.
    `environment` is that of the application, with `{model}` for our hosts, and `tool_seconds` how long its tools take.
    """

    app: str
    client: str
    evidence: AppEvidence
    tape: Tape
    environment: Mapping[str, str] = field(default_factory=dict)
    tool_seconds: float = 0.0

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case."""
        out = CaseLines(secrets)
        out.application_case(
            result,
            about=self.evidence.case.title,
            played="of each stream there are the events that the client read, and not the bytes that made them",
            server=self.app,
            client=self.client,
        )
        for turn in self.evidence.turns:
            out.add(self._turn(turn, out))
            for asked in turn.asked:
                out.add(self._asked(turn, asked, out))
        for run in self.evidence.tool_runs or ():
            out.add(self._tool_run(run))
        self._streams(out)
        out.moments(self.tape.notes, self.tape.forgotten)
        return out.files()

    def _turn(self, turn: TurnSeen, out: CaseLines) -> dict[str, Any]:
        line: dict[str, Any] = {"kind": "app-turn", "turn": turn.number, "says": turn.says}
        if turn.cut is not None:
            line["cut"] = _cut_line(turn.cut, self._since(turn.cut.at))
        if turn.reply is not None:
            line["reply"] = _reply_line(turn.reply)
        if turn.view is not None:
            line["shown_anew"] = {"status": turn.view.status, **out.body(turn.view.value)}
        if turn.runs is not None:
            line["tool_runs"] = turn.runs
        return {**line, "strays": list(turn.strays), "screen": [dict(message) for message in turn.screen]}

    def _asked(self, turn: TurnSeen, asked: Asked, out: CaseLines) -> dict[str, Any]:
        whole = {call.call_id for call in asked.complete_calls}
        return {
            "kind": "app-model",
            "turn": turn.number,
            "number": asked.number,
            "api": asked.api,
            "t": self._since(asked.started_at),
            **({} if asked.ended_at is None else {"ended": self._since(asked.ended_at)}),
            "status": asked.status,
            "outcome": asked.outcome.value,
            "retry": asked.is_retry,
            "planned": not asked.unplanned,
            "told": [_history_line(message) for message in asked.history],
            "refused": [finding.line() for finding in asked.refusals],
            "said": asked.said,
            "thought": asked.thought,
            "calls": [
                {"id": call.call_id, "name": call.name, "args": "".join(call.pieces), "whole": call.call_id in whole}
                for call in asked.called
            ],
            **out.body(asked.body),
        }

    def _tool_run(self, run: ToolRunSeen) -> dict[str, Any]:
        times = {"started": run.started_at, "effect": run.effect_at, "ended": run.ended_at}
        return {
            "kind": "app-tool",
            "number": run.number,
            "tool": run.tool,
            **({"call_id": run.call_id} if run.call_id else {}),
            "state": run.state.value,
            **{name: self._since(at) for name, at in times.items() if at is not None},
        }

    def _since(self, at: float) -> float:
        return round(max(0.0, at - self.tape.begun), 6)

    def _streams(self, out: CaseLines) -> None:
        for run, stream in enumerate(self.evidence.streams):
            packets = [Packet(data=_frame(data), at=at) for at, data in stream.events]
            data = b"".join(packet.data for packet in packets)
            out.wire("client", run, data, out.stream(data), packets)
            out.add({"kind": "end", "run": run, "reason": stream.end.interruption, "at": stream.over})


def _cut_line(cut: CutSeen, t: float) -> dict[str, Any]:
    return {
        "by": cut.cut.by.value,
        "in_tool": cut.cut.in_tool,
        "t": t,
        "pieces": cut.pieces,
        "left_after": None if cut.left_after is None else round(cut.left_after, 6),
        "pieces_after": cut.pieces_after,
        "asked_after": cut.asked_after,
        "tools": cut.tools,
    }


def _reply_line(reply: ReplySeen) -> dict[str, Any]:
    line: Mapping[str, Any] = {
        "content_type": reply.content_type,
        "problem": reply.problem,
        "refused": reply.refused,
        "finish_reason": reply.finish_reason,
    }
    known = {name: value for name, value in line.items() if value}
    return {"status": reply.status, "end": reply.end.value, "reports_error": reply.reports_error, **known}


def _frame(data: bytes) -> bytes:
    """Return the data of an event as an event of a stream."""
    return b"".join(b"data: " + line + b"\n" for line in data.split(b"\n")) + b"\n"


def _history_line(message: HistoryMessage) -> dict[str, Any]:
    line: Mapping[str, Any] = {
        "thinking": message.thinking,
        "calls": [{"id": call.call_id, "name": call.name, "args": call.raw} for call in message.calls],
        "results": [{"id": one.call_id, "content": one.content, "is_error": one.is_error} for one in message.results],
        "files": list(message.files),
    }
    return {"role": message.role, "text": message.text, **{name: value for name, value in line.items() if value}}
