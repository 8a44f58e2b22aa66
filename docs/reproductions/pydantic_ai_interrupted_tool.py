"""Pydantic AI: a tool that a cancellation stops has a successful output on the wire, and no return in the history."""

import asyncio

from pydantic_ai import Agent, CancellationToken, RunCancelled
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage

agent = Agent(TestModel())
token = CancellationToken()


@agent.tool_plain
async def slow() -> str:
    """Be cancelled while it runs."""
    token.cancel()
    await asyncio.sleep(60)
    return "never"


def on_cancel(cancelled: RunCancelled) -> None:
    history = [part.part_kind for message in cancelled.all_messages() for part in message.parts]
    print("history:", history)


async def main() -> None:
    message = UIMessage(id="u1", role="user", parts=[TextUIPart(text="Hi")])
    adapter = VercelAIAdapter(agent=agent, run_input=SubmitMessage(id="c1", messages=[message]), sdk_version=6)
    stream = adapter.run_stream(cancellation_token=token, on_cancel=on_cancel)
    async for event in adapter.encode_stream(stream):
        if "tool-output" in event:
            print("wire:   ", event.strip())


asyncio.run(main())
