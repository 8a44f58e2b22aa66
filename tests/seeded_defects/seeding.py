"""How a change is made in the reference for a while: one function or one row of a table, and back."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from tpharness.explore.mutation import Defect, Seed, Side
from tpharness.journal import JournalWriter
from tpharness.server_events import recorder
from tpharness.server_events.events import EventKind
from tpharness.wires.vsp import context
from tpharness.wires.vsp import server as encoder
from tpharness.wires.vsp.content import ContentParts
from tpharness.wires.vsp.encode import to_wire
from tpharness.wires.vsp.events import TurnEvents
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.tool_calls import ToolCalls

__all__ = [
    "both_writers",
    "client_writer",
    "defect",
    "each_chunk",
    "on_chunk",
    "on_event",
    "on_wire",
    "put",
    "server_writer",
    "together",
    "wrap",
]

Make = Callable[[Any], Any]
"""From what is there now to what stands in its place."""


def defect(name: str, side: Side, sentence: str, breaks: str, seed: Seed) -> Defect:
    """Write a defect down; `breaks` names clauses and rulings, between blanks."""
    words = breaks.split()
    return Defect(
        name=name,
        sentence=sentence,
        side=side,
        clauses=tuple(w for w in words if "." in w),
        rulings=tuple(w for w in words if "." not in w),
        seed=seed,
    )


def wrap(owner: Any, name: str, make: Make) -> Seed:
    """Replace a function, a method or a value by what `make` makes of it."""
    return lambda: mock.patch.object(owner, name, make(getattr(owner, name)))


def put(owner: Any, name: str, value: Any) -> Seed:
    """Replace a name of a module, also one that hides a built-in there. AttributeError for any other name."""
    return lambda: mock.patch.object(owner, name, value, create=hasattr(builtins, name))


def on_chunk(make: Make, *records: type) -> Seed:
    """Replace what the client does with these chunks, in every state in which it folds them."""

    @contextmanager
    def seeded() -> Any:
        with ExitStack() as stack:
            for part in (ChunkFold, Lifecycle, ContentParts, ToolCalls, TurnEvents):
                handlers: Any = part.HANDLERS
                new = {record: make(handlers[record]) for record in records if record in handlers}
                stack.enter_context(mock.patch.dict(handlers, new))
            yield

    return seeded


def on_event(make: Make, *kinds: EventKind) -> Seed:
    """Replace what the server does with these events, in every state in which it does anything with them."""

    def seeded() -> Any:
        new = {key: make(action) for key, action in recorder.TRANSITIONS.items() if key[1] in kinds}
        return mock.patch.dict(recorder.TRANSITIONS, new)

    return seeded


def on_wire(make: Make, *kinds: EventKind) -> Seed:
    """Replace what the server sends for these events."""
    return lambda: mock.patch.dict(encoder._ACTIONS, {kind: make(encoder._ACTIONS[kind]) for kind in kinds})


def each_chunk(change: Callable[[Any], list[Any]]) -> Seed:
    """Change what the server sends for each event, and at the beginning and at an abort."""

    def make(was: Any) -> Any:
        return lambda self, *given: [other for chunk in was(self, *given) for other in change(to_wire(chunk))]

    return together(*(wrap(encoder.Encoder, name, make) for name in ("start", "feed", "abort")))


def client_writer(writer: type[JournalWriter]) -> Seed:
    """Let the client alone write its journal so."""
    return put(context, "JournalWriter", writer)


def server_writer(writer: type[JournalWriter]) -> Seed:
    """Let the server alone write its journal so."""
    return put(recorder, "JournalWriter", writer)


def both_writers(writer: type[JournalWriter]) -> Seed:
    """Let both sides write their journals so."""
    return together(client_writer(writer), server_writer(writer))


def together(*seeds: Seed) -> Seed:
    """Make several changes at once: one mistake that shows in two places of the reference."""

    @contextmanager
    def seeded() -> Any:
        with ExitStack() as stack:
            for seed in seeds:
                stack.enter_context(seed())
            yield

    return seeded
