"""The history dialect `langchain`: the state of a LangChain CLI, and its three projections."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tpharness.histories.langchain.choices import DOCUMENTED, OF_THE_API, REPAIRED, Choices
from tpharness.histories.langchain.events import cli_events
from tpharness.histories.langchain.formats import FORMATS, Formats
from tpharness.histories.langchain.javascript import FORMATS_JS, stored_messages
from tpharness.histories.langchain.reducer import Reducer, half_calls
from tpharness.histories.langchain.state import (
    Message,
    ai_calls,
    calls_of_the_api,
    human,
    messages_of,
    read_state,
    text_of,
)
from tpharness.histories.langchain.turn_contents import turn_contents
from tpharness.histories.projections import ApiName, TurnContent, writer_for
from tpharness.journal import Journal

__all__ = ["LANGCHAIN", "LangChainDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LangChainDialect:
    """One variant of the design; see `choices` for what a variant settles."""

    variant: str
    choices: Choices
    formats: Formats = field(default_factory=lambda: FORMATS)
    stored: Callable[[Sequence[Message]], list[Message]] = list
    """What storage makes of messages."""

    @property
    def name(self) -> str:
        """The name that users give, such as `langchain/repaired`."""
        return f"langchain/{self.variant}"

    def store(self, journal: Journal) -> dict[str, Any]:
        """Return the state: messages and buffers (`langchain.state`).

        The buffers need a journal with `partial` parts. Raises `UnsupportedError` for arguments that interleave where
        there is one buffer for all calls (GAP-6).
        """
        reducer = Reducer(self.choices)
        for event in cli_events(journal):
            reducer.feed(event)
        return {
            "messages": reducer.messages,
            "response_buffer": reducer.response_buffer,
            "tool_call_buffers": reducer.tool_call_buffers,
        }

    def dumps(self, document: Any) -> str:
        """Return the state as JSON, its messages as the library stores them."""
        messages, _ = read_state(document)
        stored = {**document, "messages": self.stored(messages)} if isinstance(document, Mapping) else messages
        return json.dumps(stored, ensure_ascii=False)

    def loads(self, text: str) -> Any:
        """Return the state of a JSON text; InputError if it is not one."""
        document = json.loads(text)
        messages_of(document)
        return document

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return what the CLI shows: the texts of the user's and the model's messages, never a ToolMessage."""
        return [
            {"type": "user" if message["type"] == "human" else "assistant", "text": text_of(message)}
            for message in messages_of(document)
            if message["type"] in ("human", "ai") and text_of(message)
        ]

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> list[dict[str, Any]]:
        """Return the messages, items or contents that LangChain's integration would send.

        A half call that waits for the next run is converted first (GAP-5).
        """
        messages: Sequence[Message]
        messages, buffers = read_state(document)
        if self.choices.half_call == "next-run":
            messages = [*messages, *half_calls(buffers, self.choices)]
        if next_user is not None:
            messages = [*messages, human(next_user)]
        return writer_for(provider, self.formats, self.name)(messages)

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what the messages keep, one entry for each agent turn; the buffers do not count as kept."""
        return turn_contents(messages_of(document))

    def entries(self, document: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the messages of a state, without ids, names and what an integration notes of a response."""
        where = "/messages" if isinstance(document, Mapping) else ""
        return [(f"{where}/{index}", _compared(message)) for index, message in enumerate(messages_of(document))]


def _compared(message: Message) -> dict[str, Any]:
    data = message["data"]
    compared: dict[str, Any] = {"type": message["type"], "content": data["content"]}
    if message["type"] == "tool":
        return {**compared, "tool_call_id": data["tool_call_id"], "status": data.get("status") or "success"}
    if message["type"] == "ai":
        compared["calls"] = [{name: call[name] for name in ("id", "name", "args")} for call in ai_calls(message)]
        compared["calls_of_the_api"] = calls_of_the_api(message, str)
    return compared


LANGCHAIN: Mapping[str, LangChainDialect] = {
    dialect.name: dialect
    for dialect in (
        LangChainDialect(variant="documented", choices=DOCUMENTED),
        LangChainDialect(variant="repaired", choices=REPAIRED),
        LangChainDialect(variant="js", choices=OF_THE_API, formats=FORMATS_JS, stored=stored_messages),
    )
}
"""The variants by name."""
