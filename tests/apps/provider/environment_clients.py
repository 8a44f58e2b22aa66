# each takes a second or more, and a part of them is asked
"""SDKs and frameworks that are given nothing but the environment: a program, since some never close their connections.

In: the names of the clients. Out: a JSON line with what each of them read. A client is imported when it is asked.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model

APIS = {
    "openai": "openai-chat",
    "anthropic": "anthropic",
    "google-genai": "gemini",
    "Pydantic AI, Chat Completions": "openai-chat",
    "Pydantic AI, Responses": "openai-responses",
    "Pydantic AI, Anthropic": "anthropic",
    "Pydantic AI, Gemini": "gemini",
    "LangChain, Chat Completions": "openai-chat",
    "LangChain, Anthropic": "anthropic",
}
"""The clients, and the API that each asks."""


async def _openai(prompt: str) -> str:
    import openai

    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content or ""


async def _anthropic(prompt: str) -> str:
    import anthropic

    async with anthropic.AsyncAnthropic() as client:
        messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": prompt}]
        answer = await client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=messages)
        return "".join(block.text for block in answer.content if block.type == "text")


async def _gemini(prompt: str) -> str:
    from google import genai

    client = genai.Client()
    answer = await client.aio.models.generate_content(model="gemini-2.5-flash", contents=prompt)
    await client.aio.aclose()
    return answer.text or ""


def _openai_chat_model() -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel

    return OpenAIChatModel("gpt-4o")


def _openai_responses_model() -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel

    return OpenAIResponsesModel("gpt-5")


def _anthropic_model() -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel

    return AnthropicModel("claude-sonnet-4-6")


def _google_model() -> Model:
    from pydantic_ai.models.google import GoogleModel

    return GoogleModel("gemini-2.5-flash")


def _agent(make: Callable[[], Model]) -> Callable[[str], Awaitable[str]]:
    async def asked(prompt: str) -> str:
        from pydantic_ai import Agent

        async with Agent(make()).run_stream(prompt) as run:
            return await run.get_output()

    return asked


async def _read_all(model: Any, prompt: str) -> str:
    return "".join([str(chunk.text) async for chunk in model.astream(prompt)])


async def _langchain_openai(prompt: str) -> str:
    from langchain_openai import ChatOpenAI

    return await _read_all(ChatOpenAI(model="gpt-4o"), prompt)


async def _langchain_anthropic(prompt: str) -> str:
    from langchain_anthropic import ChatAnthropic

    return await _read_all(ChatAnthropic(model_name="claude-sonnet-4-6", timeout=None, stop=None), prompt)


CLIENTS: dict[str, Callable[[str], Awaitable[str]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "google-genai": _gemini,
    "Pydantic AI, Chat Completions": _agent(_openai_chat_model),
    "Pydantic AI, Responses": _agent(_openai_responses_model),
    "Pydantic AI, Anthropic": _agent(_anthropic_model),
    "Pydantic AI, Gemini": _agent(_google_model),
    "LangChain, Chat Completions": _langchain_openai,
    "LangChain, Anthropic": _langchain_anthropic,
}


def mark_of(name: str) -> str:
    """Return the mark of a client, by which the test knows its conversation."""
    return f"[tp:{list(APIS).index(name)}]"


async def ask_all(names: list[str]) -> dict[str, str]:
    """Return what each client read."""
    return {name: await CLIENTS[name](f"Hello {mark_of(name)}") for name in names}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(ask_all(sys.argv[1:]))) + "\n")
