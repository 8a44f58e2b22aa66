# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Where turns begin and end, whose they are, and what users say in them: R4, R5, R8, R9, R44, R45."""

from __future__ import annotations

from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.seeding import defect, on_chunk, on_event, together, wrap

from tpharness.dialects.thread import ThreadRenderer
from tpharness.server_events.events import EventKind
from tpharness.server_events.parts import pick_fields
from tpharness.wires.vsp import records as c
from tpharness.wires.vsp.fold import ChunkFold
from tpharness.wires.vsp.lifecycle import Lifecycle
from tpharness.wires.vsp.states import StreamState

__all__ = ["DEFECTS"]


def without(*names):
    return lambda document, _: {k: v for k, v in document.items() if k not in names}


def on_messages(change):
    """Change each request and response of an agent turn as both sides write them down."""
    return on_turns(
        lambda document, _: {
            **document,
            "messages": [m if m["message_type"] == "system" else change(m) for m in document["messages"]],
        }
    )


def prompts_first(document, _):
    def other(message):
        return all(part["part_kind"] != "user-prompt" for part in message.get("parts", ()))

    return {**document, "messages": sorted(document["messages"], key=other)}


def thread_begin(document, renderer):
    return {**document, "started_at": renderer._header.created_at}


def nothing_before_start(was):
    def feed(self, chunk, at):
        early = self.state is StreamState.IDLE and not isinstance(chunk, c.StartChunk | c.DataChunk | c.Done)
        if early:
            self._context.index += 1
            return
        was(self, chunk, at)

    return feed


def start_begins_again(was):
    def start(self, chunk):
        if self._writer.running:
            self.end_response()
            self._writer.complete_turn(self._context.time)
        was(self, chunk)

    return start


def turn_for_each_step(was):
    def step(self, chunk):
        if self._writer.running and not self._writer.only_events:
            self.end_response()
            self._writer.complete_turn(self._context.time)
            self._begin_turn()
        was(self, chunk)

    return step


def prompt_stored_again(was):
    def request(self, event):
        self._writer._user_parts = ()
        was(self, event)

    return request


def user_said_again(was):
    def render(self, journal):
        document = was(self, journal)
        turns = list(document["turns"])
        for index, turn in enumerate(turns[1:], 1):
            if turn["turn_type"] == "agent" and turns[index - 1]["turn_type"] == "user":
                again = {"message_type": "request", "timestamp": turn["started_at"], "agent_id": turn["agent_id"]}
                messages = [{**again, "parts": turns[index - 1]["parts"]}, *turn["messages"]]
                turns[index] = {**turn, "messages": messages}
        return {**document, "turns": turns}

    return render


def prompts_dropped(was):
    def request(self, event):
        was(self, {**event, "parts": [p for p in event.get("parts") or () if p["part_kind"] != "user-prompt"]})

    return request


def system_prompts_stored(was):
    def request(self, event):
        was(self, event)
        system = [p for p in event.get("parts") or () if p["part_kind"] == "system-prompt"]
        if system:
            self._writer.add_prompt([pick_fields(p, ("part_kind", "content")) for p in system], self._at)

    return request


def agent_stays(was):
    def carrier(self, data):
        if isinstance(data, dict) and self._writer.running:
            data = {k: v for k, v in data.items() if k != "agent_id"}
        was(self, data)

    return carrier


def later_start(was):
    def turn(self, one):
        document = was(self, one)
        if document is not None and document["turn_type"] == "agent" and document["messages"]:
            document["started_at"] = document.get("completed_at") or document["interruption"]["interrupted_at"]
        return document

    return turn


def keys_flattened(was):
    def turn(self, one):
        document = was(self, one)
        if "client_metadata" in document:
            document["client_metadata"] = {k.rpartition(":")[2]: v for k, v in document["client_metadata"].items()}
        return document

    return turn


