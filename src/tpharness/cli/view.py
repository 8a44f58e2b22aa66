"""`tpharness view`: recordings, threads and scenarios as a page to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tpharness.cli.files import check_stdin_once, read_bytes
from tpharness.cli.options import Argument, Option
from tpharness.errors import InputError, UsageError
from tpharness.output import write_atomically
from tpharness.picture import (
    MOST_BYTES,
    PageEntry,
    PicturePage,
    application_sections,
    applications_of_trace,
    case_of_file,
    entries_of_trace,
    is_scenario,
    plain_timeline,
    render_page,
    side_by_side_html,
    text_html,
    timeline_of_file,
    timelines_over,
)
from tpharness.printable import counted, say
from tpharness.protocol.reasons import refuse_misspelt_reason
from tpharness.protocol.versions import parse_version
from tpharness.trace.format import INDEX
from tpharness.trace.read import Trace
from tpharness.wires.registry import WIRES, wire_named

__all__ = ["view"]

_NOUNS = {"must": "error", "should": "warning"}
_LEAD = "as tpharness reads it: drag the cut, or move it with the arrow keys"


def view(
    files: Annotated[
        list[str],
        Argument(help="Streams (.sse), server events (.jsonl), scenarios (.yaml), threads (.json), traces."),
    ],
    output: Annotated[
        str | None,
        Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The page to write [default: the first file's name with .html]; - is standard output.",
        ),
    ] = None,
    version: Annotated[str | None, Option(help="The version of the threads [default: the newest].")] = None,
    wire: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="Over which wire scenarios are shown: vsp, ag-ui, or all, side by side [default: their own, or vsp].",
        ),
    ] = None,
    at: Annotated[
        str | None,
        Option(metavar="PLACE", help="Cut scenarios at this place of their sweep, such as event-12 [default: none]."),
    ] = None,
    reason: Annotated[
        str | None,
        Option(help="Why a stream is cut, such as user_cancelled [default: network_failure, or the scenario's]."),
    ] = None,
) -> None:
    """Write a page that shows a recording, a thread or a scenario.

    It has a timeline whose cut can be dragged, and the threads that both sides would hold there. It is one file that
    needs no network.
    """
    check_stdin_once(files)
    if reason is not None:
        refuse_misspelt_reason(reason)
    wanted = None if version is None else parse_version(version)
    if (wire or at) and not any(map(is_scenario, files)):
        option = "--wire" if wire else "--at"
        raise UsageError(f"{option} is for scenarios", hint="a recorded stream is what it is; leave the option away")
    wires = tuple(WIRES) if wire == "all" else () if wire is None else (wire_named(wire).name,)
    entries: list[PageEntry] = []
    sections: list[str] = []
    for name in files:
        if Path(name).suffix == ".zip" or Path(name, INDEX).is_file():
            trace = Trace.open(Path(name))
            traced, left_out = entries_of_trace(trace, MOST_BYTES)
            entries += traced
            sections += application_sections("What happened", applications_of_trace(trace).values())
            if left_out:
                say(f"{name}: left out, so that the page stays small: {counted(len(left_out), 'case')}", err=True)
        elif wires and is_scenario(name):
            case = case_of_file(name, version=wanted, place=at or "")
            timelines = timelines_over(case, wires, version=wanted, reason=reason)
            entries += [PageEntry(timeline=timeline) for timeline in timelines.values()]
            if len(wires) > 1:
                sections.append(side_by_side_html(case.id, timelines))
        else:
            timeline = timeline_of_file(name, read_bytes(name), version=wanted, reason=reason, place=at or "")
            entries.append(PageEntry(timeline=timeline))
    if not entries and not sections:
        raise InputError(f"{files[0]} has no case to show", hint="`tpharness show` says what is in a trace")
    names = ", ".join(Path(name).name for name in files)
    page = PicturePage(
        title=names if len(files) < 4 else f"{len(files)} files",
        lead=_verdict(entries) + f'<p class="muted">{text_html(_LEAD)}</p>' if entries else "",
        sections=sections,
        entries=entries,
        plain=[plain_timeline(entry.timeline) for entry in entries],
    )
    path = output or (Path(files[0]).name.removesuffix(Path(files[0]).suffix) + ".html" if files[0] != "-" else "-")
    write_atomically(path, render_page(page))
    if path != "-":
        say(f"written to {path}")


def _verdict(entries: Sequence[PageEntry]) -> str:
    """Return what was found in the files, as HTML; nothing if all of them are cases of a trace, which have verdicts."""
    files = [entry for entry in entries if not entry.outcome]
    if not files:
        return ""
    levels = Counter(
        found["level"] for entry in files for row in entry.timeline["rows"] for found in row.get("found", ())
    )
    counts = [counted(levels[level], noun) for level, noun in _NOUNS.items() if levels[level]]
    colour = "bad" if levels["must"] else "warn" if levels["should"] else "good"
    return f'<p class="verdict {colour}">{", ".join(counts) or "nothing is wrong"}</p>'
