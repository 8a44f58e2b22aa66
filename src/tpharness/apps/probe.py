"""What `app init` finds out by trying: who keeps the history, and which addresses an application has beside its chat.

In: an application that has answered, and what plays its model. Out: what was seen, each with words for people. Nothing
is sent but messages to chats of our own, and requests about such a chat to addresses as the AI SDK's recipes have them.
An answer that an address gets which no application has says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

import aiohttp

from tpharness.apps.cases.basic import next_turn
from tpharness.apps.checks.view import messages_in
from tpharness.apps.client import ChatClient, Fetched, Limits, Profile, Route
from tpharness.apps.client.profile import method_of
from tpharness.apps.client.routes import fetch
from tpharness.apps.config import AppConfig
from tpharness.apps.marks import new_mark
from tpharness.apps.provider.server import Provider

__all__ = ["Address", "AddressKey", "Chatted", "chat_on_two_pages", "find_addresses"]

AddressKey = Literal["thread", "stop", "resume"]

_PATHS: Mapping[AddressKey, tuple[str, str]] = {
    "thread": ("GET", "{id}"),
    "resume": ("GET", "{id}/stream"),
    "stop": ("POST", "{id}/stop"),
}
"""By key of the table the method and the path below that of the chat. The last one may change something: it is last."""
_NOBODYS = "/tpharness-asks-for-nothing"
_OK = range(200, 300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatted:
    """A chat that two pages have written into: its id, and what the first wrote.

    The second page has posted its own message alone. `asked` is whether that reached the model, `server_keeps` whether
    the model knew what the first had written. `names` are what addresses may name beside the id.
    """

    chat_id: str
    says: str
    asked: bool
    names: Mapping[str, str]
    server_keeps: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """An address that was asked: as the table has it, whether it is there, and what it answered."""

    key: AddressKey
    text: str
    found: bool
    said: str


async def chat_on_two_pages(
    config: AppConfig, provider: Provider, session: aiohttp.ClientSession, profile: Profile
) -> Chatted:
    """Write a message, and another one of the same chat on a page that does not know the first."""
    mark = new_mark()
    conversation = provider.conversation(mark)
    limits = Limits(headers=config.answer, answer=2 * config.answer)
    chat_id, says, before = "", [f"{mark} {text}" for text in ("Good morning.", "And good night.")], 0
    for words in says:
        before = len(conversation.exchanges)
        client = ChatClient(
            session, config.addresses, profile, chat_id=chat_id or None, limits=limits, extra=config.body
        )
        conversation.plans(next_turn().plans, user_text=words)
        try:
            await client.submit(words).ended(config.answer)
        finally:
            await client.close()
        chat_id = client.chat.id
    later = conversation.exchanges[before:]
    knows = any(exchange.knows(says[0]) for exchange in later)
    return Chatted(chat_id=chat_id, says=says[0], asked=bool(later), server_keeps=knows, names=client.names)


async def find_addresses(
    config: AppConfig, session: aiohttp.ClientSession, chatted: Chatted, profile: Profile
) -> list[Address]:
    """Ask for the addresses of a chat that has ended, beside one that no application has: those of the profile, if any.

    Where an answer can be taken up only if its post has asked for that, the posts of the table have to.
    """
    base = urlsplit(config.url).path.rstrip("/")
    own: Mapping[str, str] = getattr(profile, "paths", {})
    wanted: Mapping[str, Any] = getattr(profile, "resumes_with", {})
    found = []
    for key, (method, below) in _PATHS.items():
        if own and key not in own:
            continue
        text = own.get(key, f"{method} {base}/{below}")
        nobodys = text.rpartition("/")[0] + _NOBODYS if own else f"{method} {base}/{{id}}{_NOBODYS}"
        asked, other = [
            await fetch(session, config.addresses, _route(config, one), chatted.chat_id, config.answer, chatted.names)
            for one in (text, nobodys)
        ]
        there, said = _judge(key, asked, other, chatted.says, profile)
        if key == "resume" and there and any(config.body.get(name) != value for name, value in wanted.items()):
            fields = ", ".join(f"{name} = {json.dumps(value)}" for name, value in wanted.items())
            there, said = False, f"needs body = {{{fields}}} in the table"
        found.append(Address(key=key, text=text, found=there, said=said))
    return found


def _route(config: AppConfig, text: str) -> Route:
    method, _, path = text.partition(" ")
    return Route(method=method, url=urljoin(config.url, path), body={} if method == "POST" else None)


def _judge(
    key: AddressKey, asked: Fetched | None, other: Fetched | None, says: str, profile: Profile
) -> tuple[bool, str]:
    """Return whether an address is there, and what was seen; `other` is the answer of one that nobody has."""
    assert asked is not None  # noqa: S101  # only no address has no answer
    assert other is not None  # noqa: S101
    status = f"answered {asked.status}" if asked.status else f"gave no answer ({asked.text})"
    if asked.status not in _OK:
        return False, status
    if key == "thread":
        if asked.value is None:
            return False, f"{status} without JSON"
        if says not in asked.text or says in other.text:
            return False, f"{status} without the message that was written"
        read = method_of(profile, "messages_of")
        shown = asked.value if read is None else read(asked.value)
        form = "" if messages_in(shown) is not None else ", in a form that is not UI messages"
        return True, f"{status} with the message that was written{form}"
    if other.status in _OK:
        return False, f"{status}, as an address did that no application has: nothing is known"
    if key == "resume":
        return True, f"{status} when nothing streamed; the cases reload/… judge whether it takes up an answer"
    return True, f"{status} when nothing ran; the cases stop-button/… judge whether it stops a run"
