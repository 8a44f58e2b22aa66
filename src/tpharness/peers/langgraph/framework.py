"""LangGraph as the application around it sees it: an agent, a checkpointer, and the state that lies there."""

from __future__ import annotations

import asyncio
from typing import Any

import aiosqlite
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tpharness.facts import interruption_reason, normalize_finish_reason, normalize_usage
from tpharness.journal import JournalWriter
from tpharness.peers.control import ActiveRun
from tpharness.peers.langgraph.scripted_model import ScriptedChatModel, ScriptedTool, scripted_tools
from tpharness.peers.langgraph.stream import UiStream, frame, result_of
from tpharness.peers.loop_limits import loop_capabilities, prompt_content, refuse_for_a_loop
from tpharness.peers.scripted_run import Answer, ScriptedRun
from tpharness.reference_app.requests import RunRequest
from tpharness.targets.contract import Capabilities
from tpharness.targets.remote import CannotPlayError

__all__ = ["LangGraph", "LangGraphConversation"]

_STEPS = 1000


class LangGraph:
    """The framework: what it can do, and its conversations."""

    wire = "vsp"

    @property
    def capabilities(self) -> Capabilities:
        """Everything but carriers and ids to resume by, which its stream does not have."""
        return loop_capabilities("LangGraph", "langgraph")

    @property
    def part_kinds(self) -> frozenset[str]:
        """What a chat model answers with here: texts, thinking, and calls."""
        return frozenset({"text", "thinking", "tool-call"})

    def converse(self, thread_id: str) -> LangGraphConversation:
        """Begin a conversation."""
        return LangGraphConversation(thread_id)

    def refuse(self, scripted: ScriptedRun, request: RunRequest) -> None:
        """Refuse what a message of LangChain cannot represent."""
        refuse_for_a_loop(scripted)
        for answer in scripted.answers:
            _refuse_turns(answer)
        for turn in request.user:
            prompt_content(turn["parts"])


def _refuse_turns(answer: Answer) -> None:
    """Refuse texts that stream at the same time: a block of a message ends where the next one begins."""
    latest = None
    for _, event in answer.events:
        if event["event_kind"] == "part_start" and event["part"]["part_kind"] != "tool-call":
            latest = event["index"]
        elif event["event_kind"] == "part_delta" and "content_delta" in event["delta"] and event["index"] != latest:
            raise CannotPlayError("texts of an answer that stream at the same time")


