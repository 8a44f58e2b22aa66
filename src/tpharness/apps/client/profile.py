"""Profiles: what a chat client sends, one small class for each kind of client.

A profile is pure: it makes the JSON body of a request of what a chat holds. To judge an application whose requests look
otherwise, write a class with these two methods in a module of your own and name it: `history = "python:module:Class"`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import urlencode

from tpharness.apps.client.own_code import calling
from tpharness.apps.client.reading import Translator
from tpharness.apps.client.routes import Fetched
from tpharness.errors import UsageError
from tpharness.findings import shorten

__all__ = [
    "Chat",
    "Profile",
    "Trigger",
    "keeps_history",
    "kept_by",
    "make_body",
    "make_translator",
    "method_of",
    "page_of",
    "text_of",
]

Message = Mapping[str, Any]


class Trigger(StrEnum):
    """Why a client posts: the user wrote something, wants another answer, or has answered a request for approval."""

    SUBMIT = "submit-message"
    REGENERATE = "regenerate-message"
    APPROVE = "approve"


@dataclass(slots=True, kw_only=True)
class Chat:
    """One chat as its client holds it: its id and the UI messages in the AI SDK's shape, the newest last.

    `posts` counts the posts, the one that is made included; `begun` is whether the application knows the chat, for a
    profile that has `begin`. `message_id` is the message that the post goes on with, as
    it is the case after an approval; None for others.
    """

    id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    posts: int = 0
    message_id: str | None = None
    begun: bool = False

    @property
    def last(self) -> Message:
        """The newest message; an empty one before the first."""
        return self.messages[-1] if self.messages else {}


class Profile(Protocol):
    """How a client posts and what it is answered.

    A class may say `keeps_history`: whether its page keeps the history, so that a second tab does not know the first.
    Or `shows_calls`: False where the wire has no calls, so that a page that keeps the history cannot post them.
    One that stands for another version of the AI SDK's client than the newest says which: `version = VERSIONS[6]`.
    One whose page keeps messages in another shape has `for_chat(chat, extra)`, which returns the profile of one chat:
    that one writes `chat.messages` itself while it reads an answer; `extra` are fields that every post has.
    One whose page keeps the chat beyond a reload, as in the browser's storage, has `thread(chat)`: it returns what is
    kept under `chat.id`, UI messages or a ThreadProtocol document, judged as an answer of the address `thread` is.

    One that posts a form says `posts_form = True`. One whose chats need more requests has some of these:
    `async begin(chat, http)` before the first post of a chat: it may write `chat.id`, and returns None, or the answer
    that refuses it; `http.ask(method, path, body)` asks. `take_headers(chat, reader, headers)` takes the headers of an
    answer, which the translator `reader` reads. `async end(chat, http, reader)` returns the chunks with which an answer
    ends whose stream is over. `address_names(chat)` gives values to names beside `{id}` in addresses.
    `messages_of(value)` makes UI messages of what the address `thread` answers. `chat_path` is the path of the posts
    where the address has none; `paths` are the other addresses by their keys in the table, for `app init`;
    `resume_headers` are sent to take up an answer; `resumes_with` are the fields of a post for that.
    """

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return the body of the POST; `chat` holds the new message already."""
        ...

    def translator(self) -> Translator | None:
        """Return what makes UI message chunks of the answer's events, None where they are UI message chunks."""
        ...


def method_of(profile: Profile, name: str) -> Callable[..., Any] | None:
    """Return a method that a profile may have, None where it has it not."""
    method = getattr(profile, name, None)
    return method if callable(method) else None


def page_of(profile: Profile, chat: Chat, extra: Mapping[str, Any]) -> Profile | None:
    """Return the profile of one chat, which writes its messages itself; None where the page is one of the AI SDK."""
    made = getattr(profile, "for_chat", None)
    if made is None:
        return None
    with calling(profile, "for_chat"):
        page: Profile = made(chat, extra)
    return page


def kept_by(profile: Profile, chat: Chat) -> Fetched | None:
    """Return what the page keeps of a chat beyond a reload; None where it keeps nothing."""
    kept = getattr(profile, "thread", None)
    if kept is None:
        return None
    with calling(profile, "thread"):
        text = json.dumps(kept(chat))
    return Fetched(status=200, value=json.loads(text), text=shorten(text))


def make_body(profile: Profile, chat: Chat, trigger: Trigger, extra: Mapping[str, Any]) -> bytes:
    """Return the body of a POST, JSON or a form, with the fields of `extra`. UsageError for a mistake of a profile."""
    with calling(profile, "body"):
        body: Any = profile.body(chat, trigger)
        if body is None:
            raise TypeError("it returned None, not a dict: is a return missing?")
        fields = {**body, **extra}
        if not getattr(profile, "posts_form", False):
            return json.dumps(fields).encode()
        return urlencode({name: v if isinstance(v, str) else json.dumps(v) for name, v in fields.items()}).encode()


def keeps_history(profile: Profile) -> bool:
    """Whether the page keeps the history: as its profile says, else whether this posts the earlier messages, too."""
    said = getattr(profile, "keeps_history", None)
    if said is not None:
        return bool(said)
    texts = (("user", "a first question"), ("assistant", "a first answer"), ("user", "a second question"))
    messages = [
        {"id": str(number), "role": role, "parts": [{"type": "text", "text": text}]}
        for number, (role, text) in enumerate(texts)
    ]
    try:
        body = make_body(profile, Chat(id="a-chat", messages=messages, posts=2), Trigger.SUBMIT, {})
    except UsageError:  # it may need what only a played chat has; what it raises there is reported there
        return False
    return all(text.encode() in body for _, text in texts)


def make_translator(profile: Profile) -> Translator | None:
    """Return the translator of a profile for one answer. UsageError for what the profile does wrong."""
    with calling(profile, "translator"):
        return profile.translator()


def text_of(message: Message) -> str:
    """Return the texts of a message, joined."""
    parts: Sequence[Mapping[str, Any]] = message.get("parts", ())
    return "".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
