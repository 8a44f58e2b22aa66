"""`tpharness show`: look at a trace in the terminal."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape

from tpharness.cli.files import print_json
from tpharness.cli.options import Argument, Option
from tpharness.errors import UsageError
from tpharness.output import write_atomically, write_bytes
from tpharness.picture import (
    MOST_BYTES,
    PicturePage,
    application_sections,
    applications_of_trace,
    entries_of_trace,
    plain_timeline,
    render_page,
    text_html,
)
from tpharness.printable import counted, make_printable, say
from tpharness.report.terminal import make_console
from tpharness.report.trace_lines import Line, case_lines
from tpharness.trace.parting import find_parting
from tpharness.trace.read import Trace, TracedCase, TracedEntry
from tpharness.trace.request import request_lines

__all__ = ["show"]

_MOST_LISTED = 40


def show(
    trace: Annotated[Path, Argument(metavar="TRACE", help="What a run left: a .zip or a folder.")],
    case: Annotated[str | None, Argument(metavar="[CASE]", help="The id of a case in it.")] = None,
    server: Annotated[str, Option(metavar="TARGET", help="The case on this server, of several.")] = "",
    client: Annotated[str, Option(metavar="TARGET", help="The case on this client, of several.")] = "",
    everything: Annotated[bool, Option("--all", help="The whole timeline, and all cases of the list.")] = False,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    html: Annotated[
        str | None, Option("--html", metavar="PATH", help="Write a page of the case, or of all cases.")
    ] = None,
    request: Annotated[
        bool, Option("--request", help="Print the lines that the stdio target was given, to be piped into it.")
    ] = False,
    side: Annotated[str, Option(metavar="server|client", help="Whose lines, where both sides were given some.")] = "",
) -> None:
    """Look at what a run has really played.

    First comes the place where the failing side and the reference part. Without CASE the cases are listed; the only
    case of a trace is shown at once.
    """
    if side not in ("", "server", "client") or (side and not request):
        raise UsageError(f"--side {side!r} is not a side of --request", hint="--request --side server, or client")
    opened = Trace.open(trace)
    with_file = [entry for entry in opened.entries if entry.file]
    entry = opened.find(case, server=server, client=client) if case is not None else None
    if entry is None and len(with_file) == 1:
        entry = with_file[0]
    if request:
        if entry is None:
            raise UsageError("--request prints the lines of one case", hint="tpharness show TRACE CASE --request")
        from tpharness.targets.forms import CONTRACT  # noqa: PLC0415  # nothing else here needs a target

        write_bytes("-", b"".join(request_lines(opened.case(entry), side, contract=CONTRACT)))
        return
    if html is not None:
        _write_page(opened, entry, html)
        return
    if json:
        print_json(_list_json(opened) if entry is None else _case_json(opened.case(entry)))
        return
    lines = _list_lines(opened, whole=everything) if entry is None else case_lines(opened.case(entry), whole=everything)
    out = make_console(soft_wrap=True)
    for style, line in lines:
        text = escape(make_printable(line))
        out.print(f"[{style}]{text}[/]" if style else text)


def _write_page(trace: Trace, entry: TracedEntry | None, path: str) -> None:
    entries, left_out = entries_of_trace(trace, MOST_BYTES, only=entry)
    sections = application_sections("What happened", applications_of_trace(trace, only=entry).values())
    if not entries and not sections:
        raise UsageError(
            f"{trace.name} has no case to show", hint=f"tpharness show {shlex.quote(trace.name)} says what is in it"
        )
    title = trace.name if entry is None else entry.case
    lead = f'<p class="muted">{text_html(str(trace.about["command"]))}</p>'
    plain = [plain_timeline(one.timeline) for one in entries]
    write_atomically(
        path, render_page(PicturePage(title=title, lead=lead, sections=sections, entries=entries, plain=plain))
    )
    if left_out:
        say(f"left out, so that the page stays below 15 MB: {counted(len(left_out), 'case')}; name one", err=True)
    if path != "-":
        say(f"written to {path}")


def _list_lines(trace: Trace, *, whole: bool) -> list[Line]:
    about, entries = trace.about, trace.entries
    lines: list[Line] = [
        (
            "bold",
            f"{trace.name}: {counted(len(entries), 'case')}, {sum(bool(one.file) for one in entries)} with their trace",
        ),
        ("dim", f"  {about['command']}, {about['started_at']}, tpharness {about['tpharness']}"),
    ]
    if trace.end is None:
        lines.append(("yellow", "  the run was broken off: what it had played until then is here"))
    elif trace.end.get("note"):
        lines.append(("yellow", f"  left out: {counted(trace.end['left_out'], 'case')}: {trace.end['note']}"))
    several = len({(one.server, one.client) for one in entries}) > 1
    shown = entries if whole else [one for one in entries if one.file][:_MOST_LISTED]
    alike = Counter(one.like for one in entries if one.like)
    lines += [("", "")]
    for one in shown:
        lines.append(_entry_line(one, alike[one.case], several=several))
    if len(shown) < len(entries):
        lines.append(("dim", f"  … {len(entries) - len(shown)} more (--all lists them)"))
    first = next((one for one in entries if one.file), None)
    if first is not None:
        lines += [("", ""), ("", f"look at one: tpharness show {shlex.quote(trace.name)} {shlex.quote(first.case)}")]
    return lines


def _entry_line(entry: TracedEntry, alike: int, *, several: bool) -> Line:
    pair = f" (server {entry.server}, client {entry.client})" if several else ""
    codes = f"  {', '.join(entry.codes)}" if entry.codes else ""
    more = f", and {alike} alike" if alike else ""
    note = "" if entry.file else f"  [{f'like {entry.like}' if entry.like else entry.left_out}]"
    return "" if entry.file else "dim", f"  {entry.outcome:<8} {entry.case}{pair}{codes}{more}{note}"


def _list_json(trace: Trace) -> dict[str, Any]:
    end = {} if trace.end is None else {"end": dict(trace.end)}
    return {**trace.about, **end, "cases": [_without_empty(asdict(one)) for one in trace.entries]}


def _case_json(case: TracedCase) -> dict[str, Any]:
    """Return a case as JSON values: the place where it goes wrong, both threads there, and all of its lines."""
    parting = find_parting(case)
    threads = {name: case.thread(n) for name, n in (("held", parting.held), ("right", parting.right)) if n is not None}
    step = None if parting.step is None else asdict(parting.step)
    place = {"side": parting.side, "pointer": parting.pointer, "version": parting.version, "step": step, **threads}
    wires = [
        {
            **_without_empty({"side": one.side, "run": one.run, "size": one.size}),
            "text": one.data.decode("utf-8", "backslashreplace"),
        }
        for one in case.wires.values()
    ]
    return {
        **case.about,
        "parting": place,
        "findings": list(case.findings),
        "script": list(case.script),
        "events": [asdict(one) for one in case.events],
        "wires": wires,
        "ends": list(case.ends),
        "moments": [{"kind": one.kind, **one.line} for one in case.moments],
        "left_out": list(case.cuts),
        **({"turns": list(case.turns), "asked": list(case.asked), "tools": list(case.tools)} if case.turns else {}),
    }


def _without_empty(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one not in ("", None)}