DEFECTS = (
    defect(
        "completion-status-left-out",
        "both",
        "A turn does not say that it is complete.",
        "turn.completion-status R19",
        on_turns(without("completion_status")),
    ),
    defect(
        "complete-turn-without-end",
        "both",
        "A complete turn does not say when it ended.",
        "turn.complete-has-end R19",
        on_turns(without("completed_at")),
    ),
    defect(
        "message-without-agent",
        "both",
        "Messages do not name their agent, since the turn does.",
        "message.agent-id R3",
        on_messages(lambda message: {k: v for k, v in message.items() if k != "agent_id"}),
    ),
    defect(
        "agents-by-their-names",
        "both",
        "Turns and messages name agents by their display names, which are no keys of the registry.",
        "thread.registry",
        on_turns(lambda document, _: {**document, "agent_id": f"{document['agent_id']} (agent)"}),
    ),
    defect(
        "turn-starts-when-the-thread-did",
        "both",
        "Every agent turn carries the time at which the thread was made.",
        "turn.no-overlap R4",
        on_turns(thread_begin),
    ),
    defect(
        "turn-starts-when-it-was-saved",
        "both",
        "An agent turn carries the time of its end as that of its start.",
        "turn.messages-chronological R25",
        wrap(ThreadRenderer, "_turn", later_start),
    ),
    defect(
        "keys-of-client-metadata-shortened",
        "both",
        "What the client said beside the user's message loses the namespaces of its keys.",
        "turn.client-metadata R5",
        wrap(ThreadRenderer, "_user_turn", keys_flattened),
    ),
    defect(
        "nothing-seen-before-start",
        "client",
        "The client drops what comes before start, also when no start comes at all.",
        "turn.begins-at-start R45",
        wrap(ChunkFold, "feed", nothing_before_start),
    ),
    defect(
        "second-start-begins-a-turn",
        "client",
        "Each start makes a turn.",
        "turn.begins-at-start stream.violation-isolated R45",
        on_chunk(start_begins_again, c.StartChunk),
    ),
    defect(
        "turn-for-each-step",
        "client",
        "Each model call of a run is a turn of its own.",
        "turn.one-run",
        on_chunk(turn_for_each_step, c.StartStepChunk),
    ),
    defect(
        "change-of-agent-not-seen",
        "client",
        "When another agent takes over, its messages stand in the first one's turn.",
        "turn.agent-change R45",
        wrap(Lifecycle, "apply_carrier", agent_stays),
    ),
    defect(
        "change-of-agent-not-seen-by-both",
        "both",
        "When another agent takes over, neither side begins a turn.",
        "turn.agent-change R45",
        together(
            on_event(lambda _: lambda *_: None, EventKind.AGENT_START),
            wrap(Lifecycle, "apply_carrier", agent_stays),
        ),
    ),
    defect(
        "user-input-stored-twice",
        "server",
        "What the user said stands in the user turn and again in the agent's.",
        "turn.user-input-once R9",
        on_event(prompt_stored_again, EventKind.MODEL_REQUEST),
    ),
    defect(
        "user-input-repeated-by-both",
        "both",
        "Each agent turn begins with a request that repeats the user's message.",
        "turn.user-input-once R9",
        wrap(ThreadRenderer, "render", user_said_again),
    ),
    defect(
        "prompts-inside-a-run-dropped",
        "server",
        "A request with which one agent asks another is not in the thread.",
        "turn.other-prompt-stays turn.handoff-request R9",
        on_event(prompts_dropped, EventKind.MODEL_REQUEST),
    ),
    defect(
        "system-prompt-stored",
        "server",
        "The system prompt of a request is stored in the thread.",
        "thread.no-system-prompt R8",
        on_event(system_prompts_stored, EventKind.MODEL_REQUEST),
    ),
    defect(
        "steering-message-not-seen",
        "client",
        "What the user said in the middle of the run is not in the client's thread.",
        "message.steering R44",
        on_chunk(lambda _: lambda *_: None, c.SteeringMessageChunk),
    ),
    defect(
        "steering-before-its-response",
        "both",
        "What the user said in the middle of the run stands before the answer that it came after.",
        "message.steering R44",
        on_turns(prompts_first),
    ),
)
