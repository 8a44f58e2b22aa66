"""What a stream adds to a turn beside its responses: events, sources, steering messages, and facts of carriers.

In: `data-*`, `source-*`, `steering-message` and unknown chunks. Out: events and prompts in the journal; the data of a
carrier goes to the life cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tpharness.facts import event_timestamp
from tpharness.journal import Event
from tpharness.protocol.versions import NORMATIVE_PREFIX
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp import violations as v
from tpharness.wires.vsp.carrier import CARRIER
from tpharness.wires.vsp.context import StreamContext
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.parts import source_event, steering_prompt

__all__ = ["TurnEvents"]


class TurnEvents:
    """Writes the events and prompts of turns."""

    def __init__(self, context: StreamContext, lifecycle: Lifecycle) -> None:
        self._context = context
        self._lifecycle = lifecycle
        self._writer = context.writer

    def _source(self, chunk: c.SourceUrlChunk | c.SourceDocumentChunk) -> None:
        self._lifecycle.ensure_turn()
        if self._lifecycle.step_is_new:
            self._lifecycle.ensure_response()
        name, data = source_event(chunk)
        self._add_event(name, data, self._context.time, bound=True)

    def _steering(self, chunk: c.SteeringMessageChunk) -> None:
        prompt = steering_prompt(chunk)
        if prompt["content"] == []:
            return  # R52: it says nothing
        self._lifecycle.ensure_turn()
        self._lifecycle.end_response()
        self._writer.add_prompt([prompt], self._context.time)  # R44

    def _data(self, chunk: c.DataChunk) -> None:
        if chunk.by_name:
            self._context.report(v.FRAMED_BY_NAME, f"{chunk.name} is sent as a chunk of type data with a name")
        if chunk.name == CARRIER:
            self._lifecycle.apply_carrier(chunk.data)
            return
        if chunk.transient and not chunk.name.startswith(NORMATIVE_PREFIX):
            return  # transient data is shown and not kept; a normative event is kept all the same
        self._lifecycle.ensure_turn()
        stated = event_timestamp(chunk.data) if chunk.name.startswith(NORMATIVE_PREFIX) else None
        name = chunk.name.removeprefix("data-") if chunk.name.startswith("data-meta:") else chunk.name
        self._add_event(name, chunk.data, self._context.time_of(stated))

    def _metadata(self, chunk: c.MessageMetadataChunk) -> None:
        """Message metadata is the application's own; it is not part of the thread."""

    def _unknown(self, chunk: c.UnknownChunk) -> None:
        """R7: a chunk of an unknown type is kept as an event."""
        self._context.report(v.UNKNOWN_TYPE, f"chunk of unknown type {chunk.type!r}")
        self._lifecycle.ensure_turn()
        data = {k: w for k, w in chunk.raw.items() if k != "type"}
        self._add_event(chunk.type, data, self._context.time)

    def _add_event(self, name: str, data: Any, at: str, *, bound: bool = False) -> None:
        """Record an event, with the agents that a carrier named for the next one."""
        facts = self._context.facts
        source, targets = facts.take("source_agent"), facts.take("target_agents")
        agents = tuple(targets) if isinstance(targets, list) else None
        event = Event(name=name, data=data, at=at, source_agent=source, target_agents=agents, bound=bound)
        self._writer.add_event(event)

    HANDLERS: ClassVar[Mapping[type, Callable[..., None]]] = {
        c.SourceUrlChunk: _source,
        c.SourceDocumentChunk: _source,
        c.SteeringMessageChunk: _steering,
        c.DataChunk: _data,
        c.MessageMetadataChunk: _metadata,
        c.UnknownChunk: _unknown,
    }
    """Record → what a chunk of that kind does, in a state in which it is folded."""