class LangGraphConversation:
    """One conversation: a thread of the checkpointer."""

    tool: type[ScriptedTool] = ScriptedTool
    """What its tools are."""

    def __init__(self, thread_id: str) -> None:
        self._id = thread_id
        self._seen: set[str | None] = set()  # ids of messages, of which an input may drop some again
        self._saver: AsyncSqliteSaver | None = None
        self._new: list[BaseMessage] = []
        self._return_value: dict[str, str] = {}
        self._stop = asyncio.Event()
        self._reason = ""

    def cancel(self, reason: str) -> None:
        """Stop the run as an application does: its task is cancelled, and the client is notified."""
        self._reason = reason
        self._stop.set()

    async def run(self, live: ActiveRun) -> None:
        """Run the agent, and send the chunks of its stream."""
        self._stop = asyncio.Event()
        self._return_value = {}
        model = ScriptedChatModel(live=live)
        agent = create_agent(
            model,
            tools=scripted_tools(model, self._return_value.__setitem__, self.tool),
            checkpointer=await self._checkpointer(),
        )
        config: RunnableConfig = {"configurable": {"thread_id": self._id}, "recursion_limit": _STEPS}
        reading = asyncio.ensure_future(self._send(agent, config, live))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait({reading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                self._report_stop(live)
            else:
                reading.result()
            live.playback.end()
        finally:
            reading.cancel()
            stopping.cancel()
            await asyncio.gather(reading, stopping, return_exceptions=True)
            state = await agent.aget_state(config)
            messages: list[BaseMessage] = state.values.get("messages") or []
            self._new = [message for message in messages if message.id not in self._seen]
            self._seen.update(message.id for message in messages)

    def _report_stop(self, live: ActiveRun) -> None:
        """Notify the client that the run was stopped."""
        live.body.write(frame({"type": "abort", "reason": self._reason}) + _DONE)

    async def _checkpointer(self) -> AsyncSqliteSaver:
        if self._saver is None:
            self._saver = AsyncSqliteSaver(await aiosqlite.connect(":memory:"))
        return self._saver

    async def _send(self, agent: Any, config: RunnableConfig, live: ActiveRun) -> None:
        """Send the agent's stream as it comes; while more of it is waited for, everything before has been sent."""
        ui = UiStream()
        given = prompt_content(live.prompts)
        entry: Any = {"messages": [HumanMessage(content=given)]} if given else None
        iterator = aiter(agent.astream(entry, config, stream_mode=_MODES))
        named = live.request.script.message_id
        live.body.write(frame({"type": "start", **({} if named is None else {"messageId": named})}))
        try:
            while True:
                live.waiting = True
                try:
                    mode, payload = await anext(iterator)
                except StopAsyncIteration:
                    break
                finally:
                    live.waiting = False
                for chunk in ui.feed(mode, payload):
                    live.body.write(frame(chunk))
        except Exception as error:  # noqa: BLE001  # whatever the agent raises is reported to the client
            live.failure = str(error)
            live.body.write(frame({"type": "error", "errorText": live.failure}) + _DONE)
            return
        live.waiting = True
        await live.playback.ready()  # the agent may have ended without asking the model at all
        live.waiting = False
        for chunk in ui.end():
            live.body.write(frame(chunk))
        live.body.write(_DONE)

    def record(self, writer: JournalWriter, live: ActiveRun) -> str | None:
        """Write what the run has added to the state."""
        script = live.request.script
        writer.begin_turn(script.agent_id, script.started_at)
        answers = iter(live.scripted.answers)
        at, reason = script.started_at, None
        for message in self._new:
            if isinstance(message, AIMessage):
                answer = next(answers, None)
                at = live.playback.times[answer.first] if answer is not None else at
                live.record_notices(writer, until=at)
                reason = _response(writer, message, at)
            elif isinstance(message, ToolMessage):
                at = self._return_value.get(message.tool_call_id, at)
                live.record_notices(writer, until=at)
                _return(writer, message, at)
        return interruption_reason(reason, error_seen=False)


_MODES: Any = ["messages", "updates"]
_DONE = b"data: [DONE]\n\n"


def _response(writer: JournalWriter, message: AIMessage, at: str) -> str | None:
    metadata = message.response_metadata
    reason = normalize_finish_reason(metadata.get("finish_reason"))
    writer.begin_response(at)
    provider = metadata.get("model_provider") or "unknown"
    calls = {call["id"]: call for call in message.tool_calls}
    for block in message.content if isinstance(message.content, list) else ():
        if not isinstance(block, dict):
            continue
        if block["type"] == "text":
            named = {"id": block["id"]} if block.get("id") else {}
            writer.add_part("text", {"content": block["text"], **named})
        elif block["type"] == "thinking":
            signed = {"signature": block["signature"]} if block.get("signature") else {}
            named = {"thinking_id": block["id"]} if block.get("id") else {}
            writer.add_part("thinking", {"content": block["thinking"], **signed, **named, "provider_name": provider})
        elif call := calls.get(block.get("id")):
            fields = {"tool_name": call["name"], "tool_call_id": call["id"], "args": call["args"]}
            writer.add_part("tool-call", fields)
    writer.set_facts(
        {
            "model_name": metadata.get("model_name"),
            "provider_name": metadata.get("model_provider"),
            "finish_reason": reason,
            "provider_response_id": metadata.get("id"),
            "usage": normalize_usage(dict(message.usage_metadata or {})) or None,
        }
    )
    writer.finish_response()
    return reason


def _return(writer: JournalWriter, message: ToolMessage, at: str) -> None:
    call = message.tool_call_id
    if writer.call_key(call) is None or writer.has_return(call):
        return
    failed = message.status == "error"
    fields = {
        "tool_name": message.name,
        "tool_call_id": call,
        "status": "error" if failed else "success",
        "content": message.text if failed else result_of(message),
    }
    writer.add_return(call, "tool-return", fields, at)
