"""Provider: one HTTP server on a loopback port that speaks four model APIs and answers as it was planned."""

from __future__ import annotations

from typing import Self

from tpharness.apps.provider.conversation import Conversation, Conversations
from tpharness.apps.provider.environment import environment
from tpharness.apps.provider.exchange import Exchange

__all__ = ["Provider"]


class Provider:
    """The model's API of an application under test; an async context manager, bound to 127.0.0.1 only."""

    def __init__(self, *, port: int = 0, strict: bool = True) -> None:
        self.port = port
        self.strict = strict
        self._conversations = Conversations()

    async def __aenter__(self) -> Self:
        raise NotImplementedError

    async def __aexit__(self, *_: object) -> None:
        raise NotImplementedError

    @property
    def base(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self.port}"

    def environment(self, base: str | None = None) -> dict[str, str]:
        """Return the variables that make SDKs and frameworks use this provider, with dummy keys."""
        return environment(base or self.base)

    def conversation(self, mark: str) -> Conversation:
        """Return the conversation of a mark; requests whose user texts hold it are answered with its plans."""
        return self._conversations.of(mark)

    @property
    def others(self) -> list[Exchange]:
        """Requests beside the conversations: without a known mark, or titles and summaries of one."""
        return self._conversations.others
