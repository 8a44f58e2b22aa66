# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What is known in one turn and counts in a later one: R9, R14, R30, R45, R61."""

from __future__ import annotations

from tests.seeded_defects.seeding import both_writers, client_writer, defect, on_event, on_wire, together

from tpharness.journal import JournalWriter, Return, UserTurn
from tpharness.server_events.events import EventKind

__all__ = ["DEFECTS"]


class AnswersOfThisTurn(JournalWriter):
    """Which calls have their return is known for one turn."""

    def begin_turn(self, agent_id, at):
        super().begin_turn(agent_id, at)
        self._answered_here: set[str] = set()

    def has_return(self, call_id):
        return call_id in self._answered_here

    def add_return(self, call_id, kind, fields, at):
        self._answered_here.add(call_id)
        super().add_return(call_id, kind, fields, at)


class AnswersGoWithTheirTurn(JournalWriter):
    """A call of an earlier turn that an interrupted turn has answered waits again."""

    def interrupt_turn(self, reason, at):
        entries = [*self._entries, *(entry for segment in self._segments for entry in segment.entries)]
        answered = {entry.call_key for entry in entries if isinstance(entry, Return)}
        super().interrupt_turn(reason, at)
        self._answered -= answered
        self._unanswered |= {call_id: key for call_id, key in self._calls.items() if key in answered}


class OneLateAnswer(JournalWriter):
    """Of the answers to calls of earlier turns each turn takes the first."""

    def begin_turn(self, agent_id, at):
        super().begin_turn(agent_id, at)
        self._waiting = set(self._calls.values())
        self._taken = False

    def add_return(self, call_id, kind, fields, at):
        late = self._calls[call_id] in self._waiting
        if not (late and self._taken):
            super().add_return(call_id, kind, fields, at)
        self._taken = self._taken or late


class SameWordsOnce(JournalWriter):
    """A message of the user that was there before is a repetition."""

    def add_user_turn(self, turn):
        if not any(isinstance(one, UserTurn) and one.parts == turn.parts for one in self._turns):
            super().add_user_turn(turn)


class RepeatedOnlyAtOnce(JournalWriter):
    """A prompt repeats the user's where it follows it at once, and not in the turn of an agent that takes over."""

    def add_prompt(self, parts, at):
        asked = self._user_parts
        if not isinstance(self._turns[-1], UserTurn):
            self._user_parts = ()
        super().add_prompt(parts, at)
        self._user_parts = asked


class FailureOutlivesItsTurn(JournalWriter):
    """What one agent's model failed with interrupts the turn of the agent that takes over."""

    def complete_turn(self, at):
        self._failed = self.interruption_held
        return super().complete_turn(at)

    def begin_turn(self, agent_id, at):
        handed_over = self._turns and not isinstance(self._turns[-1], UserTurn) and self._turns[-1].agent_id != agent_id
        super().begin_turn(agent_id, at)
        if handed_over and self._failed:
            self.hold_interruption("error", at)
        self._failed = False


def model_stays(name):
    """Keep what the agent before the hand-off asked, under the name that it has there."""

    def make(was):
        def agent_start(self, event):
            asked = getattr(self, name)
            done = was(self, event)
            setattr(self, name, asked)
            return done

        return agent_start

    return make


DEFECTS = (
    defect(
        "second-answer-in-a-later-turn-counts",
        "both",
        "A call that an earlier run left open may be answered once in each later run.",
        "tool.first-output-stands R14",
        both_writers(AnswersOfThisTurn),
    ),
    defect(
        "answer-of-an-interrupted-turn-forgotten",
        "both",
        "A call that an interrupted run has answered may be answered again.",
        "tool.first-output-stands R14",
        both_writers(AnswersGoWithTheirTurn),
    ),
    defect(
        "one-late-answer-a-turn",
        "client",
        "A client takes the first of the answers to calls of an earlier turn, and no other.",
        "tool.later-returns-grow R61",
        client_writer(OneLateAnswer),
    ),
    defect(
        "same-words-taken-for-a-repetition",
        "both",
        "What the user says a second time is not stored.",
        "turn.same-words-later R9",
        both_writers(SameWordsOnce),
    ),
    defect(
        "prompt-of-the-user-stored-again-for-the-next-agent",
        "both",
        "The request of an agent that takes over is stored though it repeats what the user asked.",
        "turn.user-input-once R9",
        both_writers(RepeatedOnlyAtOnce),
    ),
    defect(
        "failure-outlives-its-agent",
        "both",
        "A run in which one agent's model failed and another took over is broken where the first failed.",
        "turn.agent-change interrupt.error interrupt.error-then-finish R27 R45",
        both_writers(FailureOutlivesItsTurn),
    ),
    defect(
        "server-gives-the-next-agent-the-model-of-the-last",
        "both",
        "The server goes on to name the model of the agent that handed over, in its thread and on the wire.",
        "carrier.scope R45",
        together(
            on_event(model_stays("_model"), EventKind.AGENT_START),
            on_wire(model_stays("_facts"), EventKind.AGENT_START),
        ),
    ),
)
