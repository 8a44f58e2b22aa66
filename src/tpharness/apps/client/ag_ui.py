"""AG-UI (agent-user interaction protocol) 1.0: a page on `@ag-ui/client`, which posts what that client would post.

Each event that the client takes (`ag_ui_stream`) changes what the page holds (`ag_ui_messages`), and that is what is
shown (`ag_ui_screen`). Chunks are made beside it, for what is said about the stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from tpharness.apps.client.ag_ui_messages import AgUiMessages
from tpharness.apps.client.ag_ui_screen import (
    approvals_on,
    asked_calls,
    kept_beside,
    messages_of,
    screen_of,
    texts_of,
    value_of,
)
from tpharness.apps.client.ag_ui_stream import AgUiRefusedError, AgUiStream
from tpharness.apps.client.profile import Chat, Trigger
from tpharness.apps.client.wall_clock import steady_now
from tpharness.wires.vsp.partial_json import NOTHING

__all__ = ["AgUi"]

Json = dict[str, Any]
_VERSION = "1.0"
_NOT_RUN = "The page has not run this tool."


class AgUi:
    """A page on `@ag-ui/client` 1.0.0: it keeps the history, and posts `RunAgentInput`."""

    keeps_history = True
    accept = "text/event-stream"

    def __init__(self, chat: Chat | None = None, extra: Mapping[str, Any] | None = None) -> None:
        self._chat = chat or Chat(id="")
        self._tools: Sequence[Mapping[str, Any]] = (extra or {}).get("tools", ())
        self.held = AgUiMessages()

    def for_chat(self, chat: Chat, extra: Mapping[str, Any]) -> AgUi:
        """Return the page of one chat; `extra` are the fields that the user adds to each post, such as its tools."""
        return AgUi(chat, extra)

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return the input of a run; AG-UI has no trigger, the messages say what is wanted.

        A run that still streams is left alone, as pages do with `detachActiveRun`: it changes nothing any more here.
        """
        self._take_up(chat)
        self._answer_own_tools()
        resume = list(self._resume(answered=trigger is Trigger.APPROVE))
        self.show()
        messages = [message for message in self.held.messages if message["role"] != "activity"]
        return {
            "threadId": chat.id,
            "runId": str(uuid4()),
            "protocolVersion": _VERSION,
            **({} if self.held.state is None else {"state": deepcopy(self.held.state)}),
            "messages": deepcopy(messages),
            "tools": list(self._tools),
            "context": [],
            "forwardedProps": {},
            **({"resume": resume} if resume else {}),
        }

    def translator(self) -> _Run:
        """Read one answer: it changes what the page holds, until the page posts again."""
        self._take_up(self._chat)
        return _Run(self, self.held)

    def show(self, held: AgUiMessages | None = None, stream: AgUiStream | None = None) -> None:
        """Write what is held into the messages of the chat; what an earlier run holds is not shown any more."""
        if held is None or held is self.held:
            streaming = set() if stream is None else stream.streaming
            self._chat.messages = screen_of(self.held, streaming, approvals_on(self._chat.messages))

    def messages_on(self, chat: Chat) -> list[Json]:
        """Return the messages that the screen of a chat shows."""
        return [message for shown in chat.messages for message in messages_of(shown)]

    # ------------------------------------------------------------------------------------------------ inside

    def _take_up(self, chat: Chat) -> None:
        """Take the messages from the screen, where some may have been edited or taken away."""
        self._chat = chat
        self.held = replace(
            self.held,
            messages=self.messages_on(chat),
            interrupts=self.held.interrupts or deepcopy(list(kept_beside(chat.last).get("interrupts", ()))),
            unfinished=set(self.held.unfinished),
        )

    def _answer_own_tools(self) -> None:
        """Say of calls of the page's own tools that they have not run: they are answered before the thread goes on."""
        names = {tool.get("name") for tool in self._tools}
        for call_id in self.held.unanswered():
            call = self.held.call(call_id)
            if call is not None and call["function"]["name"] in names:
                result = {"id": f"{call_id}-not-run", "role": "tool", "toolCallId": call_id, "content": ""}
                self.held.answer({**result, "error": _NOT_RUN})

    def _resume(self, *, answered: bool) -> Iterator[Json]:
        """Yield an answer to each interrupt: that of the user, else that nobody answers it, as who writes goes on."""
        given = {approval.get("id"): approval for approval in approvals_on(self._chat.messages).values()}
        for interrupt in self.held.interrupts:
            approval = given.get(interrupt["id"], {})
            if answered and "approved" in approval and not _has_expired(interrupt):
                reason = {"reason": approval["reason"]} if "reason" in approval else {}
                payload = {"approved": approval["approved"], **reason}
                yield {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            else:
                yield {"interruptId": interrupt["id"], "status": "cancelled"}


class _Run:
    """One answer: its events, applied to what the page held when it began, and as chunks."""

    def __init__(self, page: AgUi, held: AgUiMessages) -> None:
        self._page = page
        self._held = held
        self._stream = AgUiStream()
        self._started = self._refused = False
        self._open: dict[tuple[str, str], str] = {}
        self._texts = [text for message in held.messages for text in texts_of(message)]
        self._calls = {call["id"] for call in held.calls()}
        self._results = {message.get("toolCallId") for message in held.messages}

    def feed(self, data: bytes) -> Iterator[Json | str]:
        """Yield the chunks that one event comes to."""
        if self._refused:
            return
        try:
            for event in self._stream.feed(data):
                yield from self._take(event)
        except AgUiRefusedError:
            self._refused = True
            raise

    def _take(self, event: Mapping[str, Any]) -> Iterator[Json | str]:
        self._held.apply(event)
        self._page.show(self._held, self._stream)
        kind = event["type"]
        match kind:
            case "RUN_STARTED" if not self._started:
                self._started = True
                yield {"type": "start"}
            case "RUN_FINISHED":
                yield from self._finished(event)
            case "RUN_ERROR":
                yield {"type": "error", "errorText": event["message"]}
            case "TEXT_MESSAGE_START" | "TEXT_MESSAGE_CONTENT" | "TEXT_MESSAGE_END":
                yield from self._text("text", kind, event)
            case "REASONING_MESSAGE_START" | "REASONING_MESSAGE_CONTENT" | "REASONING_MESSAGE_END":
                yield from self._text("reasoning", kind, event)
            case "TOOL_CALL_START" | "TOOL_CALL_ARGS" | "TOOL_CALL_END":
                yield from self._call(kind, event)
            case "TOOL_CALL_RESULT":
                yield from self._result(event["toolCallId"], event["content"])
            case "MESSAGES_SNAPSHOT":
                yield from self._snapshot()

    def _finished(self, event: Mapping[str, Any]) -> Iterator[Json | str]:
        outcome = event.get("outcome") or {}
        if outcome.get("type") == "cancelled":
            yield {"type": "abort"}
        else:
            for interrupt, call_id in asked_calls(self._held):
                yield {"type": "tool-approval-request", "approvalId": interrupt["id"], "toolCallId": call_id}
            yield {"type": "finish"}
        yield "[DONE]"

    def _text(self, part: str, kind: str, event: Mapping[str, Any]) -> Iterator[Json]:
        key = (part, event["messageId"])
        if kind.endswith("_START"):
            if event.get("role", "assistant") in ("assistant", "reasoning"):
                self._open[key] = f"{event['messageId']}-{len(self._texts)}"
                self._texts.append("")
                yield {"type": f"{part}-start", "id": self._open[key]}
        elif key in self._open and kind.endswith("_CONTENT") and event["delta"]:
            yield {"type": f"{part}-delta", "id": self._open[key], "delta": event["delta"]}
        elif key in self._open and kind.endswith("_END"):
            self._texts += [text for m in self._held.messages if m["id"] == event["messageId"] for text in texts_of(m)]
            yield {"type": f"{part}-end", "id": self._open.pop(key)}

    def _call(self, kind: str, event: Mapping[str, Any]) -> Iterator[Json]:
        """Yield the chunks of a call; one that is streamed once more is the same call."""
        call_id = event["toolCallId"]
        key = ("call", call_id)
        if kind == "TOOL_CALL_START" and call_id not in self._calls:
            self._calls.add(call_id)
            self._open[key] = event["toolCallName"]
            yield {"type": "tool-input-start", "toolCallId": call_id, "toolName": event["toolCallName"]}
        elif key in self._open and kind == "TOOL_CALL_ARGS":
            yield {"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": event["delta"]}
        elif key in self._open and kind == "TOOL_CALL_END":
            del self._open[key]
            call = self._held.call(call_id)
            if call is not None:
                yield from _whole_call(call)

    def _result(self, call_id: str, content: Any) -> Iterator[Json]:
        if call_id not in self._results:
            self._results.add(call_id)
            yield {"type": "tool-output-available", "toolCallId": call_id, "output": content}

    def _snapshot(self) -> Iterator[Json]:
        """Yield what nobody has been shown yet of the messages that the thread has now."""
        for message in self._held.messages:
            for text in texts_of(message):
                if text not in self._texts:
                    self._texts.append(text)
                    name = f"{message['id']}-snapshot"
                    yield {"type": "text-start", "id": name}
                    yield {"type": "text-delta", "id": name, "delta": text}
                    yield {"type": "text-end", "id": name}
            for call in message.get("toolCalls", ()):
                if call["id"] not in self._calls:
                    self._calls.add(call["id"])
                    yield from _whole_call(call)
            if message["role"] == "tool":
                yield from self._result(message["toolCallId"], message["content"])


def _whole_call(call: Json) -> Iterator[Json]:
    """Yield the chunk of a call whose arguments came to their end; the end of half arguments says nothing (R60)."""
    value = value_of(call["function"]["arguments"])
    if value is not NOTHING:
        name = call["function"]["name"]
        yield {"type": "tool-input-available", "toolCallId": call["id"], "toolName": name, "input": value}


def _has_expired(interrupt: Mapping[str, Any]) -> bool:
    try:
        expires = datetime.fromisoformat(str(interrupt.get("expiresAt")))
    except ValueError:
        return False
    return (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) <= datetime.fromisoformat(steady_now())
