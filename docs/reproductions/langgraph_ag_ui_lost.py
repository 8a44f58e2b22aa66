"""AG-UI's adapter for LangGraph loses arguments that come with the name of a call, and a signature without text."""

import asyncio
from collections.abc import Iterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui_langgraph import LangGraphAgent
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver

CHUNKS: list[dict[str, Any]] = [
    {"content": [{"type": "thinking", "thinking": "Hm.", "index": 0}]},
    {"content": [{"type": "thinking", "signature": "sig-1", "index": 0}]},  # as Claude's API sends it
    {"content": "", "tool_call_chunks": [{"name": "find", "args": '{"city": "To', "id": "c1", "index": 1}]},
    {"content": "", "tool_call_chunks": [{"name": None, "args": 'kyo"}', "id": None, "index": 1}]},
]


class _Model(BaseChatModel):
    _llm_type = "scripted"

    def _generate(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def _stream(self, *_: Any, **__: Any) -> Iterator[ChatGenerationChunk]:
        for fields in CHUNKS:
            yield ChatGenerationChunk(message=AIMessageChunk(**fields))


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
    graph = create_agent(_Model(), [], checkpointer=InMemorySaver())
    agent = LangGraphAgent(name="a", graph=graph)
    events = [event async for event in agent.run(RunAgentInput.model_validate(posted))]
    print("arguments on the wire:", *(one.delta for one in events if one.type == "TOOL_CALL_ARGS"))
    print("signatures on the wire:", sum(one.type == "REASONING_ENCRYPTED_VALUE" for one in events))
    held = graph.get_state({"configurable": {"thread_id": "t"}}).values["messages"][-1]
    print("in the state:", held.tool_calls[0]["args"], held.content[0]["signature"])


asyncio.run(main())
