"""What a server's stream says to a client without carriers: the thread of its plain chunks, and what no thread has.

Carriers hide from every other comparison what the chunks lack (R39). What a tool answered, its progress and transient
events are sent by the chunks that `docs/EVENTS.md` shows (R22, R14, R7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tpharness.checks.contract import Evidence, Side, StreamChange, Thread
from tpharness.findings import Finding, Kind, Place, shorten
from tpharness.protocol.compare import same_content
from tpharness.protocol.versions import Version
from tpharness.scenario.records import Compare

__all__ = ["Plain", "Unsaid", "compare_plain", "describe_unsaid"]

PLAIN_DIFFERS = Kind("plain-stream-differs")
NOT_SENT = Kind("event-not-sent")
SENT_OTHERWISE = Kind("event-sent-otherwise")
TRANSIENT = Kind("transient-event-not-sent")
_KINDS = {"answer": NOT_SENT, "approval": NOT_SENT, "transient": TRANSIENT}
_READER = "a client without carriers"
_MOST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsaid:
    """An event of the wire that stays in no thread, and that a server owes and has not sent; `sort` is that of `Owed`.

    `where` is the server event that causes it, in words; `got` what the streams have in place of it, if anything.
    """

    sort: str
    where: str
    event: Mapping[str, Any]
    got: Mapping[str, Any] | None = None


class Plain(Protocol):
    """What a client that reads no carriers makes of a server's streams (R39)."""

    @property
    def threads(self) -> Mapping[Version, Thread]:
        """Its threads."""
        ...

    @property
    def change(self) -> StreamChange:
        """What says which plain chunk to send otherwise."""
        ...

    def suffices(self, version: Version, truth: Thread) -> bool:
        """Whether plain chunks can say all of the right thread."""
        ...


def compare_plain(evidence: Evidence, compare: Callable[..., list[Finding]]) -> list[Finding]:
    """Report how the thread of a client that reads no carriers differs from the server's, as `compare` finds it.

    Nothing is said where the server's thread is wrong itself, or where no plain chunk could say it.
    """
    server, plain = evidence.server, evidence.plain
    if server is None or server.truth is None or plain is None:
        return []
    read = Side(name=_READER, thread=plain.threads[evidence.version])
    if same_content(server.thread, read.thread) or not same_content(server.thread, server.truth):
        return []
    if not plain.suffices(evidence.version, server.truth):
        return []
    seen: Any = replace(evidence, mode=Compare.CONTENT, stream_change=plain.change)
    found = compare(seen, server, read, PLAIN_DIFFERS, Compare.CONTENT, right=server.name, stream=True)
    return [finding.with_place(side=server.name) for finding in found]


def describe_unsaid(evidence: Evidence) -> Iterator[Finding]:
    """Report what a server's streams lack that no thread shows, with the chunk to send."""
    place = Place(case=evidence.case, side="server")
    for one in (evidence.unsaid or ())[:_MOST]:
        name, other = one.event.get("type"), one.got and one.got.get("type")
        instead = f", not {shorten(one.got)}" if one.got else ""
        yield _KINDS.get(one.sort, SENT_OTHERWISE).at(
            place,
            f"{one.where}: its chunk {'is another one' if one.got else 'is not in the stream'}",
            got=one.got,
            expected=one.event,
            symptom=f"{other} in place of {name}" if other and other != name else f"{name} is not as the event says it",
            advice=f"{one.where} send {shorten(one.event)}{instead}",
        )
