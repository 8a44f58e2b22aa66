"""A trace → its cases, for whoever shows them: `show`, a page for a browser, other programs.

    trace = Trace.open(Path("tpharness-trace.zip"))
    case = trace.case("chat/cancelled")
    case.events, case.wires[("client", 0)].data, case.steps, case.thread(case.steps[0].held)

Every line is checked against the published schemas, so that what is returned has the shape that is promised, whoever
wrote the file. InputError names the file and the line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tpharness.errors import InputError, UsageError, did_you_mean
from tpharness.trace.container import Container
from tpharness.trace.format import FORMAT, INDEX, decode_line, find_misfit

__all__ = [
    "Chunk",
    "Final",
    "ServerEvent",
    "Trace",
    "TracedCase",
    "TracedEntry",
    "TracedMoment",
    "TracedPacket",
    "TracedStep",
    "TracedWire",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedEntry:
    """A case in the index. `file` is "" where it was left out; `like` is then the traced case that stands for it."""

    case: str
    server: str
    client: str
    outcome: str
    codes: tuple[str, ...]
    file: str = ""
    like: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    """An event that the server was given. `offset` is None where the server does not say which bytes belong to it."""

    run: int
    index: int
    event: Mapping[str, Any]
    offset: int | None = None
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedPacket:
    """Bytes that were sent or read together. `at` is the time of the script, `t` that of the clock."""

    offset: int
    size: int
    at: str = ""
    t: float | None = None
    event: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One frame of a stream; `type` is that of its chunk, "" where it has none."""

    index: int
    offset: int
    size: int
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedWire:
    """The bytes of one run: what the server sent, or what the client was given. `size` counts those left out too."""

    side: str
    run: int
    size: int
    data: bytes
    packets: Sequence[TracedPacket] = ()
    chunks: Sequence[Chunk] = ()

    def chunk_bytes(self, chunk: Chunk) -> bytes:
        """Return the bytes of a chunk, as far as they were kept."""
        return self.data[chunk.offset : chunk.offset + chunk.size]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedStep:
    """What a side holds from here on, if it is interrupted here: until its next step nothing changes.

    `offset` counts bytes of its wire, None where the server does not say which belong to an event; `event` counts
    the events that the server has played, or the chunks that the client has read. `held` and `right` are numbers of
    threads: what the side holds, and what the reference holds that was given the same; None where it is not known,
    as within a server that cannot be asked before its end.
    """

    side: str
    run: int
    offset: int | None
    event: int
    held: int | None
    right: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Final:
    """What a side holds in the end in one version, and what the reference holds."""

    side: str
    version: str
    held: int | None
    right: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedMoment:
    """Something that was seen `t` seconds after the case began: a line `asked`, `answered`, `moved` or `stderr`."""

    t: float
    kind: str
    what: str
    line: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCase:
    """One case. `about` is its first line; `wires` are by side and run; `cuts` say what is left out of the trace.

    `dropped` says what the reference does not keep of the last turn, by side, and why. `turns`, `asked` and `tools`
    are the lines `app-turn`, `app-model` and `app-tool` of a case of a chat application, which has no script.
    """

    entry: TracedEntry
    about: Mapping[str, Any]
    findings: Sequence[Mapping[str, Any]]
    script: Sequence[Mapping[str, Any]]
    events: Sequence[ServerEvent]
    wires: Mapping[tuple[str, int], TracedWire]
    ends: Sequence[Mapping[str, Any]]
    moments: Sequence[TracedMoment]
    steps: Sequence[TracedStep]
    finals: Sequence[Final]
    dropped: Sequence[Mapping[str, Any]]
    cuts: Sequence[str]
    turns: Sequence[Mapping[str, Any]]
    asked: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    _pool: _Pool = field(repr=False)

    def thread(self, number: int) -> dict[str, Any]:
        """Return a thread by its number. Threads share their turns and messages: do not change them."""
        return self._pool.thread(number)

    def is_reference(self, side: str) -> bool:
        """Whether a side was played by the embedded reference."""
        return bool(self.about[side]["reference"])

    def steps_of(self, side: str, run: int | None = None) -> list[TracedStep]:
        """Return the steps of a side, in order; of all runs if `run` is None."""
        return [step for step in self.steps if step.side == side and run in (None, step.run)]


