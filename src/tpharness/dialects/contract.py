"""The interface of a dialect, which renders journals as documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tpharness.journal import Journal
from tpharness.protocol.types import Thread
from tpharness.readings import Readings

__all__ = ["Dialect", "Renderer", "ThreadHeader"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadHeader:
    """The facts of a thread that no stream contains: its id, its creation time, its registry of agents.

    `agents` maps agent ids to `AgentConfig` objects; `extra` holds other root fields such as `title`.
    """

    thread_id: str
    created_at: str
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


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
