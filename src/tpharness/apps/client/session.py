"""ChatClient: one user in front of one chat. Writes, leaves, stops, reloads, resumes, answers approvals.

In: the addresses of the application and a profile. Out: replies, and the messages that the user has on the screen. One
answer streams at a time for each tab; a second tab is a second `ChatClient` with the same chat id.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import aiohttp

from tpharness.apps.client.message import is_tool_part
from tpharness.apps.client.profile import Chat, Profile, Trigger
from tpharness.apps.client.reply import Limits, Reply

__all__ = ["Addresses", "ChatClient", "Fetched", "Route"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A method and an address in which `{id}` stands for the chat's id, as in the texts of `body`, a JSON object."""

    method: str
    url: str
    body: Mapping[str, Any] | None = None

    def of(self, chat_id: str) -> str:
        """Return the address for a chat."""
        return self.url.replace("{id}", quote(chat_id, safe=""))

    def body_of(self, chat_id: str) -> dict[str, Any] | None:
        """Return what is posted for a chat, None without a body."""
        if self.body is None:
            return None
        return {key: v.replace("{id}", chat_id) if isinstance(v, str) else v for key, v in self.body.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where an application is reached: `chat` takes the posts, the others are None where it has no such address."""

    chat: str
    stop: Route | None = None
    thread: Route | None = None
    resume: Route | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A whole answer: status 0 and the reason in `text` where there is none; `value` is its JSON, None without any."""

    status: int
    text: str = ""
    value: Any = None


class ChatClient:
    """A chat with one application. `session` is shared by all chats and follows no redirects."""

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
        self._profile = profile
        self._limits = limits or Limits()
        self._extra = dict(extra or {})
        self.chat = Chat(id=chat_id or str(uuid4()))
        self._reply: Reply | None = None
        self._replaces = False  # the answer that streams stands for the last message, as after an approval or a resume
        self.replies: list[Reply] = []

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What the user has on the screen: UI messages in the AI SDK's shape."""
        if self._reply is None:
            return self.chat.messages
        shown = self._reply.messages
        replaced = self._replaces and bool(shown)
        return [*(self.chat.messages[:-1] if replaced else self.chat.messages), *shown]

    def submit(self, text: str) -> Reply:
        """Write a message. What still streams stays on the screen as it is."""
        self._settle()
        message = {"id": str(uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
        self.chat.messages.append(message)
        return self._post(Trigger.SUBMIT, says=text)

    def regenerate(self) -> Reply:
        """Ask for another answer to the last message of the user, as `regenerate()` of `useChat` does."""
        self._settle()
        while self.chat.messages and self.chat.last["role"] == "assistant":
            self.chat.messages.pop()
        return self._post(Trigger.REGENERATE)

    def answer_approvals(self, *, approved: bool, reason: str | None = None) -> Reply | None:
        """Answer every request for approval of the last message, and post; None where nothing waits for one."""
        self._settle()
        parts = self.chat.last.get("parts", ())
        waiting = [p for p in parts if is_tool_part(p) and p.get("state") == "approval-requested"]
        for part in waiting:
            said = {} if reason is None else {"reason": reason}
            part.update(state="approval-responded", approval={**part["approval"], "approved": approved, **said})
        return self._post(Trigger.APPROVE, resumed=self.chat.last) if waiting else None

    def resume(self) -> Reply | None:
        """Take up the answer that is streaming, from its beginning (R34); None without an address for it."""
        route = self._addresses.resume
        if route is None:
            return None
        self._settle()
        reply = self._new_reply(None)
        reply.repeats = True
        reply.open(self._session, route.method, route.of(self.chat.id), headers=self._addresses.headers)
        self._reply, self._replaces = reply, self.chat.last.get("role") == "assistant"
        return reply

    async def stop(self) -> Fetched | None:
        """Press the stop button: the route that the application has for it; None without one."""
        return None if self._addresses.stop is None else await self._fetch(self._addresses.stop)

    async def view(self) -> Fetched | None:
        """Fetch the chat as a reloaded page does; None without an address for it."""
        return None if self._addresses.thread is None else await self._fetch(self._addresses.thread)

    async def close(self) -> None:
        """Leave every answer that still streams."""
        for reply in self.replies:
            await reply.leave()

    # ------------------------------------------------------------------------------------------------ inside

    def _settle(self) -> None:
        """Keep what the last answer has shown; later chunks of it change nothing."""
        self.chat.messages, self._reply = self.messages, None

    def _post(self, trigger: Trigger, resumed: Mapping[str, Any] | None = None, says: str = "") -> Reply:
        self.chat.posts += 1
        body = {**self._profile.body(self.chat, trigger), **self._extra}
        reply = self._reply = self._new_reply(resumed, says)
        self._replaces = resumed is not None
        headers = {"content-type": "application/json", "accept": "text/event-stream", **self._addresses.headers}
        reply.open(self._session, "POST", self._addresses.chat, data=json.dumps(body).encode(), headers=headers)
        return reply

    def _new_reply(self, resumed: Mapping[str, Any] | None, says: str = "") -> Reply:
        reply = Reply(
            message_id=f"msg-{uuid4().hex[:16]}",
            limits=self._limits,
            resumed=resumed,
            translator=self._profile.translator(),
            says=says,
        )
        self.replies.append(reply)
        return reply

    async def _fetch(self, route: Route) -> Fetched:
        try:
            async with (
                asyncio.timeout(self._limits.headers),
                self._session.request(
                    route.method,
                    route.of(self.chat.id),
                    headers=self._addresses.headers,
                    allow_redirects=False,
                    json=route.body_of(self.chat.id),
                ) as response,
            ):
                text = await response.text(errors="replace")
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return Fetched(status=0, text=f"{type(error).__name__}: {error}")
        try:
            return Fetched(status=response.status, text=text, value=json.loads(text))
        except (ValueError, RecursionError):
            return Fetched(status=response.status, text=text)
