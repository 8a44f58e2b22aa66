"""AG-UI's adapter for Strands: a text result gets quotes, a failed tool looks like a success, a signature is lost."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui_strands import StrandsAgent
from strands import Agent, tool
from strands.models import Model

CALLS = [
    {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm."}}}},
    {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "sig-1"}}}},
    {"contentBlockStop": {}},
    {"contentBlockStart": {"start": {"toolUse": {"name": "find", "toolUseId": "c1"}}}},
    {"contentBlockStop": {}},
    {"contentBlockStart": {"start": {"toolUse": {"name": "fail", "toolUseId": "c2"}}}},
    {"contentBlockStop": {}},
    {"contentBlockStart": {"start": {"toolUse": {"name": "measure", "toolUseId": "c3"}}}},
    {"contentBlockStop": {}},
]
WORDS = [{"contentBlockDelta": {"delta": {"text": "Sunny."}}}, {"contentBlockStop": {}}]


class _Model(Model):  # type: ignore[misc]
    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        for chunk in [{"messageStart": {"role": "assistant"}}, *(CALLS if len(messages) == 1 else WORDS)]:
            yield chunk
        yield {"messageStop": {"stopReason": "tool_use" if len(messages) == 1 else "end_turn"}}


@tool  # type: ignore[untyped-decorator]
def find() -> str:
    """Find it."""
    return "sunny"


@tool  # type: ignore[untyped-decorator]
def fail() -> str:
    """Fail."""
    raise ValueError("no weather")


@tool  # type: ignore[untyped-decorator]
def measure() -> dict[str, Any]:
    """Measure it."""
    return {"status": "success", "content": [{"json": {"degrees": 18}}]}


async def main() -> None:
    posted: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}
    posted |= {"forwardedProps": {}, "messages": [{"id": "u", "role": "user", "content": "Hi"}]}
    agents: dict[str, Agent] = {}
    template = Agent(model=_Model(), tools=[find, fail, measure], callback_handler=None)
    adapter = StrandsAgent(template, name="a", agents_by_thread=agents)
    events = [one async for one in adapter.run(RunAgentInput.model_validate(posted))]
    for one in events:
        if one.type == "TOOL_CALL_RESULT":
            print("on the wire:", one.model_dump(exclude_none=True, exclude={"message_id", "type"}))
    print("signatures on the wire:", sum(one.type == "REASONING_ENCRYPTED_VALUE" for one in events))
    held = agents["t"].messages
    print("held:", held[1]["content"][0], *(block["toolResult"] for block in held[2]["content"]), sep="\n")


asyncio.run(main())
