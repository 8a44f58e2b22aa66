# mypy: disallow-untyped-calls=False
# A change takes the place of whatever it changes: what it is called with is said there.
"""What comes twice, what is long, and what is sorted: R9, R11, R13, R25."""

from __future__ import annotations

import json
from typing import Any

from tests.seeded_defects.interrupts import on_turns
from tests.seeded_defects.seeding import both_writers, defect, wrap
from tests.seeded_defects.values import on_response

from tpharness.dialects import messages
from tpharness.dialects.thread import ThreadRenderer
from tpharness.journal import JournalWriter

__all__ = ["DEFECTS"]


def on_document(change):
    """Change the turns of a document of both sides."""

    def make(was):
        def render(self, journal):
            document = was(self, journal)
            return {**document, "turns": change(document["turns"])}

        return render

    return wrap(ThreadRenderer, "render", make)


def on_parts(change):
    return on_response(lambda message: {**message, "parts": change(message["parts"])})


def on_returns(change):
    return wrap(messages, "_request", lambda was: lambda agent, at, parts: was(agent, at, change(list(parts))))


def once(*fields):
    """Return parts without those of a kind that say the same as one before in these fields."""

    def change(parts):
        seen: set[str] = set()
        kept = []
        for part in parts:
            said = json.dumps([part["part_kind"], *map(part.get, fields)], sort_keys=True)
            if all(field in part for field in fields) and said in seen:
                continue
            seen.add(said)
            kept.append(part)
        return kept

    return change


def by_index_as_text(parts):
    return [part for _, part in sorted(enumerate(parts), key=lambda pair: str(pair[0]))]


def thinking_joined(parts):
    joined: list[dict[str, Any]] = []
    for part in parts:
        if joined and part["part_kind"] == joined[-1]["part_kind"] == "thinking":
            joined[-1] = {**joined[-1], **part, "content": f"{joined[-1]['content']}{part['content']}"}
        else:
            joined.append(part)
    return joined


class DeltasOnce(JournalWriter):
    """A delta that says the same as the one before is a repetition."""

    def close_part(self, part, **fields):
        if part.text_field == "content":
            pieces = part.pieces
            pieces[:] = [piece for i, piece in enumerate(pieces) if i == 0 or piece != pieces[i - 1]]
        super().close_part(part, **fields)


class BlankDeltasLost(JournalWriter):
    """A delta of blanks alone says nothing."""

    def close_part(self, part, **fields):
        if part.text_field == "content":
            part.pieces[:] = [piece for piece in part.pieces if piece.strip()]
        super().close_part(part, **fields)


class SameErrorOnce(JournalWriter):
    """An error that was reported before is not recorded again."""

    def add_event(self, event):
        if event.name == "data-tp-error" and event.data == self.__dict__.get("_error"):
            return
        self._error = event.data if event.name == "data-tp-error" else None
        super().add_event(event)


def same_events_once(turn, _):
    kept: list[dict[str, Any]] = []
    for message in turn["messages"]:
        said = (message.get("event_type"), message.get("event_data"))
        if kept and said[0] and said == (kept[-1].get("event_type"), kept[-1].get("event_data")):
            continue
        kept.append(message)
    return {**turn, "messages": kept}


def same_response_once(turn, _):
    kept: list[dict[str, Any]] = []
    before: object = None
    for message in turn["messages"]:
        if message["message_type"] == "response":
            if message["parts"] == before:
                continue
            before = message["parts"]
        kept.append(message)
    return {**turn, "messages": kept}


def repeated_calls_gone(turn, _):
    seen: set[str] = set()
    gone: set[str] = set()
    kept = []
    for message in turn["messages"]:
        parts = []
        for part in message.get("parts", ()):
            if part["part_kind"] == "tool-call":
                said = json.dumps([part["tool_name"], part.get("args")], sort_keys=True)
                (gone if said in seen else seen).add(part["tool_call_id"] if said in seen else said)
            if part.get("tool_call_id") not in gone:
                parts.append(part)
        if parts or message["message_type"] == "system":
            kept.append({**message, "parts": parts} if parts else message)
    return {**turn, "messages": kept}


def users_joined(turns):
    joined: list[dict[str, Any]] = []
    for turn in turns:
        if joined and turn["turn_type"] == joined[-1]["turn_type"] == "user":
            joined[-1] = {**joined[-1], "parts": [*joined[-1]["parts"], *turn["parts"]]}
        else:
            joined.append(turn)
    return joined


