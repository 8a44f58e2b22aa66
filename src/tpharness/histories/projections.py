"""What every history dialect provides: the stored document, the UI's events, the model's input, and what is kept.

A history that keeps less than what a run produced is not wrong in itself, so what it keeps is data: `TurnContent`. The
same record describes what a run produced, filled in by code that shares nothing else with the dialects; the
difference is the list of losses (`losses`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from tpharness.errors import UsageError
from tpharness.journal import Journal
from tpharness.model_apis.registry import API_NAMES, ApiName

__all__ = [
    "API_NAMES",
    "ApiName",
    "CallContent",
    "ComparesDocuments",
    "HistoryDialect",
    "ResultContent",
    "RetriesCalls",
    "ShowsInterruptions",
    "TurnContent",
    "canonical_text",
    "writer_for",
]

W = TypeVar("W")


def canonical_text(value: Any) -> str:
    """Return a value as the records below have it: a text unchanged, any other value as JSON in one spelling."""
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def writer_for(api: str, writers: Mapping[str, W], history: str) -> W:
    """Return what writes a history's requests for an API. UsageError where the history's program has nothing for it."""
    if api not in writers:
        raise UsageError(f"{history} writes no requests for {api}", hint=f"one of {', '.join(writers)}")
    return writers[api]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContent:
    """A tool call; `name` and `call_id` are None where a history does not keep them.

    `arguments` is the streamed text where the history keeps it, otherwise the JSON that it keeps, in canonical form.
    """

    call_id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultContent:
    """The result of one call as text."""

    call_id: str
    outcome: Literal["success", "error", "aborted"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContent:
    """What a document keeps of one agent turn, or what the turn produced.

    `texts` and `thinking` have one entry for each response. `interrupted` says whether the document shows that the turn
    was interrupted; `usage` whether it keeps any token counts.
    """

    texts: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    calls: tuple[CallContent, ...] = ()
    results: tuple[ResultContent, ...] = ()
    interrupted: bool = False
    usage: bool = False


class HistoryDialect(Protocol):
    """A way of keeping a conversation. Every method is pure."""

    @property
    def name(self) -> str:
        """The name that users give, such as `message-parts/plan`: the family, and the variant after a slash."""
        ...

    def store(self, journal: Journal) -> Any:
        """Return the document as it is stored: plain JSON values."""
        ...

    def dumps(self, document: Any) -> str:
        """Return the document as the text of its file."""
        ...

    def loads(self, text: str) -> Any:
        """Return the document that a text holds, as far as the dialect's readers read it."""
        ...

    def replay(self, document: Any) -> Sequence[Mapping[str, Any]]:
        """Return the events from which a UI shows the conversation again."""
        ...

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return what a model API would be sent, in its own format, with the next user message at the end."""
        ...

    def turn_contents(self, document: Any) -> Sequence[TurnContent]:
        """Return what the document keeps, one entry for each agent turn."""
        ...


@runtime_checkable
class ShowsInterruptions(Protocol):
    """A history whose replay has an `InterruptEvent` for each interruption."""

    def interruptions(self, journal: Journal) -> int:
        """Return how many interruptions by the user its replay has to show."""
        ...


@runtime_checkable
class RetriesCalls(Protocol):
    """A history of a program that may ask its model again after a failed call, inside the same turn."""

    @property
    def retries_calls(self) -> bool:
        """Whether it does: then an error does not end its run."""
        ...


@runtime_checkable
class ComparesDocuments(Protocol):
    """A history that other programs may keep as well: a target can declare it."""

    def entries(self, document: Any) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return the entries of a document with their JSON pointers, without what each program fills in as it likes.

        InputError for a document of which a reader would not get everything.
        """
        ...
