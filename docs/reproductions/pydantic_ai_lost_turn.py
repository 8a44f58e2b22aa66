"""Pydantic AI: a history that `on_complete` stores loses what the user wrote in a turn whose reader left."""

import asyncio
from collections.abc import AsyncIterator

from pydantic_ai import Agent, ModelMessage, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter as Adapter
from pydantic_ai.ui.vercel_ai.request_types import SubmitMessage, TextUIPart, UIMessage

db: dict[str, list[ModelMessage]] = {"c1": []}


async def model(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    print("told:", [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)])
    yield "Hello."


async def main() -> None:
    for text in ("Hi", "My name is Ada.", "What is my name?"):
        request = SubmitMessage(id="c1", messages=[UIMessage(id=text, role="user", parts=[TextUIPart(text=text)])])
        adapter = Adapter(Agent(FunctionModel(stream_function=model)), request, manage_message_history="server")
        run = adapter.run_stream(message_history=db["c1"], on_complete=lambda run: db.update(c1=run.all_messages()))
        async for chunk in adapter.encode_stream(run):
            if "text-delta" in chunk and text == "My name is Ada.":
                break  # the reader leaves


asyncio.run(main())
