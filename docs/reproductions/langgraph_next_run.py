"""LangGraph: a run is stopped while its tool runs; what the next run streams, and does unasked. What a part can say.

Every `==` is a departure of docs/INTEROP.md, by its name in the baseline.
pip install langchain==1.4.7 langgraph==1.2.22
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langchain_core.messages.content import ReasoningContentBlock, TextContentBlock
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver


class Model(BaseChatModel):
    """Gives these answers, one after the other."""

    answers: list[AIMessageChunk]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Return the model itself."""
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=self.answers.pop(0))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))


def call(number: int, args: str) -> ToolCallChunk:
    """Return a call as a chat model streams it."""
    return ToolCallChunk(name="look", args=args, id=f"c{number}", index=number)


async def main(departure: str, *calls: ToolCallChunk, then: Any) -> None:
    """Stop a run while its tool runs, and print what the next one does."""
    running = asyncio.Event()
    blocked = True

    @tool
    async def look(city: str) -> str:
        """Look something up."""
        print("the tool runs:", city)
        running.set()
        await asyncio.sleep(60 if blocked else 0)
        return "sunny"

    answers = [AIMessageChunk(content="", tool_call_chunks=list(calls)), *[AIMessageChunk(content="Hello")] * 2]
    agent = create_agent(Model(answers=answers), tools=[look], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}

    async def run(entry: Any, *, shown: bool) -> None:
        mode: str
        payload: Any
        async for mode, payload in agent.astream(entry, config, stream_mode=["messages", "updates"]):
            for node, state in payload.items() if shown and mode == "updates" else ():
                for message in (state or {}).get("messages", ()):
                    calls = [one["id"] for one in getattr(message, "tool_calls", ())]
                    print(f"{node}: {message.type} {message.text!r} {' '.join(calls)}".strip())

    print("==", departure)
    stopped = asyncio.ensure_future(run({"messages": [("user", "Look")]}, shown=False))
    await running.wait()
    stopped.cancel()
    await asyncio.gather(stopped, return_exceptions=True)
    blocked = False
    for entry in then:
        print("next run, with", entry)
        await run(entry, shown=True)


oslo, broken = call(0, '{"city": "Oslo"}'), call(1, "not JSON")
asyncio.run(main("resumes-what-was-cut", oslo, then=[None, None]))
asyncio.run(main("cut-calls-in-the-next-run", oslo, broken, then=[{"messages": [("user", "Again")]}]))

print("== provider-of-a-part")
for block in (TextContentBlock, ReasoningContentBlock):
    print(block.__name__, *sorted(block.__annotations__))
