"""Recorded streams and server events → threads: what `tpharness fold` prints, and what tests of applications compare.

In: what the user said, and the bytes, chunks or server events of each answer. Out: the thread, and what was found on
the way. Files are read; nothing is asked of a network, a clock or chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from tpharness.dialects import DIALECTS, ThreadHeader, make_registry
from tpharness.document_files import NO_TIME, event_lines, is_of_server, read_event, read_file
from tpharness.errors import UsageError
from tpharness.facts import is_time, later_time
from tpharness.findings import Finding, Place
from tpharness.journal import Journal, UserTurn
from tpharness.printable import counted
from tpharness.protocol.reasons import Reason, refuse_misspelt_reason
from tpharness.protocol.versions import Version, VersionName, newest_version, parse_version
from tpharness.readings import Readings
from tpharness.wires.checked import NO_EVENTS
from tpharness.wires.contract import Reader, Wire
from tpharness.wires.registry import default_wire, recognize, recognize_events
from tpharness.wires.sse.parser import SseParser

__all__ = [
    "Folded",
    "Piece",
    "RunCut",
    "fold",
    "fold_stream",
    "render",
    "within",
]

Piece = str | bytes | Path | Sequence[Mapping[str, Any]]
"""What a conversation is folded from: a text is what the user said, everything else an answer."""


_BODY = re.compile(
    r"\s*(?:(?:event|id|retry)?: ?[^\n]*\n\s*)*data: ?(?:\{\"|\[DONE\])"  # server-sent events
    r"|\s*\{(?:\"type\": ?\"start|[^\n]*\"event_kind\": ?\")"  # a chunk or a server's event on each line
)
"""How the body of a stream begins, and hardly anything that a person says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCut:
    """How a run was cut: the reason, the time if one was given, and the text of an error."""

    reason: str
    at: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The thread of a conversation and the findings about its streams. There is always a thread, even with findings."""

    thread: dict[str, Any]
    findings: tuple[Finding, ...] = ()


def fold(
    *pieces: Piece,
    interrupted: Reason | None = None,
    version: Version | VersionName | None = None,
    agent: str = "assistant",
    at: str = NO_TIME,
) -> Folded:
    """Fold a conversation into its thread, as a client does that keeps every rule.

    Each piece is a turn, in order. A `str` is what the user said. An answer is a stream as `bytes` (the body of a
    response), as a list of its chunks, or a list of server events; a `Path` is a file with either, `.jsonl` for events.
    `interrupted` says that the last answer was cut, and why: `user_cancelled`, `network_failure`, … (R27). Without it a
    stream that ends too early ended as its bytes say. `at` (ISO 8601) is the time of everything that does not state one
    itself; `version` is that of the thread, the newest if None; `agent` answers until the stream names another one.

    InputError for a file that cannot be read; UsageError for a piece of another type, an unknown version, a misspelt
    reason, an `at` that is not a time, or streams and server events in one conversation, since these are two sides.
    """
    if interrupted is not None:
        refuse_misspelt_reason(interrupted)
    if not is_time(at):
        raise UsageError(f"at is {at!r}, which is not a time", hint="write it as 2025-01-20T10:00:15Z")
    wanted = version if isinstance(version, Version) else parse_version(version) if version else newest_version()
    for piece in pieces:
        _refuse_stream_as_text(piece)
    answers = [None if isinstance(piece, str) else _answer(piece) for piece in pieces]
    sides = {is_of_server(piece, answer) for piece, answer in zip(pieces, answers, strict=True) if answer is not None}
    if len(sides) > 1:
        raise UsageError(
            "a conversation has streams and server events",
            hint="fold each side by itself, and compare the threads: assert_same_thread(server, client)",
        )
    side = _server_side(agent) if sides == {True} else _ClientSide(agent, _wire_of(answers))
    last = max((i for i, answer in enumerate(answers) if answer is not None), default=-1)
    for index, (piece, answer) in enumerate(zip(pieces, answers, strict=True)):
        if answer is None:
            said = {"part_kind": "user-prompt", "content": piece}
            side.fold.add_user_turn(UserTurn(at=later_time(at, side.time), parts=(said,)))
        else:
            cut = RunCut(reason=interrupted) if interrupted and index == last else None
            side.feed(answer, cut, later_time(at, side.time))
    journal = side.fold.journal()
    return Folded(thread=render(journal, wanted, "fold", at), findings=tuple(side.findings))


def _server_side(agent: str) -> Any:
    """Return what folds server events, which a conversation of streams does not need."""
    return resolve_name("tpharness.server_folding:ServerSide")(agent)


def _wire_of(answers: Iterable[bytes | list[Any] | None]) -> Wire:
    """Return the wire of the streams. UsageError if they are not all of one."""
    found = (recognize(one) if isinstance(one, bytes) else recognize_events(one) for one in answers if one)
    wires = {wire.name: wire for wire in found}
    if len(wires) > 1:
        raise UsageError(
            f"a conversation has streams of several wires: {', '.join(wires)}",
            hint="fold the streams of one server, each conversation by itself",
        )
    return next(iter(wires.values()), default_wire())


def render(journal: Journal, version: Version, thread_id: str, at: str) -> dict[str, Any]:
    """Return the thread of a journal, with a registry of the agents that the journal names."""
    header = ThreadHeader(thread_id=thread_id, created_at=at, agents=make_registry(journal, created_at=at))
    return dict(DIALECTS[version].renderer(header, Readings()).render(journal))


def fold_stream(
    data: bytes, file: str, after: int | None, cut: RunCut | None, agent: str, at: str
) -> tuple[Journal, list[Finding]]:
    """Fold the bytes of one stream, all or the first `after` events, into a journal and findings.

    UsageError where it has fewer events.
    """
    side = _ClientSide(agent, recognize(data))
    if after is not None:
        frames = SseParser().feed(data)
        within(after, len(frames), file)
        data = data[: frames[after - 1].end] if after else b""
    side.feed(data, cut, at)
    return side.fold.journal(), [] if after == 0 else side.findings


class _ClientSide:
    """What a client makes of streams, all of one wire."""

    def __init__(self, agent: str, wire: Wire) -> None:
        self._wire = wire
        self.fold: Reader = wire.open_reader(agent_id=agent)
        self._empty: list[Finding] = []

    @property
    def time(self) -> str:
        """When the latest chunk happened; the beginning of time before there is one."""
        return self.fold.time or NO_TIME

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far."""
        return [*self._empty, *self.fold.findings]

    def feed(self, answer: bytes | list[Any], cut: RunCut | None, at: str) -> None:
        """Fold one stream, with its end. Nothing at all is an answer only of a run that was cut."""
        self.fold.begin(at)
        if not answer and cut is None:
            self._empty.append(NO_EVENTS.at(Place(byte=0)))
        data = answer if isinstance(answer, bytes) else self._wire.encode(answer)
        if not self.fold.feed(data, at) and data:
            self._empty.append(NO_EVENTS.at(Place(byte=0), got=data[:40]))
        if not isinstance(answer, bytes) and self.fold.turn_ended:  # a list of events has no end marker
            self.fold.feed(self._wire.end, at)
        end = (cut.at if cut else None) or later_time(at, self.fold.time)
        if cut is not None and cut.error is not None and not self.fold.turn_ended:
            self.fold.fail(cut.error, end)
        self.fold.close(cut.reason if cut else None, end)


