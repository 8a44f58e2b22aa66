"""The frozen records of a journal, which journals share.

None of them can be part of a reference cycle, so the garbage collector skips them (`gc=False`): a long fold makes many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tpharness.journal.log import Log

__all__ = [
    "AgentTurn",
    "Completed",
    "Entry",
    "Event",
    "Interrupted",
    "Journal",
    "Part",
    "Prompt",
    "Response",
    "Return",
    "Running",
    "Segment",
    "Streamed",
    "UserTurn",
]


class Streamed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a call was streamed, which its fields do not say; histories that keep text need it.

    `ended`: the call's own end was seen and nothing of it after that, which may be before its response ends (R10).
    `interleaved`: a delta of it came after another call began.
    """

    ended: bool = False
    interleaved: bool = False


class Running(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of a tool that has started: since when, and its latest preliminary output (R14), None before one.

    No thread shows it; histories need it that tell what a tool had done when it was stopped.
    """

    started_at: str
    output: Any = None


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part of a response. `complete` if its end was seen (R10); `fields` have the names of the model library.

    `raw` is the text of a call's arguments as far as it was streamed; None if they came as a value. `streamed` is None
    for parts that are not calls, and for a call that was not streamed. `running` is None until a call's tool starts,
    and where its start is not reported, as in a stream.
    """

    kind: str
    fields: Mapping[str, Any]
    complete: bool = True
    raw: str | None = None
    streamed: Streamed | None = None
    running: Running | None = None

    @property
    def call_id(self) -> str | None:
        """The call id of a call that the application has to answer, else None (R42)."""
        return self.fields.get("tool_call_id") if self.kind == "tool-call" else None


class Response(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One model call's answer. `finished` by R40; `parts` in order of their starts (R11), open ones included.

    `failed` has the parts so far when the server reported an error during the response; None if its end came after all.
    """

    agent_id: str
    at: str
    parts: tuple[Part, ...]
    finished: bool
    facts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    failed: tuple[Part, ...] | None = None

    def calls(self) -> tuple[str, ...]:
        """Return the ids of the complete calls, in order."""
        return tuple(c for p in self.parts if p.complete and (c := p.call_id) is not None)


class Return(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The return of one call: a `tool-return`, or a `retry-prompt` with the call's id (R22).

    `call_key` is the call's number in the whole thread, since call ids may be used again.
    """

    call_id: str
    agent_id: str
    at: str
    kind: str
    fields: Mapping[str, Any]
    call_key: int


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A system event. A `bound` event is content of the response before it, and is dropped with it (R25)."""

    name: str
    data: Any
    at: str
    source_agent: str | None = None
    target_agents: tuple[str, ...] | None = None
    bound: bool = False


class Prompt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request with a user prompt inside an agent turn, from a hand-off or a steering message (R9, R44)."""

    agent_id: str
    at: str
    parts: tuple[Mapping[str, Any], ...]


Entry = Response | Return | Event | Prompt


class Segment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entries of a turn in order of arrival.

    `calls` has the places of the complete calls: number of the call → (index of its response, index among its calls).
    """

    entries: tuple[Entry, ...]
    calls: Mapping[int, tuple[int, int]]


class Completed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The turn completed."""

    at: str


class Interrupted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The turn was cut; the first interruption stands (R26)."""

    reason: str
    at: str


class UserTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the user submitted, once (R9)."""

    at: str
    parts: tuple[Mapping[str, Any], ...]
    client_metadata: Mapping[str, Any] | None = None


class AgentTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One agent's run. `end` is None while it goes on. `usage` counts every response, kept or not (R17)."""

    agent_id: str
    started_at: str
    segments: Log[Segment]
    tail: Segment
    end: Completed | Interrupted | None
    usage: Mapping[str, int]


class Journal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """All turns so far: those that have ended, and the last one, which is still open or was just cut."""

    ended: Log[UserTurn | AgentTurn]
    last: AgentTurn | None = None

    def turns(self) -> Iterator[UserTurn | AgentTurn]:
        """Iterate over all turns in order."""
        yield from self.ended
        if self.last is not None:
            yield self.last
