"""Any live stream → a scenario with it, and with the thread fetched after it; or the stream alone.

What the headers say is not written: where a server repeats it in its stream, as many `*` take its place.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Never
from urllib.parse import urlsplit

from tpharness.checking import check, input_file
from tpharness.cli.files import read_json
from tpharness.cli.headers import parse_header
from tpharness.cli.options import Exit
from tpharness.cli.stop_signals import STOP
from tpharness.cli.wires import over
from tpharness.errors import InputError, TargetError, TpharnessError, UsageError
from tpharness.findings import Finding, Level, shorten
from tpharness.output import json_text, write_atomically, write_bytes
from tpharness.printable import counted, say, without_credentials
from tpharness.protocol.versions import Version
from tpharness.run.dispatch import play_one
from tpharness.run.options import RunOptions, side_options
from tpharness.run.plan import base_case
from tpharness.run.record import record_stream
from tpharness.scenario import Scenario, load_scenario, scenario_id, write
from tpharness.targets.capture import MAX_STREAM, THREAD_HINT, CapturedStream, capture, fetch_json
from tpharness.trace.secrets import Secrets, secrets_of
from tpharness.verdict.result import Result
from tpharness.wires.registry import DEFAULT_WIRE, name_wire

__all__ = ["STREAM", "Wanted", "record_live", "say_recorded", "verdict_words", "write_recorded"]

STREAM = ".sse"
"""What the name of a file ends in that has a stream alone."""

_MAX_SOURCE = 160
"""Characters of a URL in a description, which has 200 at most."""
_AG_UI = "ag-ui+"
_TORN = {
    "ag-ui-truncated": "the response ends without RUN_FINISHED or RUN_ERROR",
    "stream-unfinished": "the response ends without finish or abort",
}
"""What is found of a stream that ends before its run does, and what a recording says of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the options of `record` say of a live stream."""

    source: str
    output: Path
    prompts: tuple[str, ...] = ()
    body: Path | None = None
    headers: tuple[str, ...] = ()
    cut_after: int | None = None
    cut_at: str | None = None
    thread: str | None = None


def record_live(wanted: Wanted) -> Never:
    """Record the stream, print what it is, and exit: with 1 if its cut was never reached."""
    url, asked, headers = _ask(wanted)
    if wanted.thread is not None:
        _check_url(wanted.thread, THREAD_HINT)
        if wanted.output.suffix == STREAM:
            raise UsageError("a .sse file has a stream alone", hint="with --thread, name it THEME/NAME.yaml")
    captured, interrupted = _captured(url, asked, headers, wanted.cut_after, wanted.cut_at)
    found = check(captured.data)
    fault, missed = _find_fault(captured, found, url), _missed_cut(captured, wanted.cut_after, wanted.cut_at)
    noted = list(_notes(found, fault, missed))
    secrets = _secrets(url, asked, headers)
    shown = secrets.wire(captured.data)
    if shown != captured.data:
        noted.append("left out: what the headers say, which stood in the stream")
    captured = replace(captured, data=shown)
    lost: TpharnessError | None = None
    if wanted.output.suffix == STREAM:
        _write_stream_alone(captured, secrets.value(asked), wanted.output, noted)
    else:
        keep = partial(_write_stream, captured, wanted.prompts, url, wanted.output)
        recorded = keep({})  # before the thread is fetched: the stream cannot come again
        if wanted.thread is not None:
            try:
                recorded = keep(secrets.value(_thread(wanted.thread, headers)))
            except KeyboardInterrupt:
                STOP.note()
                interrupted = True
            except TpharnessError as error:
                lost = error
        say_recorded(recorded, wanted.output, noted)
    if lost is not None:
        say("NO THREAD the stream is recorded without the server's thread")
    if interrupted:
        if lost is not None:
            say(f"recorded without the thread: {lost}", err=True)
        say("INCOMPLETE what came until the interruption is recorded")
        raise KeyboardInterrupt
    if lost is not None:
        raise lost
    raise Exit(1 if missed else 0)


def say_recorded(recorded: Scenario, output: Path, noted: Sequence[str] = (), *, live: str = "") -> None:
    """Print what was recorded as a scenario, what was noted of it, and the verdicts on it, live and replayed."""
    streams = [run.wire.data for _, run in recorded.runs if run.wire is not None and run.wire.data is not None]
    say(f"recorded {counted(sum(map(len, streams)), 'byte')} in {counted(len(streams), 'stream')} to {output!s}")
    for line in noted:
        say(line)
    if max(map(len, streams), default=0) >= MAX_STREAM:
        say(f"cut after {MAX_STREAM >> 20} MiB, which is all that a scenario holds of a stream")
    if live:
        say(f"live      {live}")
    written = load_scenario(output)
    wire = base_case(written).wire
    (result, *_) = play_one(written, RunOptions(wire=wire))
    say(f"replayed  {verdict_words(result)}{over(wire)}")
    for finding in result.findings:
        say(f"  {finding.line()}")
    named = shlex.join([*side_options("reference", "reference", wire), "--scenarios", str(output)])
    say(f"play it again: tpharness run {named}")


def write_recorded(recorded: Scenario, output: Path) -> None:
    """Write a scenario, and make its folder. InputError if it cannot be made."""
    try:
        output.parent.mkdir(exist_ok=True)
    except OSError as error:
        hint = "name another path, in a folder that you may write"
        raise InputError(f"cannot make the folder {output.parent}: {error.strerror}", hint=hint) from error
    write(recorded, output)


def verdict_words(result: Result) -> str:
    """Return the verdict on a case in a line."""
    codes = ", ".join(sorted({finding.code for finding in result.findings}))
    return f"{result.outcome.value}{f': {codes}' if codes else ''}{f' ({result.reason})' if result.reason else ''}"


def _ask(wanted: Wanted) -> tuple[str, Any, dict[str, str]]:
    """Return the address, what is posted to it, and with which headers. UsageError for what is not an address."""
    headers = dict(map(parse_header, wanted.headers))
    if wanted.source.startswith(_AG_UI):
        from tpharness.cli.record_ag_ui import page_address, page_input  # noqa: PLC0415

        url, login = page_address(wanted.source)
        asked = page_input(url, wanted.prompts) if wanted.body is None else read_json(str(wanted.body))
        return url, asked, {**login, **headers}
    asked = _posted(wanted.prompts, wanted.body)
    _check_url(wanted.source, "a server under test is recorded with --play ID")
    return wanted.source, asked, headers


def _secrets(url: str, asked: Any, headers: Mapping[str, str]) -> Secrets:
    """Return what must not be in a file: values of headers, a login in the address, what forwardedProps call secret."""
    parts = urlsplit(url)
    props = asked.get("forwardedProps") if isinstance(asked, dict) else None
    named = {name: value for name, value in props.items() if isinstance(value, str)} if isinstance(props, dict) else {}
    return Secrets([*secrets_of(headers, named), parts.username or "", parts.password or ""])


def _write_stream_alone(captured: CapturedStream, asked: Any, output: Path, noted: Sequence[str]) -> None:
    """Write the bytes of a stream, and beside one of AG-UI the input that it answers; say what is wrong with them."""
    write_bytes(str(output), captured.data)
    beside = ""
    if name_wire(captured.data) != DEFAULT_WIRE and isinstance(asked, dict):
        written = input_file(output)
        write_atomically(str(written), json_text(asked) + "\n")
        beside = f", and the input that it answers to {written!s}"
    say(f"recorded {counted(len(captured.data), 'byte')} to {output!s}{beside}")
    for line in noted:
        say(line)
    levels = Counter(finding.level for finding in check(output))
    counts = ", ".join(f"{levels[level]} {level.name}" for level in (Level.MUST, Level.SHOULD) if levels[level])
    say(f"checked   {counts or 'nothing is wrong'}", f"check it again: tpharness check {shlex.quote(str(output))}")


def _check_url(url: str, hint: str) -> None:
    """Raise UsageError for what cannot be asked, before anybody is."""
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{shorten(without_credentials(url)) or '(empty)'} is not a URL", hint=hint)


def _captured(
    url: str, body: Any, headers: Mapping[str, str], cut_after: int | None, cut_at: str | None
) -> tuple[CapturedStream, bool]:
    """Return the stream, and whether the user ended it: what came is kept, as if the client had disconnected (R27)."""
    cut = None if cut_at is None else cut_at.encode()
    came = bytearray()
    try:
        return asyncio.run(capture(url, body, headers=headers, cut_after=cut_after, cut_at=cut, into=came)), False
    except KeyboardInterrupt:
        STOP.note()
        if not came:
            raise
        return CapturedStream(data=bytes(came), end="network_failure", server="", cut=True), True


def _find_fault(captured: CapturedStream, found: Sequence[Finding], url: str) -> str:
    """Return how a stream broke off by itself, "" if it did not. TargetError for a stream without an event."""
    codes = {finding.code for finding in found}
    if "stream-without-events" in codes and not captured.cut:
        shown, size = shorten(without_credentials(url)), counted(len(captured.data), "byte")
        why = f"; {captured.fault}" if captured.fault else ""
        raise TargetError(
            f"{shown} answers with {size} without an event of a stream{why}",
            hint="an event is a line data: {…} and an empty line; --body FILE says what is posted",
        )
    if captured.end is None and (codes & _TORN.keys()):
        return captured.fault or _TORN[min(codes & _TORN.keys())]
    return captured.fault


def _notes(found: Sequence[Finding], fault: str, missed: str) -> Iterator[str]:
    """Yield what the replay does not say of a stream, such as what breaks no rule and is not what the server meant."""
    if fault:
        yield f"the stream broke off by itself: {fault}"
    for finding in found:
        if finding.level is Level.SHOULD and finding.code not in _TORN:
            yield f"on the wire: {finding.line()}"
    if missed:
        yield f"NOT CUT {missed}; all that came is recorded"


def _missed_cut(captured: CapturedStream, cut_after: int | None, cut_at: str | None) -> str:
    """Return which place of a cut was never reached, "" where one was or none was asked for."""
    places = [] if cut_after is None else [f"--cut-after {cut_after}"]
    places += [] if cut_at is None else [f"--cut-at {shorten(cut_at)}"]
    missed = places and not captured.cut
    return f"the stream ended at byte {len(captured.data)}, before {' or '.join(places)} was reached" if missed else ""


def _thread(url: str, headers: Mapping[str, str]) -> dict[Version, Any]:
    document = asyncio.run(fetch_json(url, headers))
    said = document.get("version") if isinstance(document, dict) else None
    known = {str(version.value): version for version in Version}
    if not isinstance(said, str) or said not in known:
        shown = shorten(without_credentials(url))
        raise InputError(f"{shown} is not a thread: its version is {shorten(said, 40)}", hint=", ".join(known))
    return {known[said]: document}


def _write_stream(
    captured: CapturedStream, prompts: Sequence[str], source: str, output: Path, threads: Mapping[Version, Any]
) -> Scenario:
    now = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    recorded = record_stream(
        captured,
        prompts,
        scenario_id=scenario_id(output),
        started_at=now,
        source=shorten(without_credentials(source).partition("?")[0], _MAX_SOURCE),
        threads=threads,
    )
    write_recorded(recorded, output)
    return recorded


def _posted(prompts: Sequence[str], body: Path | None) -> Any:
    """Return the body to post: the file's, or that of the AI SDK's chat; None sends a GET request."""
    if body is not None:
        return read_json(str(body))
    if not prompts:
        return None
    messages = [
        {"id": f"user-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
        for number, text in enumerate(prompts, 1)
    ]
    return {"id": "tpharness", "trigger": "submit-message", "messages": messages}
