# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""Wrong keepers of other histories: what `message_parts` and `langchain` store, show, read back and send.

What is stored wrongly differs from the hand-written tables of `tests/histories`; what is shown, read or sent wrongly is
found when a scenario is played through the history.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import get_args, get_type_hints

from msgspec.structs import replace as changed
from tests.seeded_defects.seeding import put, wrap

from tpharness.explore.mutation import Seed
from tpharness.histories.langchain import DOCUMENTED, Choices, reducer
from tpharness.histories.message_parts import dialect, load, store
from tpharness.histories.message_parts.dialect import MessageParts
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    DeveloperMessage,
    InterruptEntry,
    RetractEntry,
    StreamErrorItem,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolResultMessage,
    UserMessage,
)

__all__ = ["CHOICE_DEFECTS", "LANGCHAIN_DEFECTS", "PART_DEFECTS", "PLAYED_DEFECTS", "HistoryDefect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryDefect:
    """One mistake. `history` and `scenario` say where playing finds it, with these `codes` among its findings."""

    name: str
    sentence: str
    seed: Seed
    history: str = ""
    scenario: str = ""
    codes: frozenset[str] = field(default_factory=frozenset)


def defect(name: str, sentence: str, seed: Seed, history: str = "", scenario: str = "", *codes: str) -> HistoryDefect:
    """Write a mistake down."""
    return HistoryDefect(
        name=name, sentence=sentence, seed=seed, history=history, scenario=scenario, codes=frozenset(codes)
    )


def stored(change):
    """Let the history of messages and parts be stored with this change of its events."""
    return wrap(dialect, "history_events", lambda was: lambda journal, variant: change(was(journal, variant)))


def without(*kinds, when=lambda _: True):
    """Store a history without its events of these kinds."""
    return stored(lambda events: [e for e in events if not (isinstance(e, kinds) and when(e))])


def each(kind, change):
    """Store each event of a kind with this change."""
    return stored(lambda events: [change(e) if isinstance(e, kind) else e for e in events])


def without_parts(*kinds):
    """Store assistant messages without their parts of these kinds."""
    return each(
        AssistantMessage,
        lambda m: changed(m, parts=tuple(part for part in m.parts if not isinstance(part, kinds))),
    )


def aborted(event) -> bool:
    """Whether the event says that the user interrupted."""
    return "aborted" in (getattr(event, "stop_reason", None), getattr(event, "status", None))


def swapped_aborted(events):
    places = [i for i, e in enumerate(events) if isinstance(e, ToolResultMessage) and aborted(e)]
    result = list(events)
    for place, other in zip(places, reversed(places), strict=True):
        result[place] = events[other]
    return result


def blank_behind(part):
    return changed(part, text=f"{part.text} ") if isinstance(part, TextPart) else part


def every_reason_is_the_user(was):
    return lambda self, end: was(self, changed(end, reason="user_cancelled"))


PART_DEFECTS = (
    defect("answers-not-stored", "Answers of the model are not stored.", without(AssistantMessage)),
    defect("users-not-stored", "Messages of the user are not stored.", without(UserMessage)),
    defect(
        "results-not-stored",
        "Results that arrived are not stored.",
        without(ToolResultMessage, when=lambda e: not aborted(e)),
    ),
    defect("texts-lost", "The texts of answers are not stored.", without_parts(TextPart)),
    defect("thoughts-lost", "The thoughts of the model are not stored.", without_parts(ThinkingTextPart)),
    defect("signatures-lost", "The signatures of thoughts are not stored.", without_parts(ThinkingSignaturePart)),
    defect(
        "token-counts-lost", "Token counts are not stored.", each(AssistantMessage, lambda m: changed(m, usage=None))
    ),
    defect(
        "stop-reasons-lost",
        "Why an answer ended is not stored.",
        each(AssistantMessage, lambda m: changed(m, stop_reason=None)),
    ),
    defect(
        "failures-are-successes",
        "A tool that failed is stored as one that succeeded.",
        each(ToolResultMessage, lambda r: changed(r, status="success")),
    ),
    defect(
        "stopped-tools-without-results",
        "The tools that the user stopped get no results.",
        without(ToolResultMessage, when=aborted),
    ),
    defect(
        "stopped-tools-in-another-order",
        "The results of stopped tools stand in the reverse order of their calls.",
        stored(swapped_aborted),
    ),
    defect(
        "stopped-tools-in-other-words",
        "The results of stopped tools say something else.",
        put(store, "CANCEL_OUTPUT", "cancelled"),
    ),
    defect("no-interrupt-entry", "The current program writes no entry for an interruption.", without(InterruptEntry)),
    defect(
        "every-interruption-noticed",
        "Every interruption is shown, also before anything was visible.",
        each(InterruptEntry, lambda e: changed(e, show_notice=True)),
    ),
    defect(
        "no-interruption-noticed",
        "No interruption is shown that an entry tells of.",
        each(InterruptEntry, lambda e: changed(e, show_notice=False)),
    ),
    defect(
        "no-empty-aborted-answer",
        "The plan writes no answer where the user interrupted before its first word.",
        without(AssistantMessage, when=lambda m: aborted(m) and not m.parts),
    ),
    defect(
        "cut-text-not-stripped",
        "A text that was cut keeps the white space that the model wrote last.",
        each(AssistantMessage, lambda m: changed(m, parts=tuple(map(blank_behind, m.parts))) if aborted(m) else m),
    ),
    defect(
        "half-answer-lost",
        "An answer that was cut is not stored.",
        without(AssistantMessage, when=lambda m: aborted(m) and m.parts),
    ),
    defect(
        "every-end-is-the-users",
        "Whatever ends a run is stored as the user's interruption.",
        wrap(store._TurnWriter, "_interrupt", every_reason_is_the_user),
    ),
    defect("failed-calls-not-stored", "That a call of the model failed is not stored.", without(StreamErrorItem)),
    defect("developer-messages-lost", "Messages of the developer are not stored.", without(DeveloperMessage)),
    defect(
        "developer-messages-without-place",
        "Where a message of the developer is attached is not stored.",
        each(DeveloperMessage, lambda m: changed(m, attachment_position=None)),
    ),
    defect("withdrawals-lost", "That the user withdrew a message is not stored.", without(RetractEntry)),
)
"""What the history of messages and parts stores wrongly."""


def choosing(**choices):
    """Let the documented design choose otherwise; other variants choose as they did."""

    def make(was):
        return lambda self, given: was(self, replace(given, **choices) if given == DOCUMENTED else given)

    return wrap(reducer.Reducer, "__init__", make)


def of_kind(*kinds):
    """Let the state have no messages of these kinds."""

    def make(was):
        def feed(self, event):
            was(self, event)
            self.messages[:] = [message for message in self.messages if message["type"] not in kinds]

        return feed

    return wrap(reducer.Reducer, "feed", make)


def nothing(was):
    del was
    return lambda *_: None


def empty_answer(was):
    def interrupt(self):
        before = len(self.messages)
        was(self)
        if len(self.messages) == before:
            self._push("")

    return interrupt


def one_message(was):
    def push(self, text):
        if self.messages and self.messages[-1]["type"] == "ai":
            self._message = self.messages[-1]
            self._message["data"]["content"] += text
            return self._message
        return was(self, text)

    return push


def _other_choices() -> Iterable[tuple[str, str]]:
    """Yield each gap of the LangChain design with each choice that the documented design does not make."""
    for name, values in get_type_hints(Choices).items():
        yield from ((name, value) for value in get_args(values) if value != getattr(DOCUMENTED, name))


CHOICE_DEFECTS = {
    (name, value): defect(
        f"{name.replace('_', '-')}-{value}",
        f"The documented design is played with another choice for {name}: {value}.",
        choosing(**{name: value}),
    )
    for name, value in _other_choices()
}
"""The documented design with another choice for one of its gaps, by field and value."""

LANGCHAIN_DEFECTS = (
    defect("state-without-answers", "The state has no answers of the model.", of_kind("ai")),
    defect("state-without-results", "The state has no results.", of_kind("tool")),
    defect("state-without-users", "The state has no messages of the user.", of_kind("human")),
    defect(
        "interruption-ignored",
        "An interruption changes nothing in the state.",
        wrap(reducer.Reducer, "_interrupt", nothing),
    ),
    defect("half-text-dropped", "A text that was cut is dropped.", wrap(reducer.Reducer, "_push_text", nothing)),
    defect(
        "half-call-dropped", "The text of a call that was cut is dropped.", put(reducer, "half_calls", lambda *_: [])
    ),
    defect(
        "half-call-unmarked",
        "The text of a call that was cut has no words before it.",
        put(reducer, "HALF_CALL_TEXT", ""),
    ),
    defect(
        "call-without-words",
        "A call is written into its message without the words before it.",
        put(reducer, "CALL_TEXT", ""),
    ),
    defect(
        "running-calls-stay",
        "The calls of tools that were running stay in the state.",
        wrap(reducer.Reducer, "_drop_calls_of_last", nothing),
    ),
    defect(
        "running-calls-stay-repaired",
        "In the repaired design the calls of tools that were running stay.",
        wrap(reducer.Reducer, "_drop_unanswered", nothing),
    ),
    defect(
        "dropped-calls-unmarked",
        "A message whose calls were dropped does not say so.",
        put(reducer, "INTERRUPTED_CALL", ""),
    ),
    defect(
        "empty-answer-at-an-interruption",
        "An interruption before the first word leaves an empty answer.",
        wrap(reducer.Reducer, "_interrupt", empty_answer),
    ),
    defect(
        "answers-run-together", "Two answers in a row become one message.", wrap(reducer.Reducer, "_push", one_message)
    ),
)
"""What the LangChain design stores wrongly."""


def shown(change):
    """Let a UI be shown this instead of what is right."""
    return wrap(MessageParts, "replay", lambda was: lambda self, document: change(was(self, document)))


def twice(events):
    return [one for event in events for one in [event] * (2 if event["event"] == "InterruptEvent" else 1)]


def sent(change):
    """Let a model be sent this; `change` sees the events of the history."""
    return wrap(dialect, "input_items", lambda was: lambda events: was(change(list(events))))


def bare(was):
    """Read lines without their data."""
    return lambda self, text: [{**line, "data": {}} for line in was(self, text)]


def question_forgotten(was):
    def model_input(self, document, provider, *, next_user=None):
        return was(self, document[1:] if next_user else document, provider, next_user=next_user)

    return model_input


CURRENT, RUNNING = "message-parts/current", "histories/k08-tool-runs"
UNANSWERED = (
    "chat-call-unanswered",
    "responses-call-unanswered",
    "anthropic-call-unanswered",
    "gemini-responses-uneven",
)
PLAYED_DEFECTS = (
    defect(
        "read-without-data",
        "The lines of a history are read without what they hold.",
        wrap(MessageParts, "loads", bare),
        CURRENT,
        RUNNING,
        "history-not-read-back",
    ),
    defect(
        "interruption-not-shown",
        "A UI that is opened again shows nothing of the interruption.",
        shown(lambda _: []),
        CURRENT,
        RUNNING,
        "missing-interrupt",
    ),
    defect(
        "interruption-shown-twice",
        "A UI that is opened again shows the interruption twice.",
        shown(twice),
        CURRENT,
        RUNNING,
        "duplicate-interrupt",
    ),
    defect(
        "question-not-sent-again",
        "With the next message the model is not told the first one any more.",
        wrap(MessageParts, "model_input", question_forgotten),
        CURRENT,
        "histories/k14-between-result-and-answer",
        "model-view-rewritten",
        "gemini-call-misplaced",
    ),
    defect(
        "open-calls-sent",
        "Calls that a crash left without results are sent as they are.",
        put(load, "add_missing_results", list),
        CURRENT,
        "histories/k15-program-ends-while-a-tool-runs",
        *UNANSWERED,
    ),
    defect(
        "results-not-sent",
        "Results are stored and not sent.",
        sent(lambda events: [e for e in events if not isinstance(e, ToolResultMessage)]),
        CURRENT,
        RUNNING,
        *UNANSWERED,
    ),
)
"""What a history shows, reads back or sends wrongly."""
