"""Stage: what one case is played with, and what has to be known from one moment of a turn to a later one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tpharness.apps.cases.case import AppCase, Turn
from tpharness.apps.client import Client, Reply
from tpharness.apps.effects import CaseTools
from tpharness.apps.evidence import ReplySeen, TurnSeen
from tpharness.apps.provider.conversation import Conversation
from tpharness.apps.provider.exchange import Exchange
from tpharness.apps.provider.server import Provider

__all__ = ["Stage"]


@dataclass(slots=True, kw_only=True)
class Stage:
    """What one case is played with: `client` is the page that the user has before them, `clients` all that there were.

    `tools` are the ledger's, None without it. `begun`, `others`, `strays`: how many requests came before the turn.
    `late` is a second tab that still asks for approval of what was approved; `page` is what a page held that was
    loaded anew to approve. `second` is an answer that streams beside the first one; `resumed` what a reloaded page got
    of the answer that still streamed, and `left` the messages on the page before it. `blank` is whether a page that
    keeps the history could not be loaded again: what it would post is not known. `beside` is another chat of the same
    user, which has this one as its `first`, and `turns` are those that were played.
    """

    case: AppCase
    mark: str
    client: Client
    conversation: Conversation
    clients: list[Client]
    tools: CaseTools | None = None
    begun: int = 0
    others: int = 0
    strays: int = 0
    second: Reply | None = None
    resumed: ReplySeen | None = None
    left: tuple[Mapping[str, Any], ...] = ()
    late: Client | None = None
    page: tuple[Mapping[str, Any], ...] | None = None
    blank: bool = False
    beside: Stage | None = None
    first: Stage | None = None
    turns: list[TurnSeen] = field(default_factory=list)

    def begin(self, provider: Provider) -> None:
        """A turn begins."""
        self.begun, self.second = len(self.conversation.exchanges), None
        self.resumed, self.left = None, ()
        self.late = self.page = None
        self.others, self.strays = len(provider.others), len(provider.strays)

    def post(self, turn: Turn, words: str) -> Reply:
        """Post what a turn begins with."""
        if turn.edits is not None:
            return self.client.edit(turn.edits, words)
        return self.client.regenerate() if turn.again else self.client.submit(words)

    def new(self) -> list[Exchange]:
        """Return the requests of the turn."""
        return self.conversation.exchanges[self.begun :]
