"""One case on several wires, side by side: what each sends for every step, how each stops, and what each client holds.

In: a case. Out: its timeline over each wire, and a section of HTML, which needs no script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tpharness.errors import InputError
from tpharness.findings import shorten
from tpharness.picture.page import table_html, text_html
from tpharness.picture.plain import event_words
from tpharness.picture.tables import Tables
from tpharness.picture.timeline import differences_in_words, timeline_of_case
from tpharness.protocol.versions import Version
from tpharness.run.applicable import over_wire
from tpharness.run.plan import Case
from tpharness.scenario.outline import outline
from tpharness.wires.registry import wire_named

__all__ = ["side_by_side_html", "timelines_over"]

_MOST_STEPS = 400
_WIDTH = 240

Timeline = Mapping[str, Any]


def timelines_over(
    case: Case, wires: Sequence[str], *, version: Version | None = None, reason: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return the timeline of a case over each wire. InputError for one that gives a stream of another wire."""
    found = {}
    for wire in wires:
        played, why = over_wire(case, wire) if wire != case.wire else (case, "")
        if why:
            raise InputError(f"{case.id} cannot be shown over {wire}: {why}", hint="leave --wire away")
        name = f"{case.id} over {wire}"
        found[wire] = {**timeline_of_case(played, version=version, reason=reason), "id": name}
    return found


def side_by_side_html(name: str, timelines: Mapping[str, Timeline]) -> str:
    """Return a table with a row for each step of the case and a column for each wire, and what the clients hold."""
    steps = [list(_steps(timeline)) for timeline in timelines.values()]
    together = list(zip(*steps, strict=True))[:_MOST_STEPS]
    rows = [(text_html(same[0][0]), *(frames for _, frames in same)) for same in together]
    heads = ("what happens", *(text_html(f"{wire}: {wire_named(wire).title}") for wire in timelines))
    caption = f"{name}, on {len(timelines)} wires"
    left = max(map(len, steps)) - _MOST_STEPS
    more = f"<p>{left} more steps are left out here; the timelines below have all.</p>" if left > 0 else ""
    return table_html(heads, rows, caption=caption) + more + _held_html(timelines)


def _steps(timeline: Timeline) -> Iterator[tuple[str, str]]:
    """Yield each step in words, with the frames that it put on the wire, as HTML."""
    number = 0

    def step_of(row: Mapping[str, Any]) -> int:
        nonlocal number
        if row["kind"] != "more":
            number += 1
        return number

    for _, some in groupby(timeline["rows"], key=step_of):
        rows = list(some)
        yield _step_words(rows[0]), "".join(map(_frame_html, rows)) or "–"


def _step_words(row: Mapping[str, Any]) -> str:
    match row["kind"]:
        case "event":
            return f"{row['index'] + 1} {event_words(row.get('event'))}"
        case "user":
            return "the user writes"
        case "begin":
            return "the stream begins"
        case "end":
            why = (row.get("event") or {}).get("interrupted")
            return f"cut: {why}" if why else "the stream ends"
        case _:
            return ""


def _frame_html(row: Mapping[str, Any]) -> str:
    """Return a frame; one that the client did not get is struck through."""
    if "frame" not in row:
        return ""
    text = text_html(shorten(str(row["frame"]).removeprefix("data: ").strip(), _WIDTH))
    shown = f"<del>{text}</del>" if row.get("lost") or "broken" in row else text
    return f"<div><code>{shown}</code></div>"


def _held_html(timelines: Mapping[str, Timeline]) -> str:
    """Return what the client holds at the end over each wire, and where the threads differ."""
    threads = {wire: _last_thread(timeline) for wire, timeline in timelines.items()}
    lines = {wire: outline(thread) for wire, thread in threads.items()}
    rows = [
        (text_html(wire), "".join(f"<div>{text_html(line)}</div>" for line in some)) for wire, some in lines.items()
    ]
    (first, one), *others = threads.items()
    found = [
        f"<li>{text_html(each['at'])}: {text_html(each['text'])}</li>"
        for wire, other in others
        for each in differences_in_words(one, other, names=(first, wire), mode=timelines[first]["mode"])
    ]
    verdict = (
        f'<p class="verdict bad">the threads differ</p><ul>{"".join(found)}</ul>'
        if found
        else '<p class="verdict good">the client holds the same thread over each wire</p>'
    )
    return verdict + table_html(("wire", "the client's thread in the end"), rows, caption="What the client holds")


def _last_thread(timeline: Timeline) -> Mapping[str, Any]:
    row = next(row for row in reversed(timeline["rows"]) if row.get("client", -1) >= 0)
    return Tables.from_json(timeline["tables"]).build(row["client"])
