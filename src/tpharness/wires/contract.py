"""What a wire is: everything that somebody else asks of the stream between a server and a client.

Why this file. A model's events and the thread that they make are the same whatever runs between a server and its
client. Streams are not: the AI SDK's UI message stream names the steps of a model, AG-UI names runs and lanes; one ends
with `[DONE]`, the other with the last event; one leaves half arguments open, the other has to close them. Whoever
plays, cuts, resumes, folds, checks or shows a stream would have to know all of this for each wire, so each question
has one answer here, and a wire is a folder that gives all of them. A second wire is then right if it needs no branch
anywhere else.

Two halves, both without I/O and without a clock:

    server events ─ Writer ─► bytes          what a server sends, event by event, and how it reports that it stopped
    bytes ─ Reader ─► journal, findings      what a client makes of them, however they are split into reads

Why bytes and not records: two wires share no kind of record, and the places of a cut are places in bytes. What lies
between bytes and journal (frames, typed records, the table of states) belongs to the wire alone. Both halves keep the
table of their own order; neither imports the other's fold, so that each can be held against the other.

Why a journal and not a thread: a cut is a place at which the journal stops, and `journal.keep` alone decides what
survives it. A wire that knew a version of ThreadProtocol would decide it a second time.

Beside the halves, what others have to know of the bytes:

- `Inputs`: which calls a stream has shown with all of their arguments. A cut inside arguments leaves half of them on a
  screen, and must not make them look whole (R60).
- `Said`: the id of the message, and which texts a stream has ended: what no thread shows.
- carriers: what the stream has no field for (times, usage, reasons) travels in events of the wire that every other
  client ignores. Who plays without carriers leaves those events out and asks for nothing that needs them (R39).
- places: where in a frame a text or the arguments of a call begin, which frame is the final output of a tool, what
  says that a stream has ended. Faults strike there, and a stream is not broken off after its end.
- resuming: whether a stream may be continued after the id of a frame (R31). What has signalled its end may not.
- majors: releases of a wire's own specification of which each takes other streams; none where there is one.

What a wire must not know: targets, scenarios, dialects, files. `tests/wires/test_wire_contract.py` holds each to this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tpharness.findings import Finding, Kind, Place

if TYPE_CHECKING:
    from tpharness.journal import Entry, Interrupted, Journal, OpenResponse, UserTurn
    from tpharness.server_events import EventKind
    from tpharness.wires.owed import Owed

__all__ = ["Inputs", "OpenReader", "OpenWriter", "Reader", "Said", "Wire", "Writer"]


class Reader(Protocol):
    """The client's half: folds the streams of one thread. For each: `begin`, `feed` for each read, `close`."""

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        ...

    def begin(self, at: str, *, agent_id: str | None = None) -> None:
        """Open a stream; `agent_id` is the agent that was asked, until the stream names one."""
        ...

    def feed(self, data: bytes, at: str) -> int:
        """Take in the next bytes of the body, received at `at`; return how many events of the wire they completed."""
        ...

    def fail(self, error: str, at: str) -> None:
        """Take in that the run has failed with this text, as the server would have reported it."""
        ...

    def close(self, reason: str | None, at: str) -> None:
        """End the stream; `reason` is what was observed of its end, None for a plain end of the body (R27)."""
        ...

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        ...

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far, in order of layers; bounded."""
        ...

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        ...

    @property
    def turn_ended(self) -> bool:
        """Whether no turn is running: the stream has ended its turn, or has not begun one."""
        ...

    @property
    def signalled_end(self) -> bool:
        """Whether the stream has said how its turn ends: what comes after that is ignored."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the last thing that this wire sends has come, so that nobody has to wait for the end of the body."""
        ...

    @property
    def state_name(self) -> str:
        """Where the stream stands, as a word for people."""
        ...

    @property
    def time(self) -> str:
        """When the latest event happened; "" before there is one."""
        ...

    @property
    def place(self) -> Place:
        """The place of the latest event."""
        ...

    @property
    def open_parts(self) -> int:
        """How many parts have started and not ended."""
        ...

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        ...


class Writer(Protocol):
    """The server's half: the bytes of one run. `start`, `feed` for each event, then `finish`, or `stop` if it was cut.

    The bytes of an event are all that the event puts on the wire, so that a cut after it is a cut after them.
    """

    def start(self, at: str, user_parts: tuple[Mapping[str, Any], ...] = ()) -> bytes:
        """Return the bytes that open the stream."""
        ...

    def feed(self, event: Mapping[str, Any], judged: EventKind | Finding | None = None, at: str | None = None) -> bytes:
        """Return the bytes of one event; none for an event that is not sent, or that is malformed (R36).

        `judged` is what `event_kind` says of it, and `at` when it happened, if the caller knows them.
        """
        ...

    def stop(self, reason: str, at: str) -> bytes:
        """Return the bytes that report to the client that the run was stopped here, and end the stream."""
        ...

    def finish(self) -> bytes:
        """Return the bytes that end the stream of a run that was not stopped."""
        ...


