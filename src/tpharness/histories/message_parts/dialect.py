"""The history of messages and parts as a history dialect: store, replay, model input, turn contents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from tpharness.errors import InputError
from tpharness.facts import parse_tool_args
from tpharness.histories.message_parts.as_planned import instructions, with_pairs
from tpharness.histories.message_parts.codec import DROPPED, decode, dumps, encode, loads
from tpharness.histories.message_parts.input_anthropic import anthropic_input
from tpharness.histories.message_parts.input_chat import chat_input, openrouter_input
from tpharness.histories.message_parts.input_gemini import gemini_input
from tpharness.histories.message_parts.input_items import InputItem, input_items
from tpharness.histories.message_parts.input_responses import responses_input
from tpharness.histories.message_parts.load import Row, for_model, load
from tpharness.histories.message_parts.records import (
    EVENTS,
    AssistantMessage,
    OtherEntry,
    TextPart,
    UserMessage,
    Variant,
)
from tpharness.histories.message_parts.releases import PROGRAMS
from tpharness.histories.message_parts.replay import UIEvent, replay
from tpharness.histories.message_parts.store import count_user_cuts, history_events
from tpharness.histories.message_parts.turn_contents import turn_contents
from tpharness.histories.projections import ApiName, TurnContent, canonical_text, writer_for
from tpharness.journal import Journal

__all__ = ["MESSAGE_PARTS", "WRITTEN_FOR", "MessageParts"]

_INPUTS: Mapping[str, Callable[[Iterable[InputItem], str | None], Any]] = {
    "openai-chat": chat_input,
    "openrouter": openrouter_input,
    "openai-responses": responses_input,
    "anthropic": anthropic_input,
    "gemini": gemini_input,
}

WRITTEN_FOR = tuple(name for name in _INPUTS if name != "openrouter")
"""The model APIs for which the program writes requests; that of OpenRouter is Chat Completions once more."""

_PLANNED_INPUTS: Mapping[str, Callable[[Iterable[InputItem], str | None], Any]] = {
    **_INPUTS,
    "anthropic": partial(anthropic_input, keeps_unsigned=True),
}

_INSTRUCTED: Mapping[str, Callable[[str, Any], Any]] = {
    "openai-responses": lambda text, items: {"instructions": text, "input": items},
    "gemini": lambda text, contents: {"system_instruction": {"parts": [{"text": text}]}, "contents": contents},
}
"""For the APIs to which the plan sends system messages beside their list: both in one object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageParts:
    """A history of messages and parts, as planned or as a release of the program keeps it.

    `model` is the model that the input is for; None means the model that wrote the history. `skip_empty` leaves out
    assistant messages without parts. The plan's interrupted turns have such messages and no API accepts them, but
    neither source says that an adapter leaves them out.
    """

    variant: Variant
    model: str | None = None
    skip_empty: bool = False

    @property
    def name(self) -> str:
        """`message-parts/plan`, `message-parts/2.32` or `message-parts/current`."""
        return f"message-parts/{self.variant}"

    @property
    def retries_calls(self) -> bool:
        """Whether an error of the model leaves the turn going on: in the program, which the plan is not."""
        return self.variant in PROGRAMS

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the objects of the history's lines. A journal with `partial` parts is needed to keep open parts."""
        return [encode(event) for event in history_events(journal, self.variant)]

    def dumps(self, document: Any) -> str:
        """Return a JSON object on each line."""
        return dumps(document)

    def loads(self, text: str) -> list[dict[str, Any]]:
        """Return the objects of the lines that decode."""
        return [encode(event) for event in loads(text, self.variant).events]

    def replay(self, document: Any) -> list[UIEvent]:
        """Return the UI's events; lines that do not decode give none."""
        return replay([event for _, event in self._loaded(document)], self.variant)

    def model_input(
        self, document: Any, provider: ApiName | Literal["openrouter"], *, next_user: str | None = None
    ) -> Any:
        """Return the provider's payload: a list, or an object with the list and the system messages.

        UsageError for an API that the program has no adapter for.
        """
        loaded = self._loaded(document)
        if next_user is not None:
            loaded.append((len(document), UserMessage(parts=(TextPart(text=next_user),))))
        if self.skip_empty:
            loaded = [row for row in loaded if not (isinstance(row[1], AssistantMessage) and not row[1].parts)]
        program = PROGRAMS.get(self.variant)
        if program is None:
            items = input_items(with_pairs(event) for _, event in loaded)
            payload, text = writer_for(provider, _PLANNED_INPUTS, self.name)(items, self.model), instructions(items)
            return _INSTRUCTED[provider](text, payload) if text and provider in _INSTRUCTED else payload
        items = input_items(for_model(loaded, program))
        if provider == "openai-chat":
            return chat_input(
                items, self.model, leaves_out_empty=program.leaves_out_empty, images_wait=program.images_wait
            )
        if provider == "openrouter":
            return openrouter_input(items, self.model, images_wait=program.images_wait)
        return writer_for(provider, _INPUTS, self.name)(items, self.model)

    def interruptions(self, journal: Journal) -> int:
        """Return how many interruptions by the user a replay shows."""
        return count_user_cuts(journal, self.variant)

    def turn_contents(self, document: Any) -> tuple[TurnContent, ...]:
        """Return what the stored document keeps, one entry for each agent turn."""
        return turn_contents(decode(document, self.variant).events)

    def entries(self, document: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the messages, errors and interruptions of a document, without ids, times and fields for the UI."""
        read = decode(document, self.variant)
        if read.dropped:
            wrong = next(finding for finding in read.findings if finding.kind is DROPPED)
            raise InputError(f"{self.name}: {wrong.place.pointer or 'the document'} cannot be read: {wrong.message}")
        return [
            (f"/{line}", {"type": type(event).__name__, "data": _compared(encode(event)["data"])})
            for line, event in zip(read.lines, read.events, strict=True)
            if not isinstance(event, OtherEntry)
        ]

    def _loaded(self, document: Any) -> list[Row]:
        read = decode(document, self.variant)
        program = PROGRAMS.get(self.variant)
        return (
            list(zip(read.lines, read.events, strict=True))
            if program is None
            else load(read.events, read.lines, program)
        )


def _compared(data: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in data.items() if name not in _OWN}
    return {**kept, "parts": [_compared_part(part) for part in kept["parts"]]} if "parts" in kept else kept


def _compared_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part without the order of the keys of arguments that may have come as an object, which has none."""
    raw = part.get("arguments_json")
    value = parse_tool_args(raw) if isinstance(raw, str) else None
    if not isinstance(value, dict) or json.dumps(value, separators=(",", ":"), ensure_ascii=False) != raw:
        return part
    return {**part, "arguments_json": canonical_text(value)}


_OWN = ("id", "created_at", "ui_extra", "side_effects", "task_metadata")
"""Fields of an event that each program fills in as it likes."""

MESSAGE_PARTS: Mapping[str, MessageParts] = {
    f"message-parts/{variant}": MessageParts(variant=variant) for variant in EVENTS
}
"""All variants, by name."""
