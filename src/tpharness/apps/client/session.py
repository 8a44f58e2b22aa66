"""ChatClient: one user in front of one chat. Writes, leaves, stops, reloads, resumes, answers approvals.

In: the addresses of the application and a profile. Out: replies, and the messages that the user has on the screen. A
second tab is a second `ChatClient` with the same chat id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import aiohttp

from tpharness.apps.client.around import AppHttp, Around
from tpharness.apps.client.client_versions import NEWEST
from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.own_code import calling
from tpharness.apps.client.profile import (
    Chat,
    Profile,
    Trigger,
    kept_by,
    make_body,
    make_translator,
    method_of,
    page_of,
)
from tpharness.apps.client.reply import Limits, Reply
from tpharness.apps.client.routes import Addresses, Fetched, Route, fetch
from tpharness.apps.client.use_chat import UseChat, generate_id

__all__ = ["ChatClient", "Client", "posts_to"]


class Client(Protocol):
    """A user in front of one chat, whoever posts.

    `replies` are the answers so far; `differences` says where a client that somebody else wrote differs from ours.
    """

    chat: Chat
    replies: list[Reply]
    differences: list[str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages by what has come so far: UI messages in the AI SDK's shape."""
        ...

    async def screen(self) -> list[dict[str, Any]]:
        """Return what the user has on the screen."""
        ...

    def submit(self, text: str) -> Reply:
        """Write a message. What still streams goes on in its own message."""
        ...

    def regenerate(self) -> Reply:
        """Ask for another answer to the last message of the user, as `regenerate()` of `useChat` does."""
        ...

    def edit(self, number: int, text: str) -> Reply:
        """Send a message of the user, counted from 1, once more with another text, as `sendMessage` of `useChat` does.

        It posts the id of the message in `messageId`, and what came after the message is gone.
        """
        ...

    def answer_approvals(self, *, approved: Sequence[bool], reason: str | None = None) -> Reply | None:
        """Answer every request for approval of the last message, and post; None where nothing waits for one.

        `approved` are the answers in order; the last one answers all further requests.
        """
        ...

    def resume(self) -> Reply | None:
        """Take up the answer that is streaming, from its beginning (R34); None without an address for it."""
        ...

    async def stop(self) -> Fetched | None:
        """Press the stop button: the route that the application has for it; None without one."""
        ...

    async def view(self) -> Fetched | None:
        """Fetch the chat as a reloaded page does; None without an address for it, unless the page keeps it itself."""
        ...

    async def close(self) -> None:
        """Leave every answer that still streams."""
        ...


class ChatClient:
    """A chat with one application, whose posts are our own. `session` is shared by all chats and follows no redirects.

    Everything else is said at `Client`.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        addresses: Addresses,
        profile: Profile,
        *,
        chat_id: str | None = None,
        limits: Limits | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._session = session
        self._addresses = addresses
        self._limits = limits or Limits()
        self._extra = dict(extra or {})
        self.chat = Chat(id=chat_id or generate_id(), begun=chat_id is not None)
        page = page_of(profile, self.chat, self._extra)
        self._profile = profile if page is None else page
        self._use_chat = UseChat(self.chat, version=getattr(profile, "version", NEWEST), writes=page is None)
        self.replies: list[Reply] = []
        self.differences: list[str] = []

    @property
    def messages(self) -> list[dict[str, Any]]:
        """A copy of the messages."""
        return deepcopy(self.chat.messages)

    async def screen(self) -> list[dict[str, Any]]:
        """Return the messages, which are what the user sees."""
        return self.messages

    def submit(self, text: str) -> Reply:
        """Write a message."""
        return self._post(self._use_chat.submit(text), Trigger.SUBMIT, says=text)

    def regenerate(self) -> Reply:
        """Ask for another answer."""
        return self._post(self._use_chat.regenerate(), Trigger.REGENERATE)

    def edit(self, number: int, text: str) -> Reply:
        """Send a message of the user with another text."""
        return self._post(self._use_chat.edit(number, text), Trigger.SUBMIT, says=text)

    def answer_approvals(self, *, approved: Sequence[bool], reason: str | None = None) -> Reply | None:
        """Answer every request for approval."""
        fold = self._use_chat.answer_approvals(approved=approved, reason=reason)
        return None if fold is None else self._post(fold, Trigger.APPROVE)

    def resume(self) -> Reply | None:
        """Take up the answer that is streaming."""
        route = self._addresses.resume
        if route is None:
            return None
        reply = self._new_reply(self._use_chat.resume())
        reply.repeats = True
        headers = {**getattr(self._profile, "resume_headers", {}), **self._addresses.headers}
        reply.open(self._session, route.method, route.of(self.chat.id, self.names), headers=headers)
        return reply

    async def stop(self) -> Fetched | None:
        """Ask for the address of the stop button."""
        return await self._fetch(self._addresses.stop)

    async def view(self) -> Fetched | None:
        """Ask for the address of the chat, or the page for what it keeps itself."""
        if self._addresses.thread is None:
            return kept_by(self._profile, self.chat)
        view = await self._fetch(self._addresses.thread)
        read = method_of(self._profile, "messages_of")
        if view is None or read is None or view.value is None:
            return view
        with calling(self._profile, "messages_of"):
            messages = read(view.value)
        return view if messages is None else replace(view, value=messages)

    async def close(self) -> None:
        """Leave."""
        for reply in self.replies:
            await reply.leave()

    @property
    def names(self) -> Mapping[str, str]:
        """What the addresses of the chat may name beside its id."""
        names = method_of(self._profile, "address_names")
        if names is None:
            return {}
        with calling(self._profile, "address_names"):
            return dict(names(self.chat))

    # ------------------------------------------------------------------------------------------------ inside

    async def _fetch(self, route: Route | None) -> Fetched | None:
        seconds = self._limits.headers
        return await fetch(self._session, self._addresses, route, self.chat.id, seconds, self.names)

    def _post(self, fold: MessageFold, trigger: Trigger, says: str = "") -> Reply:
        self.chat.posts += 1
        route = Route(method="POST", url=posts_to(self._addresses.chat, self._profile))

        def request() -> tuple[str, bytes]:
            body = make_body(self._profile, self.chat, trigger, self._extra)
            return route.of(self.chat.id, self.names), body

        waits = method_of(self._profile, "begin") is not None and not self.chat.begun
        url, body = (route.url, b"") if waits else request()
        reply = self._new_reply(fold, says)
        accept = getattr(self._profile, "accept", "*/*")
        is_form = getattr(self._profile, "posts_form", False)
        kind = "application/x-www-form-urlencoded" if is_form else "application/json"
        headers = {"content-type": kind, "accept": accept, **self._addresses.headers}
        later = request if waits else None
        reply.open(self._session, "POST", url, later=later, data=body, headers=headers)
        return reply

    def _new_reply(self, fold: MessageFold, says: str = "") -> Reply:
        http = AppHttp(
            session=self._session, addresses=self._addresses, seconds=self._limits.headers, fields=self._extra
        )
        reader = make_translator(self._profile)
        beside = Around(profile=self._profile, chat=self.chat, http=http, reader=reader)
        reply = Reply(fold, limits=self._limits, translator=reader, says=says, beside=beside)
        self.replies.append(reply)
        return reply


def posts_to(url: str, profile: Profile) -> str:
    """Return the address that is posted to: as it was given, else the path that the profile knows on its host."""
    path = getattr(profile, "chat_path", "")
    return urljoin(url, path) if path and urlsplit(url).path in ("", "/") else url
