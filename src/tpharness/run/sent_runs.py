"""What a server's streams say beside its thread, for the check of the same name (R27, R45, R60, R64).

In: a script and what the server sent for it. Out: one record for each run of which there is something to compare: the
id of its message, texts inside which it was stopped with an abort, how it has ended, approvals for which it waits. A
stream that has begun another number of texts than its events do not say which text is which, and is not judged by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tpharness.checks import SentRun
from tpharness.journal import AgentTurn, Interrupted, Journal, UserTurn
from tpharness.server_events import OpenTexts, Recorder, RunState, approvals_of
from tpharness.targets.contract import RunScript, Script, TargetOutput
from tpharness.wires.contract import Said
from tpharness.wires.registry import wire_named

__all__ = ["read_sent_runs"]


def read_sent_runs(script: Script, served: TargetOutput) -> tuple[SentRun, ...]:
    """Return what there is to judge in the streams of the runs, one after the other."""
    wire = wire_named(script.wire)
    found: list[SentRun] = []
    for (run, ended, waits), packets in zip(_played(script), served.streams, strict=False):
        said = wire.read_said(b"".join(packet.data for packet in packets))
        closed = _closed(run, said)
        named = said.message_id if run.message_id is not None else None
        compares_end = ended is not None and said.end is not None
        if named is None and closed is None and not compares_end and not waits and not said.asks:
            continue
        one = SentRun(asked=run.message_id, named=named, closed=closed or ())
        if compares_end:
            one = replace(one, ended=ended, said_end=said.end)
        found.append(one if ended != "finished" else replace(one, waits=waits, asks=said.asks))
    return tuple(found)


def _played(script: Script) -> Iterator[tuple[RunScript, str | None, tuple[str, ...]]]:
    """Yield each run, how it ends (None where nobody says so, or in more than one way), and calls that then wait."""
    recorder = Recorder()
    for turn in script.turns:
        if isinstance(turn, UserTurn):
            recorder.add_user_turn(turn)
            continue
        recorder.begin(turn.agent_id, turn.started_at)
        named, earlier = list[str](), recorder.waiting_calls
        for event in turn.events:
            recorder.feed(event)
            named += [call for call in approvals_of(event) if call in recorder.waiting_calls - earlier]
        cut = turn.interruption
        aborted = recorder.state is not RunState.ENDED and cut is not None
        recorder.interrupt(cut.reason if cut is not None else "network_failure", recorder.time)
        ended = ("stopped" if turn.abort else None) if aborted else _end_of(recorder.journal())
        yield turn, ended, tuple(call for call in dict.fromkeys(named) if call in recorder.waiting_calls)


def _end_of(journal: Journal) -> str | None:
    last = journal.last or (journal.ended[-1] if len(journal.ended) else None)
    if not isinstance(last, AgentTurn):
        return None
    if isinstance(last.end, Interrupted):
        return {"error": "failed", "user_cancelled": "stopped"}.get(last.end.reason)
    return "finished"


def _closed(run: RunScript, said: Said) -> tuple[Mapping[str, Any], ...] | None:
    """Return the ends of texts that are open, None if the stream does not say which text is which."""
    texts = OpenTexts()
    for event in run.events if run.interruption is not None and run.abort else ():
        texts.feed(event)
    if said.texts is None or not texts.open or Counter(kind for kind, _ in said.texts) != texts.begun:
        return None
    ends: dict[str, list[Mapping[str, Any] | None]] = {}
    for kind, end in said.texts:
        ends.setdefault(kind, []).append(end)
    return tuple(end for kind, number in texts.open if (end := ends[kind][number]) is not None)