class _Pool:
    """Messages, turns and threads by number. A number that nothing has is an InputError."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.lines: dict[str, dict[int, Mapping[str, Any]]] = {"message": {}, "turn": {}, "thread": {}}
        self._turns: dict[int, Any] = {}
        self._threads: dict[int, dict[str, Any]] = {}

    def thread(self, number: int) -> dict[str, Any]:
        if number not in self._threads:
            line = self._find("thread", number)
            self._threads[number] = {**line["thread"], "turns": [self._turn(one) for one in line["turns"]]}
        return self._threads[number]

    def _turn(self, number: int) -> Any:
        if number not in self._turns:
            line = self._find("turn", number)
            turn = line["turn"]
            if "messages" in line and isinstance(turn, Mapping):
                turn = {**turn, "messages": [self._find("message", one)["message"] for one in line["messages"]]}
            self._turns[number] = turn
        return self._turns[number]

    def _find(self, kind: str, number: int) -> Mapping[str, Any]:
        line = self.lines[kind].get(number)
        if line is None:
            raise InputError(f"{self._what} has no {kind} {number}", hint="the trace was cut off, or changed")
        return line


class Trace:
    """A trace. `about` is the first line of its index; `end` the last one, None if the run was broken off."""

    def __init__(
        self,
        container: Container,
        about: Mapping[str, Any],
        entries: Sequence[TracedEntry],
        end: Mapping[str, Any] | None,
    ) -> None:
        self._container = container
        self.name = container.name
        self.about = about
        self.entries = entries
        self.end = end

    @classmethod
    def open(cls, path: Path, data: bytes | None = None) -> Trace:
        """Open a trace, or the bytes of its archive if they were read already. InputError for anything else."""
        container = Container(path, data)
        about: Mapping[str, Any] | None = None
        entries: list[TracedEntry] = []
        end = None
        for line in _lines(container, INDEX, "trace-index"):
            match line.pop("kind"):
                case "trace":
                    about = about or line
                case "entry":
                    entries.append(TracedEntry(**{**line, "codes": tuple(line["codes"])}))
                case _:
                    end = line
        if about is None:
            raise InputError(
                f"{path} is not a trace of the format {FORMAT}", hint="its index begins with a line that says so"
            )
        return cls(container, about, entries, end)

    def find(self, name: str, *, server: str = "", client: str = "") -> TracedEntry:
        """Return the case of that id, on these targets if several pairs have played it. UsageError without one."""
        found = [
            one
            for one in self.entries
            if one.case == name and server in ("", one.server) and client in ("", one.client)
        ]
        if not found:
            hint = did_you_mean(
                name, [one.case for one in self.entries], f"tpharness show {shlex.quote(self.name)} lists its cases"
            )
            raise UsageError(f"{self.name} has no case {name}", hint=hint)
        return next((one for one in found if one.file), found[0])

    def case(self, entry: TracedEntry | str) -> TracedCase:
        """Read a case. UsageError if it has no file, InputError if the file is not as it should be."""
        one = self.find(entry) if isinstance(entry, str) else entry
        if not one.file:
            hint = (
                f"look at {one.like}, which fails alike" if one.like else "run it alone: tpharness run ID --trace all"
            )
            raise UsageError(f"{one.case} was left out of {self.name}: {one.left_out or 'it has no file'}", hint=hint)
        return _read_case(self._container, one)

    def cases(self) -> Iterator[TracedCase]:
        """Read every case that has a file, one after the other."""
        for entry in self.entries:
            if entry.file:
                yield self.case(entry)


def _lines(container: Container, name: str, schema: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a member. What a killed run left of the last line is not one."""
    data = container.read(name)
    texts = data.split(b"\n")
    texts.pop()
    for number, text in enumerate(texts, start=1):
        try:
            line = decode_line(text)
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{container.name}: {name}:{number} is not JSON: {error}", hint="the file is damaged"
            ) from None
        misfit = find_misfit(schema, line)
        if misfit:
            raise InputError(
                f"{container.name}: {name}:{number} does not fit {schema}.schema.json: {misfit}",
                hint="was it written by another version of tpharness?",
            )
        yield line


def _read_case(container: Container, entry: TracedEntry) -> TracedCase:
    pool = _Pool(f"{container.name}: {entry.file}")
    by_kind: dict[str, list[dict[str, Any]]] = {}
    moments: list[TracedMoment] = []
    for line in _lines(container, entry.file, "trace-case"):
        kind = line.pop("kind")
        if kind in pool.lines:
            pool.lines[kind][line["n"]] = line
        elif kind in ("asked", "answered", "moved", "stderr"):
            moments.append(TracedMoment(t=line["t"], kind=kind, what=line["what"], line=line))
        else:
            by_kind.setdefault(kind, []).append(line)
    if len(by_kind.get("case", ())) != 1:
        raise InputError(f"{container.name}: {entry.file} does not say which case it is", hint="the file is damaged")
    return TracedCase(
        entry=entry,
        about={**by_kind["case"][0], "id": entry.case, "outcome": entry.outcome},
        findings=by_kind.get("finding", []),
        script=by_kind.get("script", []),
        events=[ServerEvent(**line) for line in by_kind.get("event", ())],
        wires=_wires(container, by_kind),
        ends=by_kind.get("end", []),
        moments=sorted(moments, key=lambda moment: moment.t),
        steps=[TracedStep(**{"event": 0, **line}) for line in by_kind.get("step", ())],
        finals=[Final(**line) for line in by_kind.get("final", ())],
        dropped=by_kind.get("dropped", []),
        cuts=[line["what"] for line in by_kind.get("cut", ())],
        turns=by_kind.get("app-turn", []),
        asked=by_kind.get("app-model", []),
        tools=by_kind.get("app-tool", []),
        _pool=pool,
    )


def _wires(container: Container, by_kind: Mapping[str, list[dict[str, Any]]]) -> dict[tuple[str, int], TracedWire]:
    packets: dict[tuple[str, int], list[TracedPacket]] = {}
    chunks: dict[tuple[str, int], list[Chunk]] = {}
    for line in by_kind.get("packet", ()):
        packets.setdefault((line.pop("side"), line.pop("run")), []).append(TracedPacket(**line))
    for line in by_kind.get("chunk", ()):
        chunks.setdefault((line.pop("side"), line.pop("run")), []).append(Chunk(**line))
    wires = {}
    for line in by_kind.get("wire", ()):
        key = line["side"], line["run"]
        wires[key] = TracedWire(
            side=key[0],
            run=key[1],
            size=line["size"],
            data=container.read(line["file"])[: line["kept"]],
            packets=packets.get(key, ()),
            chunks=chunks.get(key, ()),
        )
    return wires
