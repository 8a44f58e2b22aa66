"""Shrink a failure to a small one of the same cause.

In: a subject that fails, and a function that says whether another one fails in the same way. Out: a smaller one.
Turns, events, frames, fields and characters are removed while the answer stays yes. Hypothesis, which shrinks what a
generator drew, is slower here and leaves more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tpharness.explore.generate.kinds import Subject
from tpharness.explore.shrinking.events import make_consistent, removable_groups, simplify_texts
from tpharness.explore.shrinking.values import shorter_lists, simplify_values
from tpharness.scenario import AgentRun, ClientCut, CutUnit, GivenStream, Interrupt, Scenario, UserInput
from tpharness.wires.sse.frames import split_frames
from tpharness.wires.vsp.encode import DONE

__all__ = ["shrink"]


def shrink(subject: Subject, fails: Callable[[Any], bool], *, patience: int = 3000) -> Subject:
    """Return a smaller subject that still fails; tries at most `patience` others."""
    first, shorter = 0, False
    while True:
        for number, other in enumerate(_simplify(subject)):
            # What could not be removed is tried again in the next round only: else every step would start again.
            if number < first:
                continue
            patience -= 1
            if patience < 0:
                return subject
            if fails(other):
                subject, first, shorter = other, number, True
                break
        else:
            if not shorter:
                return subject
            first, shorter = 0, False


def _simplify(subject: Subject) -> Iterator[Subject]:
    if isinstance(subject, Scenario):
        yield from _simplify_scenario(subject)
    elif isinstance(subject, str):
        yield from ("\n".join(lines) for lines in shorter_lists(subject.split("\n")))
    else:
        yield from simplify_values(subject)


# ------------------------------------------------------------------------------------------------ scenarios


def _simplify_scenario(scenario: Scenario) -> Iterator[Scenario]:
    if len(scenario.versions) > 1:
        yield from (replace(scenario, versions=(version,)) for version in reversed(scenario.versions))
    for turns in shorter_lists(scenario.turns):
        if turns:
            yield replace(scenario, turns=tuple(turns))
    for index, turn in enumerate(scenario.turns):
        for other in _simplify_user(turn) if isinstance(turn, UserInput) else _simplify_run(turn):
            yield replace(scenario, turns=(*scenario.turns[:index], other, *scenario.turns[index + 1 :]))


def _simplify_user(turn: UserInput) -> Iterator[UserInput]:
    simple = ({"part_kind": "user-prompt", "content": "Hi"},)
    if turn.parts != simple:
        yield replace(turn, parts=simple)


def _simplify_run(run: AgentRun) -> Iterator[AgentRun]:
    if run.interrupt is not None:
        yield replace(run, interrupt=None)
    events = run.events or ()
    for gone in removable_groups(events):
        yield _with_events(run, [index for index in range(len(events)) if index not in gone])
    for index, event in enumerate(events):
        for other in simplify_texts(event):
            yield replace(run, events=make_consistent((*events[:index], other, *events[index + 1 :])))
    wire = run.wire
    if wire is not None and wire.chunks is not None:
        for chunks in shorter_lists(wire.chunks):
            yield replace(run, wire=GivenStream(chunks=tuple(chunks)))
        for index, chunk in enumerate(wire.chunks):
            for other in simplify_values(dict(chunk)):
                if other.get("type") == chunk.get("type"):
                    yield replace(
                        run, wire=GivenStream(chunks=(*wire.chunks[:index], other, *wire.chunks[index + 1 :]))
                    )
    if wire is not None and wire.data is not None:
        chunks_said = _parse_chunks(wire.data)
        if chunks_said is not None:
            yield replace(run, wire=GivenStream(chunks=chunks_said))
        for frames in shorter_lists(split_frames(wire.data)):
            yield replace(run, wire=GivenStream(data=b"".join(frames)))
        yield from (replace(run, wire=GivenStream(data=data)) for data in _shorter_frames(wire.data))


def _with_events(run: AgentRun, kept: Sequence[int]) -> AgentRun:
    """Return the run with these of its events; what an interruption counts is counted anew."""
    events = run.events or ()
    cut = run.interrupt
    return replace(
        run,
        events=make_consistent([events[index] for index in kept]),
        labels={},
        interrupt=None if cut is None else _recount(cut, kept),
    )


def _recount(cut: Interrupt, kept: Sequence[int]) -> Interrupt:
    def before(count: int) -> int:
        return sum(index < count for index in kept)

    client = cut.client_after
    if client is not None and client.unit is CutUnit.EVENT:
        client = ClientCut(unit=CutUnit.EVENT, count=before(client.count))
    server = None if cut.server_after is None else before(cut.server_after)
    return replace(cut, server_after=server, client_after=client)


def _parse_chunks(data: bytes) -> tuple[dict[str, Any], ...] | None:
    """Return a stream as chunks, which are easier to read, or None if it holds anything else."""
    chunks = []
    for frame in split_frames(data):
        if frame == DONE:
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
    frames = split_frames(data)
    for index, frame in enumerate(frames):
        try:
            value = json.loads(frame.removeprefix(b"data: "))
        except ValueError:
            continue
        if isinstance(value, dict):
            for other in simplify_values(value):
                text = json.dumps(other, separators=(",", ":")).encode()
                yield b"".join([*frames[:index], b"data: %b\n\n" % text, *frames[index + 1 :]])
