"""A traced case as lines for a person: first where the failing side and the reference part, then everything in order.

In: a case of a trace. Out: lines with a style of `rich`. Nothing is printed here, and no line is made fit for a
terminal: who prints them does so.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.clauses import clause_texts, load_rulings
from tpharness.errors import TpharnessError
from tpharness.findings import Place, shorten
from tpharness.printable import counted
from tpharness.protocol.compare import Mode
from tpharness.protocol.diff import diff
from tpharness.report.trace_app_lines import app_lines
from tpharness.scenario.outline import outline
from tpharness.trace.parting import Parting, find_parting
from tpharness.trace.read import Chunk, ServerEvent, TracedCase, TracedWire

__all__ = ["Line", "case_lines", "event_line", "parting_lines", "timeline_lines"]

Line = tuple[str, str]
"""A style and a text."""

_AROUND = 3
_MOST_DIFFERENCES = 4
_WIDE = 110


def case_lines(case: TracedCase, *, whole: bool = False) -> list[Line]:
    """Return all lines of a case. A long timeline is shown around the place where the sides part, or `whole`."""
    about = case.about
    parting = find_parting(case)
    who = ("application", "posts") if case.turns else ("server", "client")
    lines: list[Line] = [
        ("bold red" if about["outcome"] not in _GREEN else "bold green", f"{about['outcome'].upper()} {about['id']}"),
        ("", f"  {about.get('description', '')}"),
        ("dim", f"  {who[0]} {_player(case, 'server')}, {who[1]} {_player(case, 'client')}"),
    ]
    lines += [("", f"  {about['reason']}")] if about.get("reason") else []
    lines += [("dim", f"  {about['played']}")] if about.get("played") else []
    lines += _application_lines(case) if case.turns else parting_lines(case, parting)
    lines += timeline_lines(case, None if whole else parting)
    lines += _moment_lines(case)
    lines += [("", ""), ("bold", "left out")] if case.cuts else []
    lines += [("dim", f"  {cut}") for cut in case.cuts]
    return lines


def _application_lines(case: TracedCase) -> Iterator[Line]:
    for finding in case.findings:
        yield "", ""
        yield from _finding_lines(finding)
        yield from ((("", f"    at        {finding['place']['side']}"),) if "side" in finding["place"] else ())
    yield from app_lines(case)


_PLACE = frozenset(one.name for one in dataclasses.fields(Place))
_GREEN = ("passed", "expected", "no-part", "not-applicable")


def _player(case: TracedCase, side: str) -> str:
    player = case.about[side]
    named = case.entry.server if side == "server" else case.entry.client
    said = f"{player['name']} {player.get('version', '')}".strip()
    return named if named == said else f"{named} ({said})"


# ---------------------------------------------------------------------------------------------------- where they part


def parting_lines(case: TracedCase, parting: Parting) -> list[Line]:
    """Return where a side parts from the reference: the finding, the place on the wire, both threads, what decides."""
    finding = parting.finding
    if finding is None and parting.held == parting.right:
        return [("", ""), ("green", "both sides hold the right thread: nothing parts")]
    lines: list[Line] = [("", "")]
    if finding is not None:
        more = len(case.findings) - 1
        lines.append(("bold", "where it goes wrong" + (f" (the first of {more + 1} findings)" if more else "")))
        lines += _finding_lines(finding)
    lines += _place_lines(case, parting)
    lines += _thread_lines(case, parting)
    return lines


def _finding_lines(finding: Mapping[str, Any]) -> Iterator[Line]:
    yield "red", f"  {finding['code']}: {finding['message']}"
    place = {name: value for name, value in (finding.get("place") or {}).items() if name in _PLACE and name != "case"}
    if place:
        yield "", f"    at        {Place(**place)}"
    if finding.get("versions"):
        yield "", f"    in        {', '.join(finding['versions'])}"
    for word in ("got", "expected"):
        if word in finding:
            yield "", f"    {word:<10}{finding[word]}"
    texts, rulings = clause_texts(), load_rulings()
    for clause in finding.get("clauses", ()):
        yield "", f"    because   {clause}: {texts.get(clause, '')}"
    for ruling in finding.get("rulings", ()):
        yield "", f"    decided   {ruling}: {rulings[ruling].title if ruling in rulings else ''}"
    if finding.get("for_user"):
        yield "", f"    for user  {finding['for_user']}"
    if finding.get("remedy"):
        yield "", f"    to do     {finding['remedy']}"


def _place_lines(case: TracedCase, parting: Parting) -> Iterator[Line]:
    step = parting.step
    if step is None:
        return
    wire = case.wires.get((parting.side, step.run)) or case.wires.get(("client", step.run))
    what = "event" if parting.side == "server" else "chunk"
    at = "" if step.offset is None else f", byte {step.offset} of its wire"
    where = f"after {what} {step.event - 1}" if step.event else "before the first one"
    yield "", ""
    yield "bold", f"the place: run {step.run}, {where} of the {parting.side}{at}"
    events = [event for event in case.events if event.run == step.run]
    if parting.side == "server" or step.offset is None:
        yield from _marked(events, step.event - 1, lambda event: event_line(event.event))
        chunks = _chunks_of(wire, events, step.event - 1)
        if wire is not None and chunks:
            yield "dim", "    which put on the wire"
            for chunk in chunks[:_AROUND]:
                yield "cyan", f"      {chunk.offset:>6} {_chunk_text(wire, chunk)}"
    elif wire is not None:
        last = max((chunk.index for chunk in wire.chunks if chunk.offset < step.offset), default=-1)
        yield from _marked(list(wire.chunks), last, lambda chunk: f"{chunk.offset:>6} {_chunk_text(wire, chunk)}")


def _chunks_of(wire: TracedWire | None, events: Sequence[ServerEvent], index: int) -> list[Chunk]:
    found = next((event for event in events if event.index == index and event.offset is not None), None)
    if wire is None or found is None or found.offset is None:
        return []
    return [chunk for chunk in wire.chunks if found.offset <= chunk.offset < found.offset + found.size]


def _marked(items: Sequence[Any], at: int, text: Any) -> Iterator[Line]:
    """Yield the items around one, which is marked."""
    for number in range(max(0, at - _AROUND), min(len(items), at + _AROUND + 1)):
        mark, style = (">", "bold yellow") if number == at else (" ", "")
        yield style, f"  {mark} {number:>4} {text(items[number])}"


def _thread_lines(case: TracedCase, parting: Parting) -> Iterator[Line]:
    """Yield both threads, what is only in one of them marked, and the differences in words."""
    if parting.held is None:
        return
    held = case.thread(parting.held)
    mine = outline(held)
    yield "", ""
    if parting.right is None or parting.right == parting.held:
        yield "bold", f"the thread of the {parting.side} in the end, {parting.version}"
        for line in mine:
            yield "", f"    {line}"
        return
    right = case.thread(parting.right)
    theirs = outline(right)
    for name, lines, others in ((parting.side, mine, theirs), ("reference", theirs, mine)):
        yield "bold", f"the {name} holds, {parting.version}"
        for line in lines:
            other = line not in others
            yield ("red" if other and lines is mine else "green" if other else ""), f"  {'>' if other else ' '} {line}"
    for one in case.dropped:
        if one["side"] == parting.side:
            ruling = load_rulings().get(one["why"])
            title = f": {ruling.title}" if ruling is not None else ""
            yield "", f"    the cut takes {one['what']} away ({one['why']}{title})"
    mode: Mode = "exact" if case.about.get("compare") == "exact" else "content"
    try:
        differences = diff(right, held, names=("reference", parting.side), mode=mode)
    except (TpharnessError, LookupError, TypeError, ValueError, AttributeError) as error:
        yield "dim", f"    the threads cannot be compared: {error}"
        return
    for difference in differences[:_MOST_DIFFERENCES]:
        yield "", f"    {difference.pointer}"
        yield "", f"      {difference.text}{f' [{difference.cites}]' if difference.cites else ''}"
    if len(differences) > _MOST_DIFFERENCES:
        yield "dim", f"    … and {counted(len(differences) - _MOST_DIFFERENCES, 'more difference')}"


# ---------------------------------------------------------------------------------------------------- the timeline

_LONG = 120
_WINDOW = 30


def timeline_lines(case: TracedCase, around: Parting | None) -> list[Line]:
    """Return what was asked, what went over the wire, and what each side held from there on.

    A timeline of more than 120 lines is shown around a place, if one is given.
    """
    lines: list[tuple[int, Line]] = []  # with a rank: 1 for the place itself
    runs = sorted({line["run"] for line in case.script if "run" in line} | {run for _, run in case.wires})
    for line in case.script:
        if "user" in line:
            said = [part.get("content") for part in line["user"].get("parts", ()) if isinstance(part, Mapping)]
            lines.append((0, ("magenta", f"  user submits {shorten(said, 80)}")))
        elif "run" in line:
            lines += _run_lines(case, line["run"], around)
            runs.remove(line["run"])
    for run in runs:
        lines += _run_lines(case, run, around)
    place = next((number for number, (rank, _) in enumerate(lines) if rank), 0)
    shown = [line for _, line in lines]
    if around is not None and len(shown) > _LONG:
        first, last = max(0, place - _WINDOW), min(len(shown), place + _WINDOW)
        before = [("dim", f"  … {counted(first, 'line')} before (--all shows them)")] if first else []
        after = (
            [("dim", f"  … {counted(len(shown) - last, 'line')} after (--all shows them)")] if last < len(shown) else []
        )
        shown = [*before, *shown[first:last], *after]
    head = "the server's events, the wire (<-, x- where the client is not given it), what is held from there on (=>)"
    if case.turns:
        head = "the streams as the client read them"
    return [("", ""), ("bold", head), *shown] if shown else []


def _run_lines(case: TracedCase, run: int, around: Parting | None) -> list[tuple[int, Line]]:
    """Return the lines of one run: events with the chunks that they put on the wire, and the threads that change."""
    step = None if around is None else around.step
    here = None if step is None or step.run != run or around is None else (around.side, step.event)
    lines: list[tuple[int, Line]] = []
    wire, given = _whole_wire(case, run)
    held = _Held(case)
    left = list(wire.chunks) if wire is not None else []
    server = case.steps_of("server", run)
    client = case.steps_of("client", run)
    events = [event for event in case.events if event.run == run]
    lines += held.lines("server", [one for one in server if one.event == 0])
    for event in events:
        rank = int(here == ("server", event.index + 1))
        lines.append((rank, ("bold yellow" if rank else "", f"  {event.index:>4} {event_line(event.event)}")))
        end = None if event.offset is None else event.offset + event.size
        while wire is not None and end is not None and left and left[0].offset < end:
            lines += _chunk_lines(left.pop(0), wire, given, held, client, here)
        lines += held.lines("server", [one for one in server if one.event == event.index + 1])
    while wire is not None and left:
        lines += _chunk_lines(left.pop(0), wire, given, held, client, here)
    end_line = next((one for one in case.ends if one["run"] == run), None)
    if end_line is not None:
        lines.append((0, ("magenta", f"       the client's stream ends: {end_line['reason'] or 'plainly'}")))
        lines += held.lines("client", client[-1:])
    return lines


def _whole_wire(case: TracedCase, run: int) -> tuple[TracedWire | None, int]:
    """Return the stream as the server sent it, and how much of it the client was given.

    Where the client was given another one, such as the scenario's own, it is that one.
    """
    server, client = case.wires.get(("server", run)), case.wires.get(("client", run))
    if server is not None and (client is None or server.data.startswith(client.data)):
        return server, server.size if client is None else client.size
    return client, 0 if client is None else client.size


def _chunk_lines(
    chunk: Chunk, wire: TracedWire, given: int, held: _Held, client: Sequence[Any], here: tuple[str, int] | None
) -> list[tuple[int, Line]]:
    rank = int(here == ("client", chunk.index + 1))
    arrow = "<-" if chunk.offset < given else "x-"  # what the client was not given
    text = f"         {arrow} {chunk.offset:>6} {_chunk_text(wire, chunk)}"
    end = chunk.offset + chunk.size
    steps = [one for one in client[:-1] if one.offset is not None and chunk.offset < one.offset <= end]
    return [(rank, ("bold yellow" if rank else "cyan", text)), *held.lines("client", steps)]


class _Held:
    """What each side was last shown to hold, so that only changes are shown."""

    def __init__(self, case: TracedCase) -> None:
        self._case = case
        self._seen: dict[str, list[str]] = {}

    def lines(self, side: str, steps: Sequence[Any]) -> list[tuple[int, Line]]:
        """Return the lines that are new in the outlines of the threads of these steps."""
        found: list[tuple[int, Line]] = []
        for step in steps:
            for name, number in ((side, step.held), (f"reference beside the {side}", step.right)):
                if number is None or (number == step.held and name != side):
                    continue
                now = outline(self._case.thread(number))
                before = self._seen.get(name, [])
                new = [line for line in now if line not in before] or (["(nothing)"] if before and not now else [])
                self._seen[name] = now
                found += [(0, ("green", f"         => {name}: {line}")) for line in new]
        return found


def event_line(event: Mapping[str, Any]) -> str:
    """Return a server event on one line: its kind, and its other fields as JSON, shortened."""
    kept = {k: v for k, v in event.items() if k not in ("event_kind", "at", "index") and v is not None}
    return (
        f"{event.get('event_kind')!s:<22} {shorten(json.dumps(kept, ensure_ascii=False), 90) if kept else ''}".rstrip()
    )


def _chunk_text(wire: TracedWire, chunk: Chunk) -> str:
    data = wire.chunk_bytes(chunk)
    text = data.decode("utf-8", "backslashreplace").rstrip() if data else f"({counted(chunk.size, 'byte')} left out)"
    return shorten(text, _WIDE)


# ---------------------------------------------------------------------------------------------------- when


def _moment_lines(case: TracedCase) -> list[Line]:
    """Return what was seen of a target outside this process, with the milliseconds since the case began."""
    if not case.moments:
        return []
    lines: list[Line] = [("", ""), ("bold", "what was asked, and when (ms since the case began)")]
    moved = 0
    for moment in case.moments[:_MOST_MOMENTS]:
        line = moment.line
        if moment.kind == "moved":
            way = "arrived" if line["way"] == "read" else "was sent"
            text = f"{way}: bytes {line['offset']} to {line['offset'] + line['size']} of run {line['run']}"
            moved += 1
        elif moment.kind == "stderr":
            text = f"standard error of {moment.what}: {line['text']}"
        else:
            status = f" {line['status']}" if "status" in line else ""
            body = line.get("note") or (shorten(line["body"], 90) if "body" in line else "")
            text = f"{moment.kind}{status}: {moment.what} {body}".rstrip()
        lines.append(("red" if moment.kind == "stderr" else "", f"  {moment.t * 1000:>9.1f}  {text}"))
    if len(case.moments) > _MOST_MOMENTS:
        lines.append(("dim", f"  … and {len(case.moments) - _MOST_MOMENTS} more (--json has them all)"))
    return lines


_MOST_MOMENTS = 60
