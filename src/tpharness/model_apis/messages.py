"""A message of a request's history, the same for all APIs: what the model is sent, with its calls and their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["HistoryCall", "HistoryMessage", "HistoryResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCall:
    """A call that the history says the model made.

    `args` is the parsed JSON of the arguments, or their text where it is not JSON; `raw` the text as it was sent, or
    the compact JSON where the API sends an object.
    """

    call_id: str
    name: str
    args: Any
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryResult:
    """What the history says that a tool returned: the content as text (JSON where the API sends an object).

    `is_error` is what the API has for it, False where the API has no such field.
    """

    call_id: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """One message of the history that the model is sent, the same for all APIs.

    `role` is "system", "user", "assistant" or "tool". Items of Responses that one model response made are one message
    of the assistant; results of one run of tools are one message of role "tool", also where the API sends
    them as the user's; what stands behind them in the same message of the user is a message of its own.
    `files` are the kinds of what is not text, such as "image".
    """

    role: str
    text: str = ""
    thinking: str = ""
    calls: tuple[HistoryCall, ...] = ()
    results: tuple[HistoryResult, ...] = ()
    files: tuple[str, ...] = ()
