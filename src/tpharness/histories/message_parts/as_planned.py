"""What the plan asks of a model's input beyond what the program does (document 002).

"Thinking pairing rule": a signature consumes the nearest thinking text before it in its message, whatever stands
between them; one without such a text keeps its place. "System message persistence": Some APIs get system
messages as their own instructions, as the other APIs get them as messages or blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from tpharness.histories.message_parts.input_items import InputItem, SystemText
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    HistoryEvent,
    Part,
    ThinkingSignaturePart,
    ThinkingTextPart,
)

__all__ = ["instructions", "with_pairs"]


def with_pairs(event: HistoryEvent) -> HistoryEvent:
    """Return an assistant message with each signature directly after its thought, and any other event as it is."""
    return replace(event, parts=_paired(event.parts)) if isinstance(event, AssistantMessage) else event


def _paired(parts: Sequence[Part]) -> tuple[Part, ...]:
    signatures: dict[int, ThinkingSignaturePart] = {}
    waiting: list[int] = []
    consumed: set[int] = set()
    for index, part in enumerate(parts):
        if isinstance(part, ThinkingTextPart):
            waiting.append(index)
        elif isinstance(part, ThinkingSignaturePart) and waiting:
            signatures[waiting.pop()] = part
            consumed.add(index)
    paired: list[Part] = []
    for index, part in enumerate(parts):
        if index not in consumed:
            paired += [part, signatures[index]] if index in signatures else [part]
    return tuple(paired)


def instructions(items: Iterable[InputItem]) -> str:
    """Return the system messages as the text that some APIs take beside their list."""
    return "\n\n".join(item.text for item in items if isinstance(item, SystemText))
