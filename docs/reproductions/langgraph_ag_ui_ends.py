"""AG-UI's adapter for LangGraph: a stop ends the stream without an event, and a failed tool looks like a success."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, ToolCallChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver

SAID = ("content", "error", "metadata", "status")
CALL = ToolCallChunk(name="book", args="{}", id="c1", index=0)


class _Model(BaseChatModel):
    answers: list[AIMessageChunk]
    _llm_type = "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def _astream(self, *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        yield ChatGenerationChunk(message=self.answers.pop(0))
        if not self.answers:
            await asyncio.sleep(60)  # the last answer is stopped


@tool
async def book() -> str:
    """Book it."""
    raise ToolException("sold out")


book.handle_tool_error = True  # LangChain's own way to say it to the model: a message with the status `error`


async def main() -> None:
    posted: dict[str, Any] = {
        "threadId": "t",
        "runId": "r",
        "state": {},
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    posted |= {"protocolVersion": "1.0", "messages": [{"id": "u", "role": "user", "content": "Hi"}]}
    answers = [AIMessageChunk(content="", tool_call_chunks=[CALL]), AIMessageChunk(content="I am sor")]
    graph = create_agent(_Model(answers=answers), [book], checkpointer=InMemorySaver())
    agent = LangGraphAgent(name="a", graph=graph)

    async def send() -> None:
        async for event in agent.run(RunAgentInput.model_validate(posted)):
            if event.type not in ("RAW", "STATE_SNAPSHOT", "STEP_STARTED", "STEP_FINISHED"):
                result = event.model_dump(exclude_none=True) if event.type == "TOOL_CALL_RESULT" else {}
                print(event.type.value, *(f"{name}={result[name]}" for name in sorted(result) if name in SAID))
            if event.type == "TEXT_MESSAGE_CONTENT":
                stop.set()

    stop = asyncio.Event()
    sending = asyncio.ensure_future(send())
    await stop.wait()
    sending.cancel()
    print("ended by", *(type(one).__name__ for one in await asyncio.gather(sending, return_exceptions=True)))
    state = await graph.aget_state({"configurable": {"thread_id": "t"}})
    print("in the state:", *(one.status for one in state.values["messages"] if one.type == "tool"))


asyncio.run(main())
