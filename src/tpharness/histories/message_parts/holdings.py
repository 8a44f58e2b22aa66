"""What a history holds of each agent turn.

In: events. Out: one `Holdings` a user message, for what stands between it and the next one, and one for what stands
before the first if anything of a model does. This looks at the events alone and shares no code with `store`.

Choices: a user message that nothing follows counts as answered by a turn of which nothing is left, for an interrupted
one may leave nothing. The prompt by which the program goes on after a failed model call begins no turn; the text in it
is held. A message that a user sends while a turn goes on cannot be told from one that begins a turn, and begins one.
An interruption can be told by an aborted message or result, by an interrupt entry, and by a failed model call that no
other follows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

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
from tpharness.histories.projections import HeldCall, HeldResult, Holdings

__all__ = ["CONTINUATION_FRAME", "holdings"]

CONTINUATION_FRAME = ("<assistant>\n", "\n</assistant>\n\n<system-reminder>")
"""What stands before and after the text of a failed response in a prompt that continues it (HISTORIES 1.2)."""


@dataclass(slots=True)
class _Turn:
    texts: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    signatures: list[str] = field(default_factory=list)
    calls: list[HeldCall] = field(default_factory=list)
    results: list[HeldResult] = field(default_factory=list)
    aborted: bool = False
    failed: bool = False
    usage: bool = False

    def told(self) -> Holdings:
        return Holdings(
            texts=tuple(self.texts),
            thinking=tuple(self.thinking),
            signatures=tuple(self.signatures),
            calls=tuple(self.calls),
            results=tuple(self.results),
            interrupted=self.aborted or self.failed,
            usage=self.usage,
        )


def holdings(events: Iterable[HistoryEvent]) -> tuple[Holdings, ...]:
    """Return what is held of each agent turn, in order."""
    turns: list[_Turn] = []
    for event in events:
        match event:
            case UserMessage():
                text = _continued(join_text_parts(event.parts))
                if text is None or not turns:
                    turns.append(_Turn())
                else:
                    turns[-1].texts.append(text)
            case AssistantMessage() | ToolResultMessage() | InterruptEntry() | StreamErrorItem():
                if not turns:
                    turns.append(_Turn())
                _add(turns[-1], event)
            case _:
                pass
    return tuple(turn.told() for turn in turns)


def _add(turn: _Turn, event: AssistantMessage | ToolResultMessage | InterruptEntry | StreamErrorItem) -> None:
    match event:
        case AssistantMessage():
            turn.failed = False
            turn.aborted = turn.aborted or event.stop_reason == "aborted"
            turn.usage = turn.usage or bool(event.usage)
            if text := join_text_parts(event.parts):
                turn.texts.append(text)
            if thought := "".join(part.text for part in event.parts if isinstance(part, ThinkingTextPart)):
                turn.thinking.append(thought)
            turn.signatures += [part.signature for part in event.parts if isinstance(part, ThinkingSignaturePart)]
            turn.calls += [
                HeldCall(call_id=part.call_id, name=part.tool_name, arguments=part.arguments_json)
                for part in event.parts
                if isinstance(part, ToolCallPart)
            ]
        case ToolResultMessage():
            turn.aborted = turn.aborted or event.status == "aborted"
            turn.results.append(HeldResult(call_id=event.call_id, outcome=event.status, content=event.output_text))
        case InterruptEntry():
            turn.aborted = True
        case StreamErrorItem():
            turn.failed = True


def _continued(text: str) -> str | None:
    """Return the text of the response that a prompt continues, None when it continues none."""
    start, middle = CONTINUATION_FRAME
    before, found, _ = text.partition(middle)
    return before.removeprefix(start) if found and before.startswith(start) else None
