"""A case that was played on a server of AG-UI → what its trace says. Pure.

In: the answers of the case, its tape, and the verdict. Out: lines and bytes for `trace`, without secrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tpharness.apps.ag_ui.post import AnswerEnd, PostAnswer
from tpharness.run.tracing.lines import CaseLines
from tpharness.targets.contract import Packet
from tpharness.trace.secrets import Secrets
from tpharness.trace.tape import Tape
from tpharness.trace.write import CaseFiles
from tpharness.verdict import Result

__all__ = ["PostRecord"]

_ENDS = {AnswerEnd.LEFT: "user_cancelled", AnswerEnd.LOST: "network_failure", AnswerEnd.SILENT: "timeout"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostRecord:
    """What is known of a case: who answered, what was answered, and the tape of what was asked."""

    server: str
    client: str
    about: str
    answers: Sequence[PostAnswer]
    tape: Tape

    def files(self, result: Result, secrets: Secrets) -> CaseFiles:
        """Return what a trace says of the case."""
        out = CaseLines(secrets)
        out.application_case(
            result,
            about=self.about,
            played="posted to the server's own endpoint: there are no threads, and no run of the reference",
            server=self.server,
            client=self.client,
        )
        for run, answer in enumerate(one for one in self.answers if one.is_stream):
            packets = _packets(answer)
            out.wire("client", run, answer.data, out.stream(answer.data), packets)
            out.add({"kind": "end", "run": run, "reason": _ENDS.get(answer.end), "at": answer.over})
        out.moments(self.tape.notes, self.tape.forgotten)
        return out.files()


def _packets(answer: PostAnswer) -> list[Packet]:
    """Return the reads as packets; what came behind the place at which the page left is not one."""
    begun = datetime.fromisoformat(answer.begun)
    packets, left = [], len(answer.data)
    for after, data in answer.reads:
        at = (begun + timedelta(seconds=after)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        packets.append(Packet(data=data[:left], at=at))
        left -= len(packets[-1].data)
    return packets
