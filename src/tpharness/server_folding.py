"""Server events → the journal of a conversation: the half of `folding` that a conversation of streams does not load."""

from __future__ import annotations

from typing import Any

from tpharness.document_files import NO_TIME, event_lines, read_event
from tpharness.facts import later_time
from tpharness.findings import Finding, Place
from tpharness.folding import RunCut, within
from tpharness.journal import Journal
from tpharness.server_events import Recorder, RunState
from tpharness.server_events.guide import record_events
from tpharness.wires.checked import NO_EVENTS

__all__ = ["ServerSide", "fold_events"]


def fold_events(
    data: bytes, file: str, after: int | None, cut: RunCut | None, agent: str, at: str
) -> tuple[Journal, list[Finding]]:
    """Fold server events, one JSON object a line, into a journal and findings. InputError if a line is not JSON.

    Events of the 0.0.3 guide are read too.
    """
    lines = event_lines(data)
    if after is not None:
        within(after, len(lines), file)
        lines = lines[:after]
    side = ServerSide(agent)
    side.feed([read_event(line, file, number) for number, line in lines], cut, at)
    return side.fold.journal(), [] if after == 0 else side.findings


class ServerSide:
    """What a server makes of its model's events."""

    def __init__(self, agent: str) -> None:
        self.fold = Recorder()
        self._empty: list[Finding] = []
        self._agent = agent
        self._begun = False

    @property
    def time(self) -> str:
        """When the latest event happened; the beginning of time before there is one."""
        return self.fold.time if self._begun else NO_TIME

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far."""
        return [*self._empty, *self.fold.findings]

    def feed(self, events: bytes | list[Any], cut: RunCut | None, at: str) -> None:
        """Fold the events of one run, with its end. Nothing at all is an answer only of a run that was cut."""
        if not events and cut is None:
            self._empty.append(NO_EVENTS.at(Place(side="server", event=0)))
        recorder = self.fold
        recorder.begin(self._agent, at)
        self._begun = True
        record_events(recorder, events)
        end = (cut.at if cut else None) or later_time(at, recorder.time)
        if cut is not None and cut.error is not None and recorder.state is not RunState.ENDED:
            recorder.feed({"event_kind": "error", "error_text": cut.error, "at": end})
        recorder.interrupt(cut.reason if cut else "network_failure", end)
