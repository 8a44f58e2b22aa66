"""Strands behind its AG-UI adapter: an agent, the adapter's map of the agents of threads, and their messages."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from ag_ui_strands import StrandsAgent, StrandsAgentConfig
from strands import Agent
from strands.agent.conversation_manager import NullConversationManager

from tpharness.facts import normalize_usage
from tpharness.journal import JournalWriter
from tpharness.peers.ag_ui_run import run_agent_input, send_events
from tpharness.peers.control import ActiveRun
from tpharness.peers.loop_limits import loop_capabilities, prompt_content, refuse_for_a_loop
from tpharness.peers.scripted_run import Answer, ScriptedRun
from tpharness.peers.strands_ag_ui.scripted_model import StrandsModel, StrandsTool
from tpharness.reference_app.requests import RunRequest
from tpharness.targets.contract import Capabilities
from tpharness.targets.remote import CannotPlayError

__all__ = ["StrandsAgUi"]


class StrandsAgUi:
    """The framework with its adapter."""

    wire = "ag-ui"

    @property
    def capabilities(self) -> Capabilities:
        """Everything but carriers and ids to resume by, which its stream does not have."""
        return loop_capabilities("Strands over AG-UI", "ag-ui-strands")

    @property
    def part_kinds(self) -> frozenset[str]:
        """What its model answers with here: texts, thinking, and calls."""
        return frozenset({"text", "thinking", "tool-call"})

    def converse(self, thread_id: str) -> _Conversation:
        """Begin a conversation."""
        return _Conversation(thread_id)

    def refuse(self, scripted: ScriptedRun, request: RunRequest) -> None:
        """Refuse what a message of Strands cannot represent."""
        refuse_for_a_loop(scripted)
        for answer in scripted.answers:
            _refuse_together(answer)
        for turn in request.user:
            prompt_content(turn["parts"])


def _refuse_together(answer: Answer) -> None:
    """Refuse parts that stream at the same time: a message of Strands has one block open."""
    begun: Any = None
    for _, event in answer.events:
        if event["event_kind"] == "part_start" and begun is not None:
            raise CannotPlayError("parts of an answer that stream at the same time")
        if event["event_kind"] != "part_delta":
            begun = event["index"] if event["event_kind"] == "part_start" else None


class _Conversation:
    """One conversation, whose client posts `RunAgentInput`; the agent of its thread goes on from its messages."""

    def __init__(self, thread_id: str) -> None:
        self._id = thread_id
        self._agents: dict[str, Agent] = {}
        self._messages: list[Any] = []
        self._new: list[Any] = []
        self._return_value: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._stop = asyncio.Event()
        self._runs = 0

    def cancel(self, reason: str) -> None:
        """Stop the run as Strands has it: `cancel` of the agent of the thread."""
        del reason  # it has no place for one
        self._agents[self._id].cancel()
        self._stop.set()

    async def run(self, live: ActiveRun) -> None:
        """Run the agent, and send the events of the adapter."""
        self._stop, self._return_value, self._agents = asyncio.Event(), {}, {}
        self._runs += 1
        model = StrandsModel(live, self._stop)
        parts = [part for answer in live.scripted.answers for part in answer.parts().values()]
        names = sorted({str(part["tool_name"]) for part in parts if part["part_kind"] == "tool-call"})
        adapter = StrandsAgent(
            Agent(
                model=model,
                tools=[StrandsTool(name, model, self._return_value.__setitem__) for name in names],
                callback_handler=None,
                conversation_manager=NullConversationManager(),
            ),
            name="agent",
            config=StrandsAgentConfig(
                replay_history_into_strands=False,  # the history is the agent's, and not what is posted
                thread_agent_kwargs=lambda _: {"messages": list(self._messages)},
            ),
            agents_by_thread=self._agents,
        )
        posted = run_agent_input(self._id, f"run-{self._runs}", prompt_content(live.prompts))
        try:
            async with aclosing(adapter.run(RunAgentInput.model_validate(posted))) as events:
                await send_events(events, EventEncoder().encode, live)
            live.playback.end()
        finally:
            held = {id(message) for message in self._messages}
            agent = self._agents.get(self._id)
            now = list(agent.messages) if agent is not None else self._messages
            self._new = [message for message in now if id(message) not in held]
            self._messages = now

    def record(self, writer: JournalWriter, live: ActiveRun) -> str | None:
        """Write what the run has added to the messages of the agent."""
        script = live.request.script
        writer.begin_turn(script.agent_id, script.started_at)
        answers = iter(live.scripted.answers)
        at = script.started_at
        for message in self._new:
            self._names.update((call["toolUseId"], call["name"]) for call in _blocks(message, "toolUse"))
            if message["role"] == "assistant":
                answer = next(answers, None)
                at = live.playback.times[answer.first] if answer is not None else at
                live.record_notices(writer, until=at)
                _response(writer, message, at)
            for result in _blocks(message, "toolResult"):
                at = self._return_value.get(result["toolUseId"], at)
                live.record_notices(writer, until=at)
                _return(writer, result, self._names.get(result["toolUseId"]), at)
        return None


def _blocks(message: Any, kind: str) -> list[Any]:
    """Return what a message has in its blocks of a kind."""
    return [block[kind] for block in message["content"] if kind in block]


def _response(writer: JournalWriter, message: Any, at: str) -> None:
    writer.begin_response(at)
    for block in message["content"]:
        if "text" in block:
            writer.add_part("text", {"content": block["text"]})
        elif "reasoningContent" in block:
            said = block["reasoningContent"]["reasoningText"]
            signed = {"signature": said["signature"]} if said.get("signature") else {}
            writer.add_part("thinking", {"content": said["text"], **signed, "provider_name": "unknown"})
        elif "toolUse" in block:
            call = block["toolUse"]
            fields = {"tool_name": call["name"], "tool_call_id": call["toolUseId"], "args": call["input"]}
            writer.add_part("tool-call", fields)
    counted = (message.get("metadata") or {}).get("usage") or {}
    usage = {"input_tokens": counted.get("inputTokens"), "output_tokens": counted.get("outputTokens")}
    if counted.get("totalTokens"):
        writer.set_facts({"usage": normalize_usage(usage)})
    writer.finish_response()


def _return(writer: JournalWriter, result: Any, name: str | None, at: str) -> None:
    call = result["toolUseId"]
    if writer.call_key(call) is None or writer.has_return(call):
        return
    block = result["content"][0] if result["content"] else {"text": ""}
    failed = result.get("status") == "error"
    content = block["text"] if "text" in block else block.get("json")
    status = "error" if failed else "success"
    fields = {"tool_name": name, "tool_call_id": call, "status": status, "content": content}
    writer.add_return(call, "tool-return", fields, at)
