"""RealClient: the AI SDK's or AG-UI's own client in front of an application, its buttons pressed, every byte seen.

In: what the user does. Out: the same replies and messages as from `ChatClient`, and `differences`: where what the real
client posts or holds is not what `UseChat` or the profile `ag-ui` would. The client keeps the messages; a request
profile of the AI SDK's may put them into another body, as `prepareSendMessagesRequest` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import aiohttp
from aiohttp import web

from tpharness.apps.client.ag_ui import AgUi
from tpharness.apps.client.buttons import Buttons
from tpharness.apps.client.message import MessageFold
from tpharness.apps.client.profile import Chat, Profile, Trigger, make_body, make_translator
from tpharness.apps.client.profiles import AiSdk
from tpharness.apps.client.relay import Downstream, Relay, passed_on
from tpharness.apps.client.reply import End, Limits, Reply
from tpharness.apps.client.routes import Addresses, Fetched, fetch
from tpharness.apps.client.use_chat import UseChat, answers_to, generate_id, waits_for_approval
from tpharness.errors import TargetError, UsageError
from tpharness.findings import shorten
from tpharness.model_apis.append_only import first_differing_value

__all__ = ["RealClient", "RealClients"]

_SHOWN = 200


class RealClients:
    """Real clients of one kind, such as `peer:ai-sdk-client`. As a context they can be opened.

    UsageError for a profile whose clients read another wire than these.
    """

    def __init__(self, name: str, profile: Profile) -> None:
        self._profile = profile
        self._buttons = Buttons(name)
        if self._buttons.wire == "ag-ui" and not isinstance(profile, AgUi):
            raise UsageError(f"{name} reads AG-UI", hint='write history = "ag-ui", or another client')
        if self._buttons.wire != "ag-ui" and make_translator(profile) is not None:
            other = "write peer:ag-ui-client, or " if isinstance(profile, AgUi) else ""
            raise UsageError(
                f"{name} reads UI message streams, which the answers to this request profile are not",
                hint=f"{other}leave `client` out: tpharness posts itself then",
            )
        self._relay = Relay()
        self._names = itertools.count(1)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._relay)
        await self._stack.enter_async_context(self._buttons)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def client(
        self,
        session: aiohttp.ClientSession,
        addresses: Addresses,
        *,
        chat_id: str | None = None,
        limits: Limits | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> RealClient:
        """Return a client with a page of its own, opened when its first button is pressed."""
        return RealClient(
            session,
            addresses,
            self._profile,
            buttons=self._buttons,
            relay=self._relay,
            name=str(next(self._names)),
            chat_id=chat_id,
            limits=limits,
            extra=extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Press:
    """A button that was pressed: the answer that it leads to, and the body that `UseChat` would post."""

    reply: Reply
    trigger: Trigger | None
    expected: Mapping[str, Any]


class RealClient:
    """One page with one chat. `posted` are the bodies that the real client has posted."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        addresses: Addresses,
        profile: Profile,
        *,
        buttons: Buttons,
        relay: Relay,
        name: str,
        chat_id: str | None = None,
        limits: Limits | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._session = session
        self._addresses = addresses
        self._profile = profile
        self._buttons = buttons
        self._relay = relay
        self._name = name
        self._limits = limits or Limits()
        self._extra = dict(extra or {})
        self.chat = Chat(id=chat_id or generate_id())
        self._ids = generate_id(12)
        self._made = itertools.count(1)
        self._page = profile.for_chat(self.chat, self._extra) if isinstance(profile, AgUi) else None
        self._model = UseChat(
            self.chat,
            lambda: f"{self._ids}{next(self._made):04d}",
            version=buttons.version,
            writes=self._page is None,
        )
        self._opened = False
        self._pressed: deque[_Press] = deque()
        self._sent: dict[int, Downstream] = {}
        self._followed: list[tuple[Reply, asyncio.Task[None]]] = []
        self.replies: list[Reply] = []
        self.posted: list[dict[str, Any]] = []
        self.differences: list[str] = []

    # ------------------------------------------------------------------------------------------------ the user

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages by our own fold of what has passed the relay."""
        return deepcopy(self.chat.messages)

    async def screen(self) -> list[dict[str, Any]]:
        """Return the messages that the real client holds, once it has read everything that has passed the relay.

        The real client notices a broken connection only after it has read what came before the break, later than our
        own side. The user has to wait for that; otherwise the error would be taken for that of the next answer.
        """
        if not self._opened:
            return self.messages
        await asyncio.gather(*(task for reply, task in self._followed if reply.end is End.BROKEN))
        held = await self._buttons.ask(self._name, "look", read=self._read())
        messages: list[dict[str, Any]] = held["messages"]
        if self._page is not None:  # which holds messages of another shape than is shown
            self._compare("the page", messages, self._page.held.messages)
            return self.messages
        self._compare("the screen", messages, self.messages)
        return messages

    def submit(self, text: str) -> Reply:
        """Write a message."""
        self._open()
        fold = self._model.submit(text)
        return self._press(Trigger.SUBMIT, fold, "submit", says=text, text=text, id=self.chat.last["id"])

    def regenerate(self) -> Reply:
        """Ask for another answer to the last message of the user."""
        self._open()
        return self._press(Trigger.REGENERATE, self._model.regenerate(), "regenerate")

    def edit(self, number: int, text: str) -> Reply:
        """Send a message of the user, counted from 1, once more with another text."""
        self._open()
        fold = self._model.edit(number, text)
        return self._press(Trigger.SUBMIT, fold, "edit", says=text, text=text, message=self.chat.message_id)

    def answer_approvals(self, *, approved: Sequence[bool], reason: str | None = None) -> Reply | None:
        """Answer every request for approval of the last message; None where nothing waits for one."""
        self._open()
        waiting = [part for part in self.chat.last.get("parts", ()) if waits_for_approval(part)]
        fold = self._model.answer_approvals(approved=approved, reason=reason)
        if fold is None:
            return None
        given = {} if reason is None else {"reason": reason}
        requests = [part["approval"]["id"] for part in waiting]
        answers = answers_to(waiting, approved)
        return self._press(Trigger.APPROVE, fold, "approve", requests=requests, approved=answers, **given)

    def resume(self) -> Reply | None:
        """Take up the answer that is streaming; None without an address for it."""
        if self._addresses.resume is None:
            return None
        self._open()
        reply = self._press(None, self._model.resume(), "resume")
        reply.repeats = True
        return reply

    async def stop(self) -> Fetched | None:
        """Press the stop button that has an address at the application; None without one."""
        return await fetch(self._session, self._addresses, self._addresses.stop, self.chat.id, self._limits.headers)

    async def view(self) -> Fetched | None:
        """Fetch the chat as a reloaded page does; None without an address for it."""
        return await fetch(self._session, self._addresses, self._addresses.thread, self.chat.id, self._limits.headers)

    async def close(self) -> None:
        """Leave every answer that still streams, and close the page."""
        for reply in self.replies:
            await reply.leave()
        if self._opened:
            self._opened = False
            with contextlib.suppress(TargetError):  # its process may have ended
                await self._buttons.ask(self._name, "close")
            self._relay.remove(self._name)
        await asyncio.gather(*(task for _, task in self._followed), return_exceptions=True)

    # ------------------------------------------------------------------------------------------------ the relay

    def forward(self, request: web.Request, body: bytes, onward: Downstream) -> Reply:
        """Send what the real client asks for to the application."""
        if not self._pressed:
            self.differences.append(
                f"{request.method} {request.path}: the real client asks, and nobody pressed a button"
            )
            self._pressed.append(self._unasked())
        press = self._pressed.popleft()
        reply = press.reply
        if reply.end is not End.OPEN:
            return reply  # the user has left before the client asked
        self._sent[onward.number] = onward
        headers = passed_on(request.headers)
        headers.update(self._addresses.headers)
        if press.trigger is None and self._addresses.resume is not None:
            route = self._addresses.resume
            reply.open(self._session, route.method, route.of(self.chat.id), headers=headers, onward=onward)
            return reply
        posted = json.loads(body)
        self.posted.append(posted)
        self._compare(f"post {len(self.posted)}", _without_run(posted), _without_run(press.expected))
        try:
            data = self._in_profile(posted, press.trigger or Trigger.SUBMIT) or body
        except UsageError as error:
            reply.fail(error)
            return reply
        reply.open(self._session, "POST", self._addresses.chat, data=data, headers=headers, onward=onward)
        return reply

    async def has_read(self) -> None:
        """Wait until the real client has read all that was passed on to it."""
        with contextlib.suppress(TargetError):  # its process may have ended
            await self._buttons.ask(self._name, "look", read=self._read())

    # ------------------------------------------------------------------------------------------------ inside

    def _press(self, trigger: Trigger | None, fold: MessageFold, do: str, *, says: str = "", **more: Any) -> Reply:
        posts = self._page or AiSdk()
        expected = posts.body(self.chat, trigger) if trigger is not None else {}
        translator = posts.translator()
        reply = Reply(fold, limits=self._limits, translator=translator, says=says, after_leaving=self._stop)
        self.replies.append(reply)
        self._pressed.append(_Press(reply=reply, trigger=trigger, expected=deepcopy({**self._extra, **expected})))
        pressed = self._buttons.press(self._name, do, **more)
        self._followed.append((reply, asyncio.create_task(self._follow(reply, pressed))))
        return reply

    def _open(self) -> None:
        """Open the page, once, with the messages that there are before the user does anything."""
        if self._opened:
            return
        self._opened = True
        self._buttons.press(
            self._name,
            "open",
            chat=self.chat.id,
            api=self._relay.add(self._name, self),
            messages=self.chat.messages if self._page is None else self._page.messages_on(self.chat),
            body=self._extra,
            ids=self._ids,
        )

    async def _follow(self, reply: Reply, answer: asyncio.Future[Any]) -> None:
        """Wait until the client has done what its button says; a reply that it never asked for has failed."""
        try:
            state = await answer
        except TargetError as error:
            reply.fail_unasked(str(error))
            return
        reply.fail_unasked(f"the client did not ask the application: {state['error'] or state['status']}")
        await reply.ended(self._limits.answer)
        failed = bool(reply.refused) or reply.end is End.BROKEN or reply.status not in (200, 204)
        if reply is not self.replies[-1] or reply.end is End.LEFT:
            return  # the state is that of another answer, or of none
        if failed is not (state["status"] == "error"):
            theirs = f"the real client says {state['status']} {shorten(str(state['error'] or ''), _SHOWN)}"
            ours = shorten(reply.refused or reply.problem, _SHOWN)
            self.differences.append(f"{theirs}; our own says {ours or 'nothing'}")

    async def _stop(self) -> None:
        """Let the real client stop, when it has read what has passed the relay."""
        await self._buttons.ask(self._name, "stop", read=self._read())

    def _read(self) -> dict[str, int]:
        return {str(number): one.sent for number, one in self._sent.items() if one.response is not None}

    def _in_profile(self, posted: Mapping[str, Any], trigger: Trigger) -> bytes | None:
        """Return the body that the profile makes of the real client's messages; None where it is the client's own."""
        if self._page is not None or type(self._profile).body is AiSdk.body:
            return None
        messages, message_id = posted["messages"], posted.get("messageId")
        chat = Chat(id=posted["id"], messages=messages, posts=len(self.posted), message_id=message_id)
        return make_body(self._profile, chat, trigger, self._extra)

    def _unasked(self) -> _Press:
        fold = MessageFold(message_id=generate_id, write=lambda _: None)
        reply = Reply(fold, limits=self._limits, after_leaving=self._stop)
        self.replies.append(reply)
        return _Press(reply=reply, trigger=Trigger.SUBMIT, expected={})

    def _compare(self, what: str, real: Any, own: Any) -> None:
        place = first_differing_value(real, own)
        if place is not None:
            where, theirs, ours = place
            self.differences.append(f"{what}{where}: the real client has {_shown(theirs)}, our own {_shown(ours)}")


def _without_run(posted: Mapping[str, Any]) -> dict[str, Any]:
    """Return a post without the id that an AG-UI client makes for its run."""
    return {key: value for key, value in posted.items() if key != "runId"}


def _shown(value: Any) -> str:
    """Return a value for people; what is missing is not JSON."""
    try:
        return shorten(json.dumps(value, ensure_ascii=False), _SHOWN)
    except TypeError:
        return "nothing"
