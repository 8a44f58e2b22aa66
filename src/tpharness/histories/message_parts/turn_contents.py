"""What a history keeps of each agent turn.

In: events. Out: one `TurnContent` for each user message, about the events between it and the next one, and one for the
events before the first user message if the model wrote any. This reads only the events and shares no code with
`store`.

Choices: a user message without events after it counts as a turn of which nothing is kept, because an interrupted turn
may leave nothing. The prompt that continues half an answer does not begin a turn; the text in it is kept. A
message that a user sends during a turn looks like one that begins a turn, so it begins one. An interruption is
shown by an aborted message or result, by an interrupt entry, and by a failed model call after which no other comes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tpharness.histories.message_parts.records import (
    AssistantMessage,
    HistoryEvent,
    InterruptEntry,
    StreamErrorItem,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    join_text_parts,
)
from tpharness.histories.message_parts.releases import CONTINUATION_FRAME, EMPTY_RESPONSE_PROMPT
from tpharness.histories.projections import CallContent, ResultContent, TurnContent

__all__ = ["turn_contents"]

_TurnEvent = AssistantMessage | ToolResultMessage | InterruptEntry | StreamErrorItem | str


def turn_contents(events: Iterable[HistoryEvent]) -> tuple[TurnContent, ...]:
    """Return what is kept of each agent turn, in order."""
    turns: list[list[_TurnEvent]] = []
    for event in events:
        if isinstance(event, UserMessage):
            text = _continued_text(join_text_parts(event.parts))
            if text is None or not turns:
                turns.append([])
            else:
                turns[-1].append(text)
        elif isinstance(event, AssistantMessage | ToolResultMessage | InterruptEntry | StreamErrorItem):
            if not turns:
                turns.append([])
            turns[-1].append(event)
    return tuple(map(_turn_content, turns))


def _turn_content(events: list[_TurnEvent]) -> TurnContent:
    """Return what is kept of one turn; a text among its events is that of a failed response."""
    spoken = [event for event in events if isinstance(event, AssistantMessage | str)]
    answers = [event for event in events if isinstance(event, AssistantMessage)]
    results = [event for event in events if isinstance(event, ToolResultMessage)]
    parts = [part for answer in answers for part in answer.parts]
    texts = [event if isinstance(event, str) else join_text_parts(event.parts) or None for event in spoken]
    thinking = ["".join(p.text for p in answer.parts if isinstance(p, ThinkingTextPart)) for answer in answers]
    aborted = any(a.stop_reason == "aborted" for a in answers) or any(r.status == "aborted" for r in results)
    calls = [event for event in events if isinstance(event, AssistantMessage | StreamErrorItem)]
    failed = bool(calls) and isinstance(calls[-1], StreamErrorItem)
    return TurnContent(
        texts=tuple(text for text in texts if text),
        thinking=tuple(filter(None, thinking)),
        signatures=tuple(part.signature for part in parts if isinstance(part, ThinkingSignaturePart)),
        calls=tuple(
            CallContent(call_id=part.call_id, name=part.tool_name, arguments=part.arguments_json)
            for part in parts
            if isinstance(part, ToolCallPart)
        ),
        results=tuple(ResultContent(call_id=r.call_id, outcome=r.status, content=r.output_text) for r in results),
        interrupted=aborted or failed or any(isinstance(event, InterruptEntry) for event in events),
        usage=any(answer.usage for answer in answers),
    )


def _continued_text(prompt: str) -> str | None:
    """Return the text of the response that a prompt continues, None if it does not continue one."""
    if prompt == EMPTY_RESPONSE_PROMPT:
        return ""
    start, middle = CONTINUATION_FRAME
    before, found, _ = prompt.partition(middle)
    return before.removeprefix(start) if found and before.startswith(start) else None
