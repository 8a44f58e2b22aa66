"""SDKs and frameworks that are given nothing but the environment: a program, since some never close their connections.

Out: a JSON line with what each of them read.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

import anthropic
import openai
from google import genai
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel


async def _openai(prompt: str) -> str:
    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content or ""


async def _anthropic(prompt: str) -> str:
    async with anthropic.AsyncAnthropic() as client:
        messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": prompt}]
        answer = await client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=messages)
        return "".join(block.text for block in answer.content if block.type == "text")


async def _gemini(prompt: str) -> str:
    client = genai.Client()
    answer = await client.aio.models.generate_content(model="gemini-2.5-flash", contents=prompt)
    await client.aio.aclose()
    return answer.text or ""


def _agent(make: Callable[[], Model]) -> Callable[[str], Awaitable[str]]:
    async def asked(prompt: str) -> str:
        async with Agent(make()).run_stream(prompt) as run:
            return await run.get_output()

    return asked


async def _langchain_openai(prompt: str) -> str:
    return "".join([str(chunk.text) async for chunk in ChatOpenAI(model="gpt-4o").astream(prompt)])


async def _langchain_anthropic(prompt: str) -> str:
    model = ChatAnthropic(model_name="claude-sonnet-4-6", timeout=None, stop=None)
    return "".join([str(chunk.text) async for chunk in model.astream(prompt)])


CLIENTS: dict[str, Callable[[str], Awaitable[str]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google-genai": _gemini,
    "Pydantic AI, Chat Completions": _agent(lambda: OpenAIChatModel("gpt-4o")),
    "Pydantic AI, Responses": _agent(lambda: OpenAIResponsesModel("gpt-5")),
    "Pydantic AI, Anthropic": _agent(lambda: AnthropicModel("claude-sonnet-4-6")),
    "Pydantic AI, Gemini": _agent(lambda: GoogleModel("gemini-2.5-flash")),
    "LangChain, Chat Completions": _langchain_openai,
    "LangChain, Anthropic": _langchain_anthropic,
}


def mark_of(name: str) -> str:
    """Return the mark of a client, by which the test knows its conversation."""
    return f"[tp:{list(CLIENTS).index(name)}]"


async def ask_all() -> dict[str, str]:
    """Return what each client read."""
    return {name: await ask(f"Hello {mark_of(name)}") for name, ask in CLIENTS.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(ask_all())) + "\n")
