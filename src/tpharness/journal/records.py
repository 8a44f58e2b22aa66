"""What a journal consists of: frozen records that journals share.

None of them can be part of a cycle, so the garbage collector need not know them (`gc=False`): a long fold makes many.
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
    "Segment",
    "Streamed",
    "UserTurn",
]


class Streamed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a call came, which its fields do not say: histories that keep text need it.

    `ended` is whether the call's own end was seen and nothing of it after that, which may be before its response ends
    (R10); `interleaved` whether a delta of it came after another call began.
    """

    ended: bool = False
    interleaved: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One part of a response. `complete` when its end was seen (R10); `fields` as the model library names them.

    `raw` is the text of a call's arguments as it was streamed, as far as it came; None where it came as a value.
    `streamed` is None for what is no call, and for a call that came whole.
    """

    kind: str
    fields: Mapping[str, Any]
    complete: bool = True
    raw: str | None = None
    streamed: Streamed | None = None

    @property
    def call_id(self) -> str | None:
        """The call id of a call that the application has to answer, else None (R42)."""
        return self.fields.get("tool_call_id") if self.kind == "tool-call" else None


class Response(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One model call's answer. `finished` by R40; `parts` in order of their starts (R11), open ones included.

    `failed` is what had come when the server told an error while it streamed; None when its end came all the same.
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
    """What came back for one call: a `tool-return`, or a `retry-prompt` with the call's id (R22).

    `call_key` says which call: its number over the whole thread, since call ids may be used again.
    """

    call_id: str
    agent_id: str
    at: str
    kind: str
    fields: Mapping[str, Any]
    call_key: int


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A fact beside the messages. `bound` events are content of the response they stand in, and go with it."""

    name: str
    data: Any
    at: str
    source_agent: str | None = None
    target_agents: tuple[str, ...] | None = None
    bound: bool = False


class Prompt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request inside an agent turn that is no return: a user prompt of a hand-off or a steering message (R9, R44)."""

    agent_id: str
    at: str
    parts: tuple[Mapping[str, Any], ...]


Entry = Response | Return | Event | Prompt


class Segment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Entries that no interruption can take back any more, in order of arrival.

    `calls` says where the complete calls stand: number of the call → (index of its response, place among its calls).
    """

    entries: tuple[Entry, ...]
    calls: Mapping[int, tuple[int, int]]


class Completed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The turn ended regularly."""

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
    """Everything so far: the turns that have ended, and the one that is still open or was cut just now."""

    ended: Log[UserTurn | AgentTurn]
    last: AgentTurn | None = None

    def turns(self) -> Iterator[UserTurn | AgentTurn]:
        """Iterate over all turns in order."""
        yield from self.ended
        if self.last is not None:
            yield self.last
