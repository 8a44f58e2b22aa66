"""An agent for ADK's `api_server`, as its quickstart has it: an `async def` tool."""

import asyncio
import os
from pathlib import Path

import httpx
from google.adk.agents import Agent
from google.adk.tools import ToolContext

EFFECTS = Path("effects.txt")
LEDGER = os.environ.get("TPHARNESS_EFFECTS_URL")


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


async def book_hotel(city: str, nights: int, tool_context: ToolContext) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:  # the booking is made by a service, tpharness's ledger of effects
        call, headers = {"city": city, "nights": nights}, {"X-Tpharness-Call": tool_context.function_call_id}
        async with httpx.AsyncClient(timeout=60) as service:
            answer = await service.post(f"{LEDGER}/tools/book_hotel", json=call, headers=headers)
            return str(answer.json()["result"])
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"


root_agent = Agent(
    name="hotels", model="gemini-2.5-flash", instruction="You help travellers to book hotels.", tools=[book_hotel]
)
