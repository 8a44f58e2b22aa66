"""The interface of a dialect, which renders journals as documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tpharness.journal import AgentTurn, Event, Journal
from tpharness.readings import Readings

if TYPE_CHECKING:
    from tpharness.protocol.types import Thread

__all__ = ["Dialect", "Renderer", "ThreadHeader", "make_registry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHeader:
    """The facts of a thread that no stream contains: its id, its creation time, its registry of agents.

    `agents` maps agent ids to `AgentConfig` objects; `extra` holds other root fields such as `title`.
    """

    thread_id: str
    created_at: str
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


def make_registry(journal: Journal, *, created_at: str | None = None) -> dict[str, Mapping[str, Any]]:
    """Return a registry of the agents that a journal names, for one that no application keeps: a name is the id.

    `created_at` is that of every entry; without it an agent was created when it was first named.
    """
    registry: dict[str, Mapping[str, Any]] = {}
    for turn in journal.turns():
        if isinstance(turn, AgentTurn):
            for agent, at in _named_agents(turn):
                entry = {"agent_id": agent, "agent_name": agent, "created_at": created_at or at}
                registry.setdefault(agent, entry)
    return registry


def _named_agents(turn: AgentTurn) -> Iterator[tuple[str, str]]:
    """Yield the agents that ran in a turn, and those that its events name, with the time."""
    yield turn.agent_id, turn.started_at
    for segment in (*turn.segments, turn.tail):
        for entry in segment.entries:
            if not isinstance(entry, Event):
                yield entry.agent_id, entry.at
                continue
            for agent in (entry.source_agent, *(entry.target_agents or ())):
                if agent:
                    yield agent, entry.at


class Renderer(Protocol):
    """Renders the growing journal of one thread; what has not changed since the last call is not rendered again."""

    def render(self, journal: Journal) -> Thread:
        """Return the document of a journal. Do not modify it: documents share their unchanged branches."""
        ...


class Dialect(Protocol):
    """A named way to render journals."""

    @property
    def name(self) -> str:
        """The name users give, such as `0.0.4`."""
        ...

    def renderer(self, header: ThreadHeader, readings: Readings) -> Renderer:
        """Return a renderer for one thread."""
        ...
