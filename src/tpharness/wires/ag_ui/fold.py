"""The client's fold of AG-UI: bytes → events → chunks → journal.

In: reads of a body. Out: the journal, and what the judge found. Each event that has its place becomes the chunks that
mean the same (`conformance/statements/ag-ui-rulings.md`), so that one fold writes the journal for both wires. A client
takes nothing of a stream behind the event for which it has to reject it (G9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from tpharness.facts import join_text
from tpharness.findings import Finding, Place
from tpharness.journal import Entry, Interrupted, Journal, OpenResponse, UserTurn
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui.carriers import PREFIX, carried
from tpharness.wires.ag_ui.contents import NOT_JSON, parse, result_content, total_usage
from tpharness.wires.ag_ui.judge import Judge
from tpharness.wires.ag_ui.objects import Cancelled, ToolMessage, given
from tpharness.wires.ag_ui.silent_texts import SilentTexts
from tpharness.wires.ag_ui.states import AgUiRunState
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.carrier import CARRIER
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.fold import CHUNKS_BETWEEN_JOINS, ChunkFold
from tpharness.wires.vsp.lifecycle import KNOWN_REASONS

__all__ = ["AgUiAssembler"]

Chunks = Iterable[c.Chunk]


class AgUiAssembler:
    """Folds the streams of one thread. For each answer: `begin`, `feed` for each read, `close` at the end."""

    def __init__(self, *, agent_id: str = "assistant", providers: Mapping[str, str] | None = None) -> None:
        self._fold = ChunkFold(agent_id=agent_id, providers=providers)
        self._judge: Judge | None = None
        self._findings: list[Finding] = []
        self._at = ""
        self._made: set[str] = set()  # the calls of all runs, by their ids in the thread
        self._unjoined = 0  # events since the pieces of open parts were joined

    def add_user_turn(self, turn: UserTurn) -> None:
        """Record what the user submitted."""
        self._fold.add_user_turn(turn)

    def begin(self, at: str, *, agent_id: str | None = None) -> None:
        """Open a stream; `agent_id` is the agent that was asked, until a carrier names one."""
        self._at = at
        self._asked = agent_id
        self._judge = Judge(take=self._take, more=self._more)
        self._state, self._events = AgUiRunState.NOT_BEGUN, 0
        self._fold.begin(at, agent_id=agent_id)
        self._ran = False
        self._begin_run()

    def _begin_run(self) -> None:
        self._ended = False
        self._arguments: dict[str, list[str]] = {}
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}  # the id of a call in the thread, where an id is used twice in one run
        self._unparsed: dict[str, str] = {}
        self._thought: tuple[str, dict[str, Any]] | None = None
        self._said: dict[str, list[str]] = {}
        self._silent = SilentTexts()

    def feed(self, data: bytes, at: str) -> int:
        """Take in the next bytes of the body, received at `at`; return how many events they completed."""
        if self._judge is None:
            raise RuntimeError("begin() opens a stream")
        self._at = at
        read = self._judge.feed(data)
        self._unjoined += read
        if self._unjoined >= CHUNKS_BETWEEN_JOINS:
            self._unjoined = 0
            self._fold.join_pieces()
        return read

    def fail(self, error: str, at: str) -> None:
        """Take in that the run has failed with this text, as the server would have reported it."""
        self._at = at
        if self._judge is not None:
            self._judge.forget_pieces()
        carrier = c.DataChunk(name=CARRIER, data={"timestamp": at}, transient=True)
        self._put([carrier, c.ErrorChunk(error_text=error)])

    def close(self, reason: str | None, at: str) -> None:
        """End the stream; `reason` is what was observed of its end, None for a plain end of the body."""
        self._at = at
        judge = self._judge
        if judge is not None:
            judge.close()
            self._findings += [one.with_place(side="client") for one in judge.findings]
            self._state, self._events, self._judge = judge.state, judge.events, None
            if judge.rejected_at is not None and not self._fold.turn_ended:
                text = "the client rejects the stream"  # not where: it depends on how many deltas there are
                self._put([c.ErrorChunk(error_text=text), c.FinishChunk(finish_reason="error")])
        self._fold.close(reason, at)

    @property
    def findings(self) -> list[Finding]:
        """Everything found so far."""
        live = [one.with_place(side="client") for one in self._judge.findings] if self._judge is not None else []
        return [*self._findings, *live]

    @property
    def version(self) -> int:
        """A number that grows whenever a document could show a change."""
        return self._fold.version

    @property
    def turn_ended(self) -> bool:
        """Whether no turn is running."""
        return self._fold.turn_ended

    @property
    def signalled_end(self) -> bool:
        """Whether the stream has said how its run ends."""
        return self._where in (AgUiRunState.FINISHED, AgUiRunState.FAILED)

    @property
    def complete(self) -> bool:
        """Whether the last event of a run has come: no end marker follows it."""
        return self.signalled_end

    @property
    def state_name(self) -> str:
        """Where the stream stands, as a word for people."""
        return self._where.name.lower().replace("_", " ")

    @property
    def _where(self) -> AgUiRunState:
        return self._judge.state if self._judge is not None else self._state

    @property
    def time(self) -> str:
        """When the latest event happened."""
        return self._fold.time

    @property
    def place(self) -> Place:
        """The place of the latest event."""
        events = self._judge.events if self._judge is not None else self._events
        return Place(side="client", event=events - 1)

    @property
    def open_parts(self) -> int:
        """How many parts have started and not ended."""
        return self._fold.open_parts

    @property
    def written(self) -> Sequence[OpenResponse | Entry]:
        """The entries of the last turn as they are written (`JournalWriter.written`)."""
        return self._fold.written

    def journal(self, cut: Interrupted | None = None, *, partial: bool = False) -> Journal:
        """Return the journal as of now, cut here if `cut` is given and the turn has not ended."""
        return self._fold.journal(cut, partial=partial)

    # ------------------------------------------------------------------ events

    def _take(self, event: r.BaseEvent) -> None:
        judge = self._judge
        if judge is None or judge.rejected_at is not None:
            return  # G9
        if judge.owner_of(event) is not None:
            return  # what a subagent does is not a turn of the agent (G8)
        handler = self.HANDLERS.get(type(event))
        if handler is not None:
            if self._thought is not None and not isinstance(event, r.ReasoningEncryptedValue):
                self._end_thought()
            self._put(self._silent.before(event))
            self._put(handler(self, event))

    def _more(self, piece: r.TextMessageContent | r.ToolCallArgs) -> Callable[[str], None] | None:
        """Return what takes the pieces behind one that has just been folded, None where each needs a look."""
        if isinstance(piece, r.TextMessageContent):
            return self._fold.text_open(piece.message_id)
        held = self._fold.input_said(self._id(piece.tool_call_id))
        said = self._arguments.get(piece.tool_call_id)
        if held is None or (held is not said and held != said):
            return None
        self._arguments[piece.tool_call_id] = held  # one list from here on
        return held.append

    def _put(self, chunks: Chunks) -> None:
        for chunk in chunks:
            self._fold.feed(chunk, self._at)

    def _run_started(self, event: r.RunStartedEvent) -> Chunks:
        if self._ran:  # a run before it in the same body (G1)
            self._fold.close(None, self._at)
            self._fold.begin(self._at, agent_id=self._asked)
        self._ran = True
        self._begin_run()
        announced = carried(event).get("announced") is not False  # the server's first chunk was another one
        return [c.StartChunk()] if announced else []

    def _run_finished(self, event: r.RunFinishedEvent) -> Chunks:
        facts = carried(event)
        self._ended = True
        said = facts.get("finish_reason")
        if isinstance(given(event.outcome), Cancelled) and said != "interrupted":  # that one is a finish (R44)
            reason = facts.get("reason")
            return [c.AbortChunk(reason=reason if reason in KNOWN_REASONS else "user_cancelled"), c.Done()]
        whole = self._whole(*self._unparsed)
        finish = c.FinishChunk(finish_reason=said if isinstance(said, str) else None)
        usage = total_usage(given(event.usage) or ())
        if not usage:
            return [*whole, finish, c.Done()]
        carrier = c.DataChunk(name=CARRIER, data={"usage": usage}, transient=True)
        return [*whole, c.FinishStepChunk(), carrier, finish, c.Done()]

    def _run_error(self, event: r.RunError) -> Chunks:
        if self._ended:
            return []  # a failure after the end: a turn that is complete is not taken back (R26, G2)
        self._ran = self._ended = True
        facts = carried(event)
        code = given(event.code)
        reason = facts.get("reason", code)
        if reason in KNOWN_REASONS and reason != "error":
            return [c.AbortChunk(reason=reason), c.Done()]
        error = [] if facts.get("reported") else [c.ErrorChunk(error_text=event.message)]
        word = facts.get("finish_reason")  # an error of an agent that ran before says nothing of how this turn ends
        return [*error, c.FinishChunk(finish_reason=word if isinstance(word, str) else "error"), c.Done()]

    def _step_started(self, event: r.StepStarted) -> Chunks:
        return [c.StartStepChunk()] if carried(event).get("step") else []

    def _step_finished(self, event: r.StepFinished) -> Chunks:
        return [c.FinishStepChunk()] if carried(event).get("step") else []

    # ------------------------------------------------------------------ what streams

    def _text_start(self, event: r.TextMessageStart) -> Chunks:
        role = given(event.role) or "assistant"
        if role == "assistant":
            metadata = carried(event).get("provider_metadata")
            self._silent.start(event.message_id, c.TextStartChunk(id=event.message_id, provider_metadata=metadata))
        elif role == "user":
            self._said[event.message_id] = []
        return []

    def _text_content(self, event: r.TextMessageContent) -> Chunks:
        said = self._said.get(event.message_id)
        if said is None:
            delta = c.TextDeltaChunk(id=event.message_id, delta=event.delta)
            return [*self._silent.take(event.message_id), delta] if event.delta else []
        said.append(event.delta)
        return []

    def _text_end(self, event: r.TextMessageEnd) -> Chunks:
        said = self._said.pop(event.message_id, None)
        if said is not None:  # the user's words inside of a run (R44)
            parts = [{"type": "text", "text": join_text(said)}]
            return [c.SteeringMessageChunk(id=event.message_id, parts=parts)]
        facts = carried(event)
        if facts.get("cut"):
            return []
        end = c.TextEndChunk(id=event.message_id, provider_metadata=facts.get("provider_metadata"))
        return self._silent.end(event.message_id, end, is_text=facts.get("empty") is True)

    def _thought_start(self, event: r.ReasoningMessageStart) -> Chunks:
        metadata = carried(event).get("provider_metadata")
        return [c.ReasoningStartChunk(id=event.message_id, provider_metadata=metadata)]

    def _thought_content(self, event: r.ReasoningMessageContent) -> Chunks:
        metadata = carried(event).get("provider_metadata")
        return [c.ReasoningDeltaChunk(id=event.message_id, delta=event.delta, provider_metadata=metadata)]

    def _thought_end(self, event: r.ReasoningMessageEnd) -> Chunks:
        facts = carried(event)
        if not facts.get("cut"):
            self._thought = (event.message_id, dict(facts.get("provider_metadata") or {}))
        return []

    def _encrypted(self, event: r.ReasoningEncryptedValue) -> Chunks:
        """The artefact of a thought is its signature; it comes right behind the end of its message (G5)."""
        if self._thought is not None and event.subtype == "message" and event.entity_id == self._thought[0]:
            own = self._thought[1].setdefault("pydantic_ai", {})
            if isinstance(own, dict):
                own.setdefault("signature", event.encrypted_value)
        return []

    def _end_thought(self) -> None:
        if self._thought is not None:
            id_, metadata = self._thought
            self._thought = None
            self._put([c.ReasoningEndChunk(id=id_, provider_metadata=metadata or None)])

    def _call_start(self, event: r.ToolCallStart) -> Chunks:
        self._arguments[event.tool_call_id] = []
        self._names[event.tool_call_id] = event.tool_call_name
        said = carried(event).get("tool_call_id")
        if isinstance(said, str):
            self._ids[event.tool_call_id] = said
        self._made.add(self._id(event.tool_call_id))
        own, metadata = self._provider(event)
        start = c.ToolInputStartChunk(
            tool_call_id=self._id(event.tool_call_id),
            tool_name=event.tool_call_name,
            provider_executed=own,
            provider_metadata=metadata,
        )
        return [start]

    def _call_arguments(self, event: r.ToolCallArgs) -> Chunks:
        call_id = self._id(event.tool_call_id)
        said = self._arguments.setdefault(event.tool_call_id, [])
        if said is not self._fold.input_said(call_id):
            said.append(event.delta)
        return [c.ToolInputDeltaChunk(tool_call_id=call_id, input_text_delta=event.delta)]

    def _call_end(self, event: r.ToolCallEnd) -> Chunks:
        facts = carried(event)
        if facts.get("cut"):
            return []  # closed because the run was cut, not because the model had ended it (G3)
        if isinstance(facts.get("tool_name"), str):
            self._names[event.tool_call_id] = facts["tool_name"]
        text = join_text(self._arguments.pop(event.tool_call_id, []))
        value = facts["input"] if "input" in facts else parse(text)
        if value is NOT_JSON:
            self._unparsed[event.tool_call_id] = text
            return []
        return [self._available(event.tool_call_id, value, *self._provider(event))]

    def _provider(self, event: Any) -> tuple[bool | None, dict[str, Any] | None]:
        facts = carried(event)
        if not facts:
            return None, None
        metadata = facts.get("provider_metadata")
        return (True if facts.get("provider_executed") else None), metadata if isinstance(metadata, dict) else None

    def _available(
        self, call_id: str, value: Any, own: bool | None = None, metadata: dict[str, Any] | None = None
    ) -> c.ToolInputAvailableChunk:
        return c.ToolInputAvailableChunk(
            tool_call_id=self._id(call_id),
            tool_name=self._names.get(call_id, ""),
            input=value,
            provider_executed=own,
            provider_metadata=metadata,
        )

    def _id(self, call_id: str) -> str:
        return self._ids.get(call_id, call_id)

    def _whole(self, *calls: str) -> list[c.Chunk]:
        """Return the calls whose arguments are not JSON and have ended: what came after them shows it (G4)."""
        return [self._available(call, self._unparsed.pop(call)) for call in calls if call in self._unparsed]

    def _result(self, event: r.ToolCallResult) -> Chunks:
        facts = carried(event)
        whole = self._whole(event.tool_call_id)
        content = result_content(event.content)
        if facts.get("json") and isinstance(content, str):
            value = parse(content)
            content = content if value is NOT_JSON else value
        return [*whole, self._output(event.tool_call_id, content, facts)]

    def _output(self, call_id: str, content: Any, facts: Mapping[str, Any]) -> c.Chunk:
        own = True if facts.get("provider_executed") else None
        name, call_id = self._names.get(call_id, ""), self._id(call_id)
        match facts.get("outcome"):
            case "error" if isinstance(content, str):
                return c.ToolOutputErrorChunk(tool_call_id=call_id, error_text=content, provider_executed=own)
            case "refused" if isinstance(content, str) and call_id in self._made:
                return c.ToolInputErrorChunk(tool_call_id=call_id, tool_name=name, input=None, error_text=content)
            case "denied":
                return c.ToolOutputDeniedChunk(tool_call_id=call_id)
        return c.ToolOutputAvailableChunk(tool_call_id=call_id, output=content, provider_executed=own)

    def _messages_snapshot(self, event: r.MessagesSnapshot) -> Chunks:
        """Results that a server sends in a snapshot alone; a result that is known stays as it is (R14, G7)."""
        chunks: list[c.Chunk] = []
        for message in event.messages:
            if isinstance(message, ToolMessage) and message.tool_call_id in self._names:
                error = given(message.error)
                content = result_content(message.content)
                facts = {"outcome": "error"} if error is not None else {}
                chunks += self._whole(message.tool_call_id)
                chunks.append(self._output(message.tool_call_id, error if error is not None else content, facts))
        return chunks

    def _custom(self, event: r.Custom) -> Chunks:
        """A chunk that AG-UI has no event for; an application's own event is shown and not kept (G8)."""
        if not event.name.startswith(PREFIX) or not isinstance(event.value, dict):
            return []
        kind = event.name.removeprefix(PREFIX)
        return [chunk_from_object({**event.value, "type": kind})]

    HANDLERS: ClassVar[Mapping[type[r.BaseEvent], Callable[[AgUiAssembler, Any], Chunks]]] = {
        r.RunStartedEvent: _run_started,
        r.RunFinishedEvent: _run_finished,
        r.RunError: _run_error,
        r.StepStarted: _step_started,
        r.StepFinished: _step_finished,
        r.TextMessageStart: _text_start,
        r.TextMessageContent: _text_content,
        r.TextMessageEnd: _text_end,
        r.ReasoningMessageStart: _thought_start,
        r.ReasoningMessageContent: _thought_content,
        r.ReasoningMessageEnd: _thought_end,
        r.ReasoningEncryptedValue: _encrypted,
        r.ToolCallStart: _call_start,
        r.ToolCallArgs: _call_arguments,
        r.ToolCallEnd: _call_end,
        r.ToolCallResult: _result,
        r.MessagesSnapshot: _messages_snapshot,
        r.Custom: _custom,
    }
    """Event → the chunks that mean the same; the others leave nothing in a thread."""
