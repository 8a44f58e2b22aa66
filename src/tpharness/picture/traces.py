"""A traced case → its timeline: what was really played, and beside each thread the one that the reference makes of it.

In: a case of a trace. Out: a timeline whose rows have, besides `server` and `client`, the threads that the two should
hold (`right`), by side. A target under test is asked once, at its end: before that a row has only what it should hold.
Where a side departs in the end, the last row says how (`departs`), and the timeline names the side (`departing`) and
the row at which it and the reference part (`parts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from tpharness.picture.page import PageEntry
from tpharness.picture.rows import Play
from tpharness.picture.tables import json_bytes
from tpharness.picture.timeline import as_timeline, differences_in_words
from tpharness.protocol.compare import Mode
from tpharness.protocol.versions import Version, newest_version
from tpharness.trace.parting import find_parting
from tpharness.trace.read import ServerEvent, Trace, TracedCase, TracedStep, TracedWire
from tpharness.trace.read import TracedEntry as TraceEntry
from tpharness.wires.sse.frames import split_frames

__all__ = ["entries_of_trace", "finding_of_trace", "timeline_of_trace"]

Row = dict[str, Any]
_SIDES = ("server", "client")


def timeline_of_trace(case: TracedCase) -> dict[str, Any]:
    """Return the timeline of a traced case. InputError if its threads are not in the trace."""
    about = case.about
    version = next((one for one in Version if one.value == about.get("version")), newest_version())
    play = Play(version=version)
    parting = find_parting(case)
    parts: int | None = None
    mode: Mode = "content" if about.get("compare") == "content" else "exact"
    now: dict[str, TracedStep] = {}
    for line in case.script:
        turn = line["turn"]
        if "user" in line:
            user = line["user"]
            row: Row = {"kind": "user", "at": user["at"], "event": {"parts": user["parts"]}}
            play.rows.append({**row, "turn": turn})
            continue
        for row in _run_rows(case, line):
            for side in _SIDES:
                _advance(now, case.steps_of(side, line["run"]), row, side)
            _hold(play, case, row, now)
            if parts is None and parting.step is not None and now.get(parting.side) == parting.step:
                parts = len(play.rows)
            play.rows.append({**row, "turn": turn})
    departing = _finish(play, case, mode)
    note = f"What was really played on {_name(case, 'server')} and {_name(case, 'client')}."
    return as_timeline(
        case.entry.case,
        play,
        mode=mode,
        title=about["description"],
        clauses=list(about["clauses"]),
        rulings=list(about["rulings"]),
        turn=next((line["turn"] for line in case.script if "run" in line), None),
        departing=departing,
        parts=parts,
        traced=" ".join([note, *(f"Left out: {cut}." for cut in case.cuts)]),
    )


def _name(case: TracedCase, side: str) -> str:
    about = case.about[side]
    if case.is_reference(side):
        return "the reference"
    named, declared = (case.entry.server if side == "server" else case.entry.client), str(about["name"])
    return declared if named in ("", declared) else f"{named} ({declared})"


def _run_rows(case: TracedCase, line: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the rows of one run: its events, and beside them the frames that the server says belong to them."""
    run = line["run"]
    sent, got = case.wires.get(("server", run)), case.wires.get(("client", run))
    events = [event for event in case.events if event.run == run]
    frames = list(_frames(sent or got, None if got is None else got.size))
    begin: Row = {"kind": "begin", "at": line["started_at"], "event": {"agent_id": line["agent_id"]}}
    cut = line.get("interruption")
    end: Row = {"kind": "end", "at": (cut or line).get("at", line["started_at"])}
    if cut is not None:
        end["event"] = {"interrupted": cut["reason"]}
    if any(event.offset is not None for event in events):
        yield from _beside(begin, events, end, frames)
        return
    yield begin
    for event, frame in zip_longest(events, frames):
        yield {**({"kind": "chunk", "at": begin["at"]} if event is None else _event_row(event)), **(frame or {})}
    yield end


def _beside(begin: Row, events: Sequence[ServerEvent], end: Row, frames: Sequence[Row]) -> Iterator[Row]:
    left = list(frames)
    starts = [event.offset for event in events if event.offset is not None]
    last = max(event.offset + event.size for event in events if event.offset is not None)
    steps = [(begin, starts[0])]
    for event in events:
        until = steps[-1][1] if event.offset is None else event.offset + event.size
        steps.append((_event_row(event), max(until, steps[-1][1])))
    steps.append((end, max(last, left[-1]["to"] if left else 0)))
    for step, until in steps:
        mine = []
        while left and left[0]["from"] < until:
            mine.append(left.pop(0))
        yield {**step, **(mine[0] if mine else {})}
        for frame in mine[1:]:
            yield {"kind": "more", "at": step["at"], **frame}


