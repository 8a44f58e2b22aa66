"""`tpharness fold`: a recorded stream → the thread that it produces."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tpharness.cli.files import print_json, read_bytes
from tpharness.dialects import DIALECTS, ThreadHeader, make_registry
from tpharness.errors import InputError, UsageError
from tpharness.facts import later_time
from tpharness.findings import Finding, Kind, Place
from tpharness.journal import Journal
from tpharness.printable import counted, say
from tpharness.protocol.versions import newest_version, parse_version
from tpharness.readings import Readings
from tpharness.scenario.fields import normalize_time
from tpharness.scenario.interrupts import KNOWN_REASONS as _REASONS
from tpharness.server_events import Recorder, RunState
from tpharness.server_events.guide import GuideReader
from tpharness.vsp.assembler import Assembler
from tpharness.vsp.carrier import CARRIER
from tpharness.vsp.sse import SseParser

__all__ = ["NO_EVENTS", "fold", "fold_events", "require_known_reason"]

NO_EVENTS = Kind("stream-without-events")
_QUOTED = re.compile(r'\A"(.*)"\Z', re.DOTALL)


def fold(
    file: Annotated[
        str, typer.Argument(help="A stream (.sse) or server events (.jsonl); - is a stream on standard input.")
    ],
    interrupt: Annotated[
        str | None,
        typer.Option(help="REASON@TIME: how and when the run was cut; error@TIME=TEXT with the text of the error."),
    ] = None,
    after: Annotated[int | None, typer.Option(min=0, help="Only the first N events.")] = None,
    version: Annotated[str, typer.Option(help="The version to write.")] = newest_version().value,
    agent: Annotated[str, typer.Option(help="The agent that ran.")] = "assistant",
    at: Annotated[str, typer.Option(help="When the run began, for a stream without times.")] = "1970-01-01T00:00:00Z",
) -> None:
    """Fold a recorded stream into a thread.

    The thread is printed on standard output; findings go to standard error.
    """
    wanted = parse_version(version)
    if not agent:
        raise UsageError("--agent takes the id of an agent, which is not empty")
    at = _time("--at", at)
    cut = _cut(interrupt)
    folded = fold_events if Path(file).suffix == ".jsonl" else _stream
    journal, findings = folded(read_bytes(file), file, after, cut, agent, at)
    header = ThreadHeader(
        thread_id=f"fold:{Path(file).name}",
        created_at=at,
        agents=make_registry(journal, created_at=at),
    )
    print_json(DIALECTS[wanted].renderer(header, Readings()).render(journal))
    for finding in findings:
        say(finding.with_place(file=file).line(), err=True)
    raise typer.Exit(1 if any(f.level.value == "must" for f in findings) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How a run was cut: the reason, the time if one was given, and the text of an error."""

    reason: str
    at: str | None = None
    error: str | None = None


def _cut(text: str | None) -> Cut | None:
    if text is None:
        return None
    where, stated, error = text.partition("=")
    reason, _, time = where.partition("@")
    if not reason:
        raise UsageError(
            f"--interrupt takes REASON@TIME, not {text!r}", hint="for example user_cancelled@2025-01-20T10:00:15Z"
        )
    require_known_reason(reason)
    if stated and reason != "error":
        raise UsageError(f"--interrupt: {reason} has no text", hint="only an error has one, as in error@TIME=TEXT")
    return Cut(
        reason=reason,
        at=_time("--interrupt", time) if time else None,
        error=_QUOTED.sub(r"\1", error) if stated else None,
    )


def require_known_reason(reason: str) -> None:
    """Raise UsageError for a reason that looks like a misspelt known one; other words are allowed."""
    near = difflib.get_close_matches(reason, _REASONS, n=1, cutoff=0.85)
    if reason not in _REASONS and near:
        raise UsageError(f"unknown reason {reason!r}", hint=f"did you mean {near[0]}?")


def _time(option: str, text: str) -> str:
    time = normalize_time(text)
    if time is None:
        raise UsageError(
            f"{option}: {text!r} is not a time", hint="write it as 2025-01-20T10:00:15Z, with Z or an offset"
        )
    return time


def _stream(
    data: bytes, file: str, after: int | None, cut: Cut | None, agent: str, at: str
) -> tuple[Journal, list[Finding]]:
    assembler = Assembler(agent_id=agent)
    assembler.begin(at)
    if after is not None:
        frames = SseParser().feed(data)
        _within(after, len(frames), file)
        data = data[: frames[after - 1].end] if after else b""
    fed = assembler.feed(data, at)
    end = (cut.at if cut else None) or later_time(at, assembler.time)
    if cut is not None and cut.error is not None and not assembler.turn_ended:
        carrier = {"type": CARRIER, "data": {"timestamp": end}, "transient": True}
        assembler.feed_chunks([carrier, {"type": "error", "errorText": cut.error}], end)
    assembler.close(cut.reason if cut else None, end)
    empty = [NO_EVENTS.at(Place(byte=0), got=data[:40])] if data and not fed else []
    return assembler.journal(), [*empty, *assembler.findings]


def fold_events(
    data: bytes, file: str, after: int | None, cut: Cut | None, agent: str, at: str
) -> tuple[Journal, list[Finding]]:
    """Fold server events, one JSON object a line, into a journal and findings. InputError if a line is not JSON.

    Events of the 0.0.3 guide are read too (R59).
    """
    recorder = Recorder()
    recorder.begin(agent, at)
    lines = [(number, line) for number, line in enumerate(data.splitlines(), start=1) if line.strip()]
    if after is not None:
        _within(after, len(lines), file)
        lines = lines[:after]
    guide = GuideReader()
    for index, (number, line) in enumerate(lines):
        for event in guide.feed(_line(line, file, number)):
            recorder.feed(event, index=index)
    end = (cut.at if cut else None) or later_time(at, recorder.time)
    if cut is not None and cut.error is not None and recorder.state is not RunState.ENDED:
        recorder.feed({"event_kind": "error", "error_text": cut.error, "at": end})
    recorder.interrupt(cut.reason if cut else "network_failure", end)
    return recorder.journal(), recorder.findings


def _within(after: int, count: int, file: str) -> None:
    if after > count:
        raise UsageError(f"--after {after}: {file} has {counted(count, 'event')}")


def _line(line: bytes, file: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}:{number}: not JSON: {error}", hint="one server event on each line") from error
