"""SDKs and frameworks that are given nothing but the environment find the provider, and read its answers."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from tpharness.apps.provider import Plan, Provider, Text

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


def test_clients_find_the_provider_by_the_environment() -> None:
    """Its base URL, a key that they take, and no proxy; all in one program, which takes seconds to start."""

    async def asked() -> None:
        async with Provider() as provider:
            conversations = {name: provider.conversation(f"[tp:{number}]") for number, name in enumerate(APIS)}
            for name, conversation in conversations.items():
                conversation.plans([Plan(items=(Text(pieces=("Good day, ", name)),))])
            environment = {**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", **provider.environment()}
            program = [sys.executable, "-m", "tests.apps.provider.environment_clients"]
            process = await asyncio.create_subprocess_exec(*program, env=environment, stdout=asyncio.subprocess.PIPE)
            said, _ = await process.communicate()
            assert json.loads(said) == {name: f"Good day, {name}" for name in APIS}
            assert {name: one.exchanges[0].api for name, one in conversations.items()} == APIS
            assert [one.exchanges[0].refusals for one in conversations.values()] == [()] * len(APIS)
            assert provider.strays == []

    asyncio.run(asyncio.wait_for(asked(), 90))
