"""The history of messages and parts as a history dialect: store, replay, model input, holdings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tpharness.histories.message_parts.attach import Attached, attached
from tpharness.histories.message_parts.codec import decode, encode
from tpharness.histories.message_parts.holdings import holdings
from tpharness.histories.message_parts.input_anthropic import anthropic_input
from tpharness.histories.message_parts.input_chat import chat_input, openrouter_input
from tpharness.histories.message_parts.input_gemini import gemini_input
from tpharness.histories.message_parts.input_responses import responses_input
from tpharness.histories.message_parts.load import answered, rebuilt
from tpharness.histories.message_parts.records import AssistantMessage, HistoryEvent, TextPart, UserMessage, Variant
from tpharness.histories.message_parts.replay import UIEvent, replay
from tpharness.histories.message_parts.store import history
from tpharness.histories.projections import Holdings, Provider
from tpharness.journal import Journal

__all__ = ["MESSAGE_PARTS", "MessageParts"]

_INPUTS: Mapping[str, Callable[[Iterable[Attached], str | None], Any]] = {
    "openai-chat": chat_input,
    "openrouter": openrouter_input,
    "openai-responses": responses_input,
    "anthropic": anthropic_input,
    "gemini": gemini_input,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageParts:
    """A history of messages and parts, as planned or as the current program keeps it.

    `model` is the model that input is made for, None for the one that had the thoughts; `skip_empty` leaves out
    messages of the model without parts, which the plan's interrupted turns have and no API takes, and which neither
    source says an adapter leaves out.
    """

    variant: Variant
    model: str | None = None
    skip_empty: bool = False

    @property
    def name(self) -> str:
        """`message-parts/plan` or `message-parts/current`."""
        return f"message-parts/{self.variant}"

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the history as the objects of its lines; of open parts a journal shows what `partial=True` gives."""
        return [encode(event) for event in history(journal, self.variant)]

    def replay(self, document: Any) -> list[UIEvent]:
        """Return the UI's events; lines that do not decode show nothing."""
        return replay(self._loaded(document), self.variant)

    def model_input(
        self, document: Any, provider: Provider | Literal["openrouter"], *, next_user: str | None = None
    ) -> Any:
        """Return the provider's payload: a list, for Anthropic `{"system", "messages"}`."""
        events = self._loaded(document)
        if next_user is not None:
            events.append(UserMessage(parts=(TextPart(text=next_user),)))
        if self.skip_empty:
            events = [event for event in events if not (isinstance(event, AssistantMessage) and not event.parts)]
        if self.variant == "current":
            events = answered(events)
        return _INPUTS[provider](attached(events), self.model)

    def holdings(self, document: Any) -> tuple[Holdings, ...]:
        """Return what the document holds as it lies on disk, one entry an agent turn."""
        return holdings(decode(document, self.variant).events)

    def _loaded(self, document: Any) -> list[HistoryEvent]:
        events = decode(document, self.variant).events
        return rebuilt(events) if self.variant == "current" else list(events)


MESSAGE_PARTS: Mapping[str, MessageParts] = {
    dialect.name: dialect for dialect in (MessageParts(variant="plan"), MessageParts(variant="current"))
}
"""Both variants, by name."""