def _event_row(event: ServerEvent) -> Row:
    return {"kind": "event", "at": str(event.event.get("at", "")), "index": event.index, "event": dict(event.event)}


def _frames(wire: TracedWire | None, seen: int | None) -> Iterator[Row]:
    """Yield the frames of a stream; `seen` is how many of its bytes the client was given, None if it is not known."""
    offset = 0
    for frame in split_frames(wire.data) if wire is not None else ():
        row: Row = {"frame": frame.decode("utf-8", "backslashreplace"), "from": offset, "to": offset + len(frame)}
        if seen is not None and offset >= seen:
            row["lost"] = True
        elif seen is not None and offset + len(frame) > seen:
            row["broken"] = seen - offset
        offset += len(frame)
        yield row


def _advance(now: dict[str, TracedStep], steps: Sequence[TracedStep], row: Row, side: str) -> None:
    """Take the last step that a side has made up to a row: by events for the server, by bytes for the client."""
    if row["kind"] == "end":
        passed = list(steps)
    elif side == "server":
        passed = [step for step in steps if "index" in row and step.event <= row["index"] + 1]
    else:
        passed = [step for step in steps if step.offset is not None and "to" in row and step.offset <= row["to"]]
    if passed:
        now[side] = passed[-1]


def _hold(play: Play, case: TracedCase, row: Row, now: Mapping[str, TracedStep]) -> None:
    for side, step in now.items():
        if step.held is not None:
            row[side] = play.tables.thread(case.thread(step.held), side)
        if step.right is not None:
            row.setdefault("right", {})[side] = play.tables.thread(case.thread(step.right), f"right {side}")


def _finish(play: Play, case: TracedCase, mode: Mode) -> list[str]:
    """Note in the last row what both sides hold in the end; return the sides that depart from what they should hold."""
    departing = []
    if not play.rows:
        play.rows.append({"kind": "end", "turn": 0, "at": ""})
    last = play.rows[-1]
    for final in case.finals:
        if final.version != play.version.value or final.held is None:
            continue
        held = case.thread(final.held)
        last[final.side] = play.tables.thread(held, final.side)
        if final.right is None:
            continue
        right = case.thread(final.right)
        last.setdefault("right", {})[final.side] = play.tables.thread(right, f"right {final.side}")
        words = differences_in_words(held, right, names=(final.side, "right"), mode=mode)
        if words:
            departing.append(final.side)
            gone = [line for line in case.dropped if line["side"] == final.side]
            words += [{"at": "", "text": f"The cut takes {one['what']} away.", "cites": one["why"]} for one in gone]
            last.setdefault("departs", {})[final.side] = words
    return departing


def entries_of_trace(trace: Trace, most: int, only: TraceEntry | None = None) -> tuple[list[PageEntry], list[str]]:
    """Return the cases of a trace, or `only` one, as entries of a page, and the ids of those that do not fit.

    `most` is how many characters of JSON they may have in all.
    """
    entries: list[PageEntry] = []
    left_out: list[str] = []
    pairs = {(one.server, one.client) for one in trace.entries}
    for one in trace.entries:
        if not one.file or only not in (None, one):
            continue
        case = trace.case(one)
        if case.turns:  # of a chat application, whose turns are not a timeline (`applications`)
            continue
        timeline = timeline_of_trace(case)
        name = one.case if len(pairs) == 1 else f"{one.case} ({one.server}, {one.client})"
        most -= json_bytes(timeline)
        if most < 0:
            left_out.append(name)
            continue
        findings = [finding_of_trace(finding) for finding in case.findings]
        green = not any(finding["level"] == "must" for finding in findings) or one.outcome == "expected"
        entries.append(
            PageEntry(
                timeline={**timeline, "id": name},
                outcome=one.outcome,
                green=green,
                results=[{"id": one.case, "findings": findings}],
            )
        )
    return entries, left_out


def finding_of_trace(finding: Mapping[str, Any]) -> dict[str, Any]:
    """Return a finding of a trace as a page shows it: with its place in words."""
    place = finding["place"]
    order = ("file", "line", "column", "side", "pointer", "event", "byte")
    words = [
        f"{name} {place[name]}" if name in ("event", "byte") else str(place[name]) for name in order if name in place
    ]
    return {**finding, "place": " ".join(words), "side": place.get("side", "")}
