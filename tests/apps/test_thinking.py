"""Models that think: the cases are played where the application asks for thoughts and its model's API shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.apps.chat_app import ChatApp, Json, Stored
from tests.apps.playing import play

from tpharness.apps.contact import asks_for_thoughts
from tpharness.findings import Level
from tpharness.verdict import Outcome

CASES = ("uncut/thinking", "user-leaves/in-thinking")


@pytest.mark.parametrize(
    ("api", "body", "wanted"),
    [
        ("openai-responses", {"model": "gpt-4.1"}, False),
        ("openai-responses", {"model": "gpt-5"}, True),
        ("openai-responses", {"model": "own", "reasoning": {"effort": "low"}}, True),
        ("anthropic", {"model": "claude-sonnet-4-5"}, False),
        ("anthropic", {"thinking": {"type": "disabled"}}, False),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 1024}}, True),
        ("anthropic", {"thinking": {"type": "adaptive"}}, True),
        ("gemini", {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1024}}}, False),
        ("gemini", {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}}, True),
        ("openai-chat", {"model": "gpt-5", "reasoning_effort": "low"}, False),
    ],
)
def test_a_request_says_whether_its_model_thinks(api: str, body: dict[str, Any], wanted: bool) -> None:
    """By its options; for Responses the name of the model is enough."""
    assert asks_for_thoughts(api, body) is wanted


class SaysThoughts(ChatApp):
    """Takes what the model thinks for what it says."""

    @asynccontextmanager
    async def _stream(self, chat: Stored) -> AsyncIterator[AsyncIterator[Json]]:
        async with super()._stream(chat) as stream:
            yield self._spoken(stream)

    async def _spoken(self, stream: AsyncIterator[Json]) -> AsyncIterator[Json]:
        async for chunk in stream:
            for choice in chunk["choices"]:
                thought = choice["delta"].pop("reasoning_content", None)
                choice["delta"]["content"] = thought or choice["delta"].get("content")
            yield chunk


def test_thoughts_are_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that leaves them out passes; one that tells them as what the model said does not."""
    assert [result.outcome for result in play(ChatApp(), *CASES)] == [Outcome.NOT_APPLICABLE] * 2
    monkeypatch.setattr("tpharness.apps.contact.asks_for_thoughts", lambda *_: True)
    for app, codes in ((ChatApp(), []), (SaysThoughts(), ["text-invented"])):
        for result in play(app, *CASES):
            assert [f.code for f in result.findings if f.level is not Level.MAY] == codes, result.id
            assert result.outcome is (Outcome.FAILED if codes else Outcome.PASSED)
