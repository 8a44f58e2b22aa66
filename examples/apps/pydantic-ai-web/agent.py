"""What the web chat serves: an agent whose model is one of four model APIs, whose tool leaves a mark in `effects.txt`.

Base URL and key come from what the official SDKs read: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL.
"""

import asyncio
import os
from pathlib import Path

from pydantic_ai import Agent

MODELS = {
    "responses": "openai:gpt-5.2",
    "chat": "openai-chat:gpt-5.2",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "google:gemini-3-pro-preview",
}
EFFECTS = Path("effects.txt")

agent = Agent(MODELS[os.environ.get("MODEL_API", "responses")])


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


@agent.tool_plain
async def book_hotel(city: str, nights: int) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"
