"""AG-UI's adapter for Strands: a run that `Agent.cancel` stops ends as a success, and half a call stays open."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui_strands import StrandsAgent
from strands import Agent
from strands.models import Model

CHUNKS: list[Any] = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"start": {"toolUse": {"name": "find", "toolUseId": "c1"}}}},
    {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "To'}}}},
    {"contentBlockDelta": {"delta": {"toolUse": {"input": 'kyo"}'}}}},
    {"contentBlockStop": {}},
    {"messageStop": {"stopReason": "tool_use"}},
]


class _Model(Model):  # type: ignore[misc]
    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for chunk in CHUNKS:
            yield chunk


async def main() -> None:
    posted: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
    posted |= {"forwardedProps": {}, "messages": [{"id": "u", "role": "user", "content": "Hi"}]}
    agents: dict[str, Agent] = {}
    adapter = StrandsAgent(Agent(model=_Model(), callback_handler=None), name="a", agents_by_thread=agents)
    async for event in adapter.run(RunAgentInput.model_validate({**posted, "protocolVersion": "1.0"})):
        outcome = getattr(event, "outcome", None)
        print(event.type.value, *filter(None, (getattr(event, "delta", None), outcome and outcome.type)))
        if event.type == "TOOL_CALL_ARGS":
            agents["t"].cancel()  # Strands' own way, from another task of the server
    print("held:", agents["t"].messages[-1]["content"])


asyncio.run(main())
