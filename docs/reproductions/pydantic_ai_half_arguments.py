"""Pydantic AI: half the arguments of a call are sent as its input when the model fails inside them."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage


async def fail(*_: object) -> AsyncIterator[dict[int, DeltaToolCall]]:
    yield {0: DeltaToolCall(name="transfer", tool_call_id="c1", json_args='{"to": "Ann", "amount": 1')}
    raise ConnectionError("the provider hung up")


agent = Agent(FunctionModel(stream_function=fail))


@agent.tool_plain
def transfer(to: str, amount: int) -> str:
    """Never run here."""
    return f"{amount} to {to}"


async def main() -> None:
    message = UIMessage(id="u1", role="user", parts=[TextUIPart(text="Send Ann 100")])
    adapter = VercelAIAdapter(agent=agent, run_input=SubmitMessage(id="c1", messages=[message]), sdk_version=6)
    async for event in adapter.encode_stream(adapter.run_stream()):
        if "tool-input-available" in event or "error" in event:
            print(event.strip())


asyncio.run(main())