class Inputs(Protocol):
    """Which calls one stream has given an input as a whole: what a screen shows, and what a client's tools run with.

    It shares no code with the wire's `Reader`, which it is held against.
    """

    def feed(self, data: bytes) -> None:
        """Take in one read."""
        ...

    def given(self, call_id: str) -> Mapping[str, Any] | None:
        """Return the event of the wire that gave the input of a call, None if none has."""
        ...

    def after(self, data: bytes) -> Inputs:
        """Return what it would be after one more read, and do not take that in."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """What one stream says beside its thread; None for what the wire has no word for, or leaves to its own rules.

    `message_id` is that of the first event that opens the run, "" if it names none. `texts` are the texts and thoughts
    in the order in which they began, each with the event that ended it, None while it is open. `end` is how the stream
    says that its run has ended: `finished`, `stopped` or `failed`, "" if it does not. `asks` are the calls that its
    user is asked to approve, and that had no answer when the stream ended; `c1 as a1` where the approval has an id of
    its own (R64).
    """

    message_id: str | None = None
    texts: tuple[tuple[str, Mapping[str, Any] | None], ...] | None = None
    end: str | None = None
    asks: tuple[str, ...] = ()


class OpenReader(Protocol):
    """Opens the client's half for one thread."""

    def __call__(self, *, agent_id: str = "assistant", providers: Mapping[str, str] | None = None) -> Reader:
        """`agent_id` answers until a stream names another agent; `providers` are those of the agents, by their id."""
        ...


class OpenWriter(Protocol):
    """Opens the server's half for one run."""

    def __call__(
        self,
        *,
        agent_id: str,
        carriers: bool = True,
        message_id: str | None = None,
        tool_name: Callable[[str], str | None] = ...,
        has_return: Callable[[str], bool] = ...,
        waiting: Collection[str] | None = ...,
        waiting_provider_calls: Collection[str] = ...,
    ) -> Writer:
        """`tool_name` says which tool a call of the thread names, None for a call that the thread does not have.

        `has_return` says whether a call has its return; `waiting` has the ids of those that have none as the run
        begins, None if that is not known; `waiting_provider_calls` those of the provider's calls without output (R42).
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One wire. `name` is what users type, `title` what a report says."""

    name: str
    title: str
    headers: Mapping[str, str]
    """What a response has in its head, besides its status."""

    open_reader: OpenReader
    open_writer: OpenWriter
    open_inputs: Callable[[], Inputs]
    read_said: Callable[[bytes], Said]
    """The bytes of a stream → what they say beside the thread; it shares no code with the reader."""

    read_owed: Callable[[bytes], tuple[Owed, ...]]
    """The bytes of streams → what events cause there and no thread keeps; nothing of a wire with rules of its own."""

    check: Callable[[bytes, int | None, bytes | None], list[Finding]]
    """A whole stream, a major or None, the input that it answers or None → what is wrong by the rules of the wire."""
    majors: tuple[int, ...] = ()
    """Releases of the wire's specification that can be asked for, oldest first."""
    violations: tuple[Kind, ...]
    """What its reader may find."""

    encode: Callable[[Iterable[Mapping[str, Any]]], bytes]
    """Events of the wire as JSON objects, such as a scenario gives, as bytes; without the end of a stream."""
    end: bytes = b""
    """What ends a body in order after the last event; empty where the last event does."""

    is_carrier: Callable[[Mapping[str, Any]], bool]
    """Whether an event of the wire, as a JSON object, has no other use than to carry facts."""
    frame_carries: Callable[[bytes], bool]
    """The same of the bytes of a frame, or whether any frame of a body does."""

    begins_text: re.Pattern[bytes]
    """Matches, in a frame, up to the first character of a text or of the arguments of a call."""
    output_of: Callable[[bytes], bytes | None]
    """A frame → the id of the call whose final output it is, None for any other frame; the application's calls only."""
    is_last: Callable[[Mapping[str, Any]], bool]
    """Whether an event of the wire, as a JSON object, is the last one of a run that ends in order."""
    ends_stream: re.Pattern[bytes]
    """Matches in a frame that says how the turn ends, and in what ends the body."""
    says_stopped: re.Pattern[bytes]
    """Matches in a stream that reports to its client that somebody has stopped the run."""
    needs_no_event: Callable[[Mapping[str, Any]], bool]
    """Whether a server may send this event of the wire without an event of the run: what opens and ends a stream."""
    split_delta: Callable[[bytes], list[bytes]]
    """A frame → the same content in the smallest frames that the wire allows; the frame itself where there is none."""
    resumable: bool = False
    """Whether a stream can be continued after the id of one of its frames."""