def same_users_once(turns):
    return [
        turn
        for i, turn in enumerate(turns)
        if not (i and turn["turn_type"] == "user" and turn["parts"] == turns[i - 1].get("parts"))
    ]


def same_answers_once(turns):
    seen: list[object] = []
    kept = []
    for turn in turns:
        said = [message.get("parts") for message in turn.get("messages", ())]
        if said and said in seen:
            continue
        seen.append(said)
        kept.append(turn)
    return kept


DEFECTS = (
    defect(
        "same-calls-once",
        "both",
        "Of two calls of a response that say the same one is kept.",
        "stream.tool-input tool.ids-match",
        on_parts(once("tool_name", "args")),
    ),
    defect(
        "same-texts-once",
        "both",
        "Of two texts of a response that say the same one is kept.",
        "part.text-as-is R13",
        on_parts(once("content")),
    ),
    defect(
        "same-results-once",
        "both",
        "Of two results that say the same one is kept.",
        "tool.ids-match tool.status-success",
        on_returns(once("tool_name", "content")),
    ),
    defect(
        "parts-by-their-index-as-text",
        "both",
        "Parts are sorted by their index as a text, the tenth before the second.",
        "part.order-of-starts R11",
        on_parts(by_index_as_text),
    ),
    defect(
        "returns-by-their-index-as-text",
        "both",
        "Returns are sorted by the index of their call as a text.",
        "tool.returns-in-call-order R11",
        on_returns(by_index_as_text),
    ),
    defect(
        "returns-by-the-names-of-their-tools",
        "both",
        "Returns are gathered by the names of the tools.",
        "tool.returns-in-call-order R11",
        on_returns(lambda parts: sorted(parts, key=lambda part: str(part.get("tool_name", "")))),
    ),
    defect(
        "retry-prompts-behind-returns",
        "both",
        "Retry prompts stand behind the returns of their request.",
        "tool.returns-in-call-order tool.retry-prompt R11",
        on_returns(lambda parts: sorted(parts, key=lambda part: part["part_kind"] == "retry-prompt")),
    ),
    defect(
        "thinking-joined",
        "both",
        "Two thoughts in a row become one, with the signature of the second.",
        "part.thinking-signature stream.reasoning",
        on_parts(thinking_joined),
    ),
    defect(
        "same-deltas-once",
        "both",
        "A delta that says the same as the one before is taken for a repetition.",
        "stream.text",
        both_writers(DeltasOnce),
    ),
    defect(
        "blank-deltas-lost",
        "both",
        "A delta of blanks alone is not taken in.",
        "stream.text",
        both_writers(BlankDeltasLost),
    ),
    defect(
        "same-events-in-a-row-once",
        "both",
        "An event that says the same as the one before it is not recorded.",
        "event.order",
        on_turns(same_events_once),
    ),
    defect(
        "same-errors-in-a-row-once",
        "both",
        "An error that is reported again in the same words is not recorded.",
        "event.error R27",
        both_writers(SameErrorOnce),
    ),
    defect(
        "same-responses-in-a-row-once",
        "both",
        "A response that says the same as the one before is taken for a repetition.",
        "message.one-response-per-call",
        on_turns(same_response_once),
    ),
    defect(
        "repeated-calls-taken-for-a-loop",
        "both",
        "A call that was made before in its turn goes, and its result too.",
        "stream.tool-input message.one-response-per-call",
        on_turns(repeated_calls_gone),
    ),
    defect(
        "user-turns-in-a-row-joined",
        "both",
        "What the user says twice before an answer is one turn.",
        "turn.user-input-once turn.same-words-later",
        on_document(users_joined),
    ),
    defect(
        "same-user-turns-in-a-row-once",
        "both",
        "What the user says twice before an answer in the same words is one turn.",
        "turn.same-words-later R9",
        on_document(same_users_once),
    ),
    defect(
        "same-answers-once",
        "both",
        "An answer that an agent gave before is not stored again.",
        "turn.one-run",
        on_document(same_answers_once),
    ),
    *(
        defect(
            f"window-of-{most}-turns",
            "both",
            f"A thread holds its last {most} turns.",
            "thread.natural-order turn.user-input-once",
            on_document(lambda turns, most=most: turns[-most:]),
        )
        for most in (20, 40)
    ),
    defect(
        "window-of-20-messages",
        "both",
        "A turn holds its last 20 messages.",
        "cycle.kept message.one-response-per-call",
        on_turns(lambda turn, _: {**turn, "messages": turn["messages"][-20:]}),
    ),
)
