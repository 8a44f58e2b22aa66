"""Pydantic AI: a tool that returns None gives `tool-output-available` without the required field `output`."""

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage

agent = Agent(TestModel())


@agent.tool_plain
def forget() -> None:
    """Return nothing, as many tools do."""


async def main() -> None:
    message = UIMessage(id="u1", role="user", parts=[TextUIPart(text="Hi")])
    adapter = VercelAIAdapter(agent=agent, run_input=SubmitMessage(id="c1", messages=[message]), sdk_version=6)
    async for event in adapter.encode_stream(adapter.run_stream()):
        if "tool-output" in event:
            print(event.strip())


asyncio.run(main())
