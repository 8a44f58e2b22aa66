"""What the web chat serves: an agent whose model is one of four model APIs, whose tool leaves a mark in `effects.txt`.

Base URL and key come from what the official SDKs read: OPENAI_BASE_URL, ANTHROPIC_BASE_URL, GOOGLE_GEMINI_BASE_URL.
"""

import asyncio
import os
from pathlib import Path

import httpx
from pydantic_ai import Agent, RunContext

MODELS = {
    "responses": "openai:gpt-5.2",
    "chat": "openai-chat:gpt-5.2",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "google:gemini-3-pro-preview",
}
EFFECTS = Path("effects.txt")
LEDGER = os.environ.get("TPHARNESS_EFFECTS_URL")

agent = Agent(MODELS[os.environ.get("MODEL_API", "responses")])


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


@agent.tool
async def book_hotel(ctx: RunContext[None], city: str, nights: int) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:  # the booking is made by a service, tpharness's ledger of effects
        headers = {"X-Tpharness-Call": ctx.tool_call_id or ""}
        async with httpx.AsyncClient(timeout=60) as service:
            call = {"city": city, "nights": nights}
            answer = await service.post(f"{LEDGER}/tools/book_hotel", json=call, headers=headers)
            return str(answer.json()["result"])
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"
