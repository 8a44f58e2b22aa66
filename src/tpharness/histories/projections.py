"""Three projections of one history: what is stored, what a UI is shown of it, what a model gets next.

A history that keeps less than what happened is no mistake as such, so what it keeps is data: `Holdings`. The same is
counted for what happened and for what was kept, by code that does not share a line with the dialect's own renderer, and
the difference is the list of losses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tpharness.acceptance.provider import PROVIDERS, Provider
from tpharness.journal import Journal

__all__ = ["PROVIDERS", "HeldCall", "HeldResult", "HistoryDialect", "Holdings", "Provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """A call as a history holds it; `name` is None and `call_id` is None where it does not hold them.

    `arguments` is the text as it was streamed where the history holds that, else the JSON it holds, canonical.
    """

    call_id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldResult:
    """What came back for one call, as text; `outcome` is `success`, `error`, or `aborted`."""

    call_id: str
    outcome: Literal["success", "error", "aborted"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What a document holds of one agent turn, or what happened in it.

    Texts and thinking are one entry a response, whole as far as they came. `interrupted` is whether the turn's cut can
    be told from the document; `usage` whether any token counts are held.
    """

    texts: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()
    calls: tuple[HeldCall, ...] = ()
    results: tuple[HeldResult, ...] = ()
    interrupted: bool = False
    usage: bool = False


class HistoryDialect(Protocol):
    """A way of keeping a conversation; every projection is pure."""

    @property
    def name(self) -> str:
        """The name users give, such as `message-parts`, with its variant behind a slash where there is one."""
        ...

    def store(self, journal: Journal) -> Any:
        """Return the document as it lies on disk: plain JSON values."""
        ...

    def replay(self, document: Any) -> Sequence[Mapping[str, Any]]:
        """Return the events from which a UI shows the conversation again."""
        ...

    def model_input(self, document: Any, provider: Provider, *, next_user: str | None = None) -> Any:
        """Return what a model API would be sent, in its own shape, the next user message at its end."""
        ...

    def holdings(self, document: Any) -> Sequence[Holdings]:
        """Return what the document holds, one entry an agent turn."""
        ...
