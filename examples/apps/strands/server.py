"""Strands Agents behind `ag_ui_strands`, as its README's quickstart has it: the client keeps the history."""

import asyncio
import os
from pathlib import Path

import uvicorn
from ag_ui_strands import StrandsAgent, create_strands_app
from strands import Agent, tool
from strands.models.openai import OpenAIModel

EFFECTS = Path("effects.txt")


def order(city: str, nights: int) -> None:
    with EFFECTS.open("a", encoding="utf-8") as effects:
        effects.write(f"book_hotel {city} {nights}\n")


@tool
async def book_hotel(city: str, nights: int) -> str:
    """Book a hotel room in a city; the booking is made at once, its confirmation takes a while."""
    order(city, nights)
    await asyncio.sleep(float(os.environ.get("BOOKING_SECONDS", "1")))
    return f"booked {nights} nights in {city}"


model = OpenAIModel(client_args={"base_url": os.environ["OPENAI_BASE_URL"]}, model_id="gpt-5.2")
agent = StrandsAgent(agent=Agent(model=model, system_prompt="You book hotels.", tools=[book_hotel]), name="hotels")
app = create_strands_app(agent, "/agent")

uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
