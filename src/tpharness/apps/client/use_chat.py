"""UseChat: what `useChat` of the AI SDK does with the messages of a chat when its user does something. No I/O.

In: what the user does. Out: the messages that the client posts, and the fold of the answer, which writes into them. A
stream that goes on while the user writes again goes on in its own message, as it does there.
Read from `AbstractChat` of `ai` 7.0.173 and the state of `@ai-sdk/react` 4.0.177, and held to them by tests.
"""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tpharness.apps.client.client_versions import NEWEST, ClientVersion
from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.message_parts import is_tool_part, write_message
from tpharness.apps.client.profile import Chat

__all__ = ["UseChat", "answers_to", "generate_id", "waits_for_approval"]

_LETTERS = string.digits + string.ascii_letters
_LENGTH = 16


def generate_id(length: int = _LENGTH) -> str:
    """Return a random id as the AI SDK's `generateId` makes it."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def waits_for_approval(part: Mapping[str, Any]) -> bool:
    """Whether a part is a call that the user has to approve or deny."""
    return is_tool_part(part) and part.get("state") == "approval-requested"


def answers_to(waiting: Sequence[Mapping[str, Any]], approved: Sequence[bool]) -> list[bool]:
    """Return the answer to each request for approval: those of `approved` in order, the last one for all further."""
    return [approved[min(index, len(approved) - 1)] for index in range(len(waiting))]


class UseChat:
    """The state of one chat. `new_id` is asked once for each message of the user and once for each request.

    Without `writes` the messages of the assistant are written by somebody else: a page of another wire.
    """

    def __init__(
        self,
        chat: Chat,
        new_id: Callable[[], str] = generate_id,
        *,
        version: ClientVersion = NEWEST,
        writes: bool = True,
    ) -> None:
        self.chat = chat
        self._new_id = new_id
        self._version = version
        self._writes = writes

    def submit(self, text: str) -> MessageFold:
        """Write a message."""
        message = {"id": self._new_id(), "role": "user", "parts": [{"type": "text", "text": text}]}
        self.chat.messages.append(message)
        return self._request()

    def regenerate(self) -> MessageFold:
        """Ask for another answer: the last message goes, if it is one of the assistant."""
        if self.chat.last.get("role") == "assistant":
            self.chat.messages.pop()
        return self._request()

    def edit(self, number: int, text: str) -> MessageFold:
        """Write another text in place of a message of the user, counted from 1; what came after it goes."""
        places = [index for index, message in enumerate(self.chat.messages) if message.get("role") == "user"]
        place = places[number - 1]
        message = {"id": self.chat.messages[place]["id"], "role": "user", "parts": [{"type": "text", "text": text}]}
        self.chat.messages[place:] = [message]
        fold = self._request()
        self.chat.message_id = message["id"]
        return fold

    def answer_approvals(self, *, approved: Sequence[bool], reason: str | None = None) -> MessageFold | None:
        """Answer every request for approval of the last message, in order; None where nothing waits for one.

        The last of `approved` answers all further ones.
        """
        waiting = [part for part in self.chat.last.get("parts", ()) if waits_for_approval(part)]
        given = {} if reason is None else {"reason": reason}
        for part, answer in zip(waiting, answers_to(waiting, approved), strict=True):
            part.update(state="approval-responded", approval={**part["approval"], "approved": answer, **given})
        return self._request(continued=self.chat.last) if waiting else None

    def resume(self) -> MessageFold:
        """Take up the answer that is streaming; the stream begins it anew, in a message of its own or that it names."""
        last = self.chat.last
        unfinished = last.get("role") == "assistant" and any(map(_is_unfinished, last["parts"]))
        self.chat.message_id = None
        made = self._new_id() if self._version.resumes_with_an_id else None
        return MessageFold(
            message_id=self._new_id if made is None else lambda: made,
            write=self._write,
            resumed=last if unfinished else None,
            replays=True,
            version=self._version,
        )

    def _request(self, continued: Mapping[str, Any] | None = None) -> MessageFold:
        self.chat.message_id = None if continued is None else continued["id"]
        message_id = self._new_id()
        return MessageFold(message_id=lambda: message_id, write=self._write, resumed=continued, version=self._version)

    def _write(self, message: dict[str, Any]) -> None:
        if self._writes:
            write_message(self.chat.messages, message)


def _is_unfinished(part: Mapping[str, Any]) -> bool:
    """Whether a part is a call of which the rest, or the result, may be in the stream that is taken up."""
    state = part.get("state")
    ours = state in ("input-streaming", "approval-responded")
    return is_tool_part(part) and (ours or (state == "input-available" and bool(part.get("providerExecuted"))))
