"""What a profile does around a post, where a chat needs more than one request: a thread is made, its run is asked for.

In: a profile with one of the methods that `Profile` names for this. Out: whether the post can be made; the chunks that
end an answer whose stream does not say how it ended. What is asked meanwhile is asked over `AppHttp`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

import aiohttp

from tpharness.apps.client.own_code import calling
from tpharness.apps.client.profile import Chat, Profile, method_of
from tpharness.apps.client.reading import Translator
from tpharness.apps.client.routes import Addresses, Fetched, Route, fetch

__all__ = ["AppHttp", "Around"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppHttp:
    """Asks other addresses of the application, each for at most so many seconds.

    `fields` are what the table adds to every post (`body`).
    """

    session: aiohttp.ClientSession
    addresses: Addresses
    seconds: float
    fields: Mapping[str, Any] = field(default_factory=dict)

    async def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Fetched:
        """Return the whole answer of a path on the host that the chat is posted to; the body is posted as JSON."""
        route = Route(method=method, url=urljoin(self.addresses.chat, path), body=body)
        answered = await fetch(self.session, self.addresses, route, "", self.seconds)
        assert answered is not None  # noqa: S101  # only no address has no answer
        return answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The methods of a profile for one answer, which `reader` reads; each does nothing where the profile has it not."""

    profile: Profile
    chat: Chat
    http: AppHttp
    reader: Translator | None

    async def begin(self) -> Fetched | None:
        """Make what the first post of a chat needs; return the answer that refuses it, None where it can be made."""
        begin = method_of(self.profile, "begin")
        if begin is None or self.chat.begun:
            return None
        with calling(self.profile, "begin"):
            refused: Fetched | None = await begin(self.chat, self.http)
        self.chat.begun = refused is None
        return refused

    def answered(self, headers: Mapping[str, str]) -> None:
        """Tell the profile the headers of an answer."""
        take = method_of(self.profile, "take_headers")
        if take is not None:
            with calling(self.profile, "take_headers"):
                take(self.chat, self.reader, headers)

    async def end(self) -> Iterable[Mapping[str, Any]]:
        """Ask how an answer ended whose stream is over; return the chunks that this comes to."""
        end = method_of(self.profile, "end")
        if end is None:
            return ()
        with calling(self.profile, "end"):
            return list(await end(self.chat, self.http, self.reader))
