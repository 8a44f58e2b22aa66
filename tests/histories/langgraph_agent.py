"""The real agent of LangGraph with a scripted model, cut at a place or interrupted by a tool, and what it sends next.

A module of its own, because LangChain takes a second to import.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from tests.histories.cut_script import CutScript


class Model(BaseChatModel):
    """A model for which tools need not be bound."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        """Return the model itself."""
        del tools, kwargs
        return self


class Scripted(Model):
    """Says what the script says, until it is cut."""

    cut: Any

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


class Answering(Model):
    """Says two calls, then that it is done, and keeps what it was sent each time."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012  # a field of a model of Pydantic, copied for each

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        del kwargs
        self.asked.append(args[0])
        calls = [{"id": call_id, "name": name, "args": {}} for call_id, name in (("c1", "asks"), ("c2", "fast"))]
        answer = AIMessage("", tool_calls=calls) if len(self.asked) == 1 else AIMessage("Done.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


async def interrupted(saver: Any, then: Any) -> tuple[list[BaseMessage], list[str]]:
    """Return the state after a run that a tool has interrupted and the next one, and the tools that began."""
    began: list[str] = []

    @tool
    def asks() -> str:
        """Wait for a person."""
        began.append("asks")
        return f"{interrupt('May I?')}, sent"

    @tool
    def fast() -> str:
        """Return at once."""
        began.append("fast")
        return "two"

    model = Answering(asked=[])
    agent: Any = create_agent(model, tools=[asks, fast], checkpointer=saver)
    config = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [HumanMessage("q")]}, config)
    state = await agent.aget_state(config)
    assert [one.value for one in state.interrupts] == ["May I?"]
    await agent.ainvoke(then, config)
    return (await agent.aget_state(config)).values["messages"], began
