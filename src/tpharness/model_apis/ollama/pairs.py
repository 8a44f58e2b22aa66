"""Which result answers which call.

Ids came with Ollama 0.12.10, and most clients leave them out: the Python package drops them, LangChain sends results
without a name. So a result answers the call with its id; without one the first open call of its name; without a name
the first open call. A message of the user closes what is open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.model_apis.shape import objects, string, value_of

__all__ = ["Pairs", "SentCall", "pair_results", "sent_calls"]


@dataclass(frozen=True, slots=True)
class SentCall:
    """One call of a message: the index of the message, its own index there, and what it says."""

    message: int
    index: int
    call_id: str | None
    name: str
    arguments: Any

    @property
    def place(self) -> tuple[int, int]:
        """Where the call stands."""
        return self.message, self.index


@dataclass(frozen=True, slots=True)
class Pairs:
    """The call that each tool message answers, by the index of the message; None where there is none."""

    calls: tuple[SentCall, ...]
    answered: Mapping[int, SentCall | None]

    def unanswered(self) -> list[SentCall]:
        """Return the calls that nothing answers."""
        answered = list(self.answered.values())
        return [call for call in self.calls if call not in answered]


def sent_calls(message: Mapping[str, Any], index: int) -> list[SentCall]:
    """Return the calls of an assistant message, which is at `index`."""
    found = []
    for number, call in enumerate(objects(message.get("tool_calls"), "")):
        function = value_of(call.value, "function")
        arguments = value_of(function, "arguments")
        name = string(function, "name") or ""
        found.append(SentCall(index, number, string(call.value, "id"), name, {} if arguments is None else arguments))
    return found


def pair_results(messages: Sequence[Mapping[str, Any]]) -> Pairs:
    """Pair the results of a history with its calls."""
    calls: list[SentCall] = []
    waiting: list[SentCall] = []
    answered: dict[int, SentCall | None] = {}
    for index, message in enumerate(messages):
        match message.get("role"):
            case "user":
                waiting = []
            case "assistant":
                made = sent_calls(message, index)
                calls += made
                waiting += made
            case "tool":
                found = _meant(waiting, string(message, "tool_call_id"), string(message, "tool_name"))
                answered[index] = found
                if found is not None:
                    waiting.remove(found)
    return Pairs(tuple(calls), answered)


def _meant(waiting: Sequence[SentCall], call_id: str | None, name: str | None) -> SentCall | None:
    if call_id is not None and any(call.call_id is not None for call in waiting):
        return next((call for call in waiting if call.call_id == call_id), None)
    return next((call for call in waiting if name in (None, "", call.name)), None)
