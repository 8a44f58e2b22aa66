"""A chat application that bears every interruption, and one way for each check to build it wrong.

Chat Completions from its model, a UI message stream to its client, histories kept on the server under the
chat's id. It knows nothing of tpharness: `python -m tests.apps.chat_app PORT [DEFECT …]` runs it alone, and the
environment has the address of its model.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, cast

from aiohttp import ClientSession, web
from tests.apps.chat_model import ChatModel, ModelError
from tests.apps.chat_told import (
    calls_again,
    joined_texts,
    last_before,
    last_without_question,
    late,
    merged,
    renamed,
    reordered,
    swap_results,
    without_words,
)

Json = dict[str, Any]

WINDOW = 10
"""How many messages an application tells that trims."""
SYSTEM = "You help travellers."
_SECOND_NEXT = 2  # turns before the second one after an interruption in the first
_WRITING = 0.5  # seconds, in which nobody has anything to do, and another message may come (`playing`)
_LONGEST = 1 << 16  # letters of a result
NOT_APPROVED = "The user has not approved this call."
INTERRUPTED = "The tool was interrupted; whether it has run is not known."
DENIED = "Cancelled: the tool was not executed."
SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}},
    "required": ["city", "nights"],
}
TOOLS: list[Json] = [
    {"type": "function", "function": {"name": "book_hotel", "description": "Books a hotel", "parameters": SCHEMA}}
]


class ToolError(Exception):
    """A tool failed."""


class FailedTogetherError(ModelError):
    """One of several tools failed, and nobody has waited for the others."""


class Defect(StrEnum):
    """One way to build it wrong; the safe application has none."""

    BRICKS = "after an interruption every later post fails"
    FAILS_ONCE = "after an interruption the next post fails"
    MUTES_NEXT = "after an interruption the next answer goes into the stream of the run before, which is closed"
    KEEPS_ORPHAN_RESULT = "a cut call is dropped, and a result for it is kept"
    REPAIRS_ARGUMENTS = "a cut call is kept with empty arguments and a result"
    NOTES_IN_TEXT = "a note is put into the half text of the assistant"
    DOUBLES_TEXT = "a half text is stored twice, one behind the other"
    RENAMES_CALL = "a call is told under another name of its tool"
    DOUBLES_CALL = "a call and its result are told once more, under an id of the application, from the second turn on"
    INVENTS_CALL = "an interruption is stored as a call of a tool that nobody called"
    STORES_TURN_LATE = "the user's message is stored when its answer is complete"
    DOUBLES_TURN = "the user's message is stored once more after an interruption"
    SORTS_TURNS = "the user's messages are sent to the model with the newest first"
    ANSWERS_LATE = "half an answer is told behind the next message of the user"
    KEEPS_BRANCH = "an edited message is stored behind the old ones"
    KEEPS_OLD_ANSWER = "another answer is asked for with the old one in the history"
    SHOWS_OLD_BRANCH = "the view after a reload has what the user has replaced"
    ORPHANS_LATER = "from the second turn after an interruption on, a result is told whose call nobody knows"
    FORGETS_CYCLE = "an interruption in the answer takes back the call before it"
    FORGETS_ANSWER = "an answer is not stored"
    MIXES_CHATS = "an answer is stored in the chat that was opened last"
    FORGETS_WORDS = "the words of an answer that calls a tool are not told"
    FORGETS_EFFECT = "an interruption while a tool runs takes back its call"
    STORES_TOGETHER = "an interruption takes back the calls of which one has ended, as results are stored together"
    DENIES_EFFECT = "a call whose tool is interrupted is told with a result that says that the tool has not run"
    RUNS_HALF_CALL = "a call that the limit of tokens has cut is completed and runs"
    RUNS_TWICE = "every tool runs twice"
    RUNS_UNAPPROVED = "a tool runs although its user has denied the approval that was asked for"
    DROPS_EMPTY_RESULT = "a result without a letter is not stored"
    FAILS_TOGETHER = "where one of two tools fails, the calls and results of both are taken back"
    BREAKS_AT_LENGTH = "a run fails whose tool returns very much"
    BREAKS_AT_FAILURE = "a run whose tool fails ends there as if it were complete"
    RUNS_AGAIN = "a tool runs for each approval that comes, also for a second one of the same call"
    IGNORES_APPROVAL = "a call that its user approves after a reload of the page is denied"
    FORGETS_REQUEST = "the view after a reload has no request for approval"
    DATES_PROMPT = "the system prompt counts the requests"
    REWORDS_RESULT = "a result is stored otherwise than it was told first"
    SWAPS_RESULTS = "results of parallel calls are told with each other's calls from the second turn on"
    MIXES_RESULTS = "results of parallel calls are told with each other's calls, and shown with their own"
    REORDERS = "calls and results are sent in another order from the second turn on"
    TRIMS_ANYWHERE = "of a long chat the last messages are told, also results whose calls are not among them"
    TRIMS_QUESTION = "of a long run the last messages are told, without the message of the user"
    JOINS_TEXTS = "all texts of a run are told in front of its calls from the second turn on"
    HIDES_FAILURE = "a failure of the model ends as an ordinary finish"
    FINISHES_FAILURE = "a failure of the model is told, and an ordinary finish follows"
    TEARS_STREAM = "a failure of the model ends the stream without a word"
    SENDS_ODD_STREAM = "a delta is sent for a text that has not started, at the end of the stream"
    RUNS_ON = "the run goes on when its client has left"
    SHOWS_TWICE = "the text of an answer is streamed, and sent once more as a whole"
    VIEWS_TWICE = "the view after a reload has every answer twice"
    KEEPS_STOP = "a stop that comes when no run goes on ends the next one"
    KEEPS_STOP_FOR_TOOL = "a stop that comes when no run goes on gives up the next tool before it begins"
    SAVES_STOP_LATE = "what a stop has left is stored when the stop is answered, over what was written meanwhile"
    REPEATS_MESSAGE = (
        "where the model's API has failed, the user's message is stored once more, and the model asked again"
    )
    STOPS_ALL = "whoever stops or leaves a chat ends the runs of all chats"
    STOPS_BY_ONE_FLAG = "a stop sets one flag for all chats, and ends the first run that looks at it"
    STAYS_STOPPED = "after an interruption a run ends with its first call, whose tool does not begin"
    STAYS_ABORTED = "after an interruption a tool is given up before it begins, and the model is told so"
    FINISHES_STOP = "a run that is stopped ends as an ordinary finish"
    REPEATS_ID = "every answer of a chat begins with the same id of its message"
    VIEWS_HALF_AS_DONE = "the view after a reload has half a text as a part that is done"
    HIDES_HALF_TEXT = "the view after a reload leaves out unfinished answers"
    ANSWERS_NO_VIEW = "the view after a reload is a page"
    ASKS_TWICE = "the model is asked twice for every answer"
    MIXES_RUNS = "a second message does not wait for the run before it"
    IGNORES_STOP = "the stop button does nothing"
    REFUSES_STOP = "the address of the stop button answers with an error"


ASKING = {Defect.RUNS_UNAPPROVED, Defect.RUNS_AGAIN, Defect.IGNORES_APPROVAL, Defect.FORGETS_REQUEST}
"""Defects of applications that ask for approvals."""


@dataclass(slots=True)
class Stored:
    """One chat: messages of the model's API, the views of them, and what went on."""

    messages: list[Json] = field(default_factory=list)
    interrupted: int = 0
    turns: int = 0
    half: set[int] = field(default_factory=set)
    run: asyncio.Task[None] | None = None
    stopped: bool = False
    pressed: bool = False
    viewed: bool = False
    written: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: list[tuple[Json, Json]] = field(default_factory=list)
    answered: list[tuple[Json, Json]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    replaced: list[Json] = field(default_factory=list)
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)


