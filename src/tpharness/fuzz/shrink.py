"""From a failure to the smallest one of the same cause.

In: a subject that fails, and a question whether another one fails in the same way. Out: a subject that does, smaller.
First Hypothesis shrinks the choices that the generator drew, then what is left is made shorter as what it is: turns,
events, frames, fields and letters are left out while the answer stays yes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import Phase, find, settings
from hypothesis.database import DirectoryBasedExampleDatabase, choices_to_bytes
from hypothesis.errors import NoSuchExample

from tpharness.fuzz.judging import Subject
from tpharness.fuzz.source import Source
from tpharness.fuzz.strategies import drawn
from tpharness.scenario import AgentRun, ClientCut, CutUnit, Interrupt, Scenario, UserTurn, Wire

__all__ = ["fewest", "shrink_choices", "smaller"]

_T = TypeVar("_T")
Question = Callable[[Any], bool]


def shrink_choices(
    make: Callable[[Source], _T], choices: Sequence[int], fails: Callable[[_T], bool], folder: Path, key: str
) -> _T | None:
    """Let Hypothesis shrink what the generator made of these choices; None when it does not fail so for Hypothesis.

    The choices are put into Hypothesis's example database in `folder`, where the smallest failing ones stay as well, so
    that a later call begins with those.
    """
    database = DirectoryBasedExampleDatabase(folder)
    name = key.encode()
    database.save(name, choices_to_bytes(choices))
    wanted = settings(
        database=database, phases=(Phase.reuse, Phase.shrink), max_examples=1_000, deadline=None, derandomize=False
    )
    try:
        return find(drawn(make), fails, settings=wanted, database_key=name)
    except NoSuchExample:
        return None


def smaller(subject: Subject, fails: Question, *, patience: int = 400) -> Subject:
    """Return the subject without what it can do without; at most so many others are asked about."""
    asked = _Bounded(fails, patience)
    while True:
        for other in _simpler(subject):
            if asked(other):
                subject = other
                break
        else:
            return subject


class _Bounded:
    """A question that is answered with no once it has been asked often enough."""

    def __init__(self, fails: Question, patience: int) -> None:
        self._fails = fails
        self._left = patience

    def __call__(self, subject: Any) -> bool:
        self._left -= 1
        return self._left >= 0 and self._fails(subject)


def fewest(items: Sequence[_T]) -> Iterator[list[_T]]:
    """Yield the items without a run of them: the longest runs first, then shorter ones, from the back."""
    size = len(items)
    while size:
        for begin in range(len(items) - size, -1, -size):
            yield [*items[:begin], *items[begin + size :]]
        size //= 2


def _simpler(subject: Subject) -> Iterator[Subject]:
    if isinstance(subject, Scenario):
        yield from _scenarios(subject)
    elif isinstance(subject, str):
        yield from ("\n".join(lines) for lines in fewest(subject.split("\n")))
    else:
        yield from _values(subject)


# ------------------------------------------------------------------------------------------------ scenarios


def _scenarios(scenario: Scenario) -> Iterator[Scenario]:
    if len(scenario.versions) > 1:
        yield from (replace(scenario, versions=(version,)) for version in reversed(scenario.versions))
    for turns in fewest(scenario.turns):
        if turns:
            yield replace(scenario, turns=tuple(turns))
    for index, turn in enumerate(scenario.turns):
        for other in _users(turn) if isinstance(turn, UserTurn) else _runs(turn):
            yield replace(scenario, turns=(*scenario.turns[:index], other, *scenario.turns[index + 1 :]))


def _users(turn: UserTurn) -> Iterator[UserTurn]:
    simple = ({"part_kind": "user-prompt", "content": "Hi"},)
    if turn.parts != simple:
        yield replace(turn, parts=simple)


def _runs(run: AgentRun) -> Iterator[AgentRun]:
    if run.interrupt is not None:
        yield replace(run, interrupt=None)
    for kept in fewest(range(len(run.events or ()))):
        yield _with_events(run, kept)
    for index, event in enumerate(run.events or ()):
        for other in _values(dict(event)):
            if other.get("event_kind") == event.get("event_kind"):
                events = run.events or ()
                yield replace(run, events=(*events[:index], other, *events[index + 1 :]))
    wire = run.wire
    if wire is not None and wire.chunks is not None:
        for chunks in fewest(wire.chunks):
            yield replace(run, wire=Wire(chunks=tuple(chunks)))
        for index, chunk in enumerate(wire.chunks):
            for other in _values(dict(chunk)):
                if other.get("type") == chunk.get("type"):
                    yield replace(run, wire=Wire(chunks=(*wire.chunks[:index], other, *wire.chunks[index + 1 :])))
    if wire is not None and wire.data is not None:
        chunks_said = _as_chunks(wire.data)
        if chunks_said is not None:
            yield replace(run, wire=Wire(chunks=chunks_said))
        for frames in fewest(wire.data.split(b"\n\n")):
            yield replace(run, wire=Wire(data=b"\n\n".join(frames)))
        yield from (replace(run, wire=Wire(data=data)) for data in _shorter_frames(wire.data))


def _with_events(run: AgentRun, kept: Sequence[int]) -> AgentRun:
    """Return the run with these of its events; what an interruption counts is counted anew."""
    events = run.events or ()
    cut = run.interrupt
    return replace(
        run,
        events=tuple(events[index] for index in kept),
        labels={},
        interrupt=None if cut is None else _recounted(cut, kept),
    )


def _recounted(cut: Interrupt, kept: Sequence[int]) -> Interrupt:
    def before(count: int) -> int:
        return sum(index < count for index in kept)

    client = cut.client_after
    if client is not None and client.unit is CutUnit.EVENT:
        client = ClientCut(unit=CutUnit.EVENT, count=before(client.count))
    server = None if cut.server_after is None else before(cut.server_after)
    return replace(cut, server_after=server, client_after=client)


def _as_chunks(data: bytes) -> tuple[dict[str, Any], ...] | None:
    """Return a stream as chunks, which a person reads more easily; None when there is more to it than those."""
    chunks = []
    for frame in data.split(b"\n\n"):
        if frame in (b"", b"data: [DONE]"):
            continue
        try:
            value = json.loads(frame.removeprefix(b"data: "))
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        chunks.append(value)
    return tuple(chunks)


def _shorter_frames(data: bytes) -> Iterator[bytes]:
    """Yield the stream with the JSON of one of its events made simpler."""
    frames = data.split(b"\n\n")
    for index, frame in enumerate(frames):
        try:
            value = json.loads(frame.removeprefix(b"data: "))
        except ValueError:
            continue
        if isinstance(value, dict):
            for other in _values(value):
                text = json.dumps(other, separators=(",", ":")).encode()
                yield b"\n\n".join([*frames[:index], b"data: " + text, *frames[index + 1 :]])


# ------------------------------------------------------------------------------------------------ JSON values


def _values(value: Any) -> Iterator[Any]:
    """Yield simpler values in the place of one: without a part of it, or with a part of it made simpler."""
    if isinstance(value, dict):
        for keys in fewest(list(value)):
            yield {key: value[key] for key in keys}
        for key, item in value.items():
            yield from ({**value, key: other} for other in _values(item))
    elif isinstance(value, list):
        yield from fewest(value)
        for index, item in enumerate(value):
            yield from ([*value[:index], other, *value[index + 1 :]] for other in _values(item))
    elif isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[len(value) // 2 :]
    elif isinstance(value, int | float) and not isinstance(value, bool) and value not in (0, 1):
        yield 0
        yield 1
