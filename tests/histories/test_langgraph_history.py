"""The history `langgraph` is what the real agent's next run sends its model, after a cut at every place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from tests.histories.cut_script import TWO_TOOLS, CutScript, events_of
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.langgraph import LANGGRAPH
from tpharness.scenario import Scenario

HISTORY = LANGGRAPH["langgraph"]
PLAYED: dict[str, Scenario] = {
    "text": scenario("histories/k01-text-only"),
    "tool and answer": scenario("histories/l-02-tool-and-answer"),
    "two tools, the second done first": inline(TWO_TOOLS.format(last="")),
}
PLACES = [(name, at) for name in PLAYED for at in range(len(events_of(PLAYED[name])) + 1)]


class Scripted(BaseChatModel):
    """Says what the script says, until it is cut."""

    cut: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Return the model itself."""
        del tools, kwargs
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        del args, kwargs
        async for event in self.cut.response():
            part = event.get("part") if event["event_kind"] == "part_start" else event.get("delta")
            if event["event_kind"] not in ("part_start", "part_delta") or part is None:
                continue
            text = part.get("content") or part.get("content_delta") or ""
            chunks: list[Any] = []
            if not text:
                call_id = part["tool_call_id"] if "tool_name" in part else None
                args_text = part.get("args") or part.get("args_delta") or ""
                chunk = {"name": part.get("tool_name"), "args": args_text, "id": call_id}
                chunks = [{**chunk, "index": event["index"], "type": "tool_call_chunk"}]
            yield ChatGenerationChunk(message=AIMessageChunk(content=text, tool_call_chunks=chunks))


class Scheduled(BaseTool):
    """A tool that returns when the script says so."""

    description: str = "a tool"
    args_schema: Any = {"type": "object", "properties": {}, "additionalProperties": True}  # noqa: RUF012
    cut: Any

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002  # the library's name
        """Return the result of the call."""
        del config, kwargs
        content = await self.cut.returned(input["id"])
        return ToolMessage(content=content, tool_call_id=input["id"], name=self.name)


class Listening(Scripted):
    """Answers at once, and keeps what it was sent."""

    seen: list[BaseMessage] = []  # noqa: RUF012  # a field of a model of Pydantic, copied for each

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        del kwargs
        self.seen.extend(args[0])
        yield ChatGenerationChunk(message=AIMessageChunk(content="ok"))


async def next_input(script: tuple[dict[str, Any], ...], at: int) -> list[BaseMessage]:
    """Return what the model is sent in the run after one that was cut."""
    cut = CutScript(script, at)
    saver, config = InMemorySaver(), {"configurable": {"thread_id": "t"}}
    names = {event["part"]["tool_name"] for event in script if event["event_kind"] == "function_tool_result"}
    tools = [Scheduled(name=name, cut=cut) for name in sorted(names)]
    agent: Any = create_agent(Scripted(cut=cut), tools=tools, checkpointer=saver)

    async def play() -> None:
        async for _ in agent.astream({"messages": [HumanMessage("q")]}, config, stream_mode="messages"):
            pass

    await cut.cancel(play())
    listening = Listening(cut=cut)
    again: Any = create_agent(listening, tools=tools, checkpointer=saver)
    async for _ in again.astream({"messages": [HumanMessage("Go on.")]}, config, stream_mode="messages"):
        pass
    return listening.seen


def told(messages: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """Return what counts of messages: kind, text, calls, which call a result is of."""
    return [
        (
            message.type,
            message.content,
            [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
            if isinstance(message, AIMessage)
            else [],
            getattr(message, "tool_call_id", None),
        )
        for message in messages
    ]


@pytest.mark.parametrize(("name", "at"), PLACES)
def test_a_cut_leaves_what_the_next_run_sends(name: str, at: int) -> None:
    """At each place: messages, calls and results, by the state that the real checkpointer has."""
    real = asyncio.run(next_input(events_of(PLAYED[name]), at))
    document = HISTORY.store(journal_of(PLAYED[name], (at, "user_cancelled")))
    ours = messages_from_dict([dict(message) for message in document["messages"]])
    assert told(ours)[1:] == told(real)[1:-1]
    assert [real[0].type, ours[0].type, real[-1].content] == ["human", "human", "Go on."]
    assert messages_to_dict(ours) == document["messages"]


def test_a_result_that_had_come_is_gone_until_all_have() -> None:
    """The second tool is done, the first runs: the state has the calls alone, which every API refuses."""
    events = events_of(PLAYED["two tools, the second done first"])
    done = next(i for i, event in enumerate(events) if event["event_kind"] == "function_tool_result")
    document = HISTORY.store(journal_of(PLAYED["two tools, the second done first"], (done + 1, "user_cancelled")))
    assert [message["type"] for message in document["messages"]] == ["human", "ai"]


def test_what_depends_on_an_integration_is_not_supported() -> None:
    """Thinking; and what the agent never does."""
    for name in ("histories/k02-thinking-call-and-answer", "cycles/late-return"):
        with pytest.raises(UnsupportedError, match="langgraph: "):
            HISTORY.store(journal_of(scenario(name)))