class ChatApp:
    """The application. `effects` is a file that gets a line for each run of the tool.

    With `effects_url` its tool posts to the ledger of effects there, with the call's id if `says_call_ids`. With
    `cancels_tools` a tool is cancelled with the run that waits for it; else it runs to its end. With `approvals` the
    user is asked before a tool runs; with `titles` the model is asked for a title in every turn, with a streamed
    request if they are "streamed". With `tools_at_once` the tools of an answer run beside each other.
    """

    def __init__(
        self,
        *defects: Defect,
        base_url: str | None = None,
        api_key: str | None = None,
        tool_seconds: float = 0.2,
        effects: Path | None = None,
        approvals: bool = False,
        titles: bool | Literal["streamed"] = False,
        cancels_tools: bool = False,
        says_call_ids: bool = True,
        tools_at_once: bool = False,
    ) -> None:
        self.defects = frozenset(defects)
        self.base_url, self.api_key = base_url, api_key
        self.tool_seconds = tool_seconds
        self.effects = effects
        self.approvals = approvals or bool(ASKING & set(defects))
        self.titles = titles
        self.cancels_tools = cancels_tools
        self.says_call_ids = says_call_ids
        self.tools_at_once = tools_at_once
        self.effects_url: str | None = None
        self.environment: Mapping[str, str] = {}
        self.chats: dict[str, Stored] = {}
        self.requests = 0
        self.stop_is_wanted = False
        self._model: ChatModel | None = None
        self._tasks: set[asyncio.Task[str]] = set()

    @property
    def model(self) -> ChatModel:
        """The client of the model, made when it is needed."""
        if self._model is None:
            self._model = ChatModel(self.base_url, self.api_key)
        return self._model

    async def close(self) -> None:
        """Wait for tools that still run, and close the connections to the model."""
        runs = [chat.run for chat in self.chats.values() if chat.run is not None]
        await asyncio.gather(*self._tasks, *runs, return_exceptions=True)
        if self._model is not None:
            await self._model.close()

    def application(self) -> web.Application:
        """Return the web application: post, stop, view."""
        app = web.Application()
        app.router.add_post("/api/chat", self.post)
        app.router.add_post("/api/v1.2/chat", self.post)
        app.router.add_post("/api/chat/{id}/stop", self.stop)
        app.router.add_get("/api/chat/{id}", self.view)
        return app

    # ------------------------------------------------------------------------------------------------ routes

    async def post(self, request: web.Request) -> web.StreamResponse:
        """Take a message of the user and stream the run."""
        body = await request.json()
        chat = self.chats.setdefault(body["id"], Stored())
        if chat.interrupted and (Defect.BRICKS in self.defects or (self._has(Defect.FAILS_ONCE) and chat.turns == 1)):
            chat.turns += 1
            return web.json_response({"error": "the history of this chat is not valid"}, status=500)
        chat.turns += 1
        if self._has(Defect.MIXES_RUNS):
            return await self._answer(chat, body, request)
        async with chat.busy:  # one run at a time: a second message waits
            return await self._answer(chat, body, request)

    async def _answer(self, chat: Stored, body: Json, request: web.Request) -> web.StreamResponse:
        parts = body["message"]["parts"]
        approvals = {p["toolCallId"]: p["approval"].get("approved") for p in parts if "approval" in p}
        if body["message"]["role"] == "user":
            for _, answer in chat.waiting:
                answer["content"] = NOT_APPROVED
            chat.waiting = []
            self._store_message(chat, body)
        elif not chat.waiting:
            if not self._has(Defect.RUNS_AGAIN):
                return web.json_response({"error": "nothing waits for an approval"}, status=409)
            chat.waiting = chat.answered
        response = web.StreamResponse(headers={"content-type": "text/event-stream", "cache-control": "no-cache"})
        await response.prepare(request)
        chat.pressed = False
        chat.run = asyncio.create_task(self._run(chat, self.writer(chat, body, response), approvals))
        try:
            await (asyncio.shield(chat.run) if self._has(Defect.RUNS_ON) else chat.run)
        except asyncio.CancelledError:
            if chat.run.cancelled() and chat.pressed:
                return response  # stopped by the button
            self._end_all()
            raise
        return response

    def _store_message(self, chat: Stored, body: Json) -> None:
        """Store a message of the user; one that is there already stays, or is edited, and what came after it goes."""
        message = body["message"]
        place = chat.places.get(message["id"])
        if place is not None:
            again = body["trigger"] == "regenerate-message"
            if not self._has(Defect.KEEPS_OLD_ANSWER if again else Defect.KEEPS_BRANCH):
                chat.replaced += marked(chat)[place + again :]
                del chat.messages[place + again :]
                chat.half = {index for index in chat.half if index < place}
            if again:
                return
        chat.places[message["id"]] = len(chat.messages)
        text = "".join(part["text"] for part in message["parts"] if part["type"] == "text")
        chat.messages.append({"role": "user", "content": text})
        chat.written.set()

    async def stop(self, request: web.Request) -> web.Response:
        """The stop button, which takes no fields, as CopilotKit's does not."""
        if self._has(Defect.REFUSES_STOP) or await request.json() != {}:
            return web.json_response({"error": "invalid_request", "issues": ["unknown field"]}, status=400)
        chat = self.chats.get(request.match_info["id"])
        if chat is not None and chat.run is not None and not self._has(Defect.IGNORES_STOP):
            chat.stopped = chat.run.done()
            chat.pressed = True
            if self._has(Defect.STOPS_BY_ONE_FLAG):
                self.stop_is_wanted = True
            else:
                chat.run.cancel()
            self._end_all()
            if self._has(Defect.SAVES_STOP_LATE) and not chat.stopped:
                await self._save_late(chat)
        return web.json_response({"stopped": True})

    def _end_all(self) -> None:
        """End the runs of all chats, where the application is built wrong."""
        for chat in self.chats.values() if self._has(Defect.STOPS_ALL) else ():
            if chat.run is not None and not chat.run.done():
                chat.pressed = True
                chat.run.cancel()

    async def _save_late(self, chat: Stored) -> None:
        """Store what there is when the run has stopped, once another message has come or there was time for one."""
        await asyncio.gather(*([chat.run] if chat.run is not None else []), return_exceptions=True)
        chat.written.clear()
        kept = list(chat.messages)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(chat.written.wait(), _WRITING)
        chat.messages[:] = kept

    async def view(self, request: web.Request) -> web.Response:
        """The chat after a reload, as UI messages."""
        if self._has(Defect.ANSWERS_NO_VIEW):
            return web.Response(text="<!doctype html><title>Chat</title>", content_type="text/html")
        chat = self.chats.get(request.match_info["id"], Stored())
        chat.viewed = True
        hidden = chat.half if self._has(Defect.HIDES_HALF_TEXT) else set()
        shown = [message for index, message in enumerate(marked(chat)) if index not in hidden]
        if self._has(Defect.VIEWS_TWICE):
            shown = [one for message in shown for one in [message] * (1 + (message["role"] == "assistant"))]
        if self._has(Defect.SHOWS_OLD_BRANCH):
            shown = [*chat.replaced, *shown]
        asked = () if self._has(Defect.FORGETS_REQUEST) else [call["id"] for call, _ in chat.waiting]
        if self._has(Defect.VIEWS_HALF_AS_DONE):
            shown = [{**message, "half": False} for message in shown]
        return web.json_response({"messages": ui_messages(shown, asked)})

    # ------------------------------------------------------------------------------------------------ the run

    def writer(self, chat: Stored, body: Json, response: web.StreamResponse) -> Writer:
        """Return what sends the chunks of a run that begins."""
        del body
        muted = self._has(Defect.MUTES_NEXT) and chat.interrupted > 0
        return Writer(response, only=("start", "finish") if muted else None)

    async def _run(self, chat: Stored, out: Writer, approvals: Mapping[str, bool]) -> None:
        begun = len(chat.messages)
        step = begun
        try:
            named = {"messageId": "answer"} if self._has(Defect.REPEATS_ID) else {}
            await out.send({"type": "start", **named})
            if self._has(Defect.KEEPS_STOP) and chat.stopped:
                chat.stopped = False
                await out.send({"type": "finish", "finishReason": "stop"}, done=True)
                return
            if self.titles:
                await self._title(chat)
            if chat.waiting:
                await self._go_on(chat, approvals, out)
            while True:
                step = len(chat.messages)
                calls = await self._ask(chat, out)
                if not calls:
                    break
                answers = [{"role": "tool", "tool_call_id": call["id"], "content": INTERRUPTED} for call in calls]
                chat.messages += answers
                if not await self._use_tools(chat, list(zip(calls, answers, strict=True)), out):
                    break
            if self._has(Defect.SENDS_ODD_STREAM):
                await out.send({"type": "text-delta", "id": "never-started", "delta": ""})
            await out.send({"type": "finish", "finishReason": "stop"}, done=True)
        except (ModelError, OSError) as error:
            self._interrupted(chat, begun, step)
            if isinstance(error, FailedTogetherError):
                del chat.messages[step:]
            finishes = self._has(Defect.FINISHES_FAILURE)
            if not self._has(Defect.HIDES_FAILURE) and not self._has(Defect.TEARS_STREAM):
                await out.send({"type": "error", "errorText": str(error)}, done=not finishes)
            if finishes or self._has(Defect.HIDES_FAILURE):
                await out.send({"type": "finish", "finishReason": "stop"}, done=True)
        except asyncio.CancelledError:
            self._interrupted(chat, begun, step)
            await self._say_stopped(chat, out)
            raise

    async def _ask(self, chat: Stored, out: Writer) -> list[Json]:
        """Ask the model once, and store what it has said; return the calls of a whole answer."""
        text, calls, whole, cut = "", cast("dict[int, Json]", {}), False, False
        await out.send({"type": "start-step"})
        name = f"text-{len(chat.messages)}"
        try:
            async with self._stream(chat) as stream:
                async for chunk in stream:
                    if self.stop_is_wanted:
                        self.stop_is_wanted, chat.pressed = False, True
                        raise asyncio.CancelledError
                    if not chunk["choices"]:
                        continue
                    (choice,) = chunk["choices"]
                    delta = choice["delta"]
                    if delta.get("content"):
                        if not text:
                            await out.send({"type": "text-start", "id": name})
                        text += delta["content"]
                        await out.send({"type": "text-delta", "id": name, "delta": delta["content"]})
                    for piece in delta.get("tool_calls") or ():
                        await self._take_piece(piece, calls, out)
                    whole = whole or choice.get("finish_reason") is not None
                    cut = cut or choice.get("finish_reason") == "length"
            if not whole:
                raise ModelError("the model's answer is not complete")
        finally:
            self._store(chat, text, list(calls.values()), whole=whole and not cut)
        if text:
            await out.send({"type": "text-end", "id": name})
            if self._has(Defect.SHOWS_TWICE):
                for chunk in ({"type": "text-start"}, {"type": "text-delta", "delta": text}, {"type": "text-end"}):
                    await out.send({**chunk, "id": f"{name}-whole"})
        for call in calls.values() if cut else ():
            known = {"toolCallId": call["id"], "toolName": call["name"], "input": call["arguments"]}
            await out.send({"type": "tool-input-error", **known, "errorText": "the arguments are not complete"})
            if self._has(Defect.RUNS_HALF_CALL):
                await self._tool({**call, "arguments": call["arguments"] + '"}'}, {})
        calls = {} if cut else calls
        for call in calls.values():
            known = {"toolCallId": call["id"], "toolName": call["name"]}
            await out.send({"type": "tool-input-available", **known, "input": json.loads(call["arguments"])})
        if not calls:
            await out.send({"type": "finish-step"})
        return list(calls.values())

    async def _take_piece(self, piece: Json, calls: dict[int, Json], out: Writer) -> None:
        call = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
        function = piece["function"]
        if piece.get("id"):
            call.update(id=piece["id"], name=function["name"])
            await out.send({"type": "tool-input-start", "toolCallId": call["id"], "toolName": call["name"]})
        if function.get("arguments"):
            call["arguments"] += function["arguments"]
            delta = {"toolCallId": call["id"], "inputTextDelta": function["arguments"]}
            await out.send({"type": "tool-input-delta", **delta})

    @contextlib.asynccontextmanager
    async def _stream(self, chat: Stored) -> AsyncIterator[AsyncIterator[Json]]:
        """Ask the model; its stream is closed whatever happens."""
        if self._has(Defect.ASKS_TWICE):
            self.requests += 1
            async with self.model.stream(self.told(chat), TOOLS) as unread:
                async for _ in unread:
                    pass
        self.requests += 1
        async with contextlib.AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(self.model.stream(self.told(chat), TOOLS))
            except ModelError:
                if not self._has(Defect.REPEATS_MESSAGE):
                    raise
                chat.messages.append(next(one for one in reversed(chat.messages) if one["role"] == "user"))
                stream = await stack.enter_async_context(self.model.stream(self.told(chat), TOOLS))
            yield stream

    async def _title(self, chat: Stored) -> None:
        """Ask the model for a title: a request with the words of the user in it, and none of the chat's tools."""
        words = next(m["content"] for m in chat.messages if m["role"] == "user")
        asked: list[Json] = [{"role": "user", "content": f"Write a short title for this conversation: {words}"}]
        if self.titles == "streamed":
            async with self.model.stream(asked) as stream:
                async for _ in stream:
                    pass
        else:
            await self.model.ask(asked)

    async def _ask_for_approval(self, chat: Stored, calls: list[tuple[Json, Json]], out: Writer) -> None:
        chat.waiting = calls
        for call, answer in calls:
            answer["content"] = NOT_APPROVED
            asked = {"approvalId": f"approve-{call['id']}", "toolCallId": call["id"]}
            await out.send({"type": "tool-approval-request", **asked})
        await out.send({"type": "finish-step"})

    async def _go_on(self, chat: Stored, approvals: Mapping[str, bool], out: Writer) -> None:
        """Run what was approved, and say of the rest that it was not."""
        waiting, chat.waiting = chat.waiting, []
        chat.answered = waiting
        for call, answer in waiting:
            approved = approvals.get(call["id"]) and not (chat.viewed and self._has(Defect.IGNORES_APPROVAL))
            if approved or self._has(Defect.RUNS_UNAPPROVED):
                answer["content"] = INTERRUPTED
                await self._run_tools([(call, answer)], out)
            else:
                await out.send({"type": "tool-output-denied", "toolCallId": call["id"]})

    async def _use_tools(self, chat: Stored, calls: list[tuple[Json, Json]], out: Writer) -> bool:
        """Run the tools of an answer, or ask for approval; return whether the run goes on."""
        if self.approvals:
            await self._ask_for_approval(chat, calls, out)
            return False
        if chat.interrupted and self._has(Defect.STAYS_STOPPED):
            return False
        kept = chat.stopped and self._has(Defect.KEEPS_STOP_FOR_TOOL)
        if kept or (chat.interrupted and self._has(Defect.STAYS_ABORTED)):
            for call, _ in calls:
                await out.send({"type": "tool-output-error", "toolCallId": call["id"], "errorText": INTERRUPTED})
        else:
            await self._run_tools(calls, out)
        await out.send({"type": "finish-step"})
        return True

    async def _say_stopped(self, chat: Stored, out: Writer) -> None:
        """Say nothing of a stop, as the end of the stream says it."""
        if chat.pressed and self._has(Defect.FINISHES_STOP):
            await out.send({"type": "finish", "finishReason": "stop"}, done=True)

    async def _run_tools(self, calls: list[tuple[Json, Json]], out: Writer) -> None:
        if self.tools_at_once:
            failed = not all(await asyncio.gather(*(self._shown_tool(*one, out) for one in calls)))
        else:
            failed = not all([await self._shown_tool(*one, out) for one in calls])
        if failed and self._has(Defect.FAILS_TOGETHER):
            raise FailedTogetherError("a tool has failed")
        if failed and self._has(Defect.BREAKS_AT_FAILURE):
            await out.send({"type": "finish", "finishReason": "stop"}, done=True)
            raise asyncio.CancelledError

    async def _shown_tool(self, call: Json, answer: Json, out: Writer) -> bool:
        """Run a tool, and show its result as soon as it is there; return whether it has not failed."""
        task = asyncio.create_task(self._tool(call, answer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            output = await (task if self.cancels_tools else asyncio.shield(task))
        except ToolError as error:
            await out.send({"type": "tool-output-error", "toolCallId": call["id"], "errorText": str(error)})
            return False
        await out.send({"type": "tool-output-available", "toolCallId": call["id"], "output": output})
        if self._has(Defect.BREAKS_AT_LENGTH) and len(output) > _LONGEST:
            raise ModelError("the line is too long")
        return True

    async def _tool(self, call: Json, answer: Json) -> str:
        """Run the tool to its end, also when nobody waits for it, and store its result. ToolError if it fails."""
        booked = f"booked {call['arguments']} as {call['id']}"
        for _ in range(2 if self._has(Defect.RUNS_TWICE) else 1):
            if self.effects_url is not None:
                try:
                    booked = await self._book(call)
                except ToolError as error:
                    answer["content"] = f"It has failed: {error}"
                    raise
            elif self.effects is not None:
                with self.effects.open("a", encoding="utf-8") as file:
                    file.write(call["id"] + "\n")
        if self.effects_url is None:
            await asyncio.sleep(self.tool_seconds)
        answer["content"] = None if not booked and self._has(Defect.DROPS_EMPTY_RESULT) else booked
        return booked

    async def _book(self, call: Json) -> str:
        """Run the tool of the ledger, and return its result as text; cancelled, the request is closed."""
        headers = {"X-Tpharness-Call": call["id"]} if self.says_call_ids else {}
        url = f"{self.effects_url}/tools/{call['name']}"
        async with ClientSession() as session, session.post(url, data=call["arguments"], headers=headers) as answer:
            told = await answer.json()
        if "error" in told:
            raise ToolError(told["error"])
        return told["result"] if isinstance(told["result"], str) else json.dumps(told["result"])

    # ------------------------------------------------------------------------------------------------ the store

    def _store(self, chat: Stored, text: str, calls: list[Json], *, whole: bool) -> None:
        """Store an answer: what is whole as it is, of a half one the text alone."""
        if self._has(Defect.MIXES_CHATS) and not calls:
            chat = list(self.chats.values())[-1]
        message: Json = {"role": "assistant", "content": text}
        functions = [
            {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
            for c in calls
        ]
        results: list[Json] = []
        if not whole:
            results = [{"role": "tool", "tool_call_id": call["id"], "content": "interrupted"} for call in calls]
            if self._has(Defect.REPAIRS_ARGUMENTS):
                for function in functions:
                    function["function"]["arguments"] = "{}"
            else:
                functions = []
                if not self._has(Defect.KEEPS_ORPHAN_RESULT):
                    results = []
            if text and self._has(Defect.DOUBLES_TEXT):
                message["content"] = f"{text}{text}"
            if text and self._has(Defect.NOTES_IN_TEXT):
                message["content"] = f"{text} [interrupted]"
        if functions:
            message["tool_calls"] = functions
        if whole and not functions and self._has(Defect.FORGETS_ANSWER):
            return
        if text or functions:
            if not whole:
                chat.half.add(len(chat.messages))
            chat.messages.append(message)
        chat.messages += results

    def _interrupted(self, chat: Stored, begun: int, step: int) -> None:
        chat.interrupted += 1
        new = chat.messages[begun:]
        if self._has(Defect.STORES_TURN_LATE):
            del chat.messages[begun - 1]
        if self._has(Defect.DOUBLES_TURN):
            chat.messages.append(dict(chat.messages[begun - 1]))
        if self._has(Defect.FORGETS_CYCLE) and step > begun:
            del chat.messages[begun:step]
        if self._has(Defect.DENIES_EFFECT):
            denied = [{**m, "content": DENIED} if m.get("content") == INTERRUPTED else m for m in new]
            chat.messages[begun:] = denied
        if self._has(Defect.FORGETS_EFFECT) and new and new[-1].get("content") == INTERRUPTED:
            del chat.messages[begun:]
        ended = {m["content"] != INTERRUPTED for m in chat.messages[step:] if m["role"] == "tool"}
        if self._has(Defect.STORES_TOGETHER) and len(ended) > 1:
            del chat.messages[step:]
        if self._has(Defect.INVENTS_CALL):
            function = {"name": "report_interruption", "arguments": "{}"}
            call = {"id": f"call_own_{len(chat.messages)}", "type": "function", "function": function}
            if chat.messages[-1]["role"] == "assistant":
                chat.messages[-1]["tool_calls"] = [call]
            else:
                chat.messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            chat.messages.append({"role": "tool", "tool_call_id": call["id"], "content": "noted"})

    def told(self, chat: Stored) -> list[Json]:
        """Return what the model is told."""
        system = f"{SYSTEM} This is request {self.requests}." if self._has(Defect.DATES_PROMPT) else SYSTEM
        messages = [
            dict(message) for message in chat.messages if message["role"] != "tool" or message["content"] is not None
        ]
        if self._has(Defect.MIXES_RESULTS):
            swap_results(messages)
        if self._has(Defect.RENAMES_CALL):
            messages = [renamed(message) for message in messages]
        if self._has(Defect.FORGETS_WORDS):
            messages = [without_words(message) for message in messages]
        if self._has(Defect.ANSWERS_LATE):
            messages = late(messages, chat.half)
        if chat.turns > 1:
            if self._has(Defect.REWORDS_RESULT):
                for message in messages:
                    if message["role"] == "tool":
                        message["content"] = f"It was {message['content']}."
            if self._has(Defect.SWAPS_RESULTS):
                swap_results(messages)
            if self._has(Defect.SORTS_TURNS):
                users = [m for m in messages if m["role"] == "user"]
                texts = [m["content"] for m in users]
                for message, text in zip(users, reversed(texts), strict=True):
                    message["content"] = text
            if self._has(Defect.REORDERS):
                messages = reordered(messages)
            if self._has(Defect.DOUBLES_CALL):
                messages = calls_again(messages)
            if self._has(Defect.JOINS_TEXTS):
                messages = joined_texts(messages)
        return [{"role": "system", "content": system}, *self.trimmed(merged([*messages, *self._orphans(chat)]))]

    def _orphans(self, chat: Stored) -> list[Json]:
        """Return a result that belongs to no call, where the application is built wrong."""
        told = self._has(Defect.ORPHANS_LATER) and chat.interrupted and chat.turns > _SECOND_NEXT
        return [{"role": "tool", "tool_call_id": "call_of_before", "content": INTERRUPTED}] if told else []

    def trimmed(self, messages: list[Json]) -> list[Json]:
        """Return what is told of a long chat: everything, if it is built right."""
        if self._has(Defect.TRIMS_ANYWHERE):
            return last_before(messages, WINDOW)
        if self._has(Defect.TRIMS_QUESTION):
            return last_without_question(messages, WINDOW)
        return messages

    def _has(self, defect: Defect) -> bool:
        return defect in self.defects


class Writer:
    """Chunks to the client, of the types in `only` if it is given; when the client has left, they go nowhere."""

    def __init__(self, response: web.StreamResponse, only: tuple[str, ...] | None = None) -> None:
        self._response = response
        self._only = only

    async def send(self, chunk: Mapping[str, Any], *, done: bool = False) -> None:
        """Write one chunk, and the end marker after the last."""
        if self._only is not None and chunk["type"] not in self._only:
            return
        data = f"data: {json.dumps(chunk)}\n\n" + ("data: [DONE]\n\n" if done else "")
        with contextlib.suppress(ConnectionError, RuntimeError):
            await self._response.write(data.encode())


def marked(chat: Stored) -> list[Json]:
    """Return the messages of a chat, and of each whether it is half an answer."""
    return [{**message, "half": index in chat.half} for index, message in enumerate(chat.messages)]


def ui_messages(messages: list[Json], asked: Sequence[str] = ()) -> list[Json]:
    """Return the messages of a chat as UI messages: one for each message of the user, and one for what followed.

    The calls of `asked` wait for an approval.
    """
    shown: list[Json] = []
    results = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for message in messages:
        if message["role"] == "user":
            part = {"type": "text", "text": message["content"]}
            shown.append({"id": f"m{len(shown)}", "role": "user", "parts": [part]})
        elif message["role"] == "assistant":
            if not shown or shown[-1]["role"] != "assistant":
                shown.append({"id": f"m{len(shown)}", "role": "assistant", "parts": []})
            if message["content"]:
                state = "streaming" if message.get("half") else "done"
                shown[-1]["parts"].append({"type": "text", "text": message["content"], "state": state})
            for call in message.get("tool_calls", ()):
                ended: Json = {"state": "output-available", "output": results.get(call["id"])}
                waits: Json = {"state": "approval-requested", "approval": {"id": f"approve-{call['id']}"}}
                known = {"type": f"tool-{call['function']['name']}", "toolCallId": call["id"]}
                arguments = {"input": json.loads(call["function"]["arguments"])}
                shown[-1]["parts"].append({**known, **arguments, **(waits if call["id"] in asked else ended)})
    return shown


@contextlib.asynccontextmanager
async def running(app: ChatApp, port: int = 0) -> AsyncIterator[int]:
    """Serve the application on loopback, and yield its port."""
    cancels = Defect.RUNS_ON not in app.defects
    runner = web.AppRunner(app.application(), handler_cancellation=cancels, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
        await app.close()


async def _serve(port: int, defects: list[Defect]) -> None:
    effects = Path("effects.txt") if os.environ.get("EFFECTS") else None
    async with running(ChatApp(*defects, effects=effects), port):
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("defects", nargs="*", help=", ".join(defect.name for defect in Defect))
    chosen = parser.parse_args(sys.argv[1:])
    asyncio.run(_serve(chosen.port, [Defect[name] for name in chosen.defects]))
