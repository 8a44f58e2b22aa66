"""Microsoft Agent Framework behind AG-UI, as "Getting Started with AG-UI" has it: the client keeps the history."""

import asyncio
import os
from pathlib import Path

import httpx
import uvicorn
from agent_framework import Agent, tool
from agent_framework.ag_ui import add_agent_framework_fastapi_endpoint
from agent_framework.openai import OpenAIChatCompletionClient
from fastapi import FastAPI

EFFECTS = Path("effects.txt")
LEDGER = os.environ.get("TPHARNESS_EFFECTS_URL")


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


@tool(approval_mode="never_require")
async def book_hotel(city: str, nights: int) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    if LEDGER:  # the booking is made by a service, tpharness's ledger of effects
        async with httpx.AsyncClient(timeout=60) as service:
            answer = await service.post(f"{LEDGER}/tools/book_hotel", json={"city": city, "nights": nights})
            return str(answer.json()["result"])
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"


client = OpenAIChatCompletionClient(model="gpt-5.2")
agent = Agent(name="hotels", instructions="You book hotels.", client=client, tools=[book_hotel])
app = FastAPI()
add_agent_framework_fastapi_endpoint(app, agent, "/agent", single_user=True)

uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
