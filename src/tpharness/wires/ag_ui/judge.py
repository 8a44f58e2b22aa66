"""A stream of AG-UI → what it breaks of the protocol's rules.

In: the bytes of a body, and the input that it answers if there is one. Out: findings, and where a client that keeps
the rules stops reading. What has no place is left out and reported; the stream is judged on as if it had not come, so
that one mistake is one finding. `take` sees each event that has its place, chunks expanded: a fold builds on it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from tpharness.finding_log import FindingLog
from tpharness.findings import Finding, Kind, Place
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.chunks import CHUNKS, ChunkLanes, Refused
from tpharness.wires.ag_ui.decode import GATED, NEWEST, REFUSED, VERSIONS, Note, decode_typed, read_event, read_input
from tpharness.wires.ag_ui.ends import MEANT_BY_CUSTOM, check_calls, check_open, check_usage
from tpharness.wires.ag_ui.items import Items
from tpharness.wires.ag_ui.objects import Cancelled, RunAgentInput, given
from tpharness.wires.ag_ui.states import FAMILIES, RUN_ORDER, AgUiRunState
from tpharness.wires.ag_ui.subagents import Invocations, Steps
from tpharness.wires.ag_ui.values import Values, has_prefix
from tpharness.wires.sse.parser import SseParser

__all__ = ["Judge", "is_ag_ui", "judge_input", "judge_stream"]

_ENOUGH = 65536
"""Bytes in which the first event of a stream ends, mostly."""

_TYPE = re.compile("[A-Z]+(_[A-Z]+)+")
"""What the types of events look like, those of later versions too."""


class _Typed(msgspec.Struct):
    type: str


_peek: Callable[[bytes], _Typed] = msgspec.json.Decoder(_Typed).decode

_ENDS = frozenset(family.end for family in FAMILIES.values())
_ADDS = frozenset(family.add for family in FAMILIES.values())
_UNKNOWN = (v.UNKNOWN_EVENT, v.UNKNOWN_FIELD, v.UNKNOWN_VALUE)


_OF_MEMBERS = {"/content": "agui.36", "/interrupts": "agui.87", "/outcome": "agui.3"}
"""What of an event has a rule of its own about its values."""


def judge_stream(data: bytes, posted: bytes | None = None) -> Judge:
    """Judge the whole body of an answer, and the input that was posted for it if it is known."""
    judge = Judge(read_input(posted)[0] if posted is not None else None)
    for finding in judge_input(posted) if posted is not None else ():
        judge.log.add(finding.with_place(side="input"))
    judge.feed(data)
    judge.close()
    return judge


def judge_input(posted: bytes) -> list[Finding]:
    """Judge the input that was posted; `null` is that of a turn for which nothing was."""
    notes = read_input(posted)[1] if posted.strip() != b"null" else []
    return [note.kind.at(Place(pointer=note.pointer), note.message, got=note.got) for note in notes]


def _rules_of_malformed(pointer: str) -> tuple[str, ...]:
    """Return the rules that a malformed value breaks: that of all values, and that of its member."""
    return ("agui.95", *[rule for member, rule in _OF_MEMBERS.items() if member in pointer][:1])


def is_ag_ui(data: bytes) -> bool:
    """Whether a body is a stream of AG-UI: the first event that is a JSON object with a type says it."""
    for part in (data[:_ENOUGH], data) if len(data) > _ENOUGH else (data,):
        for frame in SseParser().feed(part):
            try:
                kind = _peek(frame.data).type
            except REFUSED:
                continue
            return kind in r.EVENTS or _TYPE.fullmatch(kind) is not None
    return False


def _pass_over(_event: r.BaseEvent) -> None:
    """Take an event that changes nothing, or that nobody takes."""


def _to_nobody(_event: Any) -> Callable[[str], None]:
    return deque[str](maxlen=0).append


def _is_plain(event: Any) -> bool:
    return event.metadata is UNSET and event.subagent_run_id is UNSET


class Judge:
    """Judges the answer to one input: `feed` reads, then `close` once.

    `take` sees each event that has its place. `more` says, of a piece that `take` has just seen, what takes the text of
    the pieces of the same message or call that follow it, until any other event comes; None where `take` does.
    """

    def __init__(
        self,
        posted: RunAgentInput | None = None,
        *,
        take: Callable[[r.BaseEvent], None] | None = None,
        more: Callable[[Any], Callable[[str], None] | None] | None = None,
    ) -> None:
        self._pass_on = take if take is not None else _pass_over
        self._more = more if more is not None or take is not None else _to_nobody
        self._texts: dict[str, Callable[[str], None]] = {}
        self._arguments: dict[str, Callable[[str], None]] = {}
        self._quick: dict[type[r.BaseEvent], dict[str, Callable[[str], None]]] = {
            r.TextMessageContent: self._texts,
            r.ToolCallArgs: self._arguments,
        }
        self._posted = posted
        self._parser = SseParser(heartbeats=True)
        self.log = FindingLog()
        """What was found of the events."""
        self._lanes = ChunkLanes()
        self._items = Items(self._report)
        self.owner_of = self._items.owner_of
        """The subagent that an event is of, by its tag or by what it continues; None for the agent itself."""
        self._steps = Steps(self._report)
        self._invocations = Invocations(self._report)
        self.values = Values(self._report)
        """The state and the activities, as they stand."""
        self._version = VERSIONS["1.0"]
        self._ahead = False  # the producer speaks a version that is not known here
        self._index = -1
        self._odd_line_ends = self._told_order = False
        self._started: r.RunStartedEvent | None = None
        self._started_at = -1
        self._to_judge: tuple[int, r.RunFinishedEvent] | None = None
        self._custom: set[str] = set()
        self.state = AgUiRunState.NOT_BEGUN
        """Where the stream stands."""
        self.finished: r.RunFinishedEvent | r.RunError | None = None
        """How the last run has ended, None while it runs."""
        self.rejected_at: int | None = None
        """The first event for which a client has to reject the stream, from 0."""
        self.runs = 0
        """How many runs have begun."""
        if posted is not None:
            self._items.know_input(posted)
            self.values.know_activities(posted.messages)
            self.values.state = {} if posted.state is UNSET else posted.state
        self._handlers: dict[type[r.BaseEvent], Callable[[Any], None]] = {
            r.RunStartedEvent: self._run_started,
            r.RunFinishedEvent: self._run_finished,
            r.RunError: self._run_error,
            r.StepStarted: self._steps.start,
            r.StepFinished: self._steps.finish,
            r.ToolCallResult: self._tool_call_result,
            r.StateSnapshot: self.values.snapshot,
            r.StateDelta: self.values.delta,
            r.MessagesSnapshot: self._messages_snapshot,
            r.ActivitySnapshot: self._activity_snapshot,
            r.ActivityDelta: self.values.activity_delta,
            r.SubagentStarted: self._invocations.start,
            r.SubagentFinished: self._invocations.end,
            r.SubagentError: self._invocations.end,
            r.ReasoningEncryptedValue: self._encrypted_value,
            r.Custom: self._custom_event,
            r.Raw: _pass_over,
        }

    @property
    def events(self) -> int:
        """How many events were read, those without a place among them."""
        return self._index + 1

    @property
    def findings(self) -> list[Finding]:
        """What was found so far: about the bytes, then in the order of the events; of each kind the first."""
        of_events = sorted(self.log.findings(), key=lambda one: -1 if one.place.event is None else one.place.event)
        return [*self._parser.findings, *of_events]

    def feed(self, data: bytes) -> int:
        """Take the next bytes; return how many events they completed."""
        parser = self._parser
        if parser.feed_part(data):
            return 0
        if not self._odd_line_ends and b"\r" in data:
            self._odd_line_ends = True
            self.log.add(v.LINE_ENDS.at(Place(byte=self._parser.offset + data.index(b"\r"))))
        event = parser.feed_event(data)  # a read of one event, as in a live stream
        events = parser.feed_data(data) if event is None else (event,)  # whatever the `event` fields say (rule 108)
        if events:
            self._feed_events(events)
        return len(events)

    def _feed_events(self, events: Sequence[bytes]) -> None:
        """Take the data of the events of one read: those that make up nearly all of a stream without a call."""
        texts, arguments, last = self._texts, self._arguments, self._index + len(events)
        content, args, unset = r.TextMessageContent, r.ToolCallArgs, UNSET
        for index, data in enumerate(events, self._index + 1):
            event: Any
            try:
                event = decode_typed(data)
            except REFUSED:
                event = None
            record = type(event)
            if record is content:
                more = texts.get(event.message_id)
            elif record is args:
                more = arguments.get(event.tool_call_id)
            else:
                more = None
            if more is None or event.metadata is not unset or event.subagent_run_id is not unset:
                self._index = index
                self._judge_event(event, data)
            else:
                more(event.delta)
        self._index = last

    def feed_event(self, data: bytes) -> None:
        """Take the data of one frame."""
        self._feed_events((data,))

    def _judge_event(self, event: r.BaseEvent | None, data: bytes) -> None:
        """Take an event; None if it was not exactly one of the newest version."""
        record = type(event)
        if event is None or record is r.RunStartedEvent or (record in GATED and self._version < NEWEST):
            event = self._read(data)  # a start says itself in what version it is
        if event is not None and type(event) in _ADDS and self._add(event):
            return
        self.forget_pieces()
        if event is not None:
            self._place(event)

    def _add(self, event: Any) -> bool:
        """Take a piece of what is open, the quick way; False where `_place` has anything to judge."""
        if not _is_plain(event) or self.state is not AgUiRunState.RUNNING or self._lanes.open:
            return False
        item = self._items.add(event)
        if item is None:
            return False
        self._pass_on(event)
        quick = self._quick.get(type(event))
        if quick is not None and self._more is not None and self.rejected_at is None and item.pieces is None:
            more = self._more(event)
            if more is not None:
                quick[getattr(event, event.id_field)] = more
        return True

    def forget_pieces(self) -> None:
        """Judge the next piece of each message and call as any other event: something has come between."""
        self._texts.clear()
        self._arguments.clear()

    def close(self) -> None:
        """End the stream: its body is complete, or broke off."""
        self._parser.close()
        self._judge_calls()
        if self.state is AgUiRunState.RUNNING or (self.state is AgUiRunState.NOT_BEGUN and not self._told_order):
            self.log.add(v.TRUNCATED.at(Place(event=self.events, byte=self._parser.offset)))
        posted, started = self._posted, self._started
        if posted is not None and started is not None and started.run_id != posted.run_id:
            said = "the last run of the stream is the one that the input asks for, and has another runId"
            self._report(v.RUN_IDS, said, at=self._started_at, got=started.run_id, expected=posted.run_id)

    def _report(
        self, kind: Kind, message: str, *, pointer: str | None = None, at: int | None = None, **shown: Any
    ) -> None:
        if kind in v.FATAL and self.rejected_at is None:
            self.rejected_at = self._index
        self.log.add(kind.at(Place(event=self._index if at is None else at, pointer=pointer or None), message, **shown))

    def _read(self, data: bytes) -> r.BaseEvent | None:
        version = self._version
        event, notes = read_event(data, version)
        if isinstance(event, r.RunStartedEvent):  # which says in what version it is to be read
            said = given(event.protocol_version) or "1.0"
            if VERSIONS.get(said) != version:
                event, notes = read_event(data, VERSIONS.get(said, NEWEST))
            self._ahead = said not in VERSIONS
        for note in notes:
            self._note(note)
        return event

    def _note(self, note: Note) -> None:
        if not (self._ahead and note.kind in _UNKNOWN):
            rules = _rules_of_malformed(note.pointer) if note.kind == v.MALFORMED else ()
            self._report(note.kind, note.message, pointer=note.pointer, got=note.got, decided=rules)

    def _place(self, event: r.BaseEvent) -> None:
        record = type(event)
        next_state = RUN_ORDER[self.state][record]
        if isinstance(next_state, Kind):
            self._misfit(next_state, event)
            return
        self.state = next_state
        if event.metadata is not UNSET and "ag-ui" in event.metadata:
            said = "the key ag-ui of metadata is the protocol's own"
            self._report(v.METADATA_RESERVED, said, pointer="/metadata/ag-ui")
        owner = self.owner_of(event)
        if owner is not None and record not in (r.SubagentStarted, r.SubagentFinished, r.SubagentError):
            self._invocations.note(owner)
        if record in CHUNKS:
            self._place_chunk(event)
            return
        ended: list[str] = []
        for end in self._lanes.ended_by(event, owner) if self._lanes.open else ():
            self._continue(end)
            ended.append(getattr(end, end.id_field))
        if record in Items.HANDLED:
            if not self._items.take(event, by_chunk=False, ended=ended):
                return
        else:
            self._handlers[record](event)
        self._pass_on(event)

    def _place_chunk(self, chunk: r.BaseEvent) -> None:
        found = self._lanes.expand(chunk)
        if isinstance(found, Refused):
            self._report(found.kind, found.message)
            return
        for event in found:
            if not self._continue(event) and type(event) not in _ENDS:
                self._lanes.forget(event)  # what is not open cannot be continued
                return

    def _continue(self, event: r.BaseEvent) -> bool:
        """Take an event that stands for a chunk, or that another one brings with it; whether it has a place."""
        has_place = self._items.take(event, by_chunk=True)
        if has_place:
            self._pass_on(event)
        return has_place

    def _misfit(self, kind: Kind, event: r.BaseEvent) -> None:
        """Report the first event that has no place where the stream stands; those that follow it do not either.

        A result is one all the same: that it came too late is what is wrong, and not that its call has none.
        """
        name = str(event.__struct_config__.tag)
        if isinstance(event, r.ToolCallResult):
            self._items.take_result(event)
        if self._told_order and kind is not v.RUN_IN_RUN:
            return
        self._told_order = True
        ended = f"{name} came after the run had ended"
        said = {v.FIRST_EVENT: f"the stream begins with {name}", v.AFTER_END: ended}
        self._report(kind, said.get(kind, f"{name} came while a run was running"), got=name)

    def _run_started(self, event: r.RunStartedEvent) -> None:
        self._judge_calls()
        self.runs += 1
        self._started, self._started_at, self.finished = event, self._index, None
        self._told_order = False
        self._custom.clear()
        self._items.begin_run()
        self._invocations.begin_run()
        self._steps.open.clear()
        said = given(event.protocol_version)
        self._version = VERSIONS.get(said or "1.0", NEWEST)
        if said is None:
            self._report(v.VERSION_MISSING, "RUN_STARTED does not have protocolVersion")
        elif self._ahead:
            known = ", ".join(VERSIONS)
            self._report(v.VERSION_UNKNOWN, f"the producer speaks {said!r}; known are {known}", got=said)
        self._compare_thread(event.thread_id)
        if self._posted is None and event.input is not UNSET and self.runs == 1:
            self._items.know_input(event.input)
            self.values.know_activities(event.input.messages)
            self.values.state = {} if event.input.state is UNSET else event.input.state

    def _compare_thread(self, thread_id: str) -> None:
        if self._posted is not None and thread_id != self._posted.thread_id:
            said = "the threadId is not that of the input"
            self._report(v.RUN_IDS, said, got=thread_id, expected=self._posted.thread_id)

    def _run_finished(self, event: r.RunFinishedEvent) -> None:
        started = self._started
        if started is not None and (event.thread_id, event.run_id) != (started.thread_id, started.run_id):
            got, expected = (f"{one.thread_id} {one.run_id}" for one in (event, started))
            self._report(v.RUN_IDS, "RUN_FINISHED names another run than RUN_STARTED", got=got, expected=expected)
        cancelled = isinstance(given(event.outcome), Cancelled)
        check_open(self._items, self._steps, self._invocations, self._report, cancelled=cancelled)
        check_usage(given(event.usage) or (), self._report)
        self._end(event)
        self._to_judge = self._index, event

    def _judge_calls(self) -> None:
        """Judge what the last run says of its calls, when no late result can come any more."""
        if self._to_judge is not None:
            index, event = self._to_judge
            check_calls(event, self._items, self._advertised, self._custom, partial(self._report, at=index))
            self._to_judge = None

    @property
    def _advertised(self) -> frozenset[str] | None:
        if self._posted is None:
            return None
        return frozenset(tool.name for tool in given(self._posted.tools) or ())

    def _run_error(self, event: r.RunError) -> None:
        self._to_judge = None  # a late failure: the run has not succeeded
        check_usage(given(event.usage) or (), self._report)
        self._end(event)

    def _end(self, event: r.RunFinishedEvent | r.RunError) -> None:
        self._items.abandon()
        self._steps.open.clear()
        self._invocations.begin_run()
        self.finished = event

    def _tool_call_result(self, event: r.ToolCallResult) -> None:
        tool = self._items.known_calls.get(event.tool_call_id)
        if tool is not None and tool in (self._advertised or ()):
            said = f"{tool!r} is a tool of the page, and the server answers its call {event.tool_call_id!r}"
            self._report(v.FRONTEND_ANSWERED, said, got=tool)
        self._items.take_result(event)

    def _messages_snapshot(self, event: r.MessagesSnapshot) -> None:
        self._items.know_snapshot(event.messages)
        self.values.know_activities(event.messages)

    def _activity_snapshot(self, event: r.ActivitySnapshot) -> None:
        if event.message_id not in self.values.activities:
            self._items.know_activity(event.message_id)
        self.values.activity_snapshot(event)

    def _encrypted_value(self, event: r.ReasoningEncryptedValue) -> None:
        if self._posted is not None and not self._items.is_known(event.subtype, event.entity_id):
            word = "call" if event.subtype == "tool-call" else "message"
            self._report(v.ENTITY_UNKNOWN, f"there is no {word} {event.entity_id!r} that the value belongs to")

    def _custom_event(self, event: r.Custom) -> None:
        if event.name in MEANT_BY_CUSTOM:
            self._custom.add(event.name)
        if not has_prefix(event.name):
            said = f"the name {event.name!r} does not begin with that of a vendor or application"
            self._report(v.CUSTOM_UNPREFIXED, said, got=event.name)
