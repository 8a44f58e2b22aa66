"""Whole turns of Pydantic AI against a strict provider: what it sends back of our answers is never refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Any

import pytest
from tests.apps.provider.plans import HELLO, PARIS, ROME, THOUGHT

from tpharness.apps.provider.server import Provider
from tpharness.model_apis.plan import Plan, Text
from tpharness.model_apis.registry import ApiName

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from tests.apps.provider.python_readers import Clients

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
MARK = "[tp:turn]"
TURNS: list[tuple[str, ApiName]] = [
    ("Chat Completions", "openai-chat"),
    ("Responses", "openai-responses"),
    ("Responses, not stored", "openai-responses"),
    ("Responses, previous response", "openai-responses"),
    ("Anthropic", "anthropic"),
    ("Gemini", "gemini"),
]
SETTINGS: dict[str, Any] = {
    "Responses, not stored": {"openai_store": False},
    "Responses, previous response": {"openai_previous_response_id": "auto"},
}


def _model(name: str, clients: Clients) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel  # seconds, not for who collects the tests
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    match name:
        case "Chat Completions":
            return OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=clients.openai))
        case "Anthropic":
            provider = AnthropicProvider(anthropic_client=clients.anthropic)
            return AnthropicModel("claude-sonnet-4-6", provider=provider)
        case "Gemini":
            return GoogleModel("gemini-3-flash-preview", provider=GoogleProvider(client=clients.genai))
    return OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(openai_client=clients.openai))


async def _stream(_: object, events: AsyncIterable[object]) -> None:
    """Read a stream to its end; without a handler nothing would be streamed."""
    async for _event in events:
        pass


@pytest.mark.parametrize(("name", "api"), TURNS, ids=[name for name, _ in TURNS])
def test_two_turns_with_tools_are_never_refused(name: str, api: ApiName) -> None:
    """Thinking, text and two calls, then the answer, then another turn on the same history."""
    from pydantic_ai import Agent
    from tests.apps.provider.python_readers import Clients

    async def asked() -> None:
        async with Provider() as provider:
            clients = Clients(provider.base)
            agent = Agent(_model(name, clients), model_settings=SETTINGS.get(name))

            @agent.tool_plain
            def book_hotel(city: str, nights: int = 1) -> str:
                """Book a hotel."""
                return f"booked in {city} for {nights}"

            conversation = provider.conversation(MARK)
            conversation.plans([Plan(items=(THOUGHT, HELLO, PARIS, ROME)), Plan(items=(Text(pieces=("Done.",)),))])
            run = await agent.run(f"Book two. {MARK}", event_stream_handler=_stream)
            assert run.output == "Done."
            conversation.plans([Plan(items=(Text(pieces=("Gladly.",)),))])
            history = run.all_messages()
            run = await agent.run("Thanks!", message_history=history, event_stream_handler=_stream)
            assert run.output == "Gladly."
            await clients.close()
            assert [exchange.refusals for exchange in conversation.exchanges] == [(), (), ()]
            assert not provider.others
            told = conversation.exchanges[-1].history
            assert [one.role for one in told] == ["user", "assistant", "tool", "assistant", "user"]
            assert (told[1].text, told[3].text, told[4].text) == ("Hello world", "Done.", "Thanks!")
            assert [(call.call_id, call.args) for call in told[1].calls] == [
                ("call_paris", {"city": "Paris", "nights": 2}),
                ("call_rome", {"city": "Rome"}),
            ]
            results = [(result.call_id, "booked in Paris for 2" in result.content) for result in told[2].results]
            assert results == [("call_paris", True), ("call_rome", False)]
            assert told[1].thinking == "The user wants a hotel."
            assert {exchange.api for exchange in conversation.exchanges} == {api}

    asyncio.run(asyncio.wait_for(asked(), 30))
