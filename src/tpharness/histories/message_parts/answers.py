"""Which responses end a task of the program, so that nothing is left that a user could interrupt.

Measured with its agent: an answer that calls nothing ends the task as soon as it is whole, unless nothing was said in
it. Then the program asks again, up to `MOST_WORDLESS` times in a row.
"""

from __future__ import annotations

from tpharness.histories.message_parts.convert_parts import response_text
from tpharness.journal import AgentTurn, Entry, Event, Response, Return

__all__ = ["MOST_WORDLESS", "is_answer", "is_wordless", "task_has_ended"]

MOST_WORDLESS = 3
"""How many answers without words in a row the program asks again for (its `MAX_EMPTY_RESPONSE_RETRIES`)."""


def is_answer(entry: Entry | None) -> bool:
    """Whether an entry is a response that has ended and calls nothing."""
    if not isinstance(entry, Response) or not entry.finished or entry.failed is not None:
        return False
    return all(part.call_id is None for part in entry.parts)


def is_wordless(entry: Entry | None) -> bool:
    """Whether an entry is an answer in which no text but white space was said."""
    return is_answer(entry) and isinstance(entry, Response) and not response_text(entry.parts).strip()


def task_has_ended(turn: AgentTurn) -> bool:
    """Whether the last thing in a turn, but for events, is an answer that ends the task; no tool may run."""
    returned = {entry.call_key for entry in turn.tail.entries if isinstance(entry, Return)}
    if turn.tail.calls.keys() - returned:
        return False
    entries = [entry for segment in (*turn.segments, turn.tail) for entry in segment.entries]
    wordless, last = 0, None
    for entry in entries:
        if isinstance(entry, Response):
            wordless = wordless + 1 if is_wordless(entry) else 0
        last = last if isinstance(entry, Event) else entry
    return is_answer(last) and not 0 < wordless <= MOST_WORDLESS
