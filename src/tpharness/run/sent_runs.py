"""What a server's streams say beside its thread, for the check of the same name (R45, R60).

In: a script and what the server sent for it. Out: one record for each run that was given the id of its message, or that
was stopped inside a text, with an abort. A stream that has begun another number of texts than its events do not say
which text is which, and is not judged by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tpharness.checks import SentRun
from tpharness.server_events import OpenTexts
from tpharness.targets.contract import RunScript, Script, TargetOutput
from tpharness.wires.contract import Said
from tpharness.wires.registry import wire_named

__all__ = ["read_sent_runs"]


def read_sent_runs(script: Script, served: TargetOutput) -> tuple[SentRun, ...]:
    """Return what there is to judge in the streams of the runs, one after the other."""
    wire = wire_named(script.wire)
    runs = [turn for turn in script.turns if isinstance(turn, RunScript)]
    found: list[SentRun] = []
    for run, packets in zip(runs, served.streams, strict=False):
        texts = OpenTexts()
        for event in run.events if run.interruption is not None and run.abort else ():
            texts.feed(event)
        if run.message_id is None and not texts.open:
            continue
        said = wire.read_said(b"".join(packet.data for packet in packets))
        closed = _closed(texts, said)
        named = said.message_id if run.message_id is not None else None
        if named is not None or closed is not None:
            found.append(SentRun(asked=run.message_id, named=named, closed=closed or ()))
    return tuple(found)


def _closed(texts: OpenTexts, said: Said) -> tuple[Mapping[str, Any], ...] | None:
    """Return the ends of texts that are open, None if the stream does not say which text is which."""
    if said.texts is None or not texts.open or Counter(kind for kind, _ in said.texts) != texts.begun:
        return None
    ends: dict[str, list[Mapping[str, Any] | None]] = {}
    for kind, end in said.texts:
        ends.setdefault(kind, []).append(end)
    return tuple(end for kind, number in texts.open if (end := ends[kind][number]) is not None)