def _refuse_stream_as_text(piece: object) -> None:
    """UsageError for a text that is the body of a response: it would be taken for what the user said."""
    if isinstance(piece, str) and _BODY.match(piece):
        raise UsageError(
            "a str is what the user said, and this one is a stream",
            hint="give the stream as bytes: response.content instead of response.text, or text.encode()",
        )


def _answer(piece: Any) -> bytes | list[Any]:
    """Return an answer as the bytes of its stream, or as a list of its chunks or events."""
    if isinstance(piece, Path):
        data = read_file(piece)
        of_server = is_of_server(piece, data)
        return [read_event(line, str(piece), number) for number, line in event_lines(data)] if of_server else data
    if isinstance(piece, bytes | bytearray | memoryview):
        return bytes(piece)
    if isinstance(piece, Iterable) and not isinstance(piece, Mapping):
        chunks = list(piece)
        if all(isinstance(chunk, Mapping) for chunk in chunks):
            return [dict(chunk) for chunk in chunks]
    raise UsageError(
        f"a conversation is not folded from {type(piece).__name__}",
        hint="give a str for what the user said, and for each answer bytes, a Path, or a list of chunks or events",
    )


def within(after: int, count: int, file: str) -> None:
    """UsageError if a stream has fewer events than the first `after` of which are to be folded."""
    if after > count:
        hint = f"give a number from 0 to {count}; without --after all of it is folded"
        raise UsageError(f"--after {after}: {file} has {counted(count, 'event')}", hint=hint)
