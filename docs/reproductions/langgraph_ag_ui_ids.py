"""AG-UI's adapter for LangGraph: no protocol version, and a result that has another id in the snapshot."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, ToolCallChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver


class _Model(BaseChatModel):
    _llm_type = "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        first = len(messages) == 1
        if first:
            call = ToolCallChunk(name="find", args="{}", id="c1", index=0)
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))
        yield ChatGenerationChunk(message=AIMessageChunk(content="" if first else "It is 18 degrees."))


def find() -> str:
    """Find it."""
    return "18"


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
    agent = LangGraphAgent(name="a", graph=create_agent(_Model(), [find], checkpointer=InMemorySaver()))
    async for event in agent.run(RunAgentInput.model_validate(posted)):
        sent = json.loads(EventEncoder().encode(event).removeprefix("data: "))
        if sent["type"] in ("RUN_STARTED", "TOOL_CALL_RESULT"):
            print(sent["type"], sent.get("protocolVersion"), _short(sent.get("messageId")))
        if sent["type"] == "MESSAGES_SNAPSHOT":
            print(sent["type"], *(_short(one["id"]) for one in sent["messages"] if one["role"] == "tool"))


def _short(name: str | None) -> str | None:
    return name and ("a new id" if len(name) > 8 else name)


asyncio.run(main())
