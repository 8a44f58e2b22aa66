"""`tpharness record`: a live stream, and the thread fetched after it → a scenario."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from tpharness.checking import check
from tpharness.cli.files import read_json
from tpharness.cli.options import Argument, Exit, Option
from tpharness.cli.stop_signals import STOP
from tpharness.errors import InputError, TargetError, TpharnessError, UsageError
from tpharness.findings import Level, shorten
from tpharness.printable import counted, say, without_credentials
from tpharness.protocol.versions import Version
from tpharness.resources import scenarios_dir
from tpharness.run.case_ids import case_of
from tpharness.run.dispatch import play_one
from tpharness.run.options import RunOptions
from tpharness.run.play import PlayedCase
from tpharness.run.record import record_case, record_stream
from tpharness.run.select import select_scenarios
from tpharness.run.session import Session
from tpharness.scenario import Scenario, load_scenario, scenario_id, write
from tpharness.targets.capture import MAX_STREAM, THREAD_HINT, CapturedStream, capture, fetch_json
from tpharness.verdict.result import Result

__all__ = ["record"]

_MAX_SOURCE = 160
"""Characters of a URL in a description, which has 200 at most."""


def record(
    source: Annotated[str, Argument(help="The URL of a stream; with --play a server: peer:NAME, http://…")],
    output: Annotated[
        Path, Option("--output", "-o", help="The scenario file to write, THEME/NAME.yaml; the folder THEME is made.")
    ],
    play_id: Annotated[
        str | None, Option("--play", metavar="ID", help="Let a server under test play this case.")
    ] = None,
    scenarios: Annotated[list[Path] | None, Option(help="Folders with your own scenarios, for --play.")] = None,
    prompt: Annotated[list[str] | None, Option(help="What the user says; posted as useChat posts it.")] = None,
    body: Annotated[Path | None, Option(help="A JSON file to post instead.")] = None,
    header: Annotated[list[str] | None, Option(help="A header, 'Name: value'; may be given again.")] = None,
    cut_after: Annotated[int | None, Option(min=0, help="Disconnect after this many bytes.")] = None,
    cut_at: Annotated[str | None, Option(help="Disconnect right after the first occurrence of this text.")] = None,
    thread: Annotated[str | None, Option(metavar="URL", help="Fetch the server's thread from here afterwards.")] = None,
    force: Annotated[bool, Option("--force", help="Replace the file if there is one.")] = False,
) -> None:
    """Record a live stream as a scenario.

    It prints the verdicts on the live stream and on its replay. Ctrl-C ends a stream and keeps what came of it.
    """
    _check_output(output, force)
    interrupted, missed = False, ""
    noted: list[str] = []
    lost: TpharnessError | None = None
    if play_id is not None:
        _refuse_with_play(prompt=prompt, body=body, header=header, cut_after=cut_after, cut_at=cut_at, thread=thread)
        recorded, live = _played(source, play_id, scenarios, output)
        _write(recorded, output)
    else:
        headers = dict(map(_header, header or ()))
        asked = _posted(prompt, body)
        _check_url(source, "a server under test is recorded with --play ID")
        if thread is not None:
            _check_url(thread, THREAD_HINT)
        captured, interrupted = _captured(source, asked, headers, cut_after, cut_at)
        fault, missed = _find_fault(captured, source), _missed_cut(captured, cut_after, cut_at)
        noted = list(_notes(captured, fault, missed))
        keep = partial(_write_stream, captured, prompt or [], source, output)
        recorded, live = keep({}), None  # before the thread is fetched: the stream cannot come again
        if thread is not None:
            try:
                recorded = keep(_thread(thread, headers))
            except KeyboardInterrupt:
                STOP.note()
                interrupted = True
            except TpharnessError as error:
                lost = error
    streams = [run.wire.data for _, run in recorded.runs if run.wire is not None and run.wire.data is not None]
    say(f"recorded {counted(sum(map(len, streams)), 'byte')} in {counted(len(streams), 'stream')} to {output!s}")
    for line in noted:
        say(line)
    if max(map(len, streams), default=0) >= MAX_STREAM:
        say(f"cut after {MAX_STREAM >> 20} MiB, which is all that a scenario holds of a stream")
    if live is not None:
        say(f"live      {_verdict(live)}")
    (result, *_) = play_one(load_scenario(output), RunOptions())
    say(f"replayed  {_verdict(result)}")
    for finding in result.findings:
        say(f"  {finding.line()}")
    say(f"play it again: tpharness run --scenarios {shlex.quote(str(output))}")
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


def _check_output(output: Path, force: bool) -> None:
    """Raise UsageError for a file that could not be written in the end, before anything is asked of anybody."""
    if output.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{output} is not a scenario file", hint="name it THEME/NAME.yaml")
    above = output.absolute().parent.parent
    if not above.is_dir():
        raise UsageError(f"the folder {above} does not exist", hint="make the folder first, or correct the path")
    if output.exists() and not force:
        raise UsageError(f"{output} exists", hint="name another file, or replace it with --force")


# ------------------------------------------------------------------------------------------------ a server under test


def _refuse_with_play(**given: object) -> None:
    """Raise UsageError for an option that says what a case says."""
    for name, value in given.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} does not go with --play", hint="the case says what is asked and where it is cut"
            )


def _played(source: str, name: str, scenarios: list[Path] | None, output: Path) -> tuple[Scenario, Result]:
    found = select_scenarios((name,), tuple(scenarios) if scenarios else (scenarios_dir(),))
    if len(found) != 1:
        some = ", ".join(one.id for one in found[:3])
        raise UsageError(f"{name!r} names {len(found)} scenarios, and one is recorded", hint=f"for example {some}")
    scenario = load_scenario(found[0].path, root=found[0].root)
    seen: list[PlayedCase] = []
    with Session(server=source) as session:
        adapted, reason = session.run(session.adapt(scenario))
        if reason:
            raise UsageError(f"{scenario.id} does not apply to {source}: {reason}")
        case = case_of(adapted.scenario, name, adapted.versions, session.players)
        live = session.run(session.play_case(case, observe=seen.append))
        declared = session.players.server.capabilities
    if not seen:
        raise UsageError(f"{source} did not play {case.id}: {_verdict(live)}", hint="`tpharness run` says more")
    if seen[0].served is None or seen[0].recorded:
        raise UsageError(f"{case.id} gives the stream itself: a server has nothing to play")
    return record_case(case, declared, seen[0].served, scenario_id(output)), live


# ------------------------------------------------------------------------------------------------ any stream


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


def _find_fault(captured: CapturedStream, url: str) -> str:
    """Return how a stream broke off by itself, "" if it did not. TargetError for a stream without an event."""
    codes = {finding.code for finding in check(captured.data)}
    if "stream-without-events" in codes and not captured.cut:
        shown, size = shorten(without_credentials(url)), counted(len(captured.data), "byte")
        why = f"; {captured.fault}" if captured.fault else ""
        raise TargetError(
            f"{shown} answers with {size} without an event of a stream{why}",
            hint="an event is a line data: {…} and an empty line; --body FILE says what is posted",
        )
    unfinished = captured.end is None and "stream-unfinished" in codes
    return captured.fault or ("the response ends without finish or abort" if unfinished else "")


def _notes(captured: CapturedStream, fault: str, missed: str) -> Iterator[str]:
    """Yield what the replay does not say of a stream, such as what breaks no rule and is not what the server meant."""
    if fault:
        yield f"the stream broke off by itself: {fault}"
    for finding in check(captured.data):
        if finding.level is Level.SHOULD and finding.code != "stream-unfinished":
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
    captured: CapturedStream, prompts: list[str], source: str, output: Path, threads: Mapping[Version, Any]
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
    _write(recorded, output)
    return recorded


def _write(recorded: Scenario, output: Path) -> None:
    try:
        output.parent.mkdir(exist_ok=True)
    except OSError as error:
        hint = "name another path, in a folder that you may write"
        raise InputError(f"cannot make the folder {output.parent}: {error.strerror}", hint=hint) from error
    write(recorded, output)


def _posted(prompt: list[str] | None, body: Path | None) -> Any:
    """Return the body to post: the file's, or that of the AI SDK's chat; None sends a GET request."""
    if body is not None:
        return read_json(str(body))
    if not prompt:
        return None
    messages = [
        {"id": f"user-{number}", "role": "user", "parts": [{"type": "text", "text": text}]}
        for number, text in enumerate(prompt, 1)
    ]
    return {"id": "tpharness", "trigger": "submit-message", "messages": messages}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError(f"{shorten(text)} is not a header", hint="write 'Name: value'")
    return name.strip(), value.strip()


def _verdict(result: Result) -> str:
    codes = ", ".join(sorted({finding.code for finding in result.findings}))
    return f"{result.outcome.value}{f': {codes}' if codes else ''}{f' ({result.reason})' if result.reason else ''}"
